/* SPDX-License-Identifier: Apache-2.0 */
/** Convolution on row-major tensors, any rank up to three spatial dimensions (missing ones have extent 1), any groups,
 *  dilation and padding, float; the path of targets without vectors, and of shapes that have no blocked form:
 *
 *      y[n, o, e, i, j] = act(bias[o] + r[n, o, e, i, j] + sum_{c, s, p, q} x[n, g(o) + c, e * sd + s * dd - front,
 *                             i * sh + p * dh - top, j * sw + q * dw - left] * w[o, c, s, p, q])
 *
 *  Input outside the tensor counts as zero and is not read.  The output has pitches of its own (and starts at y_start), so that a
 *  transposed convolution can write each of its phases.
 *
 *  w     packed [group][tile of tile_oc channels][c][s][p][q][tile_oc], zero past the last channel of the group.
 *  bias  one float per output channel, or NULL when `has_bias` is 0.
 *  r     read when `residual`; laid out as y; may be y itself.
 *  A register tile is tile_oc channels times tile_w vectors of neighbouring pixels (scalars where EP_F32_LANES is 1).
 *  The range counts (image, group, channel tile, output depth, output row).
 *  y overlaps neither x nor w. */
#ifndef EP_CONV_PLAIN_H
#define EP_CONV_PLAIN_H

#include "ep_act.h"
#include "ep_base.h"

typedef struct ep_conv_plain_desc {
    ptrdiff_t images, groups;
    ptrdiff_t ic, oc; /* channels of one group */
    ptrdiff_t id, ih, iw, od, oh, ow;
    ptrdiff_t kd, kh, kw, sd, sh, sw, dd, dh, dw; /* kernel, stride, dilation */
    ptrdiff_t front, top, left;                   /* padding before the tensor */
    ptrdiff_t x_row, x_depth, x_channel, x_image;
    ptrdiff_t y_start, y_pixel, y_row, y_depth, y_channel, y_image;
    int tile_oc, tile_w;
    int has_bias, residual;
    ep_act act;
} ep_conv_plain_desc;

#define EP_CONV_PLAIN_MAX_OC 4
#define EP_CONV_PLAIN_MAX_W 8

/* One row of one channel tile: its operands, and the part of the kernel that lies inside the tensor. */
typedef struct ep_conv_plain_row {
    const float *x, *w, *bias, *r;
    float *y;
    ptrdiff_t channels; /* of the tile that exist */
    ptrdiff_t s_begin, s_end, p_begin, p_end;
} ep_conv_plain_row;

/** First k of [0, count) with start + k * step >= 0; count when there is none. */
EP_INLINE ptrdiff_t ep_conv_plain_first(const ptrdiff_t start, const ptrdiff_t step, const ptrdiff_t count)
{
    const ptrdiff_t first = start >= 0 ? 0 : (step - 1 - start) / step;
    return first < count ? first : count;
}

/** One past the last k of [0, count) with start + k * step < extent; 0 when there is none. */
EP_INLINE ptrdiff_t ep_conv_plain_last(const ptrdiff_t start, const ptrdiff_t step, const ptrdiff_t extent,
                                       const ptrdiff_t count)
{
    const ptrdiff_t last = start >= extent ? 0 : (extent - start + step - 1) / step;
    return last < count ? last : count;
}

/** Residual, activation and store of one pixel of one channel. */
EP_INLINE void ep_conv_plain_store(const ep_conv_plain_row *at, const float sum, const ptrdiff_t b, const ptrdiff_t j,
                                   const ep_conv_plain_desc d)
{
    const ptrdiff_t place = b * d.y_channel + j * d.y_pixel;
    if (b < at->channels) {
        at->y[place] = ep_act_f32(d.residual ? sum + at->r[place] : sum, d.act);
    }
}

