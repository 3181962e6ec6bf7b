/* SPDX-License-Identifier: Apache-2.0 */
/** Normalizations, float32.  Variances take two passes (mean first), so that a large mean costs no digits.
 *  y may be x everywhere but in ep_lrn_f32. */
#ifndef EP_NORM_H
#define EP_NORM_H

#include "ep_math.h"
#include "ep_reduce_lanes.h"

#define EP_NORM_SUMS 4 /* independent sums, to hide the latency of an add */

enum ep_norm_power { EP_NORM_PLAIN, EP_NORM_ABS, EP_NORM_SQUARE };

/** What a sum takes of one vector. */
EP_INLINE ep_f32v ep_norm_power_f32(const ep_f32v v, const enum ep_norm_power power)
{
    if (power == EP_NORM_SQUARE) {
        return v * v;
    }
    return power == EP_NORM_ABS ? ep_abs_f32v(v) : v;
}

/** sum (x - shift), |x - shift| or (x - shift)^2 over n values side by side. */
EP_INLINE float ep_norm_sum_f32(const float *x, const ptrdiff_t n, const float shift, const enum ep_norm_power power)
{
    const ptrdiff_t rest = n % EP_F32_LANES;
    ep_f32v acc[EP_NORM_SUMS];
    EP_UNROLL
    for (int s = 0; s < EP_NORM_SUMS; s++) {
        acc[s] = ep_splat_f32v(0.0f);
    }
    ptrdiff_t p = 0;
    for (; p + EP_NORM_SUMS * EP_F32_LANES <= n; p += EP_NORM_SUMS * EP_F32_LANES) {
        EP_UNROLL
        for (int s = 0; s < EP_NORM_SUMS; s++) {
            acc[s] += ep_norm_power_f32(ep_load_f32v(x + p + s * EP_F32_LANES) - shift, power);
        }
    }
    for (; p + EP_F32_LANES <= n; p += EP_F32_LANES) {
        acc[0] += ep_norm_power_f32(ep_load_f32v(x + p) - shift, power);
    }
    if (rest != 0) {
        acc[1] += ep_norm_power_f32(ep_fill_lanes_f32v(x + p, rest, shift) - shift, power);
    }
    return ep_hsum_f32v((acc[0] + acc[1]) + (acc[2] + acc[3]));
}

/** y = x * scale + shift over n values side by side. */
EP_INLINE void ep_norm_scale_f32(float *y, const float *x, const ptrdiff_t n, const float scale, const float shift)
{
    const ptrdiff_t rest = n % EP_F32_LANES;
    for (ptrdiff_t p = 0; p < n - rest; p += EP_F32_LANES) {
        ep_store_f32v(y + p, ep_load_f32v(x + p) * scale + shift);
    }
    if (rest != 0) {
        ep_store_lanes_f32v(y + n - rest, ep_load_lanes_f32v(x + n - rest, rest) * scale + shift, rest);
    }
}

/** Layer and RMS normalization over rows of n values. */
typedef struct ep_layer_norm_desc {
    ptrdiff_t outer, n;
    float epsilon;
    int center; /* subtract the mean (LayerNormalization); 0: RMSNormalization */
    int has_bias;
} ep_layer_norm_desc;

/** (x - mean) * inv * scale + bias, `lanes` values. */
EP_INLINE void ep_layer_norm_f32_store(float *y, const float *x, const float *scale, const float *bias,
                                       const ep_layer_norm_desc d, const float mean, const float inv,
                                       const ptrdiff_t lanes)
{
    ep_f32v v = (ep_load_lanes_f32v(x, lanes) - mean) * inv * ep_load_lanes_f32v(scale, lanes);
    if (d.has_bias) {
        v += ep_load_lanes_f32v(bias, lanes);
    }
    ep_store_lanes_f32v(y, v, lanes);
}

/** y = (x - mean) / sqrt(variance + epsilon) * scale + bias for rows [begin, end); scale and bias have n values.
 *  means and inverses are NULL, or take the mean and 1 / sqrt(variance + epsilon) of every row. */
