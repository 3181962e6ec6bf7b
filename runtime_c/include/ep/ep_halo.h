/* SPDX-License-Identifier: Apache-2.0 */
/** Zero the border around the planes of a blocked float32 buffer; the interior is not touched.
 *
 *  Interior rows of `row` elements lie `row_gap` apart within a plane; `plane_gap` lies between the last row of a plane and the
 *  first of the next, `head` before the first and `tail` after the last. The pointer is at the first interior element. */
#ifndef EP_HALO_H
#define EP_HALO_H

#include "ep_base.h"

typedef struct ep_halo_desc {
    ptrdiff_t planes, rows, row;
    ptrdiff_t head, row_gap, plane_gap, tail;
} ep_halo_desc;

EP_INLINE float *ep_zero_run(float *y, ptrdiff_t count)
{
    for (ptrdiff_t i = 0; i < count; i++) {
        y[i] = 0.0f;
    }
    return y + count;
}

EP_INLINE void ep_zero_halo(float *y, const ep_halo_desc d)
{
    float *p = ep_zero_run(y - d.head, d.head);
    for (ptrdiff_t plane = 0; plane < d.planes; plane++) {
        for (ptrdiff_t r = 0; r < d.rows - 1; r++) {
            p = ep_zero_run(p + d.row, d.row_gap);
        }
        p = ep_zero_run(p + d.row, plane < d.planes - 1 ? d.plane_gap : d.tail);
    }
}

#endif
