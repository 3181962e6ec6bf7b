/* SPDX-License-Identifier: Apache-2.0 */
/** MaxPool and AveragePool (ONNX 22):
 *
 *      y[p, o] = max   x[p, o * stride - before + k * dilation]      over the taps k that lie inside x
 *      y[p, o] = sum   x[...] / count                                count: those taps; count_padding: padded cells too
 *
 *  ep_max_pool_<type>(y, x, d, begin, end), ep_average_pool_<type>(...): plain f32, f64 (max also s8, u8), blocked
 *  f32x4, f32x8, f32x16 (the block).  The range counts planes.  Every window has a cell inside x, and strides of
 *  blocked tensors are multiples of the block: packager/ops/pool.py checks.  y and x may not overlap. */
#ifndef EP_POOLING_H
#define EP_POOLING_H

#include "ep_vec.h"
#include "ep_window.h"

#define EP_P_PICK(x, best) ((x) > (best) ? (x) : (best))

#define EP_P_FN(name) name##_f32
#define EP_P_T ep_pool_float
#define EP_P_V float
#define EP_P_LOAD(p) (*(p))
#define EP_P_STORE(p, v) (*(p) = (v))
#define EP_P_MAX(x, best) EP_P_PICK(x, best)
#define EP_P_LOWEST (-EP_INF_F32)
#define EP_P_SCALE(sum, count) ((sum) / (float)(count))
#include "ep_pool_body.inc.h"

#define EP_P_FN(name) name##_f64
#define EP_P_T ep_pool_double
#define EP_P_V double
#define EP_P_LOAD(p) (*(p))
#define EP_P_STORE(p, v) (*(p) = (v))
#define EP_P_MAX(x, best) EP_P_PICK(x, best)
#define EP_P_LOWEST (-__builtin_inf())
#define EP_P_SCALE(sum, count) ((sum) / (double)(count))
#include "ep_pool_body.inc.h"

#define EP_P_FN(name) name##_s8
#define EP_P_T ep_pool_int8
#define EP_P_V int8_t
#define EP_P_LOAD(p) (*(p))
#define EP_P_STORE(p, v) (*(p) = (v))
#define EP_P_MAX(x, best) EP_P_PICK(x, best)
#define EP_P_LOWEST INT8_MIN
#include "ep_pool_body.inc.h"

#define EP_P_FN(name) name##_u8
#define EP_P_T ep_pool_uint8
#define EP_P_V uint8_t
#define EP_P_LOAD(p) (*(p))
#define EP_P_STORE(p, v) (*(p) = (v))
#define EP_P_MAX(x, best) EP_P_PICK(x, best)
#define EP_P_LOWEST 0
#include "ep_pool_body.inc.h"

#if EP_F32_LANES >= 4
#define EP_P_FN(name) name##_f32x4
#define EP_P_T ep_pool_float
#define EP_P_V ep_f32x4
#define EP_P_LOAD(p) ep_load_f32x4(p)
#define EP_P_STORE(p, v) ep_store_f32x4((p), (v))
#define EP_P_MAX(x, best) ep_max_f32x4(x, best)
#define EP_P_LOWEST ep_splat_f32x4(-EP_INF_F32)
#define EP_P_SCALE(sum, count) ((sum) * (1.0f / (float)(count)))
#include "ep_pool_body.inc.h"
#endif

#if EP_F32_LANES >= 8
#define EP_P_FN(name) name##_f32x8
#define EP_P_T ep_pool_float
#define EP_P_V ep_f32x8
#define EP_P_LOAD(p) ep_load_f32x8(p)
#define EP_P_STORE(p, v) ep_store_f32x8((p), (v))
#define EP_P_MAX(x, best) ep_max_f32x8(x, best)
#define EP_P_LOWEST ep_splat_f32x8(-EP_INF_F32)
#define EP_P_SCALE(sum, count) ((sum) * (1.0f / (float)(count)))
#include "ep_pool_body.inc.h"
#endif

#if EP_F32_LANES >= 16
#define EP_P_FN(name) name##_f32x16
#define EP_P_T ep_pool_float
#define EP_P_V ep_f32x16
#define EP_P_LOAD(p) ep_load_f32x16(p)
#define EP_P_STORE(p, v) ep_store_f32x16((p), (v))
#define EP_P_MAX(x, best) ep_max_f32x16(x, best)
#define EP_P_LOWEST ep_splat_f32x16(-EP_INF_F32)
#define EP_P_SCALE(sum, count) ((sum) * (1.0f / (float)(count)))
#include "ep_pool_body.inc.h"
#endif

#undef EP_P_PICK

#endif
