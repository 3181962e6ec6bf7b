/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies of ep_math.h for one width, EP_VW; see there for the error bounds.  Coefficients: minimax fits made for these forms,
 * rounded one by one to float.  Branch-free: both sides of a case are computed and selected. */
#include "ep_width.inc.h"

#define EP_SPLAT EP_FN(ep_splat)
#define EP_SELECT EP_FN(ep_select)
#define EP_ABS EP_FN(ep_abs)

/* 2^n for -126 <= n <= 127, by its exponent field */
EP_INLINE EP_F EP_FN(ep_power_of_two)(EP_I n)
{
    return EP_FROM_BITS((EP_U)(n + 127) << 23);
}

/* x = n*ln2 + r with |r| <= ln2/2; the result is r, *n is in the low bits of the rounded sum (no float to int conversion,
 * which NaN would make undefined) */
EP_INLINE EP_F EP_FN(ep_exp_reduce)(EP_F x, EP_I *n)
{
    const EP_F shifted = x * 1.44269504f + 12582912.0f;
    const EP_F whole = shifted - 12582912.0f;
    *n = (EP_I)(EP_BITS(shifted) - 0x4b400000u);
    return (x - whole * 0.693359375f) - whole * -2.12194440e-4f;
}

EP_INLINE EP_F EP_FN(ep_exp)(EP_F x)
{
    const EP_F bounded = EP_FN(ep_min)(EP_SPLAT(89.0f), EP_FN(ep_max)(EP_SPLAT(-104.0f), x));
    EP_I n;
    const EP_F r = EP_FN(ep_exp_reduce)(bounded, &n);
    EP_F p = r * 0.0013820728f + 0.008369247f;
    p = p * r + 0.04166828f;
    p = p * r + 0.16666517f;
    p = p * r + 0.49999994f;
    p = (p * (r * r) + r) + 1.0f;
#if EP_VW == 16 && defined(__AVX512F__)
    return __builtin_ia32_scalefps512_mask(p, EP_FN(ep_from_i32)(n), p, EP_ALL_LANES_16, 4);
#else
    const EP_I half = n >> 1; /* in two steps: 2^n alone leaves the range of a float */
    return (p * EP_FN(ep_power_of_two)(half)) * EP_FN(ep_power_of_two)(n - half);
#endif
}

/* 2^n*expm1(r) + (2^n - 1), on half the scale so that 2^128 does not overflow early */
EP_INLINE EP_F EP_FN(ep_expm1)(EP_F x)
{
    const EP_F bounded = EP_FN(ep_min)(EP_SPLAT(89.0f), EP_FN(ep_max)(EP_SPLAT(-30.0f), x));
    EP_I n;
    const EP_F r = EP_FN(ep_exp_reduce)(bounded, &n);
    EP_F p = r * 0.00019766207f + 0.0013933223f;
    p = p * r + 0.008333542f;
    p = p * r + 0.041666485f;
    p = p * r + 0.16666666f;
    p = p * r + 0.5f;
    p = p * (r * r) + r;
    const EP_F scale = EP_FN(ep_power_of_two)(n - 1);
    const EP_F result = (scale * p + (scale - 0.5f)) * 2.0f;
    const EP_I keep = EP_MASK(EP_ABS(x) < EP_SPLAT(1e-8f)); /* -0, and what half the scale would make a denormal */
    return EP_SELECT(keep, x, result);
}

/* log(1+f) on sqrt(1/2) - 1 <= f <= sqrt(2) - 1, plus exponent*ln2 */
EP_INLINE EP_F EP_FN(ep_log_sum)(EP_F f, EP_F exponent)
{
    EP_F p = f * 0.06802971f + -0.11721821f;
    p = p * f + 0.118852235f;
    p = p * f + -0.12396171f;
    p = p * f + 0.14218731f;
    p = p * f + -0.16668652f;
    p = p * f + 0.20002201f;
    p = p * f + -0.24999994f;
    p = p * f + 0.3333331f;
    const EP_F square = f * f;
    p = p * f * square;
    p = p + exponent * -2.12194440e-4f;
    p = p - 0.5f * square;
    return (f + p) + exponent * 0.693359375f;
}

