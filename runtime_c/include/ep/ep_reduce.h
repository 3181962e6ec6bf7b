/* SPDX-License-Identifier: Apache-2.0 */
/** Reductions over any set of axes.
 *
 *  The lowering (packager/ops/reduce.py) joins neighbouring axes that are all kept or all reduced and describes x as
 *  kept axes, reduced axes and one innermost run: `columns` values that are kept, or `row` values that are reduced (the other
 *  one is 1).  y is dense: kept axes in order, then columns.  Reducing nothing gives the operation's neutral element
 *  (the lowest or highest value for Max and Min); y may not overlap x. */
#ifndef EP_REDUCE_H
#define EP_REDUCE_H

#include "ep_math.h"
#include "ep_reduce_lanes.h"

#define EP_REDUCE_AXES 4
#define EP_REDUCE_SUMS 4 /* independent sums, to hide the latency of an add */

enum ep_reduce_op {
    EP_REDUCE_SUM = 0,
    EP_REDUCE_MEAN,
    EP_REDUCE_MAX,
    EP_REDUCE_MIN,
    EP_REDUCE_PROD,
    EP_REDUCE_L1,
    EP_REDUCE_L2,
    EP_REDUCE_LOG_SUM,
    EP_REDUCE_LOG_SUM_EXP,
    EP_REDUCE_SUM_SQUARE,
    EP_REDUCE_SUM_EXP /* internal: the second pass of LOG_SUM_EXP */
};

typedef struct ep_reduce_desc {
    int op;
    ptrdiff_t keep[EP_REDUCE_AXES], keep_step[EP_REDUCE_AXES];
    ptrdiff_t reduce[EP_REDUCE_AXES], reduce_step[EP_REDUCE_AXES];
    ptrdiff_t columns, row;
    ptrdiff_t repeat; /* product of reduce[] */
} ep_reduce_desc;

/** Element offset of number `index` on the given axes. */
EP_INLINE ptrdiff_t ep_reduce_offset(ptrdiff_t index, const ptrdiff_t *extent, const ptrdiff_t *step)
{
    ptrdiff_t offset = 0;
    EP_UNROLL
    for (int axis = EP_REDUCE_AXES - 1; axis >= 0; axis--) {
        if (extent[axis] != 1) {
            offset += index % extent[axis] * step[axis];
            index /= extent[axis];
        }
    }
    return offset;
}

/** The value that changes nothing. */
EP_INLINE float ep_reduce_f32_neutral(const int op)
{
    switch (op) {
    case EP_REDUCE_MAX:
    case EP_REDUCE_SUM_EXP: /* counts after the exponential */
        return -EP_INF_F32;
    case EP_REDUCE_MIN:
        return EP_INF_F32;
    case EP_REDUCE_PROD:
        return 1.0f;
    default:
        return 0.0f;
    }
}

/** Take x, of which `lanes` lanes exist, into acc; the others are neutral. */
EP_INLINE ep_f32v ep_reduce_f32_take(const ep_f32v acc, const float *p, const ptrdiff_t lanes, const ep_f32v shift,
                                     const int op)
{
    const ep_f32v x = ep_fill_lanes_f32v(p, lanes, ep_reduce_f32_neutral(op));
    switch (op) {
    case EP_REDUCE_MAX:
        return ep_max_nan_f32v(acc, x);
    case EP_REDUCE_MIN:
        return ep_min_nan_f32v(acc, x);
    case EP_REDUCE_PROD:
        return acc * x;
    case EP_REDUCE_L1:
        return acc + ep_abs_f32v(x);
    case EP_REDUCE_L2:
    case EP_REDUCE_SUM_SQUARE:
        return acc + x * x;
    case EP_REDUCE_SUM_EXP:
        return acc + ep_exp_f32v(x - shift);
    default:
        return acc + x;
    }
}

/** Two partial results as one. */
EP_INLINE ep_f32v ep_reduce_f32_join(const ep_f32v a, const ep_f32v b, const int op)
{
    switch (op) {
    case EP_REDUCE_MAX:
        return ep_max_nan_f32v(a, b);
    case EP_REDUCE_MIN:
        return ep_min_nan_f32v(a, b);
    case EP_REDUCE_PROD:
        return a * b;
    default:
        return a + b;
    }
}

/** What follows the reduction. */
EP_INLINE ep_f32v ep_reduce_f32_finish(const ep_f32v x, const ep_f32v shift, const ep_reduce_desc d)
{
    switch (d.op) {
    case EP_REDUCE_MEAN:
        return x / (float)(d.row * d.repeat);
    case EP_REDUCE_L2:
        return ep_sqrt_f32v(x);
    case EP_REDUCE_LOG_SUM:
        return ep_log_f32v(x);
    case EP_REDUCE_SUM_EXP:
        return ep_log_f32v(x) + shift;
    default:
        return x;
    }
}

/** The lanes as one value. */
EP_INLINE float ep_reduce_f32_across(const ep_f32v v, const int op)
{
    float lanes[EP_F32_LANES];
    if (op != EP_REDUCE_MAX && op != EP_REDUCE_MIN && op != EP_REDUCE_PROD) {
        return ep_hsum_f32v(v);
    }
    ep_store_f32v(lanes, v);
    float result = lanes[0];
    for (int i = 1; i < EP_F32_LANES; i++) {
        const float x = lanes[i];
        if (op == EP_REDUCE_MAX) {
            result = ep_max_nan_f32(result, x);
        } else if (op == EP_REDUCE_MIN) {
            result = ep_min_nan_f32(result, x);
        } else {
            result *= x;
        }
    }
    return result;
}

