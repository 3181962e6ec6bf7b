/* SPDX-License-Identifier: Apache-2.0 */
/** Copies through one table of source offsets per axis: Pad (edge, reflect, wrap), nearest Resize, Gather by
 *  constants. */
#ifndef EP_TABLE_H
#define EP_TABLE_H

#include "ep_move.h"

#define EP_TABLE_RANK 8

/** Axis k goes by the stride xs[k] when at[k] is negative, else by table[at[k] + i].  A negative table entry means
 *  "not in x": that cell becomes `fill`.  Axis 0 is split; offsets and strides are in elements. */
typedef struct ep_table_desc {
    int size; /* bytes an element */
    ptrdiff_t extent[EP_TABLE_RANK];
    ptrdiff_t at[EP_TABLE_RANK];
    ptrdiff_t xs[EP_TABLE_RANK];
    ptrdiff_t ys[EP_TABLE_RANK];
    ptrdiff_t xo, yo;
    int holes; /* some entry is negative */
} ep_table_desc;

/** The offset that index `i` adds on axis `k`; negative when it is outside x (of stride axes: never asked for). */
EP_INLINE ptrdiff_t ep_table_offset(const int32_t *EP_RESTRICT table, const ep_table_desc d, int k, ptrdiff_t i)
{
    return d.at[k] < 0 ? i * d.xs[k] : (ptrdiff_t)table[d.at[k] + i];
}

EP_INLINE int ep_table_hole(ptrdiff_t offset, const ep_table_desc d, int k)
{
    return d.holes && d.at[k] >= 0 && offset < 0;
}

/** The innermost axis. */
EP_INLINE void ep_table_row(void *EP_RESTRICT y, const void *EP_RESTRICT x, const int32_t *EP_RESTRICT table,
                            const void *EP_RESTRICT fill, const ep_table_desc d, int hole)
{
    if (hole) {
        for (ptrdiff_t i = 0; i < d.extent[7]; i++)
            ep_move(ep_at(y, i * d.ys[7], d.size), 1, fill, 1, 1, d.size);
        return;
    }
    if (d.at[7] < 0) {
        ep_move(y, d.ys[7], x, d.xs[7], d.extent[7], d.size);
        return;
    }
    for (ptrdiff_t i = 0; i < d.extent[7]; i++) {
        const ptrdiff_t offset = table[d.at[7] + i];
        const int outside = d.holes && offset < 0;
        ep_move(ep_at(y, i * d.ys[7], d.size), 1, outside ? fill : ep_at_const(x, offset, d.size), 1, 1, d.size);
    }
}

/** y[yo + sum i_k ys_k] = x[xo + sum offset_k(i_k)], or fill[0] where an axis has a hole.  `fill` is NULL without
 *  holes. Table entries were checked in Python.  y may overlap no input. */
EP_INLINE void ep_table_copy(void *EP_RESTRICT y, const void *EP_RESTRICT x, const void *EP_RESTRICT tables,
                             const void *EP_RESTRICT fill, const ep_table_desc d, ptrdiff_t begin, ptrdiff_t end)
{
    const int32_t *EP_RESTRICT t = tables;
    for (ptrdiff_t i0 = begin; i0 < end; i0++) {
        const ptrdiff_t o0 = ep_table_offset(t, d, 0, i0);
        const int h0 = ep_table_hole(o0, d, 0);
        for (ptrdiff_t i1 = 0; i1 < d.extent[1]; i1++) {
            const ptrdiff_t o1 = ep_table_offset(t, d, 1, i1);
            const int h1 = h0 || ep_table_hole(o1, d, 1);
            for (ptrdiff_t i2 = 0; i2 < d.extent[2]; i2++) {
                const ptrdiff_t o2 = ep_table_offset(t, d, 2, i2);
                const int h2 = h1 || ep_table_hole(o2, d, 2);
                for (ptrdiff_t i3 = 0; i3 < d.extent[3]; i3++) {
                    const ptrdiff_t o3 = ep_table_offset(t, d, 3, i3);
                    const int h3 = h2 || ep_table_hole(o3, d, 3);
                    for (ptrdiff_t i4 = 0; i4 < d.extent[4]; i4++) {
                        const ptrdiff_t o4 = ep_table_offset(t, d, 4, i4);
                        const int h4 = h3 || ep_table_hole(o4, d, 4);
                        for (ptrdiff_t i5 = 0; i5 < d.extent[5]; i5++) {
                            const ptrdiff_t o5 = ep_table_offset(t, d, 5, i5);
                            const int h5 = h4 || ep_table_hole(o5, d, 5);
                            for (ptrdiff_t i6 = 0; i6 < d.extent[6]; i6++) {
                                const ptrdiff_t o6 = ep_table_offset(t, d, 6, i6);
                                const int h6 = h5 || ep_table_hole(o6, d, 6);
                                const ptrdiff_t yi = d.yo + i0 * d.ys[0] + i1 * d.ys[1] + i2 * d.ys[2] + i3 * d.ys[3] +
                                                     i4 * d.ys[4] + i5 * d.ys[5] + i6 * d.ys[6];
                                const ptrdiff_t xi = d.xo + o0 + o1 + o2 + o3 + o4 + o5 + o6;
                                ep_table_row(ep_at(y, yi, d.size), ep_at_const(x, h6 ? 0 : xi, d.size), t, fill, d, h6);
                            }
                        }
                    }
                }
            }
        }
    }
}

#endif