EP_INLINE EP_F EP_FN(ep_log)(EP_F x)
{
    const EP_I tiny = EP_MASK(x < EP_SPLAT(1.17549435e-38f));
    const EP_F scaled = EP_SELECT(tiny, x * 8388608.0f, x);
    const EP_U bits = EP_BITS(scaled);
    const EP_I exponent = (EP_I)(bits - 0x3f3504f3u) >> 23; /* mantissa in [sqrt(1/2), sqrt(2)) */
    const EP_F mantissa = EP_FROM_BITS(bits - ((EP_U)exponent << 23));
    const EP_F shift = EP_SELECT(tiny, EP_SPLAT(-23.0f), EP_SPLAT(0.0f));
    EP_F y = EP_FN(ep_log_sum)(mantissa - 1.0f, EP_FN(ep_from_i32)(exponent) + shift);
    y = EP_SELECT(EP_MASK(x < EP_SPLAT(EP_INF_F32)), y, x);
    y = EP_SELECT(EP_MASK(x > EP_SPLAT(0.0f)), y, EP_SELECT(EP_MASK(x == EP_SPLAT(0.0f)), EP_SPLAT(-EP_INF_F32), y));
    return EP_SELECT(EP_MASK(x < EP_SPLAT(0.0f)), EP_SPLAT(EP_NAN_F32), y);
}

/* log(u) for the rounded u = 1 + x, and the first-order term of what the rounding lost */
EP_INLINE EP_F EP_FN(ep_log1p)(EP_F x)
{
    const EP_F u = x + 1.0f;
    const EP_F lost = x - (u - 1.0f);
    const EP_F y = EP_FN(ep_log)(u) + lost / u;
    const EP_I keep = EP_MASK(EP_ABS(x) < EP_SPLAT(1e-30f)); /* -0, and denormals that 1/u would flush */
    const EP_I ordinary = EP_MASK(u > EP_SPLAT(0.0f)) & EP_MASK(x < EP_SPLAT(EP_INF_F32));
    return EP_SELECT(keep, x, EP_SELECT(ordinary, y, EP_FN(ep_log)(u)));
}

EP_INLINE EP_F EP_FN(ep_sigmoid)(EP_F x)
{
    const EP_F e = EP_FN(ep_exp)(-EP_ABS(x)); /* never overflows; both signs from one exponential */
    const EP_F top = EP_SELECT(EP_MASK(x < EP_SPLAT(0.0f)), e, EP_SPLAT(1.0f));
    return top / (1.0f + e);
}

EP_INLINE EP_F EP_FN(ep_tanh)(EP_F x)
{
    const EP_F magnitude = EP_ABS(x);
    const EP_F square = x * x;
    EP_F p = square * -0.005663622f + 0.02060324f;
    p = p * square + -0.05372913f;
    p = p * square + 0.13331321f;
    p = p * square + -0.33333278f;
    const EP_F small = p * square * x + x;
    const EP_F large = 1.0f - 2.0f / (EP_FN(ep_exp)(magnitude + magnitude) + 1.0f);
    return EP_FN(ep_copysign)(EP_SELECT(EP_MASK(magnitude < EP_SPLAT(0.625f)), small, large), x);
}

EP_INLINE EP_F EP_FN(ep_sinh)(EP_F x)
{
    const EP_F magnitude = EP_ABS(x);
    const EP_F e = EP_FN(ep_expm1)(magnitude);
    const EP_F near_zero = 0.5f * (e + e / (e + 1.0f));
    const EP_F half = EP_FN(ep_exp)(0.5f * magnitude);
    const EP_F large = (0.5f * half) * half;
    const EP_F y = EP_SELECT(EP_MASK(magnitude < EP_SPLAT(30.0f)), near_zero, large);
    return EP_FN(ep_copysign)(y, x);
}

EP_INLINE EP_F EP_FN(ep_cosh)(EP_F x)
{
    const EP_F magnitude = EP_ABS(x);
    const EP_F e = EP_FN(ep_exp)(magnitude);
    const EP_F middle = 0.5f * e + 0.5f / e;
    const EP_F half = EP_FN(ep_exp)(0.5f * magnitude);
    const EP_F large = (0.5f * half) * half;
    return EP_SELECT(EP_MASK(magnitude < EP_SPLAT(30.0f)), middle, large);
}

EP_INLINE EP_F EP_FN(ep_asinh)(EP_F x)
{
    const EP_F magnitude = EP_ABS(x);
    const EP_I large = EP_MASK(magnitude > EP_SPLAT(1048576.0f));
    const EP_F bounded = EP_SELECT(large, EP_SPLAT(1.0f), magnitude);
    const EP_F square = bounded * bounded;
    const EP_F near_zero = EP_FN(ep_log1p)(bounded + square / (1.0f + EP_FN(ep_sqrt)(square + 1.0f)));
    const EP_F far = EP_FN(ep_log)(magnitude) + 0.69314718f;
    return EP_FN(ep_copysign)(EP_SELECT(large, far, near_zero), x);
}

