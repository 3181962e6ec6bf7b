/* SPDX-License-Identifier: Apache-2.0 */
/** Elementary functions without libm, one source for every vector width: ep_<name>_f32 (scalar), _f32x4, _f32x8, _f32x16 and
 *  _f32v, the target's widest.  Polynomials and selects only; infinities, NaN, zeros and (where the unit has them) denormals
 *  give what C99 Annex F says.
 *
 *  Largest error in ulp, measured by tests/runtime/math_test.c against a double libm, with and without FMA:
 *    exp 1, expm1 2, log 2, log1p 3, sigmoid 3, tanh 3, erf 2, sinh 3, cosh 3, asinh 4, acosh 4, atanh 4,
 *    sin 3, cos 3, tan 4, asin 3, acos 3, atan 3, reciprocal 1, rsqrt 2, pow 1, softplus 3
 *  fmod (sign of the dividend) and mod (sign of the divisor) are exact,
 *  and for mish, gelu, gelu_tanh 1e-6 * max(1, |x|) absolute.
 */
#ifndef EP_MATH_H
#define EP_MATH_H

#include "ep_math_f64.h"
#include "ep_trig_f64.h"
#include "ep_vec.h"

/* x = quadrant*pi/2 + r for 65536 <= |x|: the mantissa times that window of 2/pi in which its bits count modulo 4.
 * NaN for infinities and NaN. */
EP_INLINE float ep_trig_reduce_big(float x, int32_t *quadrant)
{
    const uint32_t two_over_pi[8] = {0,           0xa2f9836eu, 0x4e441529u, 0xfc2757d1u,
                                     0xf534ddc0u, 0xdb629599u, 0x3c439041u, 0xfe5163abu};
    const uint32_t bits = ep_f32_to_bits(x);
    const uint32_t exponent = (bits >> 23) & 255u;
    *quadrant = 0;
    if (exponent == 255u || exponent < 142u) {
        return EP_NAN_F32;
    }
    const uint32_t mantissa = (bits & 0x7fffffu) | 0x800000u;
    const uint32_t start = exponent - 120u; /* the window's first bit weighs 2 after the scaling by the exponent */
    uint32_t window[3];
    for (uint32_t i = 0; i < 3; i++) {
        const uint32_t word = (start >> 5) + i;
        const uint32_t shift = start & 31u;
        window[i] =
            shift == 0 ? two_over_pi[word] : (two_over_pi[word] << shift) | (two_over_pi[word + 1] >> (32u - shift));
    }
    const uint64_t low = (uint64_t)window[2] * mantissa;
    const uint64_t middle = (uint64_t)window[1] * mantissa + (low >> 32);
    const uint64_t high = ((uint64_t)(window[0] * mantissa) << 32) + middle;
    const uint64_t rounded = high + ((uint64_t)1 << 61); /* two bits of quadrant, 62 of fraction; nearest quadrant */
    const int64_t fraction = (int64_t)(high - (rounded & ((uint64_t)3 << 62)));
    const uint32_t turns = (uint32_t)(rounded >> 62);
    const float r = (float)((double)fraction * 3.4061215800304255e-19); /* pi/2 * 2^-62 */
    const int negative = (bits >> 31) != 0;
    *quadrant = (int32_t)((negative ? 0u - turns : turns) & 3u);
    return negative ? -r : r;
}

#define EP_VW 1
#include "ep_math.inc.h"
#if EP_F32_LANES >= 4
#define EP_VW 4
#include "ep_math.inc.h"
#endif
#if EP_F32_LANES >= 8
#define EP_VW 8
#include "ep_math.inc.h"
#endif
#if EP_F32_LANES >= 16
#define EP_VW 16
#include "ep_math.inc.h"
#endif

#define ep_exp_f32v EP_V(ep_exp)
#define ep_expm1_f32v EP_V(ep_expm1)
#define ep_log_f32v EP_V(ep_log)
#define ep_log1p_f32v EP_V(ep_log1p)
#define ep_sigmoid_f32v EP_V(ep_sigmoid)
#define ep_tanh_f32v EP_V(ep_tanh)
#define ep_sinh_f32v EP_V(ep_sinh)
#define ep_cosh_f32v EP_V(ep_cosh)
#define ep_asinh_f32v EP_V(ep_asinh)
#define ep_acosh_f32v EP_V(ep_acosh)
#define ep_atanh_f32v EP_V(ep_atanh)
#define ep_erf_f32v EP_V(ep_erf)
#define ep_sin_f32v EP_V(ep_sin)
#define ep_cos_f32v EP_V(ep_cos)
#define ep_tan_f32v EP_V(ep_tan)
#define ep_asin_f32v EP_V(ep_asin)
#define ep_acos_f32v EP_V(ep_acos)
#define ep_atan_f32v EP_V(ep_atan)
#define ep_reciprocal_f32v EP_V(ep_reciprocal)
#define ep_rsqrt_f32v EP_V(ep_rsqrt)
#define ep_pow_f32v EP_V(ep_pow)
#define ep_fmod_f32v EP_V(ep_fmod)
#define ep_mod_f32v EP_V(ep_mod)
#define ep_softplus_f32v EP_V(ep_softplus)
#define ep_mish_f32v EP_V(ep_mish)
#define ep_gelu_f32v EP_V(ep_gelu)
#define ep_gelu_tanh_f32v EP_V(ep_gelu_tanh)

#endif
