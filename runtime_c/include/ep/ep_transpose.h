/* SPDX-License-Identifier: Apache-2.0 */
/** Copies whose contiguous axis differs between source and target: tiles that are read and written by rows. */
#ifndef EP_TRANSPOSE_H
#define EP_TRANSPOSE_H

#include "ep_move.h"

#define EP_TRANSPOSE_RANK 6

/** Outer axes, then the plane: `rows` are contiguous in x (and y_row apart in y), `cols` contiguous in y (x_col apart
 *  in x).  When extent[0] is 1 the rows are split, else axis 0. */
typedef struct ep_transpose_desc {
    int size;
    ptrdiff_t extent[EP_TRANSPOSE_RANK];
    ptrdiff_t xs[EP_TRANSPOSE_RANK];
    ptrdiff_t ys[EP_TRANSPOSE_RANK];
    ptrdiff_t rows, cols, x_col, y_row;
    ptrdiff_t xo, yo;
} ep_transpose_desc;

#define EP_TRANSPOSE_TILE 16

#define EP_DEFINE_TRANSPOSE(type, name)                                                                                \
    /* tiles keep the lines of both sides in the first-level cache */                                                  \
    EP_INLINE void ep_transpose_plane_##name(type *EP_RESTRICT y, ptrdiff_t y_row, const type *EP_RESTRICT x,          \
                                             ptrdiff_t x_col, ptrdiff_t rows, ptrdiff_t cols)                          \
    {                                                                                                                  \
        for (ptrdiff_t r0 = 0; r0 < rows; r0 += EP_TRANSPOSE_TILE) {                                                   \
            const ptrdiff_t r1 = rows - r0 < EP_TRANSPOSE_TILE ? rows : r0 + EP_TRANSPOSE_TILE;                        \
            for (ptrdiff_t c0 = 0; c0 < cols; c0 += EP_TRANSPOSE_TILE) {                                               \
                const ptrdiff_t c1 = cols - c0 < EP_TRANSPOSE_TILE ? cols : c0 + EP_TRANSPOSE_TILE;                    \
                for (ptrdiff_t r = r0; r < r1; r++)                                                                    \
                    for (ptrdiff_t c = c0; c < c1; c++)                                                                \
                        y[r * y_row + c] = x[c * x_col + r];                                                           \
            }                                                                                                          \
        }                                                                                                              \
    }

EP_DEFINE_TRANSPOSE(ep_x8, x8)
EP_DEFINE_TRANSPOSE(ep_x16, x16)
EP_DEFINE_TRANSPOSE(ep_x32, x32)
EP_DEFINE_TRANSPOSE(ep_x64, x64)
#undef EP_DEFINE_TRANSPOSE

#if EP_F32_LANES >= 4
typedef uint32_t ep_x32x4 __attribute__((vector_size(16), aligned(4), may_alias));

/** A 4 x 4 tile of 4-byte elements in registers. */
EP_INLINE void ep_transpose_4x4(ep_x32 *EP_RESTRICT y, ptrdiff_t y_row, const ep_x32 *EP_RESTRICT x, ptrdiff_t x_col)
{
    const ep_x32x4 a = *(const ep_x32x4 *)(const void *)(x + 0 * x_col);
    const ep_x32x4 b = *(const ep_x32x4 *)(const void *)(x + 1 * x_col);
    const ep_x32x4 c = *(const ep_x32x4 *)(const void *)(x + 2 * x_col);
    const ep_x32x4 e = *(const ep_x32x4 *)(const void *)(x + 3 * x_col);
    const ep_x32x4 ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5);
    const ep_x32x4 ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
    const ep_x32x4 ce_low = __builtin_shufflevector(c, e, 0, 4, 1, 5);
    const ep_x32x4 ce_high = __builtin_shufflevector(c, e, 2, 6, 3, 7);
    *(ep_x32x4 *)(void *)(y + 0 * y_row) = __builtin_shufflevector(ab_low, ce_low, 0, 1, 4, 5);
    *(ep_x32x4 *)(void *)(y + 1 * y_row) = __builtin_shufflevector(ab_low, ce_low, 2, 3, 6, 7);
    *(ep_x32x4 *)(void *)(y + 2 * y_row) = __builtin_shufflevector(ab_high, ce_high, 0, 1, 4, 5);
    *(ep_x32x4 *)(void *)(y + 3 * y_row) = __builtin_shufflevector(ab_high, ce_high, 2, 3, 6, 7);
}

