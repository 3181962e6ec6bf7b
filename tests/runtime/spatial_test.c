/* SPDX-License-Identifier: Apache-2.0 */
/* Data movement and pooling kernels against loops that follow their formulas word by word, on shapes from a fixed seed.
 * Ranges are run in two halves, as two threads would.  Prints nothing and returns 0 when all agree. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ep/ep_copy.h"
#include "ep/ep_gather.h"
#include "ep/ep_global_pool.h"
#include "ep/ep_pad.h"
#include "ep/ep_pooling.h"
#include "ep/ep_transpose.h"

#define CELLS 40000

static uint32_t state = 12345u;
static int failures;

static ptrdiff_t below(ptrdiff_t limit)
{
    state = state * 1664525u + 1013904223u;
    return (ptrdiff_t)(state >> 8) % limit;
}

static void fail(const char *what, ptrdiff_t round, ptrdiff_t at)
{
    if (failures++ < 20) {
        printf("%s: case %ld, cell %ld\n", what, (long)round, (long)at);
    }
}

static void *cells(size_t bytes)
{
    uint8_t *const made = malloc(bytes);
    if (made == NULL) {
        exit(2);
    }
    for (size_t i = 0; i < bytes; i++) {
        made[i] = (uint8_t)below(256);
    }
    return made;
}

static void expect_equal(const char *what, ptrdiff_t round, const uint8_t *got, const uint8_t *want, ptrdiff_t bytes)
{
    for (ptrdiff_t i = 0; i < bytes; i++) {
        if (got[i] != want[i]) {
            fail(what, round, i);
            return;
        }
    }
}

static void test_copies(ptrdiff_t round)
{
    const int size = 1 << below(4);
    ep_copy_desc d = {.size = size, .extent = {1, 1, 1, 1, 1, 1, 1, 1}, .xo = 6000, .yo = 3};
    ptrdiff_t pitch = 1;
    for (int k = 7; k >= 0; k--) {
        d.extent[k] = k == 0 || k > 4 ? 1 + below(5) : 1;
        d.ys[k] = pitch;
        d.xs[k] = below(4) == 0 ? 0 : below(2) == 0 ? pitch : -pitch;
        pitch *= d.extent[k];
    }
    uint8_t *const x = cells((size_t)CELLS * 8);
    uint8_t *const y = cells((size_t)CELLS * 8);
    uint8_t *const want = cells((size_t)CELLS * 8);
    memcpy(want, y, (size_t)CELLS * 8);
    for (ptrdiff_t n = 0; n < pitch; n++) {
        ptrdiff_t from = d.xo;
        for (int k = 0; k < 8; k++) {
            from += n / d.ys[k] % d.extent[k] * d.xs[k];
        }
        memcpy(want + (d.yo + n) * size, x + from * size, (size_t)size);
    }
    const ptrdiff_t half = d.extent[0] / 2;
    ep_copy_nd(y, x, d, half, d.extent[0]);
    ep_copy_nd(y, x, d, 0, half);
    expect_equal("ep_copy_nd", round, y, want, (ptrdiff_t)CELLS * 8);
    free(x);
    free(y);
    free(want);
}

static void test_transposes(ptrdiff_t round)
{
    const int size = 1 << below(4);
    ep_transpose_desc d = {.size = size, .extent = {1, 1, 1, 1, 1, 1}};
    d.rows = 1 + below(21);
    d.cols = 1 + below(21);
    d.x_col = d.rows + below(3);
    d.y_row = d.cols + below(3);
    d.extent[0] = 1 + below(3);
    d.extent[5] = 1 + below(3);
    d.xs[5] = d.cols * d.x_col;
    d.ys[5] = d.rows * d.y_row;
    d.xs[0] = d.xs[5] * d.extent[5];
    d.ys[0] = d.ys[5] * d.extent[5];
    uint8_t *const x = cells((size_t)CELLS * 8);
    uint8_t *const y = cells((size_t)CELLS * 8);
    uint8_t *const want = cells((size_t)CELLS * 8);
    memcpy(want, y, (size_t)CELLS * 8);
    for (ptrdiff_t i = 0; i < d.extent[0]; i++) {
        for (ptrdiff_t j = 0; j < d.extent[5]; j++) {
            for (ptrdiff_t r = 0; r < d.rows; r++) {
                for (ptrdiff_t c = 0; c < d.cols; c++) {
                    const ptrdiff_t to = i * d.ys[0] + j * d.ys[5] + r * d.y_row + c;
                    const ptrdiff_t from = i * d.xs[0] + j * d.xs[5] + c * d.x_col + r;
                    memcpy(want + to * size, x + from * size, (size_t)size);
                }
            }
        }
    }
    const ptrdiff_t extent = d.extent[0] > 1 ? d.extent[0] : d.rows;
    ep_transpose(y, x, d, extent / 2, extent);
    ep_transpose(y, x, d, 0, extent / 2);
    expect_equal("ep_transpose", round, y, want, (ptrdiff_t)CELLS * 8);
    free(x);
    free(y);
    free(want);
}

static void test_pads(ptrdiff_t round)
{
    const int size = 1 << below(4);
    ep_pad_desc d = {.size = size, .extent = {1, 1, 1, 1, 1, 1, 1, 1}, .inside = {1, 1, 1, 1, 1, 1, 1, 1}, .xo = 2};
    ptrdiff_t from = 1;
    ptrdiff_t to = 1;
    for (int k = 7; k >= 0; k--) {
        if (k == 0 || k > 5) {
            d.inside[k] = 1 + below(5);
            d.before[k] = below(3);
            d.extent[k] = d.before[k] + d.inside[k] + below(3);
        }
        d.xs[k] = from;
        d.ys[k] = to;
        from *= d.inside[k];
        to *= d.extent[k];
    }
    uint8_t *const x = cells((size_t)(from + 2) * 8);
    uint8_t *const y = cells((size_t)to * 8);
    uint8_t *const want = cells((size_t)to * 8);
    uint8_t *const value = cells(8);
    memcpy(want, y, (size_t)to * 8);
    for (ptrdiff_t n = 0; n < to; n++) {
        ptrdiff_t source = d.xo;
        int inside = 1;
        for (int k = 0; k < 8; k++) {
            const ptrdiff_t i = n / d.ys[k] % d.extent[k] - d.before[k];
            inside = inside && i >= 0 && i < d.inside[k];
            source += i * d.xs[k];
        }
        memcpy(want + n * size, inside ? x + source * size : value, (size_t)size);
    }
    ep_pad(y, x, value, d, d.extent[0] / 2, d.extent[0]);
    ep_pad(y, x, value, d, 0, d.extent[0] / 2);
    expect_equal("ep_pad", round, y, want, to * 8);
    free(x);
    free(y);
    free(want);
    free(value);
}

/* One cell of MaxPool or AveragePool by the formula, for one lane of a block. */
static float pooled(const float *x, const ep_window_desc d, const ptrdiff_t o[3], int average)
{
    float sum = 0.0f;
    float best = -EP_INF_F32;
    ptrdiff_t count = 0;
    for (ptrdiff_t k0 = 0; k0 < d.kernel[0]; k0++) {
        for (ptrdiff_t k1 = 0; k1 < d.kernel[1]; k1++) {
            for (ptrdiff_t k2 = 0; k2 < d.kernel[2]; k2++) {
                const ptrdiff_t k[3] = {k0, k1, k2};
                ptrdiff_t at = 0;
                int inside = 1;
                int padded = 1;
                for (int a = 0; a < 3; a++) {
                    const ptrdiff_t i = o[a] * d.stride[a] - d.before[a] + k[a] * d.dilation[a];
                    inside = inside && i >= 0 && i < d.in[a];
                    padded = padded && i < d.in[a] + d.after[a];
                    at += i * d.xs[a];
                }
                count += d.count_padding ? padded : inside;
                if (inside) {
                    sum += x[at];
                    best = x[at] > best ? x[at] : best;
                }
            }
        }
    }
    return average ? sum / (float)count : best;
}

