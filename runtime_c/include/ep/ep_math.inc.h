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

EP_INLINE EP_F EP_FN(ep_atan)(EP_F x)
{
    const EP_F magnitude = EP_ABS(x);
    const EP_I high = EP_MASK(magnitude > EP_SPLAT(2.41421356f));           /* tan(3/8 pi): pi/2 - atan(1/x) */
    const EP_I middle = EP_MASK(magnitude > EP_SPLAT(0.41421356f)) & ~high; /* tan(pi/8): pi/4 + atan((x-1)/(x+1)) */
    const EP_F one = EP_SPLAT(1.0f);
    const EP_F top = EP_SELECT(high, -one, EP_SELECT(middle, magnitude - 1.0f, magnitude));
    const EP_F bottom = EP_SELECT(high, magnitude, EP_SELECT(middle, magnitude + 1.0f, one));
    const EP_F base = EP_SELECT(high, EP_SPLAT(1.57079633f), EP_SELECT(middle, EP_SPLAT(0.785398163f), EP_SPLAT(0.0f)));
    const EP_F r = top / bottom;
    const EP_F square = r * r;
    EP_F p = square * -0.06087337f + 0.105982654f;
    p = p * square + -0.14244297f;
    p = p * square + 0.19998525f;
    p = p * square + -0.33333316f;
    return EP_FN(ep_copysign)(base + (p * square * r + r), x);
}

/* asin(y) = y + y^3*P(y^2) on [0, 1/2]; the result is for y = |x|, or y = sqrt((1-|x|)/2) where *far is true */
EP_INLINE EP_F EP_FN(ep_asin_core)(EP_F magnitude, EP_I *far)
{
    *far = EP_MASK(magnitude > EP_SPLAT(0.5f));
    const EP_F square = EP_SELECT(*far, 0.5f - 0.5f * magnitude, magnitude * magnitude);
    const EP_F y = EP_SELECT(*far, EP_FN(ep_sqrt)(square), magnitude);
    EP_F p = square * 0.037691142f + 0.014317346f;
    p = p * square + 0.03183877f;
    p = p * square + 0.044513386f;
    p = p * square + 0.07500522f;
    p = p * square + 0.1666666f;
    return p * square * y + y;
}

EP_INLINE EP_F EP_FN(ep_asin)(EP_F x)
{
    EP_I far;
    const EP_F y = EP_FN(ep_asin_core)(EP_ABS(x), &far);
    return EP_FN(ep_copysign)(EP_SELECT(far, 1.57079633f - 2.0f * y, y), x);
}

EP_INLINE EP_F EP_FN(ep_acos)(EP_F x)
{
    EP_I far;
    const EP_F y = EP_FN(ep_asin_core)(EP_ABS(x), &far);
    const EP_F near_zero = 1.57079633f - (EP_FN(ep_copysign)(y, x) - -4.37113883e-8f);
    const EP_F near_one = EP_SELECT(EP_MASK(x < EP_SPLAT(0.0f)), 3.14159265f - 2.0f * y, 2.0f * y);
    return EP_SELECT(far, near_one, near_zero);
}

/* x = quadrant*pi/2 + r with |r| <= pi/4; pi/2 in five parts, four of whose products with the
 * quadrant are exact up to 2^16 */
EP_INLINE EP_F EP_FN(ep_trig_reduce)(EP_F x, EP_I *quadrant)
{
    const EP_I big = ~EP_MASK(EP_ABS(x) < EP_SPLAT(65536.0f)); /* infinities and NaN too */
    const EP_F bounded = EP_SELECT(big, EP_SPLAT(0.0f), x);
    const EP_F shifted = bounded * 0.636619772f + 12582912.0f;
    const EP_F whole = shifted - 12582912.0f;
    *quadrant = (EP_I)(EP_BITS(shifted) & 3u);
    EP_F r = bounded - whole * 1.5703125f;
    r = r - whole * 4.8255920e-4f;
    r = r - whole * 1.2665987e-6f;
    r = r - whole * 9.895302e-10f;
    r = r - whole * 2.563344e-12f;
    if (__builtin_expect(EP_FN(ep_any)(big), 0)) {
#if EP_VW == 1
        r = ep_trig_reduce_big(x, quadrant);
#else
        for (int lane = 0; lane < EP_VW; lane++) {
            if (big[lane]) {
                int32_t lane_quadrant;
                r[lane] = ep_trig_reduce_big(x[lane], &lane_quadrant);
                (*quadrant)[lane] = lane_quadrant;
            }
        }
#endif
    }
    return r;
}

