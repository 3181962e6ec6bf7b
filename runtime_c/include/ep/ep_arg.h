/* SPDX-License-Identifier: Apache-2.0 */
/** ArgMax, ArgMin and Hardmax over one axis of x[outer][axis][inner].  Of equal values the first counts, or the last when
 *  `last` is set.  Range over outer. */
#ifndef EP_ARG_H
#define EP_ARG_H

#include "ep_base.h"

#define EP_ARG_COLUMNS 16 /* columns that are searched side by side */

typedef struct ep_arg_desc {
    ptrdiff_t outer, axis, inner;
    int smallest; /* the position of the smallest value instead of the largest */
    int last;
} ep_arg_desc;

/** Whether the later value `x` takes the place of `best`. */
#define EP_ARG_BETTER(x, best, d)                                                                                      \
    ((d).smallest ? ((d).last ? (x) <= (best) : (x) < (best)) : ((d).last ? (x) >= (best) : (x) > (best)))

#define EP_ARG(NAME, TYPE)                                                                                             \
    /** Positions for `count` neighbouring columns. */                                                                 \
    EP_INLINE void NAME##_columns(int64_t *EP_RESTRICT y, const TYPE *EP_RESTRICT x, const ep_arg_desc d,              \
                                  const ptrdiff_t count)                                                               \
    {                                                                                                                  \
        TYPE best[EP_ARG_COLUMNS];                                                                                     \
        int32_t at[EP_ARG_COLUMNS];                                                                                    \
        for (ptrdiff_t c = 0; c < count; c++) {                                                                        \
            best[c] = x[c];                                                                                            \
            at[c] = 0;                                                                                                 \
        }                                                                                                              \
        for (ptrdiff_t p = 1; p < d.axis; p++) {                                                                       \
            for (ptrdiff_t c = 0; c < count; c++) {                                                                    \
                const TYPE value = x[p * d.inner + c];                                                                 \
                const int better = EP_ARG_BETTER(value, best[c], d);                                                   \
                best[c] = better ? value : best[c];                                                                    \
                at[c] = better ? (int32_t)p : at[c];                                                                   \
            }                                                                                                          \
        }                                                                                                              \
        for (ptrdiff_t c = 0; c < count; c++) {                                                                        \
            y[c] = at[c];                                                                                              \
        }                                                                                                              \
    }                                                                                                                  \
                                                                                                                       \
    EP_INLINE void NAME(int64_t *EP_RESTRICT y, const TYPE *EP_RESTRICT x, const ep_arg_desc d, const ptrdiff_t begin, \
                        const ptrdiff_t end)                                                                           \
    {                                                                                                                  \
        for (ptrdiff_t o = begin; o < end; o++) {                                                                      \
            const TYPE *from = x + o * d.axis * d.inner;                                                               \
            int64_t *to = y + o * d.inner;                                                                             \
            ptrdiff_t c = 0;                                                                                           \
            for (; c + EP_ARG_COLUMNS <= d.inner; c += EP_ARG_COLUMNS) {                                               \
                NAME##_columns(to + c, from + c, d, EP_ARG_COLUMNS);                                                   \
            }                                                                                                          \
            if (c < d.inner) {                                                                                         \
                NAME##_columns(to + c, from + c, d, d.inner % EP_ARG_COLUMNS);                                         \
            }                                                                                                          \
        }                                                                                                              \
    }

EP_ARG(ep_arg_f32, float)
EP_ARG(ep_arg_f64, double)
EP_ARG(ep_arg_i64, int64_t)
EP_ARG(ep_arg_u64, uint64_t)
EP_ARG(ep_arg_i32, int32_t)
EP_ARG(ep_arg_u32, uint32_t)
EP_ARG(ep_arg_i16, int16_t)
EP_ARG(ep_arg_u16, uint16_t)
EP_ARG(ep_arg_i8, int8_t)
EP_ARG(ep_arg_u8, uint8_t)

#undef EP_ARG

/** y is 1 where x is the first largest value along the axis, else 0; y may not be x. */
EP_INLINE void ep_hardmax_f32(float *EP_RESTRICT y, const float *EP_RESTRICT x, const ep_arg_desc d,
                              const ptrdiff_t begin, const ptrdiff_t end)
{
    for (ptrdiff_t at = begin * d.inner; at < end * d.inner; at++) {
        const ptrdiff_t start = at / d.inner * d.axis * d.inner + at % d.inner;
        ptrdiff_t best = 0;
        for (ptrdiff_t p = 1; p < d.axis; p++) {
            if (x[start + p * d.inner] > x[start + best * d.inner]) {
                best = p;
            }
        }
        for (ptrdiff_t p = 0; p < d.axis; p++) {
            y[start + p * d.inner] = p == best ? 1.0f : 0.0f;
        }
    }
}

#endif
