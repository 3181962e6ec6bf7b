/* SPDX-License-Identifier: Apache-2.0 */
/** Sums of products over any axes, for the Einsum equations that are no matrix product:
 *      y[i] = sum_r a[steps of a at (i, r)] * b[steps of b at (i, r)]      without b, sum_r a[...]
 *  y is dense over the `keep` axes and may not overlap a or b.  Range over the elements of y. */
#ifndef EP_MATMUL_EINSUM_H
#define EP_MATMUL_EINSUM_H

#include "ep_base.h"

#define EP_EINSUM_AXES 8

typedef struct ep_einsum_desc {
    ptrdiff_t keep[EP_EINSUM_AXES], keep_a[EP_EINSUM_AXES], keep_b[EP_EINSUM_AXES];
    ptrdiff_t sum[EP_EINSUM_AXES], sum_a[EP_EINSUM_AXES], sum_b[EP_EINSUM_AXES];
    ptrdiff_t repeat; /* product of sum[] */
    int has_b;
} ep_einsum_desc;

/** Element offset of number `index` on the given axes. */
EP_INLINE ptrdiff_t ep_einsum_offset(ptrdiff_t index, const ptrdiff_t *extent, const ptrdiff_t *step)
{
    ptrdiff_t offset = 0;
    for (int axis = EP_EINSUM_AXES - 1; axis >= 0; axis--) {
        offset += index % extent[axis] * step[axis];
        index /= extent[axis];
    }
    return offset;
}

/* MATH is the type sums are kept in: unsigned for integers, where wrapping around is defined. */
#define EP_EINSUM(NAME, TYPE, MATH)                                                                                    \
    EP_INLINE void NAME(TYPE *EP_RESTRICT y, const TYPE *EP_RESTRICT a, const TYPE *EP_RESTRICT b,                     \
                        const ep_einsum_desc d, const ptrdiff_t begin, const ptrdiff_t end)                            \
    {                                                                                                                  \
        for (ptrdiff_t i = begin; i < end; i++) {                                                                      \
            const TYPE *from_a = a + ep_einsum_offset(i, d.keep, d.keep_a);                                            \
            const TYPE *from_b = d.has_b ? b + ep_einsum_offset(i, d.keep, d.keep_b) : a;                              \
            MATH sum = 0;                                                                                              \
            for (ptrdiff_t r = 0; r < d.repeat; r++) {                                                                 \
                const MATH x = (MATH)from_a[ep_einsum_offset(r, d.sum, d.sum_a)];                                      \
                sum += d.has_b ? x * (MATH)from_b[ep_einsum_offset(r, d.sum, d.sum_b)] : x;                            \
            }                                                                                                          \
            y[i] = (TYPE)sum;                                                                                          \
        }                                                                                                              \
    }

EP_EINSUM(ep_einsum_f32, float, float)
EP_EINSUM(ep_einsum_f64, double, double)
EP_EINSUM(ep_einsum_i32, int32_t, uint32_t)
EP_EINSUM(ep_einsum_i64, int64_t, uint64_t)

#undef EP_EINSUM

#endif