typedef void (*pool_fn)(void *y, const void *x, ep_window_desc d, ptrdiff_t begin, ptrdiff_t end);

#define POOL_FUNCTIONS(suffix)                                                                                         \
    static void max_##suffix(void *y, const void *x, ep_window_desc d, ptrdiff_t begin, ptrdiff_t end)                 \
    {                                                                                                                  \
        ep_max_pool_##suffix(y, x, d, begin, end);                                                                     \
    }                                                                                                                  \
    static void average_##suffix(void *y, const void *x, ep_window_desc d, ptrdiff_t begin, ptrdiff_t end)             \
    {                                                                                                                  \
        ep_average_pool_##suffix(y, x, d, begin, end);                                                                 \
    }

POOL_FUNCTIONS(f32)
#if EP_F32_LANES >= 4
POOL_FUNCTIONS(f32x4)
#endif
#if EP_F32_LANES >= 8
POOL_FUNCTIONS(f32x8)
#endif
#if EP_F32_LANES >= 16
POOL_FUNCTIONS(f32x16)
#endif

/* Windows with a cell inside x; x and y of blocks of `block` lanes with a border that must not be read or written. */
static ep_window_desc random_window(ptrdiff_t block)
{
    ep_window_desc d = {.count_padding = (int)below(2)};
    for (int a = 0; a < 3; a++) {
        d.in[a] = 1 + below(a == 0 ? 3 : 12);
        d.kernel[a] = 1 + below(d.in[a] < 4 ? d.in[a] : 4);
        d.dilation[a] = d.kernel[a] == 1 ? 1 : 1 + below((d.in[a] - 1) / (d.kernel[a] - 1));
        d.stride[a] = 1 + below(3);
        d.before[a] = below(d.kernel[a]);
        d.after[a] = below(d.kernel[a]);
        const ptrdiff_t span = (d.kernel[a] - 1) * d.dilation[a] + 1;
        d.out[a] = (d.in[a] + d.before[a] + d.after[a] - span) / d.stride[a] + 1;
    }
    d.xs[2] = d.ys[2] = block;
    d.xs[1] = block * (d.in[2] + below(3));
    d.ys[1] = block * (d.out[2] + below(3));
    d.xs[0] = d.xs[1] * (d.in[1] + below(3));
    d.ys[0] = d.ys[1] * (d.out[1] + below(3));
    d.x_plane = d.xs[0] * d.in[0];
    d.y_plane = d.ys[0] * d.out[0];
    return d;
}