EP_INLINE void ep_layer_norm_f32_rows(float *y, float *means, float *inverses, const float *x, const float *scale,
                                      const float *bias, const ep_layer_norm_desc d, const ptrdiff_t begin,
                                      const ptrdiff_t end)
{
    const ptrdiff_t rest = d.n % EP_F32_LANES;
    for (ptrdiff_t o = begin; o < end; o++) {
        const float *from = x + o * d.n;
        float *to = y + o * d.n;
        const float mean = d.center ? ep_norm_sum_f32(from, d.n, 0.0f, EP_NORM_PLAIN) / (float)d.n : 0.0f;
        const float variance = ep_norm_sum_f32(from, d.n, mean, EP_NORM_SQUARE) / (float)d.n;
        const float inv = 1.0f / ep_sqrt_f32(variance + d.epsilon);
        if (means) {
            means[o] = mean;
            inverses[o] = inv;
        }
        for (ptrdiff_t p = 0; p < d.n - rest; p += EP_F32_LANES) {
            ep_layer_norm_f32_store(to + p, from + p, scale + p, d.has_bias ? bias + p : scale, d, mean, inv,
                                    EP_F32_LANES);
        }
        if (rest != 0) {
            const ptrdiff_t p = d.n - rest;
            ep_layer_norm_f32_store(to + p, from + p, scale + p, d.has_bias ? bias + p : scale, d, mean, inv, rest);
        }
    }
}

/** Range over outer. */
EP_INLINE void ep_layer_norm_f32(float *y, const float *x, const float *scale, const float *bias,
                                 const ep_layer_norm_desc d, const ptrdiff_t begin, const ptrdiff_t end)
{
    ep_layer_norm_f32_rows(y, NULL, NULL, x, scale, bias, d, begin, end);
}

/** With the optional outputs of LayerNormalization.  Range over outer. */
EP_INLINE void ep_layer_norm_stats_f32(float *y, float *means, float *inverses, const float *x, const float *scale,
                                       const float *bias, const ep_layer_norm_desc d, const ptrdiff_t begin,
                                       const ptrdiff_t end)
{
    ep_layer_norm_f32_rows(y, means, inverses, x, scale, bias, d, begin, end);
}

/** Instance and group normalization of x[N][groups][channels][inner]: statistics over channels * inner. */
typedef struct ep_group_norm_desc {
    ptrdiff_t outer; /* N * groups */
    ptrdiff_t groups, channels, inner;
    float epsilon;
} ep_group_norm_desc;

/** scale and bias have one value for each of the groups * channels.  Range over outer. */
EP_INLINE void ep_group_norm_f32(float *y, const float *x, const float *scale, const float *bias,
                                 const ep_group_norm_desc d, const ptrdiff_t begin, const ptrdiff_t end)
{
    const ptrdiff_t n = d.channels * d.inner;
    for (ptrdiff_t o = begin; o < end; o++) {
        const float mean = ep_norm_sum_f32(x + o * n, n, 0.0f, EP_NORM_PLAIN) / (float)n;
        const float variance = ep_norm_sum_f32(x + o * n, n, mean, EP_NORM_SQUARE) / (float)n;
        const float inv = 1.0f / ep_sqrt_f32(variance + d.epsilon);
        for (ptrdiff_t c = 0; c < d.channels; c++) {
            const ptrdiff_t channel = o % d.groups * d.channels + c;
            const ptrdiff_t at = o * n + c * d.inner;
            const float factor = scale[channel] * inv;
            ep_norm_scale_f32(y + at, x + at, d.inner, factor, bias[channel] - mean * factor);
        }
    }
}

/** BatchNormalization of x[outer / channels][channels][inner] with given statistics. */
typedef struct ep_batch_norm_desc {
    ptrdiff_t outer; /* N * channels */
    ptrdiff_t channels, inner;
    float epsilon;
} ep_batch_norm_desc;

/** y = (x - mean) / sqrt(variance + epsilon) * scale + bias, by channel.  Range over outer. */
EP_INLINE void ep_batch_norm_f32(float *y, const float *x, const float *scale, const float *bias, const float *mean,
                                 const float *variance, const ep_batch_norm_desc d, const ptrdiff_t begin,
                                 const ptrdiff_t end)
{
    for (ptrdiff_t o = begin; o < end; o++) {
        const ptrdiff_t c = o % d.channels;
        const float factor = scale[c] / ep_sqrt_f32(variance[c] + d.epsilon);
        ep_norm_scale_f32(y + o * d.inner, x + o * d.inner, d.inner, factor, bias[c] - mean[c] * factor);
    }
}

/** LpNormalization over the axis of x[outer][axis][inner]. */
typedef struct ep_lp_norm_desc {
    ptrdiff_t outer, axis, inner;
    int p; /* 1 or 2 */
} ep_lp_norm_desc;