EP_INLINE EP_F EP_FN(ep_acosh)(EP_F x)
{
    const EP_I large = EP_MASK(x > EP_SPLAT(1048576.0f));
    const EP_F t = EP_SELECT(large, EP_SPLAT(1.0f), x) - 1.0f; /* below 1: the root of a negative number, NaN */
    const EP_F near_one = EP_FN(ep_log1p)(t + EP_FN(ep_sqrt)(t * (t + 2.0f)));
    const EP_F invalid = EP_SELECT(EP_MASK(x < EP_SPLAT(1.0f)), EP_SPLAT(EP_NAN_F32), near_one);
    return EP_SELECT(large, EP_FN(ep_log)(x) + 0.69314718f, invalid);
}

EP_INLINE EP_F EP_FN(ep_atanh)(EP_F x)
{
    const EP_F magnitude = EP_ABS(x);
    const EP_F y = 0.5f * EP_FN(ep_log1p)((magnitude + magnitude) / (1.0f - magnitude));
    const EP_F small = EP_SELECT(EP_MASK(magnitude < EP_SPLAT(1e-4f)), magnitude, y);
    return EP_FN(ep_copysign)(EP_SELECT(EP_MASK(magnitude > EP_SPLAT(1.0f)), EP_SPLAT(EP_NAN_F32), small), x);
}

/* near zero x*P(x^2); beyond, 1 - exp(-t*Q(t)), where t*Q(t) is -log(erfc(t)), 1 to the last bit from 4 on */
EP_INLINE EP_F EP_FN(ep_erf)(EP_F x)
{
    const EP_F square = x * x;
    EP_F p = square * -0.0005958977f + 0.004987253f;
    p = p * square + -0.026762916f;
    p = p * square + 0.1128173f;
    p = p * square + -0.3761249f;
    p = p * square + 0.12837915f;
    const EP_F small = p * x + x;
    const EP_F t = EP_FN(ep_min)(EP_SPLAT(4.1f), EP_ABS(x));
    EP_F q = t * 1.1521859e-05f + -0.00032564966f;
    q = q * t + 0.0036537584f;
    q = q * t + -0.02378535f;
    q = q * t + 0.10626317f;
    q = q * t + 0.6351359f;
    q = q * t + 0.12865217f;
    const EP_F large = 1.0f - EP_FN(ep_exp)(-(q * t + t));
    return EP_SELECT(EP_MASK(EP_ABS(x) < EP_SPLAT(0.92f)), small, EP_FN(ep_copysign)(large, x));
}

#include "ep_trig.inc.h"

EP_INLINE EP_F EP_FN(ep_reciprocal)(EP_F x)
{
    return 1.0f / x;
}

EP_INLINE EP_F EP_FN(ep_rsqrt)(EP_F x)
{
    return 1.0f / EP_FN(ep_sqrt)(x);
}

#include "ep_pow.inc.h"

/* max(x, 0) + log(1 + exp(-|x|)) */
EP_INLINE EP_F EP_FN(ep_softplus)(EP_F x)
{
    return EP_FN(ep_max)(EP_SPLAT(0.0f), x) + EP_FN(ep_log1p)(EP_FN(ep_exp)(-EP_ABS(x)));
}

/* x*tanh(softplus(x)) = x*n/(n + 2) with n = e^x*(e^x + 2) */
EP_INLINE EP_F EP_FN(ep_mish)(EP_F x)
{
    const EP_F e = EP_FN(ep_exp)(EP_FN(ep_min)(EP_SPLAT(20.0f), x));
    const EP_F n = e * (e + 2.0f);
    return x * (n / (n + 2.0f));
}

EP_INLINE EP_F EP_FN(ep_gelu)(EP_F x)
{
    return 0.5f * x * (1.0f + EP_FN(ep_erf)(x * 0.707106781f));
}

EP_INLINE EP_F EP_FN(ep_gelu_tanh)(EP_F x)
{
    return 0.5f * x * (1.0f + EP_FN(ep_tanh)(0.797884561f * (x + 0.044715f * x * x * x)));
}

#undef EP_SPLAT
#undef EP_SELECT
#undef EP_ABS
#include "ep_width_end.inc.h"
