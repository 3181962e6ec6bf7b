/* SPDX-License-Identifier: Apache-2.0 */
/** GlobalAveragePool: the mean of every channel's cells.
 *
 *  ep_global_average_f32(y, x, d, begin, end)     plain: planes of `width` contiguous cells, `height` 1
 *  ep_global_average_f32x4, _f32x8, _f32x16       blocked x; y blocked, or plain when `channels` is given
 *  The range counts planes (a channel, a block of channels).  y and x may not overlap. */
#ifndef EP_GLOBAL_POOL_H
#define EP_GLOBAL_POOL_H

#include "ep_vec.h"

typedef struct ep_global_desc {
    ptrdiff_t height, width;
    ptrdiff_t x_plane, x_row; /* pitches in elements; cells of a row are one block apart */
    ptrdiff_t y_plane;
    ptrdiff_t blocks;   /* planes of an image; used with `channels` */
    ptrdiff_t channels; /* of an image when y is plain, else 0 */
} ep_global_desc;

EP_INLINE void ep_global_average_f32(void *EP_RESTRICT y, const void *EP_RESTRICT x, const ep_global_desc d,
                                     ptrdiff_t begin, ptrdiff_t end)
{
    const float scale = 1.0f / (float)d.width;
    for (ptrdiff_t p = begin; p < end; p++) {
        const ep_x32 *const plane = (const ep_x32 *)x + p * d.x_plane;
        ep_f32v even = ep_splat_f32v(0.0f);
        ep_f32v odd = even;
        ptrdiff_t i = 0;
        for (; i + 2 * EP_F32_LANES <= d.width; i += 2 * EP_F32_LANES) {
            even += ep_load_f32v(plane + i);
            odd += ep_load_f32v(plane + i + EP_F32_LANES);
        }
        float sum = ep_hsum_f32v(even + odd);
        for (; i < d.width; i++) {
            sum += ep_load_f32(plane + i);
        }
        ep_store_f32((ep_x32 *)y + p * d.y_plane, sum * scale);
    }
}

#if EP_F32_LANES >= 4
#define EP_VW 4
#include "ep_global_pool.inc.h"
#endif
#if EP_F32_LANES >= 8
#define EP_VW 8
#include "ep_global_pool.inc.h"
#endif
#if EP_F32_LANES >= 16
#define EP_VW 16
#include "ep_global_pool.inc.h"
#endif

#endif
