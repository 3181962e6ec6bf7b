/* SPDX-License-Identifier: Apache-2.0 */
/** Runs of elements of 1, 2, 4 or 8 bytes: what every data movement kernel is made of.
 *  `size` is a constant after inlining, so the switch costs nothing. */
#ifndef EP_MOVE_H
#define EP_MOVE_H

#include "ep_base.h"

/** The address of element `index` of an array of `size`-byte elements. */
EP_INLINE void *ep_at(void *base, ptrdiff_t index, int size)
{
    return (uint8_t *)base + index * size;
}

/** ep_at() for read-only arrays. */
EP_INLINE const void *ep_at_const(const void *base, ptrdiff_t index, int size)
{
    return (const uint8_t *)base + index * size;
}

#define EP_DEFINE_MOVE(type, name)                                                                                     \
    EP_INLINE void ep_move_##name(type *EP_RESTRICT y, ptrdiff_t ys, const type *EP_RESTRICT x, ptrdiff_t xs,          \
                                  ptrdiff_t count)                                                                     \
    {                                                                                                                  \
        if (xs == 1 && ys == 1) {                                                                                      \
            for (ptrdiff_t i = 0; i < count; i++)                                                                      \
                y[i] = x[i];                                                                                           \
        } else if (xs == 0 && ys == 1 && count > 0) {                                                                  \
            const type value = x[0];                                                                                   \
            for (ptrdiff_t i = 0; i < count; i++)                                                                      \
                y[i] = value;                                                                                          \
        } else {                                                                                                       \
            for (ptrdiff_t i = 0; i < count; i++)                                                                      \
                y[i * ys] = x[i * xs];                                                                                 \
        }                                                                                                              \
    }

EP_DEFINE_MOVE(ep_x8, x8)
EP_DEFINE_MOVE(ep_x16, x16)
EP_DEFINE_MOVE(ep_x32, x32)
EP_DEFINE_MOVE(ep_x64, x64)
#undef EP_DEFINE_MOVE

/** y[i * ys] = x[i * xs] for 0 <= i < count; strides in elements, x_stride 0 repeats one element.
 *  y and x may not overlap. */
EP_INLINE void ep_move(void *y, ptrdiff_t ys, const void *x, ptrdiff_t xs, ptrdiff_t count, int size)
{
    switch (size) {
    case 1:
        ep_move_x8(y, ys, x, xs, count);
        break;
    case 2:
        ep_move_x16(y, ys, x, xs, count);
        break;
    case 4:
        ep_move_x32(y, ys, x, xs, count);
        break;
    default:
        ep_move_x64(y, ys, x, xs, count);
        break;
    }
}

#endif
