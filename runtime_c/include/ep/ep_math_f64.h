/* SPDX-License-Identifier: Apache-2.0 */
/** Elementary functions of double without libm, for float64 tensors and as the wide core of ep_pow_f32.
 *
 *  Scalar and simple; relative error at most 1e-14 (pow: 1e-13), infinities, NaN and signed zeros as in C99 Annex F.
 */
#ifndef EP_MATH_F64_H
#define EP_MATH_F64_H

#include "ep_base.h"

#ifndef __has_builtin
#define __has_builtin(name) 0
#endif

#define EP_INF_F64 __builtin_inf()
#define EP_NAN_F64 __builtin_nan("")

EP_INLINE uint64_t ep_f64_to_bits(double f)
{
    union {
        double f;
        uint64_t u;
    } pun;
    pun.f = f;
    return pun.u;
}

EP_INLINE double ep_f64_from_bits(uint64_t u)
{
    union {
        double f;
        uint64_t u;
    } pun;
    pun.u = u;
    return pun.f;
}

EP_INLINE double ep_abs_f64(double x)
{
    return ep_f64_from_bits(ep_f64_to_bits(x) & 0x7fffffffffffffffu);
}

EP_INLINE double ep_copysign_f64(double magnitude, double sign)
{
    const uint64_t top = (uint64_t)1 << 63;
    return ep_f64_from_bits((ep_f64_to_bits(magnitude) & ~top) | (ep_f64_to_bits(sign) & top));
}

EP_INLINE int ep_isinf_f64(double x)
{
    return ep_abs_f64(x) == EP_INF_F64;
}

/* half to even: adding and taking away 2^52 rounds in the current mode; larger values are integers already */
EP_INLINE double ep_round_f64(double x)
{
    const double magnitude = ep_abs_f64(x);
    if (!(magnitude < 4503599627370496.0)) {
        return x;
    }
    const double shifted = magnitude + 4503599627370496.0;
    return ep_copysign_f64(shifted - 4503599627370496.0, x);
}

EP_INLINE double ep_floor_f64(double x)
{
    const double rounded = ep_round_f64(x);
    return rounded > x ? rounded - 1.0 : rounded;
}

EP_INLINE double ep_ceil_f64(double x)
{
    const double rounded = ep_round_f64(x);
    return ep_copysign_f64(rounded < x ? rounded + 1.0 : rounded, x);
}

EP_INLINE double ep_trunc_f64(double x)
{
    return ep_copysign_f64(ep_floor_f64(ep_abs_f64(x)), x);
}

EP_INLINE double ep_sqrt_f64(double x)
{
#if defined(__clang__) && __has_builtin(__builtin_elementwise_sqrt) &&                                                 \
    (defined(__SSE2__) || defined(__aarch64__) || defined(__wasm__) || (defined(__ARM_FP) && (__ARM_FP & 8)))
    return __builtin_elementwise_sqrt(x);
#elif defined(__SSE2__)
    typedef double pair __attribute__((vector_size(16)));
    return __builtin_ia32_sqrtsd((pair){x})[0];
#else
    if (!(x > 0.0) || x == EP_INF_F64) {
        return x < 0.0 ? EP_NAN_F64 : x;
    }
    const int tiny = x < 2.2250738585072014e-308;
    const double scaled = tiny ? x * 18014398509481984.0 : x; /* 2^54 */
    double r = ep_f64_from_bits(0x5fe6eb50c7b537a9u - (ep_f64_to_bits(scaled) >> 1));
    for (int i = 0; i < 4; i++) {
        r = r * (1.5 - (0.5 * scaled * r) * r);
    }
    double root = scaled * r;
    root = root + (0.5 * r) * (scaled - root * root);
    return tiny ? root * 7.450580596923828125e-9 : root;
#endif
}

/* e^r * 2^n, |r| <= ln2/2, -1080 <= n <= 1030; in two steps, because 2^n alone leaves the range of a double */
EP_INLINE double ep_exp_scaled_f64(double r, int32_t n)
{
    double p = 2.534996448239716e-08;
    p = p * r + 2.7658127499599165e-07;
    p = p * r + 2.755652893715506e-06;
    p = p * r + 2.4801411577264622e-05;
    p = p * r + 0.00019841270622040903;
    p = p * r + 0.0013888889025842845;
    p = p * r + 0.0083333333330214;
    p = p * r + 0.041666666666203264;
    p = p * r + 0.16666666666667065;
    p = p * r + 0.5000000000000051;
    p = (p * (r * r) + r) + 1.0;
    const int32_t half = n >> 1;
    const double first = ep_f64_from_bits((uint64_t)(uint32_t)(half + 1023) << 52);
    const double second = ep_f64_from_bits((uint64_t)(uint32_t)(n - half + 1023) << 52);
    return (p * first) * second;
}

