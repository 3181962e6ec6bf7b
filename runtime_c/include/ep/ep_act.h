/* SPDX-License-Identifier: Apache-2.0 */
/** Activation epilogue: what a conv, gemm or matmul kernel applies to its result before it is stored.
 *
 *  `ep_act_f32(x, act)` takes a float, `ep_act_f32x4/x8/x16` a vector of that many lanes (those the target has),
 *  `ep_act_f32v` the target's widest.  `act` is a constant in generated code, so one kind remains after inlining.
 *
 *  kind            formula                                    alpha, beta
 *  RELU            max(0, x)
 *  CLIP            min(max(x, alpha), beta)                   limits
 *  LEAKY_RELU      x < 0 ? alpha * x : x                      slope
 *  SIGMOID         1 / (1 + e^-x)
 *  TANH            tanh(x)
 *  HARD_SIGMOID    min(max(alpha * x + beta, 0), 1)           slope, offset
 *  HARD_SWISH      x * min(max(x / 6 + 1/2, 0), 1)
 *  SILU            x / (1 + e^-x)
 *  ELU             x < 0 ? alpha * (e^x - 1) : x              scale
 *  GELU            x / 2 * (1 + erf(x / sqrt 2))
 *  GELU_TANH       x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3)))
 *
 *  A NaN stays a NaN in every kind. */
#ifndef EP_ACT_H
#define EP_ACT_H

#include "ep_base.h"
#include "ep_math.h"

enum ep_act_kind {
    EP_ACT_NONE = 0,
    EP_ACT_RELU,
    EP_ACT_CLIP,
    EP_ACT_LEAKY_RELU,
    EP_ACT_SIGMOID,
    EP_ACT_TANH,
    EP_ACT_HARD_SIGMOID,
    EP_ACT_HARD_SWISH,
    EP_ACT_SILU,
    EP_ACT_ELU,
    EP_ACT_GELU,
    EP_ACT_GELU_TANH
};

typedef struct ep_act {
    int kind; /* enum ep_act_kind */
    float alpha, beta;
} ep_act;

/* max and min that keep a NaN in x, as one instruction where there is one (gcc does not find it by itself) */
#if defined(__GNUC__) && !defined(__clang__) && defined(__SSE2__)
#define EP_ACT_MAX_X4(limit, x) ((ep_f32x4)__builtin_ia32_maxps((limit), (x)))
#define EP_ACT_MIN_X4(limit, x) ((ep_f32x4)__builtin_ia32_minps((limit), (x)))
#define EP_ACT_MAX_X8(limit, x) ((ep_f32x8)__builtin_ia32_maxps256((limit), (x)))
#define EP_ACT_MIN_X8(limit, x) ((ep_f32x8)__builtin_ia32_minps256((limit), (x)))
#define EP_ACT_MAX_X16(limit, x) ((ep_f32x16)__builtin_ia32_maxps512_mask((limit), (x), (x), (uint16_t)-1, 4))
#define EP_ACT_MIN_X16(limit, x) ((ep_f32x16)__builtin_ia32_minps512_mask((limit), (x), (x), (uint16_t)-1, 4))
#else
#define EP_ACT_PICK(type, ints, mask, yes, no) ((type)(((ints)(yes) & (mask)) | ((ints)(no) & ~(mask))))
#define EP_ACT_MAX_X4(limit, x) EP_ACT_PICK(ep_f32x4, ep_i32x4, (ep_i32x4)((limit) > (x)), limit, x)
#define EP_ACT_MIN_X4(limit, x) EP_ACT_PICK(ep_f32x4, ep_i32x4, (ep_i32x4)((limit) < (x)), limit, x)
#define EP_ACT_MAX_X8(limit, x) EP_ACT_PICK(ep_f32x8, ep_i32x8, (ep_i32x8)((limit) > (x)), limit, x)
#define EP_ACT_MIN_X8(limit, x) EP_ACT_PICK(ep_f32x8, ep_i32x8, (ep_i32x8)((limit) < (x)), limit, x)
#define EP_ACT_MAX_X16(limit, x) EP_ACT_PICK(ep_f32x16, ep_i32x16, (ep_i32x16)((limit) > (x)), limit, x)
#define EP_ACT_MIN_X16(limit, x) EP_ACT_PICK(ep_f32x16, ep_i32x16, (ep_i32x16)((limit) < (x)), limit, x)
#endif

