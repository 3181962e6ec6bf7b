/* SPDX-License-Identifier: Apache-2.0 */
/** Softmax and LogSoftmax over one axis of x[outer][axis][inner], float32:
 *      y = exp(x - max) / sum exp(x - max)        y = (x - max) - log(sum exp(x - max))
 *  -inf gives weight 0; a row of nothing but -inf, or with +inf or NaN in it, gives NaN, as the formula says.
 *  y may be x. */
#ifndef EP_SOFTMAX_H
#define EP_SOFTMAX_H

#include "ep_math.h"
#include "ep_reduce_lanes.h"

typedef struct ep_softmax_desc {
    ptrdiff_t outer, axis, inner;
    int log;
} ep_softmax_desc;

/** One row of `axis` values that lie side by side. */
EP_INLINE void ep_softmax_f32_row(float *y, const float *x, const ep_softmax_desc d)
{
    const ptrdiff_t rest = d.axis % EP_F32_LANES;
    const ptrdiff_t whole = d.axis - rest;
    ep_f32v high = ep_splat_f32v(-EP_INF_F32);
    for (ptrdiff_t p = 0; p < whole; p += EP_F32_LANES) {
        high = ep_max_f32v(high, ep_load_f32v(x + p));
    }
    if (rest != 0) {
        high = ep_max_f32v(high, ep_fill_lanes_f32v(x + whole, rest, -EP_INF_F32));
    }
    const ep_f32v top = ep_splat_f32v(ep_hmax_f32v(high));
    ep_f32v sums = ep_splat_f32v(0.0f);
    for (ptrdiff_t p = 0; p < whole; p += EP_F32_LANES) {
        const ep_f32v e = ep_exp_f32v(ep_load_f32v(x + p) - top);
        sums += e;
        if (!d.log) {
            ep_store_f32v(y + p, e);
        }
    }
    ep_f32v tail = ep_splat_f32v(0.0f);
    if (rest != 0) {
        tail = ep_exp_f32v(ep_fill_lanes_f32v(x + whole, rest, -EP_INF_F32) - top);
        sums += tail;
    }
    const float sum = ep_hsum_f32v(sums);
    const ep_f32v factor = ep_splat_f32v(1.0f / sum);
    const ep_f32v log_sum = ep_splat_f32v(d.log ? ep_log_f32(sum) : 0.0f);
    for (ptrdiff_t p = 0; p < whole; p += EP_F32_LANES) {
        ep_store_f32v(y + p, d.log ? ep_load_f32v(x + p) - top - log_sum : ep_load_f32v(y + p) * factor);
    }
    if (rest != 0) {
        ep_store_lanes_f32v(y + whole, d.log ? ep_load_lanes_f32v(x + whole, rest) - top - log_sum : tail * factor,
                            rest);
    }
}

/** `lanes` neighbouring columns, `inner` apart along the axis. */
EP_INLINE void ep_softmax_f32_columns(float *y, const float *x, const ep_softmax_desc d, const ptrdiff_t lanes)
{
    ep_f32v top = ep_splat_f32v(-EP_INF_F32);
    for (ptrdiff_t p = 0; p < d.axis; p++) {
        top = ep_max_f32v(top, ep_load_lanes_f32v(x + p * d.inner, lanes));
    }
    ep_f32v sum = ep_splat_f32v(0.0f);
    for (ptrdiff_t p = 0; p < d.axis; p++) {
        const ep_f32v e = ep_exp_f32v(ep_load_lanes_f32v(x + p * d.inner, lanes) - top);
        sum += e;
        if (!d.log) {
            ep_store_lanes_f32v(y + p * d.inner, e, lanes);
        }
    }
    const ep_f32v log_sum = d.log ? ep_log_f32v(sum) : sum;
    const ep_f32v factor = 1.0f / sum;
    for (ptrdiff_t p = 0; p < d.axis; p++) {
        ep_f32v value = ep_load_lanes_f32v((d.log ? x : y) + p * d.inner, lanes);
        if (d.log) {
            value = value - top - log_sum;
        } else {
            value *= factor;
        }
        ep_store_lanes_f32v(y + p * d.inner, value, lanes);
    }
}

/** Range over outer. */
EP_INLINE void ep_softmax_f32(float *y, const float *x, const ep_softmax_desc d, const ptrdiff_t begin,
                              const ptrdiff_t end)
{
    for (ptrdiff_t o = begin; o < end; o++) {
        const ptrdiff_t at = o * d.axis * d.inner;
        if (d.inner == 1) {
            ep_softmax_f32_row(y + at, x + at, d);
            continue;
        }
        ptrdiff_t i = 0;
        for (; i + EP_F32_LANES <= d.inner; i += EP_F32_LANES) {
            ep_softmax_f32_columns(y + at + i, x + at + i, d, EP_F32_LANES);
        }
        if (i < d.inner) {
            ep_softmax_f32_columns(y + at + i, x + at + i, d, d.inner % EP_F32_LANES);
        }
    }
}

#endif
