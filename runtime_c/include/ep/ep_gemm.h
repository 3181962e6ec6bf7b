/* SPDX-License-Identifier: Apache-2.0 */
/** Matrix products, float32: the descriptor and the epilogue their kernels share.
 *
 *      y[i][j] = act(alpha * sum_k a[i][k] * b[k][j] + beta * c[i][j])
 *
 *  y is row-major and dense, matrices of a batch follow each other; y may not overlap a, b or c. */
#ifndef EP_GEMM_H
#define EP_GEMM_H

#include "ep_act.h"
#include "ep_base.h"
#include "ep_reduce_lanes.h"

#define EP_GEMM_BATCH_AXES 6
#define EP_GEMM_MAX_TILE 32 /* accumulators */
#define EP_GEMM_MAX_TILE_N 8

/** Checked in packager/ops/gemm.py: tile_m * tile_n * unroll_k <= EP_GEMM_MAX_TILE, tile_n <= EP_GEMM_MAX_TILE_N;
 *  block_k == k unless B is packed. */
typedef struct ep_gemm_desc {
    ptrdiff_t m, n, k;
    ptrdiff_t a_rs, a_ks; /* steps in A to the next row, to the next k */
    ptrdiff_t b_step;     /* step in B to the next k (ep_gemm_f32, not packed), to the next column (ep_gemm_dot_f32) */
    int packed;           /* B is [group][k][tile_n * lanes] */
    int has_c;
    ptrdiff_t c_rs, c_cs; /* steps in C to the next row, to the next column (0 or 1) */
    float alpha, beta;
    ptrdiff_t tile_m, tile_n, unroll_k;
    ptrdiff_t block_m, block_k; /* rows of tiles, and k, that one pass over B keeps in cache */
    int split_n;                /* [begin, end) ranges over groups of columns instead of batch * rows of tiles */
    ptrdiff_t batch[EP_GEMM_BATCH_AXES], a_bs[EP_GEMM_BATCH_AXES], b_bs[EP_GEMM_BATCH_AXES];
    ep_act act;
} ep_gemm_desc;

/** Where matrix number `index` of a broadcast batch starts: the step of each axis times the index on it. */
EP_INLINE ptrdiff_t ep_gemm_batch_offset(ptrdiff_t index, const ptrdiff_t *batch, const ptrdiff_t *step)
{
    ptrdiff_t offset = 0;
    for (int axis = EP_GEMM_BATCH_AXES - 1; axis >= 0; axis--) {
        offset += index % batch[axis] * step[axis];
        index /= batch[axis];
    }
    return offset;
}

/** alpha, C and the activation on one vector of y, of which `lanes` lanes exist. */
EP_INLINE ep_f32v ep_gemm_f32_finish(ep_f32v x, const float *c, const ep_gemm_desc d, const ptrdiff_t lanes)
{
    if (d.alpha != 1.0f) {
        x *= d.alpha;
    }
    if (d.has_c) {
        ep_f32v add;
        if (d.c_cs == 0) {
            add = ep_splat_f32v(*c);
        } else {
            add = ep_load_lanes_f32v(c, lanes);
        }
        if (d.beta != 1.0f) {
            add *= d.beta;
        }
        x += add;
    }
    return ep_act_f32v(x, d.act);
}

#endif