/** One pixel of a tile near the border: only kernel columns [q_begin, q_end) lie inside. */
EP_INLINE void ep_conv_plain_pixel(const ep_conv_plain_row *at, const ptrdiff_t j, const ep_conv_plain_desc d)
{
    const ptrdiff_t start = j * d.sw - d.left;
    const ptrdiff_t q_begin = ep_conv_plain_first(start, d.dw, d.kw);
    const ptrdiff_t q_end = ep_conv_plain_last(start, d.dw, d.iw, d.kw);
    float acc[EP_CONV_PLAIN_MAX_OC];
    EP_UNROLL
    for (int b = 0; b < d.tile_oc; b++) {
        acc[b] = d.has_bias && b < at->channels ? at->bias[b] : 0.0f;
    }
    for (ptrdiff_t c = 0; c < d.ic; c++) {
        for (ptrdiff_t s = at->s_begin; s < at->s_end; s++) {
            for (ptrdiff_t p = at->p_begin; p < at->p_end; p++) {
                const float *x = at->x + c * d.x_channel + s * d.dd * d.x_depth + p * d.dh * d.x_row + start;
                const float *w = at->w + ((c * d.kd + s) * d.kh + p) * d.kw * d.tile_oc;
                for (ptrdiff_t q = q_begin; q < q_end; q++) {
                    EP_UNROLL
                    for (int b = 0; b < d.tile_oc; b++) {
                        acc[b] += x[q * d.dw] * w[q * d.tile_oc + b];
                    }
                }
            }
        }
    }
    EP_UNROLL
    for (int b = 0; b < d.tile_oc; b++) {
        ep_conv_plain_store(at, acc[b], b, j, d);
    }
}

/** EP_F32_LANES pixels that are `step` apart. */
EP_INLINE ep_f32v ep_conv_plain_load(const float *x, const ptrdiff_t step)
{
#if EP_F32_LANES == 1
    (void)step;
    return *x;
#else
    if (step == 1) {
        return *(const ep_f32v_u *)(const void *)x;
    }
    ep_f32v v = {0};
    EP_UNROLL
    for (int i = 0; i < EP_F32_LANES; i++) {
        v[i] = x[i * step];
    }
    return v;
#endif
}

/** Residual, activation and store of EP_F32_LANES pixels of one channel. */
EP_INLINE void ep_conv_plain_store_vector(const ep_conv_plain_row *at, ep_f32v sum, const ptrdiff_t b,
                                          const ptrdiff_t j, const ep_conv_plain_desc d)
{
#if EP_F32_LANES == 1
    ep_conv_plain_store(at, sum, b, j, d);
#else
    if (b >= at->channels) {
        return;
    }
    const ptrdiff_t place = b * d.y_channel + j * d.y_pixel;
    if (d.residual) {
        sum += ep_conv_plain_load(at->r + place, d.y_pixel);
    }
    sum = ep_act_f32v(sum, d.act);
    if (d.y_pixel == 1) {
        *(ep_f32v_u *)(void *)(at->y + place) = sum;
        return;
    }
    EP_UNROLL
    for (int i = 0; i < EP_F32_LANES; i++) {
        at->y[place + i * d.y_pixel] = sum[i];
    }
#endif
}

/** tile_oc channels of `tw` vectors of pixels from j on, for which every kernel column lies inside. */
EP_INLINE void ep_conv_plain_tile(const ep_conv_plain_row *at, const ptrdiff_t j, const ep_conv_plain_desc d,
                                  const int tw)
{
    ep_f32v acc[EP_CONV_PLAIN_MAX_OC][EP_CONV_PLAIN_MAX_W];
    EP_UNROLL
    for (int b = 0; b < d.tile_oc; b++) {
        EP_UNROLL
        for (int t = 0; t < tw; t++) {
            acc[b][t] = (ep_f32v){0} + (d.has_bias && b < at->channels ? at->bias[b] : 0.0f);
        }
    }
    for (ptrdiff_t c = 0; c < d.ic; c++) {
        for (ptrdiff_t s = at->s_begin; s < at->s_end; s++) {
            for (ptrdiff_t p = at->p_begin; p < at->p_end; p++) {
                const float *x =
                    at->x + c * d.x_channel + s * d.dd * d.x_depth + p * d.dh * d.x_row + j * d.sw - d.left;
                const float *w = at->w + ((c * d.kd + s) * d.kh + p) * d.kw * d.tile_oc;
                for (ptrdiff_t q = 0; q < d.kw; q++) {
                    EP_UNROLL
                    for (int t = 0; t < tw; t++) {
                        const ep_f32v xv = ep_conv_plain_load(x + q * d.dw + t * EP_F32_LANES * d.sw, d.sw);
                        EP_UNROLL
                        for (int b = 0; b < d.tile_oc; b++) {
                            acc[b][t] += xv * w[q * d.tile_oc + b];
                        }
                    }
                }
            }
        }
    }
    EP_UNROLL
    for (int b = 0; b < d.tile_oc; b++) {
        EP_UNROLL
        for (int t = 0; t < tw; t++) {
            ep_conv_plain_store_vector(at, acc[b][t], b, j + t * EP_F32_LANES, d);
        }
    }
}

