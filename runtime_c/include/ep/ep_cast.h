/* SPDX-License-Identifier: Apache-2.0 */
/** Conversions between element types without undefined behaviour.
 *
 *    ep_f32_to_<int>(v), ep_f64_to_<int>(v)   toward zero; out of range saturates, NaN gives 0
 *    ep_f16_from_f32, ep_bf16_from_f32        nearest, ties to even; overflow gives infinity
 *    ep_f32_from_f16, ep_f32_from_bf16        exact
 *    ep_quantize_f32(x, scale, zero, low, high)   round(x / scale), ties to even, + zero, clamped to [low, high]; NaN gives zero
 *
 *  Integers to integers keep the low bits and to floats round: plain C casts do that.
 */
#ifndef EP_CAST_H
#define EP_CAST_H

#include "ep_math_f64.h"
#include "ep_vec.h"

/* BELOW and ABOVE: the nearest values of F outside the range once the fraction is cut off */
#define EP_FLOAT_TO_INT(F, f, S, T, BELOW, ABOVE, LOWEST, HIGHEST)                                                     \
    EP_INLINE T ep_##f##_to_##S(F v)                                                                                   \
    {                                                                                                                  \
        if (v > (BELOW) && v < (ABOVE)) {                                                                              \
            return (T)v;                                                                                               \
        }                                                                                                              \
        return v >= (ABOVE) ? (T)(HIGHEST) : v <= (BELOW) ? (T)(LOWEST) : (T)0;                                        \
    }

EP_FLOAT_TO_INT(float, f32, i8, int8_t, -129.0f, 128.0f, INT8_MIN, INT8_MAX)
EP_FLOAT_TO_INT(float, f32, i16, int16_t, -32769.0f, 32768.0f, INT16_MIN, INT16_MAX)
EP_FLOAT_TO_INT(float, f32, i32, int32_t, -2147483904.0f, 2147483648.0f, INT32_MIN, INT32_MAX)
EP_FLOAT_TO_INT(float, f32, i64, int64_t, -9223373136366403584.0f, 9223372036854775808.0f, INT64_MIN, INT64_MAX)
EP_FLOAT_TO_INT(float, f32, u8, uint8_t, -1.0f, 256.0f, 0, UINT8_MAX)
EP_FLOAT_TO_INT(float, f32, u16, uint16_t, -1.0f, 65536.0f, 0, UINT16_MAX)
EP_FLOAT_TO_INT(float, f32, u32, uint32_t, -1.0f, 4294967296.0f, 0, UINT32_MAX)
EP_FLOAT_TO_INT(float, f32, u64, uint64_t, -1.0f, 18446744073709551616.0f, 0, UINT64_MAX)
EP_FLOAT_TO_INT(double, f64, i8, int8_t, -129.0, 128.0, INT8_MIN, INT8_MAX)
EP_FLOAT_TO_INT(double, f64, i16, int16_t, -32769.0, 32768.0, INT16_MIN, INT16_MAX)
EP_FLOAT_TO_INT(double, f64, i32, int32_t, -2147483649.0, 2147483648.0, INT32_MIN, INT32_MAX)
EP_FLOAT_TO_INT(double, f64, i64, int64_t, -9223372036854777856.0, 9223372036854775808.0, INT64_MIN, INT64_MAX)
EP_FLOAT_TO_INT(double, f64, u8, uint8_t, -1.0, 256.0, 0, UINT8_MAX)
EP_FLOAT_TO_INT(double, f64, u16, uint16_t, -1.0, 65536.0, 0, UINT16_MAX)
EP_FLOAT_TO_INT(double, f64, u32, uint32_t, -1.0, 4294967296.0, 0, UINT32_MAX)
EP_FLOAT_TO_INT(double, f64, u64, uint64_t, -1.0, 18446744073709551616.0, 0, UINT64_MAX)
#undef EP_FLOAT_TO_INT

/* All cases are computed and selected, so that loops over these become vectors.
 * Normal halves: the exponent is rebased and the 13 lost bits round by an addition that may carry into it.  Below 2^-14 the
 * sum with 1/2 puts the bits of the denormal at the end of a float's mantissa, rounded by the addition itself. */
EP_INLINE uint16_t ep_f16_from_f32(float v)
{
    const uint32_t bits = ep_f32_to_bits(v);
    const uint32_t magnitude = bits & 0x7fffffffu;
    const uint32_t normal = (magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
    const uint32_t denormal = ep_f32_to_bits(ep_f32_from_bits(magnitude) + 0.5f) - 0x3f000000u;
    const uint32_t finite = magnitude < 0x38800000u ? denormal : normal;
    const uint32_t beyond = magnitude > 0x7f800000u ? 0x7e00u : 0x7c00u;
    const uint32_t half = magnitude < 0x47800000u ? finite : beyond;
    return (uint16_t)(((bits >> 16) & 0x8000u) | half);
}

EP_INLINE float ep_f32_from_f16(uint16_t h)
{
    const uint32_t magnitude = h & 0x7fffu;
    const uint32_t normal = (magnitude << 13) + 0x38000000u;
    const uint32_t denormal = ep_f32_to_bits((float)(int32_t)magnitude * 5.9604644775390625e-8f); /* 2^-24 */
    const uint32_t finite = magnitude < 0x400u ? denormal : normal;
    const uint32_t bits = magnitude < 0x7c00u ? finite : normal + 0x38000000u;
    return ep_f32_from_bits((uint32_t)(h & 0x8000u) << 16 | bits);
}

EP_INLINE uint16_t ep_bf16_from_f32(float v)
{
    const uint32_t bits = ep_f32_to_bits(v);
    if ((bits & 0x7fffffffu) > 0x7f800000u) {
        return (uint16_t)((bits >> 16) | 0x40u);
    }
    return (uint16_t)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

EP_INLINE float ep_f32_from_bf16(uint16_t h)
{
    return ep_f32_from_bits((uint32_t)h << 16);
}

EP_INLINE int32_t ep_quantize_f32(float x, float scale, int32_t zero, int32_t low, int32_t high)
{
    const float level = ep_round_f32(x / scale);
    const float bottom = (float)(low - zero);
    const float top = (float)(high - zero);
    const float ordered = level == level ? level : 0.0f;
    const float raised = ordered > bottom ? ordered : bottom;
    return (int32_t)(raised < top ? raised : top) + zero;
}

#endif