/** ep_transpose_plane_x32 by 4 x 4 tiles, ragged edges by elements. */
EP_INLINE void ep_transpose_plane_tiled(ep_x32 *EP_RESTRICT y, ptrdiff_t y_row, const ep_x32 *EP_RESTRICT x,
                                        ptrdiff_t x_col, ptrdiff_t rows, ptrdiff_t cols)
{
    const ptrdiff_t rows4 = rows & ~(ptrdiff_t)3;
    const ptrdiff_t cols4 = cols & ~(ptrdiff_t)3;
    for (ptrdiff_t r = 0; r < rows4; r += 4)
        for (ptrdiff_t c = 0; c < cols4; c += 4)
            ep_transpose_4x4(y + r * y_row + c, y_row, x + c * x_col + r, x_col);
    for (ptrdiff_t r = 0; r < rows4; r++)
        for (ptrdiff_t c = cols4; c < cols; c++)
            y[r * y_row + c] = x[c * x_col + r];
    for (ptrdiff_t r = rows4; r < rows; r++)
        for (ptrdiff_t c = 0; c < cols; c++)
            y[r * y_row + c] = x[c * x_col + r];
}
#else
#define ep_transpose_plane_tiled ep_transpose_plane_x32
#endif

/** One plane: y[r * y_row + c] = x[c * x_col + r]. */
EP_INLINE void ep_transpose_plane(void *y, ptrdiff_t y_row, const void *x, ptrdiff_t x_col, ptrdiff_t rows,
                                  ptrdiff_t cols, int size)
{
    switch (size) {
    case 1:
        ep_transpose_plane_x8(y, y_row, x, x_col, rows, cols);
        break;
    case 2:
        ep_transpose_plane_x16(y, y_row, x, x_col, rows, cols);
        break;
    case 4:
        ep_transpose_plane_tiled(y, y_row, x, x_col, rows, cols);
        break;
    default:
        ep_transpose_plane_x64(y, y_row, x, x_col, rows, cols);
        break;
    }
}

/** y[yo + outer + r * y_row + c] = x[xo + outer + c * x_col + r].  y and x may not overlap. */
EP_INLINE void ep_transpose(void *EP_RESTRICT y, const void *EP_RESTRICT x, const ep_transpose_desc d, ptrdiff_t begin,
                            ptrdiff_t end)
{
    const int by_rows = d.extent[0] == 1;
    const ptrdiff_t first = by_rows ? 0 : begin;
    const ptrdiff_t last = by_rows ? 1 : end;
    const ptrdiff_t row = by_rows ? begin : 0;
    const ptrdiff_t rows = by_rows ? end - begin : d.rows;
    for (ptrdiff_t i0 = first; i0 < last; i0++)
        for (ptrdiff_t i1 = 0; i1 < d.extent[1]; i1++)
            for (ptrdiff_t i2 = 0; i2 < d.extent[2]; i2++)
                for (ptrdiff_t i3 = 0; i3 < d.extent[3]; i3++)
                    for (ptrdiff_t i4 = 0; i4 < d.extent[4]; i4++)
                        for (ptrdiff_t i5 = 0; i5 < d.extent[5]; i5++) {
                            const ptrdiff_t yi = d.yo + row * d.y_row + i0 * d.ys[0] + i1 * d.ys[1] + i2 * d.ys[2] +
                                                 i3 * d.ys[3] + i4 * d.ys[4] + i5 * d.ys[5];
                            const ptrdiff_t xi = d.xo + row + i0 * d.xs[0] + i1 * d.xs[1] + i2 * d.xs[2] +
                                                 i3 * d.xs[3] + i4 * d.xs[4] + i5 * d.xs[5];
                            ep_transpose_plane(ep_at(y, yi, d.size), d.y_row, ep_at_const(x, xi, d.size), d.x_col, rows,
                                               d.cols, d.size);
                        }
}

#endif
