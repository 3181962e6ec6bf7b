/* SPDX-License-Identifier: Apache-2.0 */
/** Depthwise convolution (one filter per channel) on blocked tensors, float:
 *
 *      y[n, c, i, j] = act(bias[c] + r[n, c, i, j]
 *                          + sum_{p, q} x[n, c, i * sh + p * dh - top, j * sw + q * dw - left] * w[c, p, q])
 *
 *  `ep_dwconv_f32__x16(y, x, w, bias, r, d, begin, end)`, and `__x8`, `__x4`.  x, y and r have the same block; x has a
 *  zeroed halo that covers the padding to the left and right.  Rows above and below the plane are left out when `clip`, else
 *  they are in the halo, too; columns beside it are left out when `edge`, which needs a whole row in one tile.  A vector of L lanes holds L / block neighbouring pixels of one channel block.
 *  w     [channel block][p][q][L], the block repeated for each pixel of the vector; undefined channels may hold anything.
 *  bias  [channel block][L], likewise.
 *  r     read when `residual`; the format of y but its own pitches; may be y itself.
 *  The range counts (image, channel block, tile row).
 *  Limits, checked in packager/ops/conv.py: block divides L; block < L needs sw == 1 and ow a multiple of L / block.
 *  y overlaps neither x nor w. */
#ifndef EP_DWCONV_H
#define EP_DWCONV_H

#include "ep_act.h"
#include "ep_base.h"

typedef struct ep_dwconv_desc {
    ptrdiff_t blocks, block;          /* channel blocks of an image, channels in each */
    ptrdiff_t ih, iw, oh, ow;         /* rows and columns read and written */
    ptrdiff_t kh, kw, sh, sw, dh, dw; /* kernel, stride, dilation */
    ptrdiff_t top, left;              /* padding before the plane */
    ptrdiff_t x_row, x_plane, x_image;
    ptrdiff_t y_row, y_plane, y_image;
    ptrdiff_t r_row, r_plane, r_image;
    int tile_h, tile_w; /* rows of pixels, columns of vectors */
    int clip, edge;
    int residual;
    ep_act act;
} ep_dwconv_desc;

#define EP_DWCONV_MAX_PIXELS 32
#define EP_DWCONV_WIDE_KERNEL 8 /* kernels this wide are not kept in registers */

#if EP_F32_LANES >= 4
#define EP_DWCONV_FN(name) name##__x4
#define EP_DWCONV_L 4
#define EP_DWCONV_V ep_f32x4
#define EP_DWCONV_VU ep_f32x4_u
#define EP_DWCONV_ACT ep_act_f32x4
#include "ep_dwconv_f32.inc.h"
#endif

#if EP_F32_LANES >= 8
#define EP_DWCONV_FN(name) name##__x8
#define EP_DWCONV_L 8
#define EP_DWCONV_V ep_f32x8
#define EP_DWCONV_VU ep_f32x8_u
#define EP_DWCONV_ACT ep_act_f32x8
#include "ep_dwconv_f32.inc.h"
#endif

#if EP_F32_LANES >= 16
#define EP_DWCONV_FN(name) name##__x16
#define EP_DWCONV_L 16
#define EP_DWCONV_V ep_f32x16
#define EP_DWCONV_VU ep_f32x16_u
#define EP_DWCONV_ACT ep_act_f32x16
#include "ep_dwconv_f32.inc.h"
#endif

#endif