static int close_to(float a, float b)
{
    const float gap = a > b ? a - b : b - a;
    return gap <= 1e-5f;
}

static void test_pools(const char *what, ptrdiff_t round, pool_fn pool, ptrdiff_t block, int average)
{
    const ep_window_desc d = random_window(block);
    const ptrdiff_t planes = 1 + below(3);
    const size_t x_count = (size_t)(planes * d.x_plane);
    const size_t y_count = (size_t)(planes * d.y_plane);
    float *const x = cells(x_count * sizeof *x);
    float *const y = cells(y_count * sizeof *y);
    for (size_t i = 0; i < x_count; i++) {
        x[i] = (float)below(2001) / 1000.0f - 1.0f;
    }
    for (size_t i = 0; i < y_count; i++) {
        y[i] = 77.0f;
    }
    pool(y, x, d, planes / 2, planes);
    pool(y, x, d, 0, planes / 2);
    for (size_t i = 0; i < y_count; i++) {
        const ptrdiff_t n = (ptrdiff_t)i;
        const ptrdiff_t plane = n / d.y_plane;
        const ptrdiff_t o[3] = {n % d.y_plane / d.ys[0], n % d.ys[0] / d.ys[1], n % d.ys[1] / block};
        float want = 77.0f; /* borders stay as they were */
        if (o[1] < d.out[1] && o[2] < d.out[2]) {
            want = pooled(x + plane * d.x_plane + n % block, d, o, average);
        }
        if (!close_to(y[i], want)) {
            fail(what, round, n);
            break;
        }
    }
    free(x);
    free(y);
}

static void test_global_averages(ptrdiff_t round)
{
    const ptrdiff_t width = 1 + below(70);
    float *const x = cells((size_t)width * 3 * sizeof *x);
    float y[3] = {0};
    for (ptrdiff_t i = 0; i < 3 * width; i++) {
        x[i] = (float)below(2001) / 1000.0f - 1.0f;
    }
    const ep_global_desc d = {.height = 1, .width = width, .x_plane = width, .x_row = width, .y_plane = 1, .blocks = 1};
    ep_global_average_f32(y, x, d, 0, 3);
    for (ptrdiff_t p = 0; p < 3; p++) {
        float sum = 0.0f;
        for (ptrdiff_t i = 0; i < width; i++) {
            sum += x[p * width + i];
        }
        if (!close_to(y[p], sum / (float)width)) {
            fail("ep_global_average_f32", round, p);
        }
    }
    free(x);
}

static void test_indices(void)
{
    const int64_t wide[] = {-3, -4, 2, 3, INT64_MIN, INT64_MAX};
    const ptrdiff_t want[] = {0, EP_INDEX_NONE, 2, EP_INDEX_NONE, EP_INDEX_NONE, EP_INDEX_NONE};
    for (ptrdiff_t i = 0; i < 6; i++) {
        if (ep_index_read(wide, i, EP_ELEMENT_S64, 3) != want[i]) {
            fail("ep_index_read of int64", 0, i);
        }
    }
    const float real[] = {-1.0f, 2.0f, 1e30f, -EP_INF_F32, EP_NAN_F32};
    const ptrdiff_t from_real[] = {2, 2, EP_INDEX_NONE, EP_INDEX_NONE, EP_INDEX_NONE};
    for (ptrdiff_t i = 0; i < 5; i++) {
        if (ep_index_read(real, i, EP_ELEMENT_F32, 3) != from_real[i]) {
            fail("ep_index_read of float", 0, i);
        }
    }
}

int main(void)
{
    for (ptrdiff_t round = 0; round < 60; round++) {
        test_copies(round);
        test_transposes(round);
        test_pads(round);
        test_global_averages(round);
        for (int average = 0; average < 2; average++) {
            test_pools("f32", round, average ? average_f32 : max_f32, 1, average);
#if EP_F32_LANES >= 4
            test_pools("f32x4", round, average ? average_f32x4 : max_f32x4, 4, average);
#endif
#if EP_F32_LANES >= 8
            test_pools("f32x8", round, average ? average_f32x8 : max_f32x8, 8, average);
#endif
#if EP_F32_LANES >= 16
            test_pools("f32x16", round, average ? average_f32x16 : max_f32x16, 16, average);
#endif
        }
    }
    test_indices();
    return failures != 0;
}
