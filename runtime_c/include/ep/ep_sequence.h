/* SPDX-License-Identifier: Apache-2.0 */
/** OneHot, ReverseSequence and Trilu.  y may overlap no input. */
#ifndef EP_SEQUENCE_H
#define EP_SEQUENCE_H

#include "ep_index.h"

typedef struct ep_one_hot_desc {
    int size; /* bytes an element of y */
    ep_element index;
    ptrdiff_t outer, depth, inner; /* y[outer, depth, inner], indices[outer, inner] */
} ep_one_hot_desc;

/** y[o, d, i] = values[d == indices[o, i] ? 1 : 0]; indices outside [-depth, depth) select nothing. */
EP_INLINE void ep_one_hot(void *EP_RESTRICT y, const void *EP_RESTRICT indices, const void *EP_RESTRICT values,
                          const ep_one_hot_desc d, ptrdiff_t begin, ptrdiff_t end)
{
    const ptrdiff_t plane = d.depth * d.inner;
    ep_move(ep_at(y, begin * plane, d.size), 1, values, 0, (end - begin) * plane, d.size);
    for (ptrdiff_t n = begin * d.inner; n < end * d.inner; n++) {
        const ptrdiff_t at = ep_index_read(indices, n, d.index, d.depth);
        if (at != EP_INDEX_NONE) {
            const ptrdiff_t cell = n / d.inner * plane + at * d.inner + n % d.inner;
            ep_move(ep_at(y, cell, d.size), 1, ep_at_const(values, 1, d.size), 1, 1, d.size);
        }
    }
}

typedef struct ep_reverse_desc {
    int size;
    ptrdiff_t batch, time, inner;
    ptrdiff_t batch_stride, time_stride; /* in elements */
} ep_reverse_desc;

/** y[b, t, i] = x[b, length[b] - 1 - t, i] for t < length[b], else x[b, t, i]; EP_E_INDEX when a length is not in
 *  0..time. */
EP_INLINE ep_status ep_reverse_sequence(void *EP_RESTRICT y, const void *EP_RESTRICT x, const void *EP_RESTRICT lengths,
                                        const ep_reverse_desc d)
{
    for (ptrdiff_t b = 0; b < d.batch; b++) {
        const int64_t length = ((const ep_data_s64 *)lengths)[b];
        if (length < 0 || length > d.time) {
            return EP_E_INDEX;
        }
        for (ptrdiff_t t = 0; t < d.time; t++) {
            const ptrdiff_t from = t < length ? (ptrdiff_t)length - 1 - t : t;
            ep_move(ep_at(y, b * d.batch_stride + t * d.time_stride, d.size), 1,
                    ep_at_const(x, b * d.batch_stride + from * d.time_stride, d.size), 1, d.inner, d.size);
        }
    }
    return EP_OK;
}

typedef struct ep_trilu_desc {
    int size;
    ptrdiff_t rows, columns;
    ptrdiff_t k; /* the diagonal that is kept last, as far right of the main one */
    int upper;
} ep_trilu_desc;

/** Matrices with the part below (upper) or above diagonal k set to 0.  The range counts rows of all matrices. */
EP_INLINE void ep_trilu(void *EP_RESTRICT y, const void *EP_RESTRICT x, const ep_trilu_desc d, ptrdiff_t begin,
                        ptrdiff_t end)
{
    const ep_x64 zero = 0;
    for (ptrdiff_t row = begin; row < end; row++) {
        ptrdiff_t edge = row % d.rows + d.k + (d.upper ? 0 : 1);
        edge = edge < 0 ? 0 : edge > d.columns ? d.columns : edge;
        void *const target = ep_at(y, row * d.columns, d.size);
        const void *const source = ep_at_const(x, row * d.columns, d.size);
        const ptrdiff_t rest = d.columns - edge;
        if (d.upper) {
            ep_move(target, 1, &zero, 0, edge, d.size);
            ep_move(ep_at(target, edge, d.size), 1, ep_at_const(source, edge, d.size), 1, rest, d.size);
        } else {
            ep_move(target, 1, source, 1, edge, d.size);
            ep_move(ep_at(target, edge, d.size), 1, &zero, 0, rest, d.size);
        }
    }
}

#endif
