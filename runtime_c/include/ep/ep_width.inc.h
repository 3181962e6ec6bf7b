/* SPDX-License-Identifier: Apache-2.0 */
/* Names of one vector width for the .inc.h files that are included once per width: the includer defines EP_VW (1, 4, 8 or
 * 16) and gets EP_F, EP_I, EP_U (float, int32 and uint32 of that width), EP_FN(name) and the few casts that vectors and
 * scalars spell differently.  ep_width_end.inc.h removes them again. */

#if EP_VW == 1
#define EP_F float
#define EP_I int32_t
#define EP_U uint32_t
#define EP_FN(name) name##_f32
#define EP_MASK(comparison) (-(int32_t)(comparison))
#define EP_BITS(f) ep_f32_to_bits(f)
#define EP_FROM_BITS(u) ep_f32_from_bits((uint32_t)(u))
#elif EP_VW == 4
#define EP_F ep_f32x4
#define EP_I ep_i32x4
#define EP_U ep_u32x4
#define EP_FN(name) name##_f32x4
#elif EP_VW == 8
#define EP_F ep_f32x8
#define EP_I ep_i32x8
#define EP_U ep_u32x8
#define EP_FN(name) name##_f32x8
#elif EP_VW == 16
#define EP_F ep_f32x16
#define EP_I ep_i32x16
#define EP_U ep_u32x16
#define EP_FN(name) name##_f32x16
#endif

#if EP_VW > 1
#define EP_MASK(comparison) ((EP_I)(comparison)) /* comparison of vectors: all ones where true */
#define EP_BITS(f) ((EP_U)(f))
#define EP_FROM_BITS(u) ((EP_F)(u))
#endif
