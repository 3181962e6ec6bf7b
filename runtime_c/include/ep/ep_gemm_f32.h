/* SPDX-License-Identifier: Apache-2.0 */
/** Matrix product in vectors of columns (formula and limits: ep_gemm.h).
 *
 *  The tile of y that is computed at once is `tile_m` rows by `tile_n` vectors and stays in registers; with one row
 *  (a matrix times a vector) `unroll_k` independent sums hide the latency of the multiply-add.
 *  Packed B (see ep_gemm_pack_f32) is read as one stream; B as it stands in memory needs n >= EP_F32_LANES, the last vector
 *  then overlaps its neighbour. */
#ifndef EP_GEMM_F32_H
#define EP_GEMM_F32_H

#include "ep_gemm.h"

/** Where a tile is and which part of k it sums. */
typedef struct ep_gemm_part {
    ptrdiff_t k0, kn;
    int first, last;
} ep_gemm_part;

/** Number of column groups. */
EP_INLINE ptrdiff_t ep_gemm_groups(const ep_gemm_desc d)
{
    const ptrdiff_t width = d.tile_n * EP_F32_LANES;
    return (d.n + width - 1) / width;
}

/** Add `kn` products to the tile's sums; acc[(u * tm + i) * tn + j], u < unroll_k. */
EP_INLINE void ep_gemm_f32_sum(ep_f32v *acc, const float *EP_RESTRICT a, const float *EP_RESTRICT b,
                               const ep_gemm_desc d, const ptrdiff_t tm, const ptrdiff_t tn, const ptrdiff_t b_ks,
                               const ptrdiff_t last_offset, const ptrdiff_t kn)
{
    ptrdiff_t p = 0;
    for (; p + d.unroll_k <= kn; p += d.unroll_k) {
        EP_UNROLL
        for (ptrdiff_t u = 0; u < d.unroll_k; u++) {
            ep_f32v w[EP_GEMM_MAX_TILE_N];
            EP_UNROLL
            for (ptrdiff_t j = 0; j < tn; j++) {
                w[j] = ep_load_f32v(b + u * b_ks + (j == tn - 1 ? last_offset : j * EP_F32_LANES));
            }
            EP_UNROLL
            for (ptrdiff_t i = 0; i < tm; i++) {
                const float x = a[i * d.a_rs + u * d.a_ks];
                EP_UNROLL
                for (ptrdiff_t j = 0; j < tn; j++) {
                    acc[(u * tm + i) * tn + j] += w[j] * x;
                }
            }
        }
        a += d.unroll_k * d.a_ks;
        b += d.unroll_k * b_ks;
    }
    for (; p < kn; p++) { /* fewer than unroll_k left */
        EP_UNROLL
        for (ptrdiff_t i = 0; i < tm; i++) {
            EP_UNROLL
            for (ptrdiff_t j = 0; j < tn; j++) {
                acc[i * tn + j] += ep_load_f32v(b + (j == tn - 1 ? last_offset : j * EP_F32_LANES)) * a[i * d.a_rs];
            }
        }
        a += d.a_ks;
        b += b_ks;
    }
}

/** One tile: tm rows, `columns` columns in tn vectors. */
EP_INLINE void ep_gemm_f32_tile(float *EP_RESTRICT y, const float *EP_RESTRICT a, const float *EP_RESTRICT b,
                                const float *EP_RESTRICT c, const ep_gemm_desc d, const ptrdiff_t tm,
                                const ptrdiff_t tn, const ptrdiff_t columns, const ep_gemm_part part)
{
    ep_f32v acc[EP_GEMM_MAX_TILE];
    const ptrdiff_t last_offset = d.packed ? (tn - 1) * EP_F32_LANES : columns - EP_F32_LANES;
    const ptrdiff_t last_lanes = d.packed ? columns - last_offset : EP_F32_LANES;
    const ptrdiff_t b_ks = d.packed ? tn * EP_F32_LANES : d.b_step;
    EP_UNROLL
    for (ptrdiff_t t = 0; t < d.unroll_k * tm * tn; t++) {
        acc[t] = ep_splat_f32v(0.0f);
    }
    ep_gemm_f32_sum(acc, a + part.k0 * d.a_ks, b + part.k0 * b_ks, d, tm, tn, b_ks, last_offset, part.kn);
    EP_UNROLL
    for (ptrdiff_t u = 1; u < d.unroll_k; u++) {
        EP_UNROLL
        for (ptrdiff_t t = 0; t < tm * tn; t++) {
            acc[t] += acc[u * tm * tn + t];
        }
    }
    EP_UNROLL
    for (ptrdiff_t i = 0; i < tm; i++) {
        EP_UNROLL
        for (ptrdiff_t j = 0; j < tn; j++) {
            const ptrdiff_t offset = j == tn - 1 ? last_offset : j * EP_F32_LANES;
            const ptrdiff_t lanes = j == tn - 1 ? last_lanes : EP_F32_LANES;
            float *to = y + i * d.n + offset;
            ep_f32v x = acc[i * tn + j];
            if (!part.first) {
                x += ep_load_lanes_f32v(to, lanes);
            }
            if (part.last) {
                x = ep_gemm_f32_finish(x, c + i * d.c_rs + offset * d.c_cs, d, lanes);
            }
            ep_store_lanes_f32v(to, x, lanes);
        }
    }
}

