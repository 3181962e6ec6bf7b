/* SPDX-License-Identifier: Apache-2.0 */
/** One axis of a linear or cubic Resize: every output position is a weighted sum of source positions, both from tables
 *  that the compiler has worked out (packager/ops/resample.py). */
#ifndef EP_RESAMPLE_H
#define EP_RESAMPLE_H

#include "ep_base.h"

typedef float ep_resample_float __attribute__((may_alias));

/** planes x rows runs along the axis, each position `inner` contiguous elements; pitches in elements.  `from` and
 *  `weight` have `taps` entries for each of `out` positions; from[first tap] < 0: that position is `fill`. */
typedef struct ep_resample_desc {
    ptrdiff_t planes, rows, out, inner, taps;
    ptrdiff_t x_plane, x_row, x_step;
    ptrdiff_t y_plane, y_row, y_step;
    float fill;
} ep_resample_desc;

/** One position: y[i] = sum_t weight[t] * x[from[t] * step + i]. */
EP_INLINE void ep_resample_position(ep_resample_float *EP_RESTRICT y, const ep_resample_float *EP_RESTRICT x,
                                    const int32_t *EP_RESTRICT from, const float *EP_RESTRICT weight,
                                    const ep_resample_desc d)
{
    if (from[0] < 0) {
        for (ptrdiff_t i = 0; i < d.inner; i++) {
            y[i] = d.fill;
        }
        return;
    }
    if (d.taps == 2) {
        const ep_resample_float *const x0 = x + from[0] * d.x_step;
        const ep_resample_float *const x1 = x + from[1] * d.x_step;
        const float w0 = weight[0];
        const float w1 = weight[1];
        for (ptrdiff_t i = 0; i < d.inner; i++) {
            y[i] = w0 * x0[i] + w1 * x1[i];
        }
        return;
    }
    for (ptrdiff_t i = 0; i < d.inner; i++) {
        y[i] = weight[0] * x[from[0] * d.x_step + i];
    }
    for (ptrdiff_t t = 1; t < d.taps; t++) {
        const ep_resample_float *const xt = x + from[t] * d.x_step;
        for (ptrdiff_t i = 0; i < d.inner; i++) {
            y[i] += weight[t] * xt[i];
        }
    }
}

/** The range counts planes.  y may overlap no input. */
EP_INLINE void ep_resample_f32(void *EP_RESTRICT y, const void *EP_RESTRICT x, const void *EP_RESTRICT from,
                               const void *EP_RESTRICT weight, const ep_resample_desc d, ptrdiff_t begin, ptrdiff_t end)
{
    for (ptrdiff_t p = begin; p < end; p++) {
        for (ptrdiff_t row = 0; row < d.rows; row++) {
            const ep_resample_float *const source = (const ep_resample_float *)x + p * d.x_plane + row * d.x_row;
            ep_resample_float *const target = (ep_resample_float *)y + p * d.y_plane + row * d.y_row;
            for (ptrdiff_t o = 0; o < d.out; o++) {
                ep_resample_position(target + o * d.y_step, source, (const int32_t *)from + o * d.taps,
                                     (const float *)weight + o * d.taps, d);
            }
        }
    }
}

#endif
