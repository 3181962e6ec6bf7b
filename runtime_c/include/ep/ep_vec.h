/* SPDX-License-Identifier: Apache-2.0 */
/** Vector primitives, one source for every width: float, ep_f32x4, ep_f32x8, ep_f32x16 and the target's widest, ep_f32v.
 *
 *  Every primitive exists as ep_<name>_f32 (scalar), _f32x4, _f32x8, _f32x16 (widths up to EP_F32_LANES) and _f32v.
 *  A mask is an integer vector of the same width, all ones where true and 0 where false (for scalars -1 and 0).
 *
 *    ep_splat(s) ep_load(p) ep_store(p, v)        any address aligned for a float
 *    ep_load_part(p, n) ep_store_part(p, v, n)    the first n lanes, 0 <= n <= width; the others load as 0
 *    ep_lt ep_le ep_gt ep_ge ep_eq ep_ne (a, b)   masks; false with NaN, ep_ne true
 *    ep_mask(truth)                               the same truth in every lane
 *    ep_isnan(v) ep_isinf(v)                      masks
 *    ep_select(mask, a, b)                        a where the mask is true
 *    ep_max(a, b) ep_min(a, b)                    one instruction; NaN when b is NaN, unspecified (a or b) when only a is:
 *                                                 put the value that may be NaN second: relu(x) = ep_max(0, x)
 *    ep_max_nan(a, b) ep_min_nan(a, b)            NaN when either is
 *    ep_abs ep_copysign(magnitude, sign) ep_floor ep_ceil ep_trunc ep_round (half to even) ep_sqrt
 *    ep_from_i32(i) ep_to_i32(v)                  exact / truncating; |v| < 2^31 is the caller's duty
 *    ep_any(mask)                                 1 when any lane is true
 *    ep_hsum(v) ep_hmax(v) ep_hmin(v)             over the lanes, to a float
 */
#ifndef EP_VEC_H
#define EP_VEC_H

#include "ep_base.h"

#ifndef __has_builtin
#define __has_builtin(name) 0
#endif

typedef uint32_t ep_u32x4 __attribute__((vector_size(16), may_alias));
typedef uint32_t ep_u32x8 __attribute__((vector_size(32), may_alias));
typedef uint32_t ep_u32x16 __attribute__((vector_size(64), may_alias));

#if EP_F32_LANES == 16
#define EP_V(name) name##_f32x16
#elif EP_F32_LANES == 8
#define EP_V(name) name##_f32x8
#elif EP_F32_LANES == 4
#define EP_V(name) name##_f32x4
#else
#define EP_V(name) name##_f32
#endif

/* roundings and square roots are one instruction here (else they are computed from adds, and Newton's iteration) */
#if defined(__SSE4_1__) || defined(__aarch64__) || defined(__wasm_simd128__)
#define EP_HAS_ROUND 1
#else
#define EP_HAS_ROUND 0
#endif
#if defined(__SSE2__) || defined(__aarch64__) || defined(__wasm__) || defined(__riscv_flen) ||                         \
    (defined(__ARM_FP) && defined(__VFP_FP__) && !defined(__SOFTFP__))
#define EP_HAS_SQRT 1
#else
#define EP_HAS_SQRT 0
#endif

/* the mask argument of AVX-512 builtins is signed in gcc and unsigned in clang */
#if defined(__clang__)
#define EP_ALL_LANES_16 0xffff
#else
#define EP_ALL_LANES_16 (-1)
#endif

EP_INLINE uint32_t ep_f32_to_bits(float f)
{
    union {
        float f;
        uint32_t u;
    } pun;
    pun.f = f;
    return pun.u;
}

EP_INLINE float ep_f32_from_bits(uint32_t u)
{
    union {
        float f;
        uint32_t u;
    } pun;
    pun.u = u;
    return pun.f;
}

#define EP_INF_F32 __builtin_inff()
#define EP_NAN_F32 __builtin_nanf("")

#define EP_VW 1
#include "ep_vec.inc.h"
#if EP_F32_LANES >= 4
#define EP_VW 4
#include "ep_vec.inc.h"
#endif
#if EP_F32_LANES >= 8
#define EP_VW 8
#include "ep_vec.inc.h"
#endif
#if EP_F32_LANES >= 16
#define EP_VW 16
#include "ep_vec.inc.h"
#endif

#define ep_splat_f32v EP_V(ep_splat)
#define ep_mask_f32v EP_V(ep_mask)
#define ep_load_f32v EP_V(ep_load)
#define ep_store_f32v EP_V(ep_store)
#define ep_load_part_f32v EP_V(ep_load_part)
#define ep_store_part_f32v EP_V(ep_store_part)
#define ep_lt_f32v EP_V(ep_lt)
#define ep_le_f32v EP_V(ep_le)
#define ep_gt_f32v EP_V(ep_gt)
#define ep_ge_f32v EP_V(ep_ge)
#define ep_eq_f32v EP_V(ep_eq)
#define ep_ne_f32v EP_V(ep_ne)
#define ep_isnan_f32v EP_V(ep_isnan)
#define ep_isinf_f32v EP_V(ep_isinf)
#define ep_select_f32v EP_V(ep_select)
#define ep_max_f32v EP_V(ep_max)
#define ep_min_f32v EP_V(ep_min)
#define ep_max_nan_f32v EP_V(ep_max_nan)
#define ep_min_nan_f32v EP_V(ep_min_nan)
#define ep_abs_f32v EP_V(ep_abs)
#define ep_copysign_f32v EP_V(ep_copysign)
#define ep_floor_f32v EP_V(ep_floor)
#define ep_ceil_f32v EP_V(ep_ceil)
#define ep_trunc_f32v EP_V(ep_trunc)
#define ep_round_f32v EP_V(ep_round)
#define ep_sqrt_f32v EP_V(ep_sqrt)
#define ep_from_i32_f32v EP_V(ep_from_i32)
#define ep_to_i32_f32v EP_V(ep_to_i32)
#define ep_any_f32v EP_V(ep_any)
#define ep_hsum_f32v EP_V(ep_hsum)
#define ep_hmax_f32v EP_V(ep_hmax)
#define ep_hmin_f32v EP_V(ep_hmin)

#endif
