/* SPDX-License-Identifier: Apache-2.0 */
/** Copies between two strided views of the same extents: Slice, Split, Concat, Expand, Tile, DepthToSpace and the
 *  Transposes that keep the innermost axis. */
#ifndef EP_COPY_H
#define EP_COPY_H

#include "ep_move.h"

#define EP_COPY_RANK 8

/** Strides and offsets in elements; axes that are not there have extent 1.  Axis 0 is the one that is split. */
typedef struct ep_copy_desc {
    int size; /* bytes an element: 1, 2, 4 or 8 */
    ptrdiff_t extent[EP_COPY_RANK];
    ptrdiff_t xs[EP_COPY_RANK];
    ptrdiff_t ys[EP_COPY_RANK];
    ptrdiff_t xo;
    ptrdiff_t yo;
} ep_copy_desc;

/** y[yo + sum i_k ys_k] = x[xo + sum i_k xs_k].  Strides of x may be 0 (broadcast) or negative (reversal).
 *  y and x may not overlap. */
EP_INLINE void ep_copy_nd(void *EP_RESTRICT y, const void *EP_RESTRICT x, const ep_copy_desc d, ptrdiff_t begin,
                          ptrdiff_t end)
{
    const ptrdiff_t inner =
        d.extent[1] * d.extent[2] * d.extent[3] * d.extent[4] * d.extent[5] * d.extent[6] * d.extent[7];
    if (inner == 1) {
        ep_move(ep_at(y, d.yo + begin * d.ys[0], d.size), d.ys[0], ep_at_const(x, d.xo + begin * d.xs[0], d.size),
                d.xs[0], end - begin, d.size);
        return;
    }
    for (ptrdiff_t i0 = begin; i0 < end; i0++)
        for (ptrdiff_t i1 = 0; i1 < d.extent[1]; i1++)
            for (ptrdiff_t i2 = 0; i2 < d.extent[2]; i2++)
                for (ptrdiff_t i3 = 0; i3 < d.extent[3]; i3++)
                    for (ptrdiff_t i4 = 0; i4 < d.extent[4]; i4++)
                        for (ptrdiff_t i5 = 0; i5 < d.extent[5]; i5++)
                            for (ptrdiff_t i6 = 0; i6 < d.extent[6]; i6++) {
                                const ptrdiff_t yi = d.yo + i0 * d.ys[0] + i1 * d.ys[1] + i2 * d.ys[2] + i3 * d.ys[3] +
                                                     i4 * d.ys[4] + i5 * d.ys[5] + i6 * d.ys[6];
                                const ptrdiff_t xi = d.xo + i0 * d.xs[0] + i1 * d.xs[1] + i2 * d.xs[2] + i3 * d.xs[3] +
                                                     i4 * d.xs[4] + i5 * d.xs[5] + i6 * d.xs[6];
                                ep_move(ep_at(y, yi, d.size), d.ys[7], ep_at_const(x, xi, d.size), d.xs[7], d.extent[7],
                                        d.size);
                            }
}

#endif
