/* SPDX-License-Identifier: Apache-2.0 */
/** Put a B that is computed at run time into the order ep_gemm_f32 reads:
 *  to[group][k][width] = b[k * k_step + column * n_step], zero past the last column; the last group is as narrow as whole
 *  vectors allow.  packager/ops/gemm.py does the same for constants. */
#ifndef EP_GEMM_PACK_H
#define EP_GEMM_PACK_H

#include "ep_gemm.h"

typedef struct ep_gemm_pack_desc {
    ptrdiff_t n, k;
    ptrdiff_t k_step, n_step;
    ptrdiff_t tile_n;                                              /* vectors in a group */
    ptrdiff_t batch[EP_GEMM_BATCH_AXES], b_bs[EP_GEMM_BATCH_AXES]; /* matrices that are packed one after the other */
} ep_gemm_pack_desc;

/** One group of `width` columns, of which `columns` exist. */
EP_INLINE void ep_gemm_pack_f32_group(float *EP_RESTRICT to, const float *EP_RESTRICT b, const ep_gemm_pack_desc d,
                                      const ptrdiff_t width, const ptrdiff_t columns)
{
    for (ptrdiff_t p = 0; p < d.k; p++) {
        for (ptrdiff_t j = 0; j < columns; j++) {
            to[p * width + j] = b[p * d.k_step + j * d.n_step];
        }
        for (ptrdiff_t j = columns; j < width; j++) {
            to[p * width + j] = 0.0f;
        }
    }
}

/** Range over batch * groups. */
EP_INLINE void ep_gemm_pack_f32(float *EP_RESTRICT to, const float *EP_RESTRICT b, const ep_gemm_pack_desc d,
                                const ptrdiff_t begin, const ptrdiff_t end)
{
    const ptrdiff_t width = d.tile_n * EP_F32_LANES;
    const ptrdiff_t whole = d.n / width;
    const ptrdiff_t rest = d.n % width;
    const ptrdiff_t groups = whole + (rest != 0);
    const ptrdiff_t padded = (d.n + EP_F32_LANES - 1) / EP_F32_LANES * EP_F32_LANES;
    for (ptrdiff_t at = begin; at < end; at++) {
        const ptrdiff_t index = at / groups;
        const ptrdiff_t column = at % groups * width;
        float *group = to + (index * padded + column) * d.k;
        const float *from = b + ep_gemm_batch_offset(index, d.batch, d.b_bs) + column * d.n_step;
        if (at % groups < whole) {
            ep_gemm_pack_f32_group(group, from, d, width, width);
        } else {
            ep_gemm_pack_f32_group(group, from, d, padded - column, rest);
        }
    }
}

#endif
