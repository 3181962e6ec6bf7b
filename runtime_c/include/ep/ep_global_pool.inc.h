/* SPDX-License-Identifier: Apache-2.0 */
/* The blocked kernel of ep_global_pool.h for blocks of EP_VW channels. */
#include "ep_width.inc.h"

EP_INLINE EP_F EP_FN(ep_global_row)(const ep_x32 *EP_RESTRICT row, ptrdiff_t width)
{
    EP_F sum[4] = {{0}, {0}, {0}, {0}}; /* four chains hide the latency of an addition */
    ptrdiff_t i = 0;
    for (; i + 4 <= width; i += 4) {
        EP_UNROLL
        for (int k = 0; k < 4; k++) {
            sum[k] += EP_FN(ep_load)(row + (i + k) * EP_VW);
        }
    }
    for (; i < width; i++) {
        sum[0] += EP_FN(ep_load)(row + i * EP_VW);
    }
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

EP_INLINE void EP_FN(ep_global_average)(void *EP_RESTRICT y, const void *EP_RESTRICT x, const ep_global_desc d,
                                        ptrdiff_t begin, ptrdiff_t end)
{
    const float scale = 1.0f / (float)(d.height * d.width);
    const int joined = d.x_row == d.width * EP_VW; /* rows follow one another: one long row */
    const ptrdiff_t rows = joined ? 1 : d.height;
    const ptrdiff_t width = joined ? d.height * d.width : d.width;
    for (ptrdiff_t p = begin; p < end; p++) {
        EP_F sum = {0};
        for (ptrdiff_t row = 0; row < rows; row++) {
            sum += EP_FN(ep_global_row)((const ep_x32 *)x + p * d.x_plane + row * d.x_row, width);
        }
        sum *= scale;
        if (d.channels == 0) {
            EP_FN(ep_store)((ep_x32 *)y + p * d.y_plane, sum);
        } else {
            const ptrdiff_t channel = p % d.blocks * EP_VW;
            ep_x32 *const target = (ep_x32 *)y + p / d.blocks * d.channels + channel;
            if (d.channels - channel >= EP_VW) {
                EP_FN(ep_store)(target, sum);
            } else {
                EP_FN(ep_store_part)(target, sum, d.channels - channel);
            }
        }
    }
}

#include "ep_width_end.inc.h"
