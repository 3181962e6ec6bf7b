/* SPDX-License-Identifier: Apache-2.0 */
/** TopK: the k largest (or smallest) values along an axis and where they were, best first; of equals the first.
 *
 *  ep_topk_<type>(values, indices, x, d, begin, end): x[outer, axis, inner], values and int64 indices [outer, k,
 *  inner]; k <= axis.  The range counts `outer`.  Nothing may overlap.  A NaN is the largest value. */
#ifndef EP_TOPK_H
#define EP_TOPK_H

#include "ep_index.h"

typedef struct ep_topk_desc {
    ptrdiff_t outer, axis, inner, k;
    int largest;
} ep_topk_desc;

/* values stay sorted while the axis is read: a new one moves those it beats back by one; x != x only for a NaN */
#define EP_DEFINE_TOPK(type, name)                                                                                     \
    EP_INLINE int ep_topk_beats_##name(type a, type b, int largest)                                                    \
    {                                                                                                                  \
        const int above = a > b || (a != a && !(b != b));                                                              \
        const int below = a < b || (!(a != a) && b != b);                                                              \
        return largest ? above : below;                                                                                \
    }                                                                                                                  \
                                                                                                                       \
    EP_INLINE void ep_topk_##name(void *EP_RESTRICT values, void *EP_RESTRICT indices, const void *EP_RESTRICT x,      \
                                  const ep_topk_desc d, ptrdiff_t begin, ptrdiff_t end)                                \
    {                                                                                                                  \
        for (ptrdiff_t row = begin * d.inner; row < end * d.inner; row++) {                                            \
            const ptrdiff_t o = row / d.inner;                                                                         \
            const ptrdiff_t i = row % d.inner;                                                                         \
            type *const best = (type *)values + o * d.k * d.inner + i;                                                 \
            ep_data_s64 *const where = (ep_data_s64 *)indices + o * d.k * d.inner + i;                                 \
            const type *const line = (const type *)x + o * d.axis * d.inner + i;                                       \
            ptrdiff_t held = 0;                                                                                        \
            for (ptrdiff_t j = 0; j < d.axis; j++) {                                                                   \
                const type cell = line[j * d.inner];                                                                   \
                if (held == d.k && !ep_topk_beats_##name(cell, best[(held - 1) * d.inner], d.largest)) {               \
                    continue;                                                                                          \
                }                                                                                                      \
                ptrdiff_t slot = held < d.k ? held++ : held - 1;                                                       \
                for (; slot > 0 && ep_topk_beats_##name(cell, best[(slot - 1) * d.inner], d.largest); slot--) {        \
                    best[slot * d.inner] = best[(slot - 1) * d.inner];                                                 \
                    where[slot * d.inner] = where[(slot - 1) * d.inner];                                               \
                }                                                                                                      \
                best[slot * d.inner] = cell;                                                                           \
                where[slot * d.inner] = j;                                                                             \
            }                                                                                                          \
        }                                                                                                              \
    }

EP_DEFINE_TOPK(ep_data_f32, f32)
EP_DEFINE_TOPK(ep_data_f64, f64)
EP_DEFINE_TOPK(ep_data_s8, s8)
EP_DEFINE_TOPK(ep_data_s16, s16)
EP_DEFINE_TOPK(ep_data_s32, s32)
EP_DEFINE_TOPK(ep_data_s64, s64)
EP_DEFINE_TOPK(ep_x8, u8)
EP_DEFINE_TOPK(ep_x16, u16)
EP_DEFINE_TOPK(ep_x32, u32)
EP_DEFINE_TOPK(ep_x64, u64)
#undef EP_DEFINE_TOPK

#endif
