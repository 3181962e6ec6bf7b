/* SPDX-License-Identifier: Apache-2.0 */
/** Direct convolution with blocked output, float:
 *
 *      y[n, o, i, j] = act(bias[o] + r[n, o, i, j]
 *                          + sum_{c, p, q} x[n, g(o) + c, i * sh + p * dh - top, j * sw + q * dw - left] * w[o, c, p, q])
 *
 *  `ep_conv_f32__x16(y, x, w, bias, r, d, begin, end)`, and `__x8`, `__x4`: the suffix is the vector width L that output
 *  channels are computed in.  A vector holds one or several output blocks (y_block divides L), so that a tensor in
 *  blocks of 8 still fills a 16-lane vector.
 *
 *  x   blocked, or plain with few channels: channel c is at (c / x_block) * x_plane + (c % x_block) * x_lane, and pixels
 *      are x_pixel apart.  Only the `ic` valid channels are read.  With `border` 0 the buffer has a zeroed halo that covers the
 *      padding; with `border` 1 there is none and the kernel leaves out what falls outside (ih x iw is then the plane).
 *  w   packed [tile of tile_oc * L channels][c][p][q] with channels in blocks as x: for each tile, block, p, q, lane
 *      come tile_oc * L weights, zero past the last channel.  With `border` 1: tile, p, q, channel.
 *  bias  one float per output channel, zero padded to a multiple of L.
 *  r   read when `residual`; the format of y but its own pitches; may be y itself.
 *
 *  The accumulators are tile_h x tile_w pixels times tile_oc vectors and must fit the register file (packager/ops/tile.py).
 *  The range counts (image, channel tile, tile row), channel tiles outermost when `oc_outer`, else tile rows.
 *  Limits, checked in packager/ops/conv.py: groups own whole channel tiles and whole input blocks; with `border`,
 *  tile_h is 1 and only the first and the last tile of a row touch the padding.  y overlaps neither x nor w. */
#ifndef EP_CONV_H
#define EP_CONV_H

#include "ep_act.h"
#include "ep_base.h"

typedef struct ep_conv_desc {
    ptrdiff_t images, groups;
    ptrdiff_t ic, oc;           /* channels of one group in, of all groups out */
    ptrdiff_t x_block, y_block; /* channels per block */
    ptrdiff_t ih, iw;           /* input plane, read with `border` only */
    ptrdiff_t oh, ow;
    ptrdiff_t kh, kw, sh, sw, dh, dw; /* kernel, stride, dilation */
    ptrdiff_t top, left;              /* padding before the plane */
    ptrdiff_t x_lane, x_pixel, x_row, x_plane, x_image;
    ptrdiff_t y_start, y_pixel, y_row, y_plane, y_image; /* a phase of a transposed convolution starts elsewhere */
    ptrdiff_t r_pixel, r_row, r_plane, r_image;
    int tile_h, tile_w, tile_oc;
    int border, oc_outer, residual;
    int prefetch; /* fetch weights this many elements ahead, to have the next channel tile's in time; 0 does not */
    ep_act act;
} ep_conv_desc;

#define EP_CONV_MAX_OC 8
#define EP_CONV_MAX_PIXELS 32

#if EP_F32_LANES >= 4
#define EP_CONV_FN(name) name##__x4
#define EP_CONV_L 4
#define EP_CONV_V ep_f32x4
#define EP_CONV_VU ep_f32x4_u
#define EP_CONV_ACT ep_act_f32x4
#include "ep_conv_f32.inc.h"
#endif

#if EP_F32_LANES >= 8
#define EP_CONV_FN(name) name##__x8
#define EP_CONV_L 8
#define EP_CONV_V ep_f32x8
#define EP_CONV_VU ep_f32x8_u
#define EP_CONV_ACT ep_act_f32x8
#include "ep_conv_f32.inc.h"
#endif

#if EP_F32_LANES >= 16
#define EP_CONV_FN(name) name##__x16
#define EP_CONV_L 16
#define EP_CONV_V ep_f32x16
#define EP_CONV_VU ep_f32x16_u
#define EP_CONV_ACT ep_act_f32x16
#include "ep_conv_f32.inc.h"
#endif

#endif
