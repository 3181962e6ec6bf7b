/* SPDX-License-Identifier: Apache-2.0 */
/** Matrix product as dot products along k (formula and limits: ep_gemm.h): A and the transpose of B are both read along
 *  their rows, a_ks == 1.  For few columns, and for a B that arrives transposed at run time and meets few rows. */
#ifndef EP_GEMM_DOT_F32_H
#define EP_GEMM_DOT_F32_H

#include "ep_gemm.h"

/** Add the products of `lanes` consecutive k to the tile's sums. */
EP_INLINE void ep_gemm_dot_f32_step(ep_f32v *acc, const float *EP_RESTRICT a, const float *EP_RESTRICT b,
                                    const ep_gemm_desc d, const ptrdiff_t tm, const ptrdiff_t tn, const ptrdiff_t lanes)
{
    ep_f32v w[EP_GEMM_MAX_TILE_N];
    EP_UNROLL
    for (ptrdiff_t j = 0; j < tn; j++) {
        w[j] = ep_load_lanes_f32v(b + j * d.b_step, lanes);
    }
    EP_UNROLL
    for (ptrdiff_t i = 0; i < tm; i++) {
        const ep_f32v x = ep_load_lanes_f32v(a + i * d.a_rs, lanes);
        EP_UNROLL
        for (ptrdiff_t j = 0; j < tn; j++) {
            acc[i * tn + j] += w[j] * x;
        }
    }
}

/** tm x tn dot products. */
EP_INLINE void ep_gemm_dot_f32_tile(float *EP_RESTRICT y, const float *EP_RESTRICT a, const float *EP_RESTRICT b,
                                    const float *EP_RESTRICT c, const ep_gemm_desc d, const ptrdiff_t tm,
                                    const ptrdiff_t tn)
{
    ep_f32v acc[EP_GEMM_MAX_TILE];
    const ptrdiff_t rest = d.k % EP_F32_LANES;
    const ptrdiff_t stride = d.unroll_k * EP_F32_LANES;
    EP_UNROLL
    for (ptrdiff_t t = 0; t < d.unroll_k * tm * tn; t++) {
        acc[t] = ep_splat_f32v(0.0f);
    }
    ptrdiff_t p = 0;
    for (; p + stride <= d.k; p += stride) {
        EP_UNROLL
        for (ptrdiff_t u = 0; u < d.unroll_k; u++) {
            const ptrdiff_t at = p + u * EP_F32_LANES;
            ep_gemm_dot_f32_step(acc + u * tm * tn, a + at, b + at, d, tm, tn, EP_F32_LANES);
        }
    }
    for (; p + EP_F32_LANES <= d.k; p += EP_F32_LANES) {
        ep_gemm_dot_f32_step(acc, a + p, b + p, d, tm, tn, EP_F32_LANES);
    }
    if (rest != 0) {
        ep_gemm_dot_f32_step(acc, a + p, b + p, d, tm, tn, rest);
    }
    EP_UNROLL
    for (ptrdiff_t u = 1; u < d.unroll_k; u++) {
        EP_UNROLL
        for (ptrdiff_t t = 0; t < tm * tn; t++) {
            acc[t] += acc[u * tm * tn + t];
        }
    }
    EP_UNROLL
    for (ptrdiff_t i = 0; i < tm; i++) {
        for (ptrdiff_t j = 0; j < tn; j += EP_F32_LANES) {
            const ptrdiff_t lanes = tn - j < EP_F32_LANES ? tn - j : EP_F32_LANES;
            float sums[EP_F32_LANES] = {0};
            EP_UNROLL
            for (ptrdiff_t l = 0; l < lanes; l++) {
                sums[l] = ep_hsum_f32v(acc[i * tn + j + l]);
            }
            const ep_f32v x = ep_gemm_f32_finish(ep_load_f32v(sums), c + i * d.c_rs + j * d.c_cs, d, lanes);
            ep_store_lanes_f32v(y + i * d.n + j, x, lanes);
        }
    }
}

/** Rows [row, row + tm) by columns [j0, j1). */
EP_INLINE void ep_gemm_dot_f32_row(float *EP_RESTRICT y, const float *EP_RESTRICT a, const float *EP_RESTRICT b,
                                   const float *EP_RESTRICT c, const ep_gemm_desc d, const ptrdiff_t tm,
                                   const ptrdiff_t j0, const ptrdiff_t j1)
{
    ptrdiff_t j = j0;
    for (; j + d.tile_n <= j1; j += d.tile_n) {
        ep_gemm_dot_f32_tile(y + j, a, b + j * d.b_step, c + j * d.c_cs, d, tm, d.tile_n);
    }
    if (j < j1) {
        ep_gemm_dot_f32_tile(y + j, a, b + j * d.b_step, c + j * d.c_cs, d, tm, d.n % d.tile_n);
    }
}

/** The matrix product. */
EP_INLINE void ep_gemm_dot_f32(float *EP_RESTRICT y, const float *EP_RESTRICT a, const float *EP_RESTRICT b,
                               const float *EP_RESTRICT c, const ep_gemm_desc d, const ptrdiff_t begin,
                               const ptrdiff_t end)
{
    const ptrdiff_t whole = d.m / d.tile_m;
    const ptrdiff_t tiles = d.split_n ? 1 : (d.m + d.tile_m - 1) / d.tile_m;
    const float *add = d.has_c ? c : a; /* never read when there is no C, but never NULL either */
    const ptrdiff_t last = end * d.tile_n < d.n ? end * d.tile_n : d.n;
    for (ptrdiff_t at = d.split_n ? 0 : begin; at < (d.split_n ? 1 : end); at++) {
        const ptrdiff_t row = at % tiles * d.tile_m;
        const ptrdiff_t index = at / tiles;
        float *to = y + (index * d.m + row) * d.n;
        const float *from = a + ep_gemm_batch_offset(index, d.batch, d.a_bs) + row * d.a_rs;
        const float *weights = b + ep_gemm_batch_offset(index, d.batch, d.b_bs);
        const ptrdiff_t j0 = d.split_n ? begin * d.tile_n : 0;
        const ptrdiff_t j1 = d.split_n ? last : d.n;
        if (row < whole * d.tile_m) {
            ep_gemm_dot_f32_row(to, from, weights, add + row * d.c_rs, d, d.tile_m, j0, j1);
        } else {
            ep_gemm_dot_f32_row(to, from, weights, add + row * d.c_rs, d, d.m % d.tile_m, j0, j1);
        }
    }
}

#endif
