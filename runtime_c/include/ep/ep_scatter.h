/* SPDX-License-Identifier: Apache-2.0 */
/** ScatterElements, ScatterND (and MaxUnpool, at the end): y = x with cells replaced by (or combined with) updates, in the order of the updates.
 *
 *  y may be x itself, then nothing is copied; otherwise it overlaps no input.  An index outside its axis gives
 *  EP_E_INDEX before anything is written there; the output is then partly updated. */
#ifndef EP_SCATTER_H
#define EP_SCATTER_H

#include "ep_gather.h"

typedef enum ep_scatter_op {
    EP_SCATTER_SET,
    EP_SCATTER_ADD,
    EP_SCATTER_MUL,
    EP_SCATTER_MIN,
    EP_SCATTER_MAX
} ep_scatter_op;

/* `wide` is a type the arithmetic cannot overflow in (unsigned for integers: results are those of two's complement) */
#define EP_DEFINE_COMBINE(type, wide, name)                                                                            \
    EP_INLINE void ep_combine_##name(void *y, const void *update, ep_scatter_op op)                                    \
    {                                                                                                                  \
        type *const cell = (type *)y;                                                                                  \
        const type old = *cell;                                                                                        \
        const type u = *(const type *)update;                                                                          \
        switch (op) {                                                                                                  \
        case EP_SCATTER_ADD:                                                                                           \
            *cell = (type)((wide)old + (wide)u);                                                                       \
            break;                                                                                                     \
        case EP_SCATTER_MUL:                                                                                           \
            *cell = (type)((wide)old * (wide)u);                                                                       \
            break;                                                                                                     \
        case EP_SCATTER_MIN:                                                                                           \
            *cell = u < old ? u : old;                                                                                 \
            break;                                                                                                     \
        case EP_SCATTER_MAX:                                                                                           \
            *cell = u > old ? u : old;                                                                                 \
            break;                                                                                                     \
        default:                                                                                                       \
            *cell = u;                                                                                                 \
            break;                                                                                                     \
        }                                                                                                              \
    }

EP_DEFINE_COMBINE(ep_data_f32, float, f32)
EP_DEFINE_COMBINE(ep_data_f64, double, f64)
EP_DEFINE_COMBINE(ep_data_s8, uint32_t, s8)
EP_DEFINE_COMBINE(ep_data_s16, uint32_t, s16)
EP_DEFINE_COMBINE(ep_data_s32, uint32_t, s32)
EP_DEFINE_COMBINE(ep_data_s64, uint64_t, s64)
EP_DEFINE_COMBINE(ep_x8, uint32_t, u8)
EP_DEFINE_COMBINE(ep_x16, uint32_t, u16)
EP_DEFINE_COMBINE(ep_x32, uint32_t, u32)
EP_DEFINE_COMBINE(ep_x64, uint64_t, u64)
#undef EP_DEFINE_COMBINE

/** y[0] = y[0] op update[0]. */
EP_INLINE void ep_combine(void *y, const void *update, ep_element type, ep_scatter_op op)
{
    switch (type) {
    case EP_ELEMENT_F32:
        ep_combine_f32(y, update, op);
        break;
    case EP_ELEMENT_F64:
        ep_combine_f64(y, update, op);
        break;
    case EP_ELEMENT_S8:
        ep_combine_s8(y, update, op);
        break;
    case EP_ELEMENT_S16:
        ep_combine_s16(y, update, op);
        break;
    case EP_ELEMENT_S32:
        ep_combine_s32(y, update, op);
        break;
    case EP_ELEMENT_S64:
        ep_combine_s64(y, update, op);
        break;
    case EP_ELEMENT_U8:
        ep_combine_u8(y, update, op);
        break;
    case EP_ELEMENT_U16:
        ep_combine_u16(y, update, op);
        break;
    case EP_ELEMENT_U32:
        ep_combine_u32(y, update, op);
        break;
    default:
        ep_combine_u64(y, update, op);
        break;
    }
}

