/* SPDX-License-Identifier: Apache-2.0 */
/** Pad with a constant. */
#ifndef EP_PAD_H
#define EP_PAD_H

#include "ep_move.h"

#define EP_PAD_RANK 8

/** Axes that are not there have extent 1 and before 0.  Axis 0 is split; y is contiguous in this order. */
typedef struct ep_pad_desc {
    int size;                      /* bytes an element */
    ptrdiff_t extent[EP_PAD_RANK]; /* of y */
    ptrdiff_t before[EP_PAD_RANK]; /* cells of y in front of x */
    ptrdiff_t inside[EP_PAD_RANK]; /* extent of x */
    ptrdiff_t xs[EP_PAD_RANK];     /* strides of x */
    ptrdiff_t ys[EP_PAD_RANK];     /* strides of y */
    ptrdiff_t xo;
} ep_pad_desc;

/** One innermost row: the constant, the run of x (when `covered`), the constant. */
EP_INLINE void ep_pad_row(void *y, const void *x, const void *value, const ep_pad_desc d, int covered)
{
    const ptrdiff_t count = d.extent[7];
    const ptrdiff_t before = covered ? d.before[7] : count;
    const ptrdiff_t inside = covered ? d.inside[7] : 0;
    const ptrdiff_t after = count - before - inside;
    ep_move(y, 1, value, 0, before, d.size);
    ep_move(ep_at(y, before, d.size), 1, x, d.xs[7], inside, d.size);
    ep_move(ep_at(y, before + inside, d.size), 1, value, 0, after, d.size);
}

EP_INLINE int ep_pad_in(ptrdiff_t index, ptrdiff_t inside)
{
    return index >= 0 && index < inside;
}

/** y[i] = x[i - before] where that is inside x, else value[0].  y may overlap neither x nor value. */
EP_INLINE void ep_pad(void *EP_RESTRICT y, const void *EP_RESTRICT x, const void *EP_RESTRICT value,
                      const ep_pad_desc d, ptrdiff_t begin, ptrdiff_t end)
{
    for (ptrdiff_t i0 = begin; i0 < end; i0++) {
        const ptrdiff_t j0 = i0 - d.before[0];
        const int c0 = ep_pad_in(j0, d.inside[0]);
        for (ptrdiff_t i1 = 0; i1 < d.extent[1]; i1++) {
            const ptrdiff_t j1 = i1 - d.before[1];
            const int c1 = c0 && ep_pad_in(j1, d.inside[1]);
            for (ptrdiff_t i2 = 0; i2 < d.extent[2]; i2++) {
                const ptrdiff_t j2 = i2 - d.before[2];
                const int c2 = c1 && ep_pad_in(j2, d.inside[2]);
                for (ptrdiff_t i3 = 0; i3 < d.extent[3]; i3++) {
                    const ptrdiff_t j3 = i3 - d.before[3];
                    const int c3 = c2 && ep_pad_in(j3, d.inside[3]);
                    for (ptrdiff_t i4 = 0; i4 < d.extent[4]; i4++) {
                        const ptrdiff_t j4 = i4 - d.before[4];
                        const int c4 = c3 && ep_pad_in(j4, d.inside[4]);
                        for (ptrdiff_t i5 = 0; i5 < d.extent[5]; i5++) {
                            const ptrdiff_t j5 = i5 - d.before[5];
                            const int c5 = c4 && ep_pad_in(j5, d.inside[5]);
                            for (ptrdiff_t i6 = 0; i6 < d.extent[6]; i6++) {
                                const ptrdiff_t j6 = i6 - d.before[6];
                                const int c6 = c5 && ep_pad_in(j6, d.inside[6]);
                                const ptrdiff_t yi = i0 * d.ys[0] + i1 * d.ys[1] + i2 * d.ys[2] + i3 * d.ys[3] +
                                                     i4 * d.ys[4] + i5 * d.ys[5] + i6 * d.ys[6];
                                const ptrdiff_t xi = j0 * d.xs[0] + j1 * d.xs[1] + j2 * d.xs[2] + j3 * d.xs[3] +
                                                     j4 * d.xs[4] + j5 * d.xs[5] + j6 * d.xs[6];
                                ep_pad_row(ep_at(y, yi, d.size), ep_at_const(x, c6 ? d.xo + xi : 0, d.size), value, d,
                                           c6);
                            }
                        }
                    }
                }
            }
        }
    }
}

#endif
