/* SPDX-License-Identifier: Apache-2.0 */
/** Transposed convolution on row-major tensors by scattering, float, up to three spatial dimensions:
 *
 *      y[n, o] = act(bias[o] + sum over c, i, k with i * stride + k * dilation - pad == position of
 *                    x[n, g(o) + c, i] * w[g(o) + c, o within its group, k])
 *
 *  The form for weights computed at run time and for long strides; others run as one convolution per phase of the
 *  stride (packager/ops/conv_transpose.py).
 *
 *  w     as ONNX has it: [channel in][channel out of its group][s][p][q].
 *  bias  one float per output channel, or NULL when `has_bias` is 0.
 *  The range counts (image, output channel).  y overlaps neither x nor w. */
#ifndef EP_CONV_TRANSPOSE_H
#define EP_CONV_TRANSPOSE_H

#include "ep_act.h"
#include "ep_base.h"

typedef struct ep_conv_transpose_desc {
    ptrdiff_t groups, ic, oc; /* channels of one group */
    ptrdiff_t id, ih, iw, od, oh, ow;
    ptrdiff_t kd, kh, kw, sd, sh, sw, dd, dh, dw; /* kernel, stride, dilation */
    ptrdiff_t front, top, left;                   /* outputs cut off before the tensor */
    int has_bias;
    ep_act act;
} ep_conv_transpose_desc;

/** y[start + q * dilation] += x * w[q] for every q that lands inside [0, extent). */
EP_INLINE void ep_conv_transpose_row(float *EP_RESTRICT y, const float x, const float *EP_RESTRICT w,
                                     const ptrdiff_t start, const ep_conv_transpose_desc d)
{
    const ptrdiff_t begin = start >= 0 ? 0 : (d.dw - 1 - start) / d.dw;
    const ptrdiff_t room = start >= d.ow ? 0 : (d.ow - start + d.dw - 1) / d.dw;
    const ptrdiff_t end = room < d.kw ? room : d.kw;
    for (ptrdiff_t q = begin; q < end; q++) {
        y[start + q * d.dw] += x * w[q];
    }
}

/** Adds one input channel to one output channel. */
EP_INLINE void ep_conv_transpose_channel(float *y, const float *x, const float *w, const ep_conv_transpose_desc d)
{
    for (ptrdiff_t cell = 0; cell < d.id * d.ih; cell++) {
        const ptrdiff_t depth = cell / d.ih * d.sd - d.front, row = cell % d.ih * d.sh - d.top;
        for (ptrdiff_t tap = 0; tap < d.kd * d.kh; tap++) {
            const ptrdiff_t e = depth + tap / d.kh * d.dd, i = row + tap % d.kh * d.dh;
            if (e < 0 || e >= d.od || i < 0 || i >= d.oh) {
                continue;
            }
            for (ptrdiff_t j = 0; j < d.iw; j++) {
                ep_conv_transpose_row(y + (e * d.oh + i) * d.ow, x[cell * d.iw + j], w + tap * d.kw, j * d.sw - d.left,
                                      d);
            }
        }
    }
}

EP_INLINE void ep_conv_transpose_f32(void *y, const void *x, const void *w, const void *bias,
                                     const ep_conv_transpose_desc d, const ptrdiff_t begin, const ptrdiff_t end)
{
    const ptrdiff_t plane = d.od * d.oh * d.ow, x_plane = d.id * d.ih * d.iw, taps = d.kd * d.kh * d.kw;
    for (ptrdiff_t unit = begin; unit < end; unit++) {
        const ptrdiff_t channel = unit % (d.groups * d.oc), image = unit / (d.groups * d.oc);
        const ptrdiff_t group = channel / d.oc, o = channel % d.oc;
        float *target = (float *)y + unit * plane;
        for (ptrdiff_t i = 0; i < plane; i++) {
            target[i] = d.has_bias ? ((const float *)bias)[channel] : 0.0f;
        }
        for (ptrdiff_t c = 0; c < d.ic; c++) {
            const ptrdiff_t source = group * d.ic + c;
            ep_conv_transpose_channel(target, (const float *)x + (image * d.groups * d.ic + source) * x_plane,
                                      (const float *)w + (source * d.oc + o) * taps, d);
        }
        for (ptrdiff_t i = 0; d.act.kind != EP_ACT_NONE && i < plane; i++) {
            target[i] = ep_act_f32(target[i], d.act);
        }
    }
}

#endif