EP_INLINE double ep_exp_f64(double x)
{
    if (!(x > -746.0)) {
        return x != x ? x : 0.0;
    }
    if (x > 710.0) {
        return EP_INF_F64;
    }
    const double n = ep_round_f64(x * 1.4426950408889634);
    return ep_exp_scaled_f64((x - n * 6.93147180369123816490e-01) - n * 1.90821492927058770002e-10, (int32_t)n);
}

/* x = m * 2^e with m in [sqrt(1/2), sqrt(2)); log(m) = 2s + s^3*P(s^2) with s = (m-1)/(m+1); x positive and finite */
EP_INLINE double ep_log_parts_f64(double x, double *exponent)
{
    const int tiny = x < 2.2250738585072014e-308;
    const uint64_t bits = ep_f64_to_bits(tiny ? x * 18014398509481984.0 : x);
    const int64_t e = (int64_t)(bits - 0x3fe6a09e667f3bcdu) >> 52;
    const double m = ep_f64_from_bits(bits - ((uint64_t)e << 52));
    const double s = (m - 1.0) / (m + 1.0);
    const double square = s * s;
    double p = 0.28063691358477066;
    p = p * square + 0.11487026504361257;
    p = p * square + 0.15472271080058658;
    p = p * square + 0.18179637238876423;
    p = p * square + 0.22222252244077964;
    p = p * square + 0.2857142834917989;
    p = p * square + 0.40000000000784036;
    p = p * square + 0.6666666666666573;
    *exponent = (double)(int32_t)e - (tiny ? 54.0 : 0.0);
    return s * square * p + 2.0 * s;
}

EP_INLINE double ep_log_f64(double x)
{
    if (!(x > 0.0)) {
        return x == 0.0 ? -EP_INF_F64 : EP_NAN_F64;
    }
    if (x == EP_INF_F64) {
        return x;
    }
    double exponent;
    const double fraction = ep_log_parts_f64(x, &exponent);
    return (fraction + exponent * 1.90821492927058770002e-10) + exponent * 6.93147180369123816490e-01;
}

/* Kahan's forms: the rounding of u = e^x (or 1 + x) cancels between both factors */
EP_INLINE double ep_expm1_f64(double x)
{
    const double u = ep_exp_f64(x);
    if (u == 1.0) {
        return x;
    }
    const double below = u - 1.0;
    if (below == -1.0 || u > 1e16) {
        return below;
    }
    return below * (x / ep_log_f64(u));
}

EP_INLINE double ep_log1p_f64(double x)
{
    const double u = 1.0 + x;
    if (u == 1.0 || x == EP_INF_F64) {
        return x;
    }
    return ep_log_f64(u) * (x / (u - 1.0));
}

/* 1 when x is an odd integer, 0 when even, -1 when no integer (or infinite, or NaN) */
EP_INLINE int ep_parity_f64(double x)
{
    if (ep_abs_f64(x) >= 9007199254740992.0) {
        return ep_isinf_f64(x) ? -1 : 0;
    }
    if (x != ep_round_f64(x)) {
        return -1;
    }
    return (int)((int64_t)x & 1);
}

/* |x|^y for x positive (0 and infinity too), y not 0 or NaN */
EP_INLINE double ep_pow_magnitude_f64(double x, double y)
{
    if (x == 1.0) {
        return 1.0;
    }
    if (x == 0.0 || x == EP_INF_F64 || ep_isinf_f64(y)) {
        const int grows = (x > 1.0) == (y > 0.0);
        return grows ? EP_INF_F64 : 0.0;
    }
    double exponent;
    const double fraction = ep_log_parts_f64(x, &exponent) * 1.4426950408889634;
    const double t = y * (exponent + fraction);
    if (!(t < 1025.0)) {
        return EP_INF_F64;
    }
    if (t < -1080.0) {
        return 0.0;
    }
    const double n = ep_round_f64(t);
    const double rest =
        (y * exponent - n) + y * fraction; /* t - n, without the rounding of t where the product is exact */
    return ep_exp_scaled_f64(rest * 0.6931471805599453, (int32_t)n);
}

EP_INLINE double ep_pow_f64(double x, double y)
{
    if (x == 1.0 || y == 0.0) {
        return 1.0;
    }
    if (x != x || y != y) {
        return EP_NAN_F64;
    }
    const double magnitude = ep_pow_magnitude_f64(ep_abs_f64(x), y);
    if ((ep_f64_to_bits(x) >> 63) == 0) {
        return magnitude;
    }
    const int parity = ep_parity_f64(y);
    if (parity < 0 && x != 0.0 && !ep_isinf_f64(x) && !ep_isinf_f64(y)) {
        return EP_NAN_F64;
    }
    return parity == 1 ? -magnitude : magnitude;
}