/** Tiles [t0, t1) of one group of columns. */
EP_INLINE void ep_gemm_f32_column(float *EP_RESTRICT y, const float *EP_RESTRICT a, const float *EP_RESTRICT b,
                                  const float *EP_RESTRICT c, const ep_gemm_desc d, const ptrdiff_t tn,
                                  const ptrdiff_t columns, const ptrdiff_t t0, const ptrdiff_t t1,
                                  const ep_gemm_part part)
{
    const ptrdiff_t whole = d.m / d.tile_m;
    for (ptrdiff_t t = t0; t < t1; t++) {
        const ptrdiff_t row = t * d.tile_m;
        if (t < whole) {
            ep_gemm_f32_tile(y + row * d.n, a + row * d.a_rs, b, c + row * d.c_rs, d, d.tile_m, tn, columns, part);
        } else {
            ep_gemm_f32_tile(y + row * d.n, a + row * d.a_rs, b, c + row * d.c_rs, d, d.m % d.tile_m, tn, columns,
                             part);
        }
    }
}

/** Tiles [t0, t1) by column groups [g0, g1) of one matrix, blocked for the caches. */
EP_INLINE void ep_gemm_f32_matrix(float *EP_RESTRICT y, const float *EP_RESTRICT a, const float *EP_RESTRICT b,
                                  const float *EP_RESTRICT c, const ep_gemm_desc d, const ptrdiff_t t0,
                                  const ptrdiff_t t1, const ptrdiff_t g0, const ptrdiff_t g1)
{
    const ptrdiff_t width = d.tile_n * EP_F32_LANES;
    const ptrdiff_t whole = d.n / width;
    const ptrdiff_t rest = d.n % width;
    for (ptrdiff_t t = t0; t < t1; t += d.block_m) {
        const ptrdiff_t t_end = t + d.block_m < t1 ? t + d.block_m : t1;
        for (ptrdiff_t k0 = 0; k0 < d.k || k0 == 0; k0 += d.block_k) {
            const ptrdiff_t left = d.k - k0;
            const ep_gemm_part part = {k0, left < d.block_k ? left : d.block_k, k0 == 0, left <= d.block_k};
            for (ptrdiff_t g = g0; g < g1; g++) {
                const ptrdiff_t column = g * width;
                const float *bg = b + (d.packed ? column * d.k : column);
                if (g < whole) {
                    ep_gemm_f32_column(y + column, a, bg, c + column * d.c_cs, d, d.tile_n, width, t, t_end, part);
                } else {
                    ep_gemm_f32_column(y + column, a, bg, c + column * d.c_cs, d,
                                       (rest + EP_F32_LANES - 1) / EP_F32_LANES, rest, t, t_end, part);
                }
            }
        }
    }
}

/** The matrix product. */
EP_INLINE void ep_gemm_f32(float *EP_RESTRICT y, const float *EP_RESTRICT a, const float *EP_RESTRICT b,
                           const float *EP_RESTRICT c, const ep_gemm_desc d, const ptrdiff_t begin, const ptrdiff_t end)
{
    const ptrdiff_t tiles = (d.m + d.tile_m - 1) / d.tile_m;
    const float *add = d.has_c ? c : a; /* never read when there is no C, but never NULL either */
    if (d.split_n) {
        ep_gemm_f32_matrix(y, a, b, add, d, 0, tiles, begin, end);
        return;
    }
    for (ptrdiff_t at = begin; at < end;) {
        const ptrdiff_t index = at / tiles;
        const ptrdiff_t t0 = at % tiles;
        const ptrdiff_t t1 = tiles - t0 < end - at ? tiles : t0 + end - at;
        ep_gemm_f32_matrix(y + index * d.m * d.n, a + ep_gemm_batch_offset(index, d.batch, d.a_bs),
                           b + ep_gemm_batch_offset(index, d.batch, d.b_bs), add, d, t0, t1, 0, ep_gemm_groups(d));
        at += t1 - t0;
    }
}

#endif