/** A start value for sums: neutral, except that exponentials start from zero. */
EP_INLINE ep_f32v ep_reduce_f32_start(const int op)
{
    return ep_splat_f32v(op == EP_REDUCE_SUM_EXP ? 0.0f : ep_reduce_f32_neutral(op));
}

/** All rows that go into one output. */
EP_INLINE float ep_reduce_f32_rows(const float *x, const float shift, const ep_reduce_desc d)
{
    const ptrdiff_t rest = d.row % EP_F32_LANES;
    const ptrdiff_t stride = EP_REDUCE_SUMS * EP_F32_LANES;
    const ep_f32v shifts = ep_splat_f32v(shift);
    ep_f32v acc[EP_REDUCE_SUMS];
    EP_UNROLL
    for (int s = 0; s < EP_REDUCE_SUMS; s++) {
        acc[s] = ep_reduce_f32_start(d.op);
    }
    for (ptrdiff_t r = 0; r < d.repeat; r++) {
        const float *row = x + ep_reduce_offset(r, d.reduce, d.reduce_step);
        ptrdiff_t p = 0;
        for (; p + stride <= d.row; p += stride) {
            EP_UNROLL
            for (int s = 0; s < EP_REDUCE_SUMS; s++) {
                acc[s] = ep_reduce_f32_take(acc[s], row + p + s * EP_F32_LANES, EP_F32_LANES, shifts, d.op);
            }
        }
        for (; p + EP_F32_LANES <= d.row; p += EP_F32_LANES) {
            acc[0] = ep_reduce_f32_take(acc[0], row + p, EP_F32_LANES, shifts, d.op);
        }
        if (rest != 0) {
            acc[1] = ep_reduce_f32_take(acc[1], row + p, rest, shifts, d.op);
        }
    }
    const ep_f32v low = ep_reduce_f32_join(acc[0], acc[1], d.op);
    return ep_reduce_f32_across(ep_reduce_f32_join(low, ep_reduce_f32_join(acc[2], acc[3], d.op), d.op), d.op);
}

/** `lanes` neighbouring columns. */
EP_INLINE ep_f32v ep_reduce_f32_columns(const float *x, const ep_f32v shift, const ep_reduce_desc d,
                                        const ptrdiff_t lanes)
{
    ep_f32v acc = ep_reduce_f32_start(d.op);
    for (ptrdiff_t r = 0; r < d.repeat; r++) {
        acc = ep_reduce_f32_take(acc, x + ep_reduce_offset(r, d.reduce, d.reduce_step), lanes, shift, d.op);
    }
    return acc;
}

/** The largest value as the shift of LogSumExp: 0 where it is infinite, so that no infinity is subtracted from itself. */
EP_INLINE ep_f32v ep_reduce_f32_shift(const ep_f32v high)
{
    return ep_select_f32v(ep_isinf_f32v(high), ep_splat_f32v(0.0f), high);
}

/** One output, or a vector of outputs when columns are kept. */
EP_INLINE void ep_reduce_f32_output(float *y, const float *x, const ep_reduce_desc d, const ptrdiff_t lanes)
{
    ep_reduce_desc pass = d;
    ep_f32v shift = ep_splat_f32v(0.0f);
    if (d.op == EP_REDUCE_LOG_SUM_EXP) {
        pass.op = EP_REDUCE_MAX;
        if (d.columns == 1) {
            shift = ep_reduce_f32_shift(ep_splat_f32v(ep_reduce_f32_rows(x, 0.0f, pass)));
        } else {
            shift = ep_reduce_f32_shift(ep_reduce_f32_columns(x, shift, pass, lanes));
        }
        pass.op = EP_REDUCE_SUM_EXP;
    }
    ep_f32v sum;
    if (d.columns == 1) {
        float first[EP_F32_LANES];
        ep_store_f32v(first, shift);
        sum = ep_splat_f32v(ep_reduce_f32_rows(x, first[0], pass));
    } else {
        sum = ep_reduce_f32_columns(x, shift, pass, lanes);
    }
    ep_store_lanes_f32v(y, ep_reduce_f32_finish(sum, shift, pass), lanes);
}

/** Range over the kept axes. */
EP_INLINE void ep_reduce_f32(float *EP_RESTRICT y, const float *EP_RESTRICT x, const ep_reduce_desc d,
                             const ptrdiff_t begin, const ptrdiff_t end)
{
    for (ptrdiff_t o = begin; o < end; o++) {
        const float *from = x + ep_reduce_offset(o, d.keep, d.keep_step);
        float *to = y + o * d.columns;
        ptrdiff_t c = 0;
        for (; d.columns > 1 && c + EP_F32_LANES <= d.columns; c += EP_F32_LANES) {
            ep_reduce_f32_output(to + c, from + c, d, EP_F32_LANES);
        }
        if (c < d.columns) {
            ep_reduce_f32_output(to + c, from + c, d, d.columns == 1 ? 1 : d.columns % EP_F32_LANES);
        }
    }
}

#endif
