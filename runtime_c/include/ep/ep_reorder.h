/* SPDX-License-Identifier: Apache-2.0 */
/** Copying a float tensor from one memory format to another: row-major to blocked, back, or to other blocks.
 *
 *      channel c of pixel (i, j) of image n is at  n * image + (c / block) * plane + (c % block) * lane + i * row + j * pixel
 *
 *  on each side; row-major is block 1, lane 0, plane H * W, pixel 1.  Lanes past the last channel are not written.
 *  The range counts (image, output channel block).  x and y do not overlap. */
#ifndef EP_REORDER_H
#define EP_REORDER_H

#include "ep_base.h"

typedef struct ep_reorder_desc {
    ptrdiff_t images, channels, height, width;
    ptrdiff_t x_block, x_lane, x_plane, x_row, x_pixel, x_image;
    ptrdiff_t y_block, y_lane, y_plane, y_row, y_pixel, y_image;
} ep_reorder_desc;

/** One row of `lanes` channels; constant `lanes` lets the compiler keep a pixel's channels together. */
EP_INLINE void ep_reorder_row(float *EP_RESTRICT y, const float *EP_RESTRICT x, const ptrdiff_t channel,
                              const ptrdiff_t lanes, const ep_reorder_desc d)
{
    if (d.y_pixel >= d.x_pixel) {
        for (ptrdiff_t j = 0; j < d.width; j++) {
            EP_UNROLL
            for (ptrdiff_t lane = 0; lane < lanes; lane++) {
                const ptrdiff_t c = channel + lane;
                y[j * d.y_pixel + lane * d.y_lane] =
                    x[c / d.x_block * d.x_plane + c % d.x_block * d.x_lane + j * d.x_pixel];
            }
        }
        return;
    }
    for (ptrdiff_t lane = 0; lane < lanes; lane++) {
        const ptrdiff_t c = channel + lane;
        const float *source = x + c / d.x_block * d.x_plane + c % d.x_block * d.x_lane;
        for (ptrdiff_t j = 0; j < d.width; j++) {
            y[j * d.y_pixel + lane * d.y_lane] = source[j * d.x_pixel];
        }
    }
}

EP_INLINE void ep_reorder_f32(void *y, const void *x, const ep_reorder_desc d, const ptrdiff_t begin,
                              const ptrdiff_t end)
{
    const ptrdiff_t blocks = (d.channels + d.y_block - 1) / d.y_block;
    for (ptrdiff_t unit = begin; unit < end; unit++) {
        const ptrdiff_t block = unit % blocks, image = unit / blocks;
        const ptrdiff_t channel = block * d.y_block;
        for (ptrdiff_t i = 0; i < d.height; i++) {
            float *target = (float *)y + image * d.y_image + block * d.y_plane + i * d.y_row;
            const float *source = (const float *)x + image * d.x_image + i * d.x_row;
            if (d.channels - channel >= d.y_block) {
                ep_reorder_row(target, source, channel, d.y_block, d);
            } else {
                ep_reorder_row(target, source, channel, d.channels % d.y_block, d);
            }
        }
    }
}

#endif
