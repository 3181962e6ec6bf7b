/* SPDX-License-Identifier: Apache-2.0 */
/** Types, status codes and compiler macros that every kernel and every generated file uses.
 *  Freestanding C99 with the vector extension of gcc and clang; includes no libc header but stdint and stddef. */
#ifndef EP_BASE_H
#define EP_BASE_H

#include "ep_status.h"

#define EP_INLINE static inline __attribute__((always_inline))
#define EP_NOINLINE __attribute__((noinline))
#define EP_RESTRICT __restrict

#if defined(__clang__)
#define EP_UNROLL _Pragma("clang loop unroll(full)")
#else
#define EP_UNROLL _Pragma("GCC unroll 64")
#endif

/* float lanes of the widest vector register; generated code checks that it was made for the same number */
#ifndef EP_F32_LANES
#if defined(__AVX512F__)
#define EP_F32_LANES 16
#elif defined(__AVX2__)
#define EP_F32_LANES 8
#elif defined(__ARM_NEON) || defined(__wasm_simd128__) || defined(__SSE2__)
#define EP_F32_LANES 4
#else
#define EP_F32_LANES 1
#endif
#endif

/* Vector types may alias: the arena holds tensors of every type.  `_u`: any address that is aligned for one element. */
typedef float ep_f32x4 __attribute__((vector_size(16), may_alias));
typedef float ep_f32x4_u __attribute__((vector_size(16), aligned(4), may_alias));
typedef float ep_f32x8 __attribute__((vector_size(32), may_alias));
typedef float ep_f32x8_u __attribute__((vector_size(32), aligned(4), may_alias));
typedef float ep_f32x16 __attribute__((vector_size(64), may_alias));
typedef float ep_f32x16_u __attribute__((vector_size(64), aligned(4), may_alias));
typedef int32_t ep_i32x4 __attribute__((vector_size(16), may_alias));
typedef int32_t ep_i32x8 __attribute__((vector_size(32), may_alias));
typedef int32_t ep_i32x16 __attribute__((vector_size(64), may_alias));

/* ep_f32v, ep_i32v: the target's widest vector, a scalar where there is none */
#if EP_F32_LANES == 16
typedef ep_f32x16 ep_f32v;
typedef ep_f32x16_u ep_f32v_u;
typedef ep_i32x16 ep_i32v;
#elif EP_F32_LANES == 8
typedef ep_f32x8 ep_f32v;
typedef ep_f32x8_u ep_f32v_u;
typedef ep_i32x8 ep_i32v;
#elif EP_F32_LANES == 4
typedef ep_f32x4 ep_f32v;
typedef ep_f32x4_u ep_f32v_u;
typedef ep_i32x4 ep_i32v;
#else
typedef float ep_f32v __attribute__((may_alias));
typedef float ep_f32v_u __attribute__((may_alias));
typedef int32_t ep_i32v __attribute__((may_alias));
#endif

/* element types for data movement, whatever the tensor's type */
typedef uint8_t ep_x8 __attribute__((may_alias));
typedef uint16_t ep_x16 __attribute__((may_alias));
typedef uint32_t ep_x32 __attribute__((may_alias));
typedef uint64_t ep_x64 __attribute__((may_alias));

#endif