EP_INLINE EP_F EP_FN(ep_sin_core)(EP_F r)
{
    const EP_F square = r * r;
    EP_F p = square * 2.83251e-06f + -0.00019853064f;
    p = p * square + 0.008333379f;
    p = p * square + -0.16666667f;
    return p * square * r + r;
}

EP_INLINE EP_F EP_FN(ep_cos_core)(EP_F r)
{
    const EP_F square = r * r;
    EP_F p = square * 2.4432327e-05f + -0.001388731f;
    p = p * square + 0.041666646f;
    const EP_F half = 0.5f * square;
    const EP_F first = 1.0f - half;
    return first + (p * (square * square) + ((1.0f - first) - half)); /* with what rounding the first two terms lost */
}

/* sin(r + quadrant*pi/2) */
EP_INLINE EP_F EP_FN(ep_sin_quadrant)(EP_F r, EP_I quadrant)
{
    const EP_F y = EP_SELECT(EP_MASK((quadrant & 1) != 0), EP_FN(ep_cos_core)(r), EP_FN(ep_sin_core)(r));
    return EP_FROM_BITS(EP_BITS(y) ^ ((EP_U)(quadrant & 2) << 30));
}

EP_INLINE EP_F EP_FN(ep_sin)(EP_F x)
{
    EP_I quadrant;
    const EP_F r = EP_FN(ep_trig_reduce)(x, &quadrant);
    const EP_F y = EP_FN(ep_sin_quadrant)(r, quadrant);
    return EP_SELECT(EP_MASK(x == EP_SPLAT(0.0f)), x, y);
}

EP_INLINE EP_F EP_FN(ep_cos)(EP_F x)
{
    EP_I quadrant;
    const EP_F r = EP_FN(ep_trig_reduce)(x, &quadrant);
    return EP_FN(ep_sin_quadrant)(r, quadrant + 1);
}

EP_INLINE EP_F EP_FN(ep_tan)(EP_F x)
{
    EP_I quadrant;
    const EP_F r = EP_FN(ep_trig_reduce)(x, &quadrant);
    const EP_I odd = EP_MASK((quadrant & 1) != 0);
    const EP_F s = EP_FN(ep_sin_core)(r);
    const EP_F c = EP_FN(ep_cos_core)(r);
    const EP_F y = EP_SELECT(odd, -c, s) / EP_SELECT(odd, s, c);
    return EP_SELECT(EP_MASK(x == EP_SPLAT(0.0f)), x, y);
}

EP_INLINE EP_F EP_FN(ep_reciprocal)(EP_F x)
{
    return 1.0f / x;
}

EP_INLINE EP_F EP_FN(ep_rsqrt)(EP_F x)
{
    return 1.0f / EP_FN(ep_sqrt)(x);
}

/* Lane by lane in double: float alone loses the bits that a large quotient needs. */
#if EP_VW == 1
#define EP_BY_LANE(name)                                                                                               \
    EP_INLINE EP_F EP_FN(name)(EP_F x, EP_F y)                                                                         \
    {                                                                                                                  \
        return (float)name##_f64((double)x, (double)y);                                                                \
    }
#else
#define EP_BY_LANE(name)                                                                                               \
    EP_INLINE EP_F EP_FN(name)(EP_F x, EP_F y)                                                                         \
    {                                                                                                                  \
        EP_F result = x;                                                                                               \
        for (int lane = 0; lane < EP_VW; lane++) {                                                                     \
            result[lane] = (float)name##_f64((double)x[lane], (double)y[lane]);                                        \
        }                                                                                                              \
        return result;                                                                                                 \
    }
#endif
EP_BY_LANE(ep_fmod)
EP_BY_LANE(ep_mod)

#if EP_VW == 1
EP_BY_LANE(ep_pow)
#else
/* x^y = 2^(y * log2(x)) for positive, finite x: half the lanes in double, because a float exponent has too few bits.  All
 * integers stay in the bits of doubles (2^52 + k), so that no conversion between int64 and double is needed. */
typedef float EP_FN(ep_half) __attribute__((vector_size(2 * EP_VW)));
typedef double EP_FN(ep_wide) __attribute__((vector_size(4 * EP_VW)));
typedef uint64_t EP_FN(ep_wide_bits) __attribute__((vector_size(4 * EP_VW)));