/** `extent` is the shape of indices and updates; `ys` the strides of y, 0 on the scattered axis. */
typedef struct ep_scatter_elements_desc {
    int size; /* bytes an element */
    ep_element type, index;
    ep_scatter_op op;
    ptrdiff_t count; /* of x and y */
    ptrdiff_t extent[EP_GATHER_RANK];
    ptrdiff_t ys[EP_GATHER_RANK];
    ptrdiff_t axis, axis_stride;
} ep_scatter_elements_desc;

/** y = x; y[.., indices[.., j, ..], ..] op= updates[.., j, ..]. */
EP_INLINE ep_status ep_scatter_elements(void *y, const void *x, const void *indices, const void *updates,
                                        const ep_scatter_elements_desc d)
{
    if (y != x) {
        ep_move(y, 1, x, 1, d.count, d.size);
    }
    const ptrdiff_t count = ep_gather_count(d.extent);
    for (ptrdiff_t n = 0; n < count; n++) {
        const ptrdiff_t at = ep_index_read(indices, n, d.index, d.axis);
        if (at == EP_INDEX_NONE) {
            return EP_E_INDEX;
        }
        const ptrdiff_t offset = ep_gather_offset(n, d.extent, d.ys) + at * d.axis_stride;
        ep_combine(ep_at(y, offset, d.size), ep_at_const(updates, n, d.size), d.type, d.op);
    }
    return EP_OK;
}

/** indices[tuples, depth] into y[extent..., inner]. */
typedef struct ep_scatter_nd_desc {
    int size;
    ep_element type, index;
    ep_scatter_op op;
    ptrdiff_t count; /* of x and y */
    ptrdiff_t tuples, depth, inner;
    ptrdiff_t extent[EP_GATHER_RANK];
    ptrdiff_t ys[EP_GATHER_RANK];
} ep_scatter_nd_desc;

/** y = x; y[indices[t, :]..., i] op= updates[t, i]. */
EP_INLINE ep_status ep_scatter_nd(void *y, const void *x, const void *indices, const void *updates,
                                  const ep_scatter_nd_desc d)
{
    if (y != x) {
        ep_move(y, 1, x, 1, d.count, d.size);
    }
    for (ptrdiff_t t = 0; t < d.tuples; t++) {
        const ptrdiff_t offset = ep_gather_tuple(indices, t, d.index, d.depth, d.extent, d.ys);
        if (offset == EP_INDEX_NONE) {
            return EP_E_INDEX;
        }
        void *const target = ep_at(y, offset, d.size);
        const void *const source = ep_at_const(updates, t * d.inner, d.size);
        if (d.op == EP_SCATTER_SET) {
            ep_move(target, 1, source, 1, d.inner, d.size);
        } else {
            for (ptrdiff_t i = 0; i < d.inner; i++) {
                ep_combine(ep_at(target, i, d.size), ep_at_const(source, i, d.size), d.type, d.op);
            }
        }
    }
    return EP_OK;
}

/** Indices count in a tensor of shape `pooled` (the smallest MaxPool may have seen), whose cells lie in y by `ys`. */
typedef struct ep_unpool_desc {
    int size;               /* bytes an element */
    ptrdiff_t count, total; /* of x, of y */
    ptrdiff_t pooled[EP_GATHER_RANK];
    ptrdiff_t ys[EP_GATHER_RANK];
} ep_unpool_desc;

/** y = 0; y[indices[i]] = x[i]; ONNX MaxUnpool-22.  y may overlap no input. */
EP_INLINE ep_status ep_max_unpool(void *EP_RESTRICT y, const void *EP_RESTRICT x, const void *EP_RESTRICT indices,
                                  const ep_unpool_desc d)
{
    const ep_x64 zero = 0;
    const ptrdiff_t cells = ep_gather_count(d.pooled);
    ep_move(y, 1, &zero, 0, d.total, d.size);
    for (ptrdiff_t i = 0; i < d.count; i++) {
        const int64_t at = ((const ep_data_s64 *)indices)[i];
        if (at < 0 || at >= cells) {
            return EP_E_INDEX;
        }
        const ptrdiff_t cell = ep_gather_offset((ptrdiff_t)at, d.pooled, d.ys);
        ep_move(ep_at(y, cell, d.size), 1, ep_at_const(x, i, d.size), 1, 1, d.size);
    }
    return EP_OK;
}

#endif