/* x - y*trunc(x/y), exact: y is subtracted at falling powers of two, each time without rounding */
EP_INLINE double ep_fmod_f64(double x, double y)
{
    const double step = ep_abs_f64(y);
    double rest = ep_abs_f64(x);
    if (!(rest < EP_INF_F64) || !(step > 0.0)) {
        return EP_NAN_F64;
    }
    double multiple = step;
    while (multiple * 2.0 <= rest) {
        multiple *= 2.0;
    }
    while (rest >= step) {
        rest = rest >= multiple ? rest - multiple : rest;
        multiple *= 0.5;
    }
    return ep_copysign_f64(rest, x);
}

/* the same with the sign of the divisor */
EP_INLINE double ep_mod_f64(double x, double y)
{
    const double rest = ep_fmod_f64(x, y);
    return rest != 0.0 && (rest < 0.0) != (y < 0.0) ? rest + y : rest;
}

EP_INLINE double ep_min_f64(double a, double b)
{
    return a < b ? a : b;
}

EP_INLINE double ep_max_f64(double a, double b)
{
    return a > b ? a : b;
}

EP_INLINE double ep_min_nan_f64(double a, double b)
{
    return a != a ? a : ep_min_f64(a, b);
}

EP_INLINE double ep_max_nan_f64(double a, double b)
{
    return a != a ? a : ep_max_f64(a, b);
}

EP_INLINE double ep_sigmoid_f64(double x)
{
    const double e = ep_exp_f64(-ep_abs_f64(x));
    return (x < 0.0 ? e : 1.0) / (1.0 + e);
}

EP_INLINE double ep_tanh_f64(double x)
{
    const double magnitude = ep_abs_f64(x);
    if (magnitude > 22.0) {
        return ep_copysign_f64(1.0, x);
    }
    const double t = ep_expm1_f64(-2.0 * magnitude);
    return ep_copysign_f64(-t / (t + 2.0), x);
}

EP_INLINE double ep_sinh_f64(double x)
{
    const double magnitude = ep_abs_f64(x);
    if (magnitude > 30.0) {
        const double half = ep_exp_f64(0.5 * magnitude);
        return ep_copysign_f64((0.5 * half) * half, x);
    }
    const double e = ep_expm1_f64(magnitude);
    return ep_copysign_f64(0.5 * (e + e / (e + 1.0)), x);
}

EP_INLINE double ep_cosh_f64(double x)
{
    const double half = ep_exp_f64(0.5 * ep_abs_f64(x));
    return half > 1e8 ? (0.5 * half) * half : 0.5 * half * half + 0.5 / (half * half);
}

EP_INLINE double ep_asinh_f64(double x)
{
    const double magnitude = ep_abs_f64(x);
    if (magnitude > 1e9) {
        return ep_copysign_f64(ep_log_f64(magnitude) + 0.6931471805599453, x);
    }
    const double square = magnitude * magnitude;
    return ep_copysign_f64(ep_log1p_f64(magnitude + square / (1.0 + ep_sqrt_f64(square + 1.0))), x);
}

EP_INLINE double ep_acosh_f64(double x)
{
    if (x > 1e9) {
        return ep_log_f64(x) + 0.6931471805599453;
    }
    const double t = x - 1.0;
    return t < 0.0 ? EP_NAN_F64 : ep_log1p_f64(t + ep_sqrt_f64(t * (t + 2.0)));
}

EP_INLINE double ep_atanh_f64(double x)
{
    const double magnitude = ep_abs_f64(x);
    if (magnitude > 1.0) {
        return EP_NAN_F64;
    }
    return ep_copysign_f64(0.5 * ep_log1p_f64((magnitude + magnitude) / (1.0 - magnitude)), x);
}

/* 2/sqrt(pi) * exp(-x^2) * sum of 2^k x^(2k+1) / (1*3*...*(2k+1)): all terms positive, nothing cancels */
EP_INLINE double ep_erf_f64(double x)
{
    const double magnitude = ep_abs_f64(x);
    if (magnitude > 6.0) {
        return ep_copysign_f64(1.0, x);
    }
    const double twice = 2.0 * magnitude * magnitude;
    double term = magnitude;
    double sum = magnitude;
    for (int k = 1; k < 200 && term > sum * 1e-17; k++) {
        term *= twice / (double)(2 * k + 1);
        sum += term;
    }
    return ep_copysign_f64(1.1283791670955126 * ep_exp_f64(-0.5 * twice) * sum, x);
}

EP_INLINE double ep_softplus_f64(double x)
{
    return (x > 0.0 ? x : 0.0) + (x != x ? x : ep_log1p_f64(ep_exp_f64(-ep_abs_f64(x))));
}

EP_INLINE double ep_gelu_f64(double x)
{
    return 0.5 * x * (1.0 + ep_erf_f64(x * 0.7071067811865476));
}

EP_INLINE double ep_gelu_tanh_f64(double x)
{
    return 0.5 * x * (1.0 + ep_tanh_f64(0.7978845608028654 * (x + 0.044715 * x * x * x)));
}

#endif
