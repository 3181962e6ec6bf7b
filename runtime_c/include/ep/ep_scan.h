/* SPDX-License-Identifier: Apache-2.0 */
/** CumSum and CumProd along one axis: y[o, j, i] = x[o, 0, i] op ... op x[o, j, i].
 *
 *  ep_scan_<type>(y, x, d, begin, end) for f32, f64, s32, s64, u32, u64; integers wrap.  The range counts `outer`.
 *  y may be x. */
#ifndef EP_SCAN_H
#define EP_SCAN_H

#include "ep_index.h"

typedef struct ep_scan_desc {
    ptrdiff_t outer, axis, inner;
    int exclusive; /* leave out x[o, j, i] itself */
    int reverse;   /* from the end of the axis */
    int product;
} ep_scan_desc;

/* `wide` is a type the arithmetic cannot overflow in */
#define EP_DEFINE_SCAN(type, wide, name)                                                                               \
    EP_INLINE void ep_scan_##name(void *y, const void *x, const ep_scan_desc d, ptrdiff_t begin, ptrdiff_t end)        \
    {                                                                                                                  \
        for (ptrdiff_t o = begin; o < end; o++) {                                                                      \
            for (ptrdiff_t i = 0; i < d.inner; i++) {                                                                  \
                wide sum = d.product ? 1 : 0;                                                                          \
                for (ptrdiff_t step = 0; step < d.axis; step++) {                                                      \
                    const ptrdiff_t j = d.reverse ? d.axis - 1 - step : step;                                          \
                    const ptrdiff_t at = (o * d.axis + j) * d.inner + i;                                               \
                    const wide cell = (wide)((const type *)x)[at];                                                     \
                    const wide next = d.product ? sum * cell : sum + cell;                                             \
                    ((type *)y)[at] = (type)(d.exclusive ? sum : next);                                                \
                    sum = next;                                                                                        \
                }                                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
    }

EP_DEFINE_SCAN(ep_data_f32, float, f32)
EP_DEFINE_SCAN(ep_data_f64, double, f64)
EP_DEFINE_SCAN(ep_data_s32, uint32_t, s32)
EP_DEFINE_SCAN(ep_data_s64, uint64_t, s64)
EP_DEFINE_SCAN(ep_x32, uint32_t, u32)
EP_DEFINE_SCAN(ep_x64, uint64_t, u64)
#undef EP_DEFINE_SCAN

#endif
