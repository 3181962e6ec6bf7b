/* SPDX-License-Identifier: Apache-2.0 */
/** Gather, GatherElements and GatherND with indices that are data.  An index outside its axis gives EP_E_INDEX before
 *  x is read there; the output is then partly written.  y may overlap no input. */
#ifndef EP_GATHER_H
#define EP_GATHER_H

#include "ep_index.h"

#define EP_GATHER_RANK 8

/** x[outer, axis, inner], indices[count], y[outer, count, inner]. */
typedef struct ep_gather_desc {
    int size; /* bytes an element */
    ep_element index;
    ptrdiff_t outer, axis, inner, count;
} ep_gather_desc;

/** y[o, j, i] = x[o, indices[j], i]. */
EP_INLINE ep_status ep_gather(void *EP_RESTRICT y, const void *EP_RESTRICT x, const void *EP_RESTRICT indices,
                              const ep_gather_desc d)
{
    for (ptrdiff_t j = 0; j < d.count; j++) {
        const ptrdiff_t at = ep_index_read(indices, j, d.index, d.axis);
        if (at == EP_INDEX_NONE) {
            return EP_E_INDEX;
        }
        for (ptrdiff_t o = 0; o < d.outer; o++) {
            ep_move(ep_at(y, (o * d.count + j) * d.inner, d.size), 1,
                    ep_at_const(x, (o * d.axis + at) * d.inner, d.size), 1, d.inner, d.size);
        }
    }
    return EP_OK;
}

/** `extent` is the shape of indices and y; `xs` the strides of x, 0 on the gathered axis. */
typedef struct ep_gather_elements_desc {
    int size;
    ep_element index;
    ptrdiff_t extent[EP_GATHER_RANK];
    ptrdiff_t xs[EP_GATHER_RANK];
    ptrdiff_t axis, axis_stride; /* extent and stride of the gathered axis of x */
} ep_gather_elements_desc;

/** The offset in a tensor of strides `xs` of the cell with linear number `n` in `extent`. */
EP_INLINE ptrdiff_t ep_gather_offset(ptrdiff_t n, const ptrdiff_t *extent, const ptrdiff_t *xs)
{
    ptrdiff_t offset = 0;
    for (int k = EP_GATHER_RANK - 1; k >= 0; k--) {
        offset += n % extent[k] * xs[k];
        n /= extent[k];
    }
    return offset;
}

EP_INLINE ptrdiff_t ep_gather_count(const ptrdiff_t *extent)
{
    ptrdiff_t count = 1;
    for (int k = 0; k < EP_GATHER_RANK; k++) {
        count *= extent[k];
    }
    return count;
}

/** y[.., j, ..] = x[.., indices[.., j, ..], ..]. */
EP_INLINE ep_status ep_gather_elements(void *EP_RESTRICT y, const void *EP_RESTRICT x, const void *EP_RESTRICT indices,
                                       const ep_gather_elements_desc d)
{
    const ptrdiff_t count = ep_gather_count(d.extent);
    for (ptrdiff_t n = 0; n < count; n++) {
        const ptrdiff_t at = ep_index_read(indices, n, d.index, d.axis);
        if (at == EP_INDEX_NONE) {
            return EP_E_INDEX;
        }
        const ptrdiff_t offset = ep_gather_offset(n, d.extent, d.xs) + at * d.axis_stride;
        ep_move(ep_at(y, n, d.size), 1, ep_at_const(x, offset, d.size), 1, 1, d.size);
    }
    return EP_OK;
}

/** indices[batches, tuples, depth] into x[batches, extent..., inner]. */
typedef struct ep_gather_nd_desc {
    int size;
    ep_element index;
    ptrdiff_t batches, tuples, depth, inner;
    ptrdiff_t x_batch;
    ptrdiff_t extent[EP_GATHER_RANK]; /* of the axes a tuple counts on */
    ptrdiff_t xs[EP_GATHER_RANK];     /* and their strides */
} ep_gather_nd_desc;

/** The offset that tuple `t` of an index tensor stands for; EP_INDEX_NONE when one of its entries is outside. */
EP_INLINE ptrdiff_t ep_gather_tuple(const void *indices, ptrdiff_t t, ep_element type, ptrdiff_t depth,
                                    const ptrdiff_t *extent, const ptrdiff_t *xs)
{
    ptrdiff_t offset = 0;
    for (ptrdiff_t k = 0; k < depth; k++) {
        const ptrdiff_t at = ep_index_read(indices, t * depth + k, type, extent[k]);
        if (at == EP_INDEX_NONE) {
            return EP_INDEX_NONE;
        }
        offset += at * xs[k];
    }
    return offset;
}

/** y[b, t, i] = x[b, indices[b, t, :]..., i]. */
EP_INLINE ep_status ep_gather_nd(void *EP_RESTRICT y, const void *EP_RESTRICT x, const void *EP_RESTRICT indices,
                                 const ep_gather_nd_desc d)
{
    for (ptrdiff_t n = 0; n < d.batches * d.tuples; n++) {
        const ptrdiff_t offset = ep_gather_tuple(indices, n, d.index, d.depth, d.extent, d.xs);
        if (offset == EP_INDEX_NONE) {
            return EP_E_INDEX;
        }
        ep_move(ep_at(y, n * d.inner, d.size), 1, ep_at_const(x, n / d.tuples * d.x_batch + offset, d.size), 1, d.inner,
                d.size);
    }
    return EP_OK;
}

#endif
