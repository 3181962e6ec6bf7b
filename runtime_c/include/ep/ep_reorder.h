/* SPDX-License-Identifier: Apache-2.0 */
/** Copying a float tensor from one memory format to another: row-major to blocked, back, or to other blocks.
 *
 *      channel c of pixel (i, j) of image n is at  n * image + (c / block) * plane + (c % block) * lane + i * row + j * pixel
 *
 *  on each side; row-major is lane H * W, pixel 1 in blocks of any size.  Lanes past the last channel are not written.
 *  The range counts (image, output channel block).  x and y do not overlap. */
#ifndef EP_REORDER_H
#define EP_REORDER_H

#include "ep_base.h"
#include "ep_vec.h"

typedef struct ep_reorder_desc {
    ptrdiff_t images, channels, height, width;
    ptrdiff_t x_block, x_lane, x_plane, x_row, x_pixel, x_image;
    ptrdiff_t y_block, y_lane, y_plane, y_row, y_pixel, y_image;
} ep_reorder_desc;

#if EP_F32_LANES >= 4 && __has_builtin(__builtin_shufflevector)
#define EP_REORDER_SQUARES 1

/** Four runs of four floats, transposed. */
EP_INLINE void ep_reorder_square(float *EP_RESTRICT y, const ptrdiff_t y_step, const float *EP_RESTRICT x,
                                 const ptrdiff_t x_step)
{
    const ep_f32x4 a = ep_load_f32x4(x), b = ep_load_f32x4(x + x_step);
    const ep_f32x4 c = ep_load_f32x4(x + 2 * x_step), d = ep_load_f32x4(x + 3 * x_step);
    const ep_f32x4 ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5),
                   ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
    const ep_f32x4 cd_low = __builtin_shufflevector(c, d, 0, 4, 1, 5),
                   cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
    ep_store_f32x4(y, __builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5));
    ep_store_f32x4(y + y_step, __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7));
    ep_store_f32x4(y + 2 * y_step, __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5));
    ep_store_f32x4(y + 3 * y_step, __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7));
}
#else
#define EP_REORDER_SQUARES 0
#endif

/** Pixels [begin, width) of a row, channels one by one. */
EP_INLINE void ep_reorder_rest(float *EP_RESTRICT y, const float *EP_RESTRICT x, const ptrdiff_t channel,
                               const ptrdiff_t lanes, const ptrdiff_t begin, const ep_reorder_desc d)
{
    for (ptrdiff_t j = begin; j < d.width; j++) {
        for (ptrdiff_t lane = 0; lane < lanes; lane++) {
            const ptrdiff_t c = channel + lane;
            y[j * d.y_pixel + lane * d.y_lane] =
                x[c / d.x_block * d.x_plane + c % d.x_block * d.x_lane + j * d.x_pixel];
        }
    }
}

/** One row of `lanes` channels: four pixels of four channels at a time where one side has pixels and the other
 *  channels side by side. */
EP_INLINE void ep_reorder_row(float *EP_RESTRICT y, const float *EP_RESTRICT x, const ptrdiff_t channel,
                              const ptrdiff_t lanes, const ep_reorder_desc d)
{
#if EP_REORDER_SQUARES
    const int into_blocks = d.x_pixel == 1 && d.y_lane == 1;
    const int out_of_blocks = d.x_lane == 1 && d.y_pixel == 1 && d.x_block % 4 == 0;
    if ((into_blocks || out_of_blocks) && lanes % 4 == 0) {
        const ptrdiff_t squares = d.width / 4 * 4;
        for (ptrdiff_t lane = 0; lane < lanes; lane += 4) {
            const ptrdiff_t c = channel + lane;
            const float *source = x + c / d.x_block * d.x_plane + c % d.x_block * d.x_lane;
            for (ptrdiff_t j = 0; j < squares; j += 4) {
                ep_reorder_square(y + lane * d.y_lane + j * d.y_pixel, into_blocks ? d.y_pixel : d.y_lane,
                                  source + j * d.x_pixel, into_blocks ? d.x_lane : d.x_pixel);
            }
        }
        ep_reorder_rest(y, x, channel, lanes, squares, d);
        return;
    }
#endif
    ep_reorder_rest(y, x, channel, lanes, 0, d);
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
