/* SPDX-License-Identifier: Apache-2.0 */
/** Zero the border around every plane of a blocked float32 buffer; the interior is not touched.
 *
 *  y[planes][top + height + bottom][left + width + right][block]; the pointer is at the first interior element. */
#ifndef EP_HALO_H
#define EP_HALO_H

#include "ep_base.h"

typedef struct ep_halo_desc {
    int planes, height, width, block;
    int top, left, bottom, right;
} ep_halo_desc;

EP_INLINE void ep_zero_run(float *y, ptrdiff_t count)
{
    for (ptrdiff_t i = 0; i < count; i++) {
        y[i] = 0.0f;
    }
}

EP_INLINE void ep_zero_halo(float *y, const ep_halo_desc d)
{
    const ptrdiff_t row = (ptrdiff_t)(d.left + d.width + d.right) * d.block;
    const ptrdiff_t side = (ptrdiff_t)(d.left + d.right) * d.block;
    float *p = y - d.top * row - (ptrdiff_t)d.left * d.block;
    for (int plane = 0; plane < d.planes; plane++) {
        /* top rows and the left end of the first interior row are one run; then the right end of each row with the left
         * end of the next; the last run ends with the bottom rows */
        ep_zero_run(p, d.top * row + (ptrdiff_t)d.left * d.block);
        p += d.top * row + (ptrdiff_t)(d.left + d.width) * d.block;
        for (int r = 0; r < d.height - 1; r++) {
            ep_zero_run(p, side);
            p += row;
        }
        ep_zero_run(p, (ptrdiff_t)d.right * d.block + d.bottom * row);
        p += (ptrdiff_t)d.right * d.block + d.bottom * row;
    }
}

#endif