/** One output row of a channel tile: pixels at the border one by one, the rest in register tiles. */
EP_INLINE void ep_conv_plain_run(const ep_conv_plain_row *at, const ep_conv_plain_desc d)
{
    const ptrdiff_t inside = ep_conv_plain_first(-d.left, d.sw, d.ow);
    const ptrdiff_t outside = ep_conv_plain_last((d.kw - 1) * d.dw - d.left, d.sw, d.iw, d.ow);
    const ptrdiff_t step = (ptrdiff_t)d.tile_w * EP_F32_LANES;
    ptrdiff_t j = 0;
    for (; j < inside; j++) {
        ep_conv_plain_pixel(at, j, d);
    }
    for (; j + step <= outside; j += step) {
        ep_conv_plain_tile(at, j, d, d.tile_w);
    }
    if (EP_F32_LANES > 1 && d.tile_w > 1) {
        for (; j + EP_F32_LANES <= outside; j += EP_F32_LANES) {
            ep_conv_plain_tile(at, j, d, 1);
        }
    }
    for (; j < d.ow; j++) {
        ep_conv_plain_pixel(at, j, d);
    }
}

/** See above. */
EP_INLINE void ep_conv_plain_f32(void *y, const void *x, const void *w, const void *bias, const void *r,
                                 const ep_conv_plain_desc d, const ptrdiff_t begin, const ptrdiff_t end)
{
    const ptrdiff_t tiles = (d.oc + d.tile_oc - 1) / d.tile_oc;
    const ptrdiff_t taps = d.ic * d.kd * d.kh * d.kw * d.tile_oc;
    for (ptrdiff_t unit = begin; unit < end; unit++) {
        const ptrdiff_t i = unit % d.oh, e = unit / d.oh % d.od;
        const ptrdiff_t tile = unit / (d.oh * d.od) % (tiles * d.groups),
                        image = unit / (d.oh * d.od) / (tiles * d.groups);
        const ptrdiff_t group = tile / tiles, o = tile % tiles * d.tile_oc;
        const ptrdiff_t depth = e * d.sd - d.front, row = i * d.sh - d.top;
        const ptrdiff_t place =
            d.y_start + image * d.y_image + (group * d.oc + o) * d.y_channel + e * d.y_depth + i * d.y_row;
        ep_conv_plain_row at;
        at.x = (const float *)x + image * d.x_image + group * d.ic * d.x_channel + depth * d.x_depth + row * d.x_row;
        at.w = (const float *)w + tile * taps;
        at.bias = d.has_bias ? (const float *)bias + group * d.oc + o : NULL;
        at.r = d.residual ? (const float *)r + place : NULL;
        at.y = (float *)y + place;
        at.channels = d.oc - o;
        at.s_begin = ep_conv_plain_first(depth, d.dd, d.kd);
        at.s_end = ep_conv_plain_last(depth, d.dd, d.id, d.kd);
        at.p_begin = ep_conv_plain_first(row, d.dh, d.kh);
        at.p_end = ep_conv_plain_last(row, d.dh, d.ih, d.kh);
        ep_conv_plain_run(&at, d);
    }
}

#endif