EP_INLINE EP_FN(ep_half) EP_FN(ep_pow_core)(EP_FN(ep_half) base, EP_FN(ep_half) power)
{
    const EP_FN(ep_wide) x = __builtin_convertvector(base, EP_FN(ep_wide));
    const EP_FN(ep_wide) y = __builtin_convertvector(power, EP_FN(ep_wide));
    const EP_FN(ep_wide_bits) bits = (EP_FN(ep_wide_bits))x;
    /* 1024 + the exponent that leaves a mantissa in [sqrt(1/2), sqrt(2)) */
    const EP_FN(ep_wide_bits) biased = (bits - 0x3fe6a09e667f3bcdu + 0x4000000000000000u) >> 52;
    const EP_FN(ep_wide) exponent = (EP_FN(ep_wide))(biased | 0x4330000000000000u) - (4503599627370496.0 + 1024.0);
    const EP_FN(ep_wide) m = (EP_FN(ep_wide))(bits - (biased << 52) + 0x4000000000000000u);
    const EP_FN(ep_wide) s = (m - 1.0) / (m + 1.0);
    const EP_FN(ep_wide) square = s * s;
    EP_FN(ep_wide) p = square * 0.1682207114102741 + 0.18123467383781272;
    p = p * square + 0.22223376680680154;
    p = p * square + 0.2857141706637868;
    p = p * square + 0.4000000005261577;
    p = p * square + 0.6666666666658663;
    EP_FN(ep_wide) t = y * (exponent + (s * square * p + 2.0 * s) * 1.4426950408889634);
    const EP_FN(ep_wide_bits) high = (EP_FN(ep_wide_bits))(t > 300.0);
    const EP_FN(ep_wide_bits) low = (EP_FN(ep_wide_bits))(t < -300.0);
    const EP_FN(ep_wide) limit = (EP_FN(ep_wide)){0} + 300.0;
    t = (EP_FN(ep_wide))(((EP_FN(ep_wide_bits))t & ~(high | low)) | ((EP_FN(ep_wide_bits))limit & high) |
                         ((EP_FN(ep_wide_bits)) - limit & low));
    const EP_FN(ep_wide) shifted = t + 6755399441055744.0;
    const EP_FN(ep_wide) r = t - (shifted - 6755399441055744.0);
    EP_FN(ep_wide) q = r * 1.530937921180519e-05 + 0.00015403827799935732;
    q = q * r + 0.001333345404495323;
    q = q * r + 0.00961812861024308;
    q = q * r + 0.055504109360785404;
    q = q * r + 0.2402265069814591;
    q = q * r + 0.6931471805480296;
    q = q * r + 1.0;
    const EP_FN(ep_wide) scale = (EP_FN(ep_wide))(((EP_FN(ep_wide_bits))shifted << 52) + 0x3ff0000000000000u);
    return __builtin_convertvector(q * scale, EP_FN(ep_half));
}

EP_INLINE EP_F EP_FN(ep_pow)(EP_F x, EP_F y)
{
    const EP_F magnitude = EP_ABS(x);
    const EP_F infinity = EP_SPLAT(EP_INF_F32);
    const EP_F zero = EP_SPLAT(0.0f);
    const EP_F one = EP_SPLAT(1.0f);
    union {
        EP_F whole;
        EP_FN(ep_half) half[2];
    } base, power, result;
    base.whole = magnitude;
    power.whole = y;
    result.half[0] = EP_FN(ep_pow_core)(base.half[0], power.half[0]);
    result.half[1] = EP_FN(ep_pow_core)(base.half[1], power.half[1]);
    /* 0 and infinity, as base or exponent */
    const EP_I grows = ~(EP_MASK(magnitude > one) ^ EP_MASK(y > zero));
    const EP_I edge = EP_MASK(magnitude == zero) | EP_MASK(magnitude == infinity) | EP_MASK(EP_ABS(y) == infinity);
    EP_F z = EP_SELECT(edge, EP_SELECT(grows, infinity, zero), result.whole);
    z = EP_SELECT(EP_MASK(magnitude == one), one, z);
    /* negative bases: the sign of odd exponents, no value for fractions */
    const EP_I negative = (EP_I)EP_BITS(x) >> 31;
    const EP_I whole = EP_MASK(EP_FN(ep_round)(y) == y);
    const EP_I odd = whole & EP_MASK(EP_FN(ep_round)(0.5f * y) != 0.5f * y);
    const EP_I undefined = ~whole & negative & EP_MASK(magnitude != zero) & EP_MASK(magnitude != infinity);
    z = EP_SELECT(negative & odd, -z, EP_SELECT(undefined, EP_SPLAT(EP_NAN_F32), z));
    z = EP_SELECT(EP_MASK(x != x) | EP_MASK(y != y), EP_SPLAT(EP_NAN_F32), z);
    return EP_SELECT(EP_MASK(x == one) | EP_MASK(y == zero), one, z);
}
#endif
#undef EP_BY_LANE

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
