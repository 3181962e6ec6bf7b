/* SPDX-License-Identifier: Apache-2.0 */
/** Indices that are data: read from a tensor of any numeric type, counted from the end when negative, checked. */
#ifndef EP_INDEX_H
#define EP_INDEX_H

#include "ep_move.h"

/** Element types of a tensor, where a kernel computes with more than one. */
typedef enum ep_element {
    EP_ELEMENT_F32,
    EP_ELEMENT_F64,
    EP_ELEMENT_S8,
    EP_ELEMENT_S16,
    EP_ELEMENT_S32,
    EP_ELEMENT_S64,
    EP_ELEMENT_U8,
    EP_ELEMENT_U16,
    EP_ELEMENT_U32,
    EP_ELEMENT_U64
} ep_element;

typedef float ep_data_f32 __attribute__((may_alias));
typedef double ep_data_f64 __attribute__((may_alias));
typedef int8_t ep_data_s8 __attribute__((may_alias));
typedef int16_t ep_data_s16 __attribute__((may_alias));
typedef int32_t ep_data_s32 __attribute__((may_alias));
typedef int64_t ep_data_s64 __attribute__((may_alias));

#define EP_INDEX_NONE ((ptrdiff_t)-1)

/** `value` counted from the end when negative; EP_INDEX_NONE outside [-extent, extent). */
EP_INLINE ptrdiff_t ep_index_wrap(int64_t value, ptrdiff_t extent)
{
    const int64_t limit = extent;
    if (value < -limit || value >= limit) {
        return EP_INDEX_NONE;
    }
    return (ptrdiff_t)(value < 0 ? value + limit : value);
}

/** ep_index_wrap() of a real number, which is truncated. */
EP_INLINE ptrdiff_t ep_index_wrap_real(double value, ptrdiff_t extent)
{
    const double limit = (double)extent;
    return value >= -limit && value < limit ? ep_index_wrap((int64_t)value, extent) : EP_INDEX_NONE;
}

/** Entry `i` of an index tensor as a position on an axis of `extent`; EP_INDEX_NONE when it is outside. */
EP_INLINE ptrdiff_t ep_index_read(const void *indices, ptrdiff_t i, ep_element type, ptrdiff_t extent)
{
    switch (type) {
    case EP_ELEMENT_F32:
        return ep_index_wrap_real((double)((const ep_data_f32 *)indices)[i], extent);
    case EP_ELEMENT_F64:
        return ep_index_wrap_real(((const ep_data_f64 *)indices)[i], extent);
    case EP_ELEMENT_S8:
        return ep_index_wrap(((const ep_data_s8 *)indices)[i], extent);
    case EP_ELEMENT_S16:
        return ep_index_wrap(((const ep_data_s16 *)indices)[i], extent);
    case EP_ELEMENT_S32:
        return ep_index_wrap(((const ep_data_s32 *)indices)[i], extent);
    case EP_ELEMENT_U8:
        return ep_index_wrap(((const ep_x8 *)indices)[i], extent);
    case EP_ELEMENT_U16:
        return ep_index_wrap(((const ep_x16 *)indices)[i], extent);
    case EP_ELEMENT_U32:
        return ep_index_wrap(((const ep_x32 *)indices)[i], extent);
    case EP_ELEMENT_U64: {
        const uint64_t value = ((const ep_x64 *)indices)[i];
        return value >= (uint64_t)extent ? EP_INDEX_NONE : (ptrdiff_t)value;
    }
    default:
        return ep_index_wrap(((const ep_data_s64 *)indices)[i], extent);
    }
}

#endif
