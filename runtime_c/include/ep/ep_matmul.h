/* SPDX-License-Identifier: Apache-2.0 */
/** Matrix products of the element types no vector kernel has: the descriptor's strides, batches and C of ep_gemm.h, without
 *  tiles and activation.  Integers wrap around; alpha and beta are 1 for them (checked in packager/ops/gemm.py). */
#ifndef EP_MATMUL_H
#define EP_MATMUL_H

#include "ep_gemm.h"

typedef struct ep_matmul_desc {
    ptrdiff_t m, n, k;
    ptrdiff_t a_rs, a_ks, b_ks, b_cs;
    int has_c;
    ptrdiff_t c_rs, c_cs;
    float alpha, beta;
    ptrdiff_t batch[EP_GEMM_BATCH_AXES], a_bs[EP_GEMM_BATCH_AXES], b_bs[EP_GEMM_BATCH_AXES];
} ep_matmul_desc;

/* MATH is the type products are summed in: unsigned for integers, where wrapping around is defined. */
#define EP_MATMUL(NAME, TYPE, MATH, SCALE)                                                                             \
    /** Range over batch * rows. */                                                                                    \
    EP_INLINE void NAME(TYPE *EP_RESTRICT y, const TYPE *EP_RESTRICT a, const TYPE *EP_RESTRICT b,                     \
                        const TYPE *EP_RESTRICT c, const ep_matmul_desc d, const ptrdiff_t begin, const ptrdiff_t end) \
    {                                                                                                                  \
        for (ptrdiff_t at = begin; at < end; at++) {                                                                   \
            const ptrdiff_t row = at % d.m;                                                                            \
            const TYPE *from = a + ep_gemm_batch_offset(at / d.m, d.batch, d.a_bs) + row * d.a_rs;                     \
            const TYPE *weights = b + ep_gemm_batch_offset(at / d.m, d.batch, d.b_bs);                                 \
            for (ptrdiff_t j = 0; j < d.n; j++) {                                                                      \
                MATH sum = 0;                                                                                          \
                for (ptrdiff_t p = 0; p < d.k; p++) {                                                                  \
                    sum += (MATH)from[p * d.a_ks] * (MATH)weights[p * d.b_ks + j * d.b_cs];                            \
                }                                                                                                      \
                sum = SCALE(sum, d.alpha);                                                                             \
                if (d.has_c) {                                                                                         \
                    sum += SCALE((MATH)c[row * d.c_rs + j * d.c_cs], d.beta);                                          \
                }                                                                                                      \
                y[at * d.n + j] = (TYPE)sum;                                                                           \
            }                                                                                                          \
        }                                                                                                              \
    }

#define EP_MATMUL_KEEP(x, factor) (x)
#define EP_MATMUL_SCALE(x, factor) ((x) * (double)(factor))

EP_MATMUL(ep_matmul_f64, double, double, EP_MATMUL_SCALE)
EP_MATMUL(ep_matmul_i32, int32_t, uint32_t, EP_MATMUL_KEEP)
EP_MATMUL(ep_matmul_i64, int64_t, uint64_t, EP_MATMUL_KEEP)
EP_MATMUL(ep_matmul_u32, uint32_t, uint32_t, EP_MATMUL_KEEP)
EP_MATMUL(ep_matmul_u64, uint64_t, uint64_t, EP_MATMUL_KEEP)

#undef EP_MATMUL

#endif