/* the scalar form: one lane */
#define EP_ACT_FN(name) name##_f32
#define EP_ACT_T float
#define EP_ACT_MAX(limit, x) ((limit) > (x) ? (limit) : (x))
#define EP_ACT_MIN(limit, x) ((limit) < (x) ? (limit) : (x))
#define EP_ACT_IF_NEGATIVE(x, yes, no) ((x) < 0.0f ? (yes) : (no))
#define EP_ACT_CALL(fn, x) fn##_f32(x)
#include "ep_act.inc.h"

#if EP_F32_LANES >= 4
#if EP_F32_LANES == 4
#define EP_ACT_CALL(fn, x) fn##_f32v(x)
#elif EP_F32_LANES == 8
#define EP_ACT_CALL(fn, x) EP_ACT_NARROW4(fn##_f32v(__builtin_shufflevector((x), (x), 0, 1, 2, 3, 0, 1, 2, 3)))
#else
#define EP_ACT_CALL(fn, x) \
    EP_ACT_NARROW4(fn##_f32v(__builtin_shufflevector((x), (x), 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3)))
#endif
#define EP_ACT_NARROW4(x) __builtin_shufflevector((x), (x), 0, 1, 2, 3)
#define EP_ACT_FN(name) name##_f32x4
#define EP_ACT_T ep_f32x4
#define EP_ACT_INTS ep_i32x4
#define EP_ACT_MAX(limit, x) EP_ACT_MAX_X4((EP_ACT_T){0} + (limit), x)
#define EP_ACT_MIN(limit, x) EP_ACT_MIN_X4((EP_ACT_T){0} + (limit), x)
#include "ep_act.inc.h"
#endif

#if EP_F32_LANES >= 8
#if EP_F32_LANES == 8
#define EP_ACT_CALL(fn, x) fn##_f32v(x)
#else
#define EP_ACT_CALL(fn, x) \
    EP_ACT_NARROW8(fn##_f32v(__builtin_shufflevector((x), (x), 0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7)))
#endif
#define EP_ACT_NARROW8(x) __builtin_shufflevector((x), (x), 0, 1, 2, 3, 4, 5, 6, 7)
#define EP_ACT_FN(name) name##_f32x8
#define EP_ACT_T ep_f32x8
#define EP_ACT_INTS ep_i32x8
#define EP_ACT_MAX(limit, x) EP_ACT_MAX_X8((EP_ACT_T){0} + (limit), x)
#define EP_ACT_MIN(limit, x) EP_ACT_MIN_X8((EP_ACT_T){0} + (limit), x)
#include "ep_act.inc.h"
#endif

#if EP_F32_LANES >= 16
#define EP_ACT_CALL(fn, x) fn##_f32v(x)
#define EP_ACT_FN(name) name##_f32x16
#define EP_ACT_T ep_f32x16
#define EP_ACT_INTS ep_i32x16
#define EP_ACT_MAX(limit, x) EP_ACT_MAX_X16((EP_ACT_T){0} + (limit), x)
#define EP_ACT_MIN(limit, x) EP_ACT_MIN_X16((EP_ACT_T){0} + (limit), x)
#include "ep_act.inc.h"
#endif

/** The activation on the target's widest vector. */
EP_INLINE ep_f32v ep_act_f32v(const ep_f32v x, const ep_act act)
{
#if EP_F32_LANES == 16
    return ep_act_f32x16(x, act);
#elif EP_F32_LANES == 8
    return ep_act_f32x8(x, act);
#elif EP_F32_LANES == 4
    return ep_act_f32x4(x, act);
#else
    return ep_act_f32(x, act);
#endif
}

#endif
