/* SPDX-License-Identifier: Apache-2.0 */
/** Concat of short runs (channels-last tensors): one pass over the output instead of one for each part. */
#ifndef EP_CONCAT_H
#define EP_CONCAT_H

#include "ep_move.h"

#define EP_CONCAT_PARTS 16

/** Part k gives run[k] consecutive elements to every row of y; `row` is their sum. */
typedef struct ep_concat_desc {
    int size; /* bytes an element */
    int parts;
    ptrdiff_t row;
    ptrdiff_t run[EP_CONCAT_PARTS];
} ep_concat_desc;

/** y[o] = x[0][o], x[1][o], ...  The range counts rows.  y may overlap no input. */
EP_INLINE void ep_concat(void *EP_RESTRICT y, const void *const *x, const ep_concat_desc d, ptrdiff_t begin,
                         ptrdiff_t end)
{
    const void *part[EP_CONCAT_PARTS];
    for (int k = 0; k < d.parts; k++) {
        part[k] = x[k];
    }
    for (ptrdiff_t o = begin; o < end; o++) {
        ptrdiff_t at = o * d.row;
        EP_UNROLL
        for (int k = 0; k < EP_CONCAT_PARTS; k++) {
            if (k < d.parts) {
                ep_move(ep_at(y, at, d.size), 1, ep_at_const(part[k], o * d.run[k], d.size), 1, d.run[k], d.size);
                at += d.run[k];
            }
        }
    }
}

#endif
