/* SPDX-License-Identifier: Apache-2.0 */
/** LpPool (ONNX 22): y[p, o] = (sum |x[p, o * stride - before + k * dilation]|^p)^(1/p) over the taps inside x; plain
 *  f32. The range counts planes.  y and x may not overlap. */
#ifndef EP_LP_POOL_H
#define EP_LP_POOL_H

#include "ep_math.h"
#include "ep_window.h"

typedef struct ep_lp_desc {
    ep_window_desc window;
    int p;
} ep_lp_desc;

EP_INLINE float ep_lp_power(float x, int p)
{
    const float size = ep_abs_f32(x);
    return p == 1 ? size : p == 2 ? size * size : ep_pow_f32(size, (float)p);
}

EP_INLINE float ep_lp_root(float sum, int p)
{
    return p == 1 ? sum : p == 2 ? ep_sqrt_f32(sum) : ep_pow_f32(sum, 1.0f / (float)p);
}

EP_INLINE void ep_lp_pool_f32(void *EP_RESTRICT y, const void *EP_RESTRICT x, const ep_lp_desc d, ptrdiff_t begin,
                              ptrdiff_t end)
{
    const ep_window_desc w = d.window;
    const ep_pool_float *EP_RESTRICT source = x;
    ep_pool_float *EP_RESTRICT target = y;
    for (ptrdiff_t plane = begin; plane < end; plane++) {
        for (ptrdiff_t o = 0; o < w.y_plane; o++) {
            const ep_taps t0 = ep_taps_at(w, 0, o / w.ys[0]);
            const ep_taps t1 = ep_taps_at(w, 1, o / w.ys[1] % w.out[1]);
            const ep_taps t2 = ep_taps_at(w, 2, o % w.out[2]);
            float sum = 0.0f;
            for (ptrdiff_t kd = t0.from; kd < t0.to; kd++) {
                for (ptrdiff_t kh = t1.from; kh < t1.to; kh++) {
                    for (ptrdiff_t kw = t2.from; kw < t2.to; kw++) {
                        const ptrdiff_t i0 = t0.first + kd * w.dilation[0];
                        const ptrdiff_t i1 = t1.first + kh * w.dilation[1];
                        const ptrdiff_t i2 = t2.first + kw * w.dilation[2];
                        sum += ep_lp_power(source[plane * w.x_plane + i0 * w.xs[0] + i1 * w.xs[1] + i2], d.p);
                    }
                }
            }
            target[plane * w.y_plane + o] = ep_lp_root(sum, d.p);
        }
    }
}

#endif