/** `lanes` neighbouring columns of LpNormalization. */
EP_INLINE void ep_lp_norm_f32_columns(float *y, const float *x, const ep_lp_norm_desc d, const ptrdiff_t lanes)
{
    const ep_f32v zero = ep_splat_f32v(0.0f);
    ep_f32v sum = zero;
    for (ptrdiff_t p = 0; p < d.axis; p++) {
        const ep_f32v v = ep_load_lanes_f32v(x + p * d.inner, lanes);
        sum += ep_norm_power_f32(v, d.p == 1 ? EP_NORM_ABS : EP_NORM_SQUARE);
    }
    const ep_f32v norm = d.p == 1 ? sum : ep_sqrt_f32v(sum);
    const ep_f32v factor = ep_select_f32v(ep_eq_f32v(norm, zero), zero, 1.0f / norm);
    for (ptrdiff_t p = 0; p < d.axis; p++) {
        ep_store_lanes_f32v(y + p * d.inner, ep_load_lanes_f32v(x + p * d.inner, lanes) * factor, lanes);
    }
}

/** y = x / (sum |x|^p)^(1/p), 0 where the norm is 0.  Range over outer. */
EP_INLINE void ep_lp_norm_f32(float *y, const float *x, const ep_lp_norm_desc d, const ptrdiff_t begin,
                              const ptrdiff_t end)
{
    for (ptrdiff_t o = begin; o < end; o++) {
        const ptrdiff_t at = o * d.axis * d.inner;
        if (d.inner == 1) {
            const float sum = ep_norm_sum_f32(x + at, d.axis, 0.0f, d.p == 1 ? EP_NORM_ABS : EP_NORM_SQUARE);
            const float norm = d.p == 1 ? sum : ep_sqrt_f32(sum);
            ep_norm_scale_f32(y + at, x + at, d.axis, norm > 0.0f ? 1.0f / norm : norm, 0.0f);
            continue;
        }
        ptrdiff_t i = 0;
        for (; i + EP_F32_LANES <= d.inner; i += EP_F32_LANES) {
            ep_lp_norm_f32_columns(y + at + i, x + at + i, d, EP_F32_LANES);
        }
        if (i < d.inner) {
            ep_lp_norm_f32_columns(y + at + i, x + at + i, d, d.inner % EP_F32_LANES);
        }
    }
}

/** Local response normalization of x[outer / channels][channels][inner]. */
typedef struct ep_lrn_desc {
    ptrdiff_t outer; /* N * channels */
    ptrdiff_t channels, inner;
    ptrdiff_t before, after; /* neighbouring channels in the window */
    float scale;             /* alpha / size */
    float beta, bias;
} ep_lrn_desc;

/** `lanes` values of channel c; x points at the channel. */
EP_INLINE void ep_lrn_f32_columns(float *EP_RESTRICT y, const float *EP_RESTRICT x, const ep_lrn_desc d,
                                  const ptrdiff_t first, const ptrdiff_t last, const ptrdiff_t lanes)
{
    ep_f32v sum = ep_splat_f32v(0.0f);
    for (ptrdiff_t w = first; w <= last; w++) {
        const ep_f32v v = ep_load_lanes_f32v(x + w * d.inner, lanes);
        sum += v * v;
    }
    const ep_f32v size = ep_log_f32v(sum * d.scale + d.bias);
    ep_store_lanes_f32v(y, ep_load_lanes_f32v(x, lanes) * ep_exp_f32v(size * -d.beta), lanes);
}

/** y = x / (bias + alpha / size * sum of squares in the window)^beta.  Range over outer. */
EP_INLINE void ep_lrn_f32(float *EP_RESTRICT y, const float *EP_RESTRICT x, const ep_lrn_desc d, const ptrdiff_t begin,
                          const ptrdiff_t end)
{
    for (ptrdiff_t o = begin; o < end; o++) {
        const ptrdiff_t c = o % d.channels;
        const ptrdiff_t first = c < d.before ? -c : -d.before;
        const ptrdiff_t last = d.channels - 1 - c < d.after ? d.channels - 1 - c : d.after;
        const float *from = x + o * d.inner;
        ptrdiff_t i = 0;
        for (; i + EP_F32_LANES <= d.inner; i += EP_F32_LANES) {
            ep_lrn_f32_columns(y + o * d.inner + i, from + i, d, first, last, EP_F32_LANES);
        }
        if (i < d.inner) {
            ep_lrn_f32_columns(y + o * d.inner + i, from + i, d, first, last, d.inner % EP_F32_LANES);
        }
    }
}

#endif
