/* SPDX-License-Identifier: Apache-2.0 */
/** Products, softmax, reductions and normalizations on buffers of exactly the size they need (a sanitizer sees every stray
 *  access): the whole range at once, against a plain loop, and in two pieces, which must give the same bits. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ep/ep_gemm_dot_f32.h"
#include "ep/ep_gemm_f32.h"
#include "ep/ep_gemm_pack.h"
#include "ep/ep_norm.h"
#include "ep/ep_reduce.h"
#include "ep/ep_softmax.h"

static int failures;

static float *numbers(ptrdiff_t count, unsigned seed)
{
    float *p = malloc((size_t)count * sizeof(float));
    unsigned state = seed * 2654435761u + 12345u;
    for (ptrdiff_t i = 0; i < count; i++) {
        state = state * 1664525u + 1013904223u;
        p[i] = (float)(state >> 8) / 8388608.0f - 1.0f;
    }
    return p;
}

static void expect_close(const char *what, const float *got, const float *wanted, ptrdiff_t count, float tolerance)
{
    for (ptrdiff_t i = 0; i < count; i++) {
        const float error = fabsf(got[i] - wanted[i]);
        if (!(error <= tolerance)) {
            printf("%s: [%td] is %g, not %g\n", what, i, (double)got[i], (double)wanted[i]);
            failures++;
            return;
        }
    }
}

static void expect_same(const char *what, const float *got, const float *wanted, ptrdiff_t count)
{
    if (memcmp(got, wanted, (size_t)count * sizeof(float)) != 0) {
        printf("%s: two pieces differ from the whole\n", what);
        failures++;
    }
}

/* Run CALL(y, begin, end) whole and in two pieces on fresh outputs of COUNT floats; compare with WANTED. */
#define CHECK(WHAT, CALL, EXTENT, COUNT, WANTED)                                                                       \
    do {                                                                                                               \
        float *whole = numbers(COUNT, 7);                                                                              \
        float *pieces = numbers(COUNT, 8);                                                                             \
        const ptrdiff_t middle = (EXTENT) / 2;                                                                         \
        CALL(whole, 0, EXTENT);                                                                                        \
        CALL(pieces, middle, EXTENT);                                                                                  \
        CALL(pieces, 0, middle);                                                                                       \
        expect_close(WHAT, whole, WANTED, COUNT, 2e-5f);                                                               \
        expect_same(WHAT, pieces, whole, COUNT);                                                                       \
        free(whole);                                                                                                   \
        free(pieces);                                                                                                  \
    } while (0)

#define L EP_F32_LANES
#define GEMM_DESC(M, N, K, TM, TN, UNROLL, PACKED, SPLIT, BLOCK_K, STEP)                                               \
    (ep_gemm_desc)                                                                                                     \
    {                                                                                                                  \
        .m = (M), .n = (N), .k = (K), .a_rs = (K), .a_ks = 1, .b_step = (STEP), .packed = (PACKED), .has_c = 1,        \
        .c_rs = 0, .c_cs = 1, .alpha = 0.5f, .beta = 2.0f, .tile_m = (TM), .tile_n = (TN), .unroll_k = (UNROLL),       \
        .block_m = 2, .block_k = (BLOCK_K), .split_n = (SPLIT), .batch = {1, 1, 1, 1, 1, 1}, .act = {                  \
            EP_ACT_RELU,                                                                                               \
            0.0f,                                                                                                      \
            0.0f                                                                                                       \
        }                                                                                                              \
    }

static float *a, *b, *c, *packed, *transposed;

/* One shape in every form: packed by rows (also in blocks of k) and by columns, B as it is, dot products. */
#define TEST_GEMM(M, N, K, TM, TN, UNROLL)                                                                             \
    EP_NOINLINE static void rows_##M##_##N(float *y, ptrdiff_t begin, ptrdiff_t end)                                   \
    {                                                                                                                  \
        ep_gemm_f32(y, a, packed, c, GEMM_DESC(M, N, K, TM, TN, UNROLL, 1, 0, K, 0), begin, end);                      \
    }                                                                                                                  \
    EP_NOINLINE static void blocks_##M##_##N(float *y, ptrdiff_t begin, ptrdiff_t end)                                 \
    {                                                                                                                  \
        ep_gemm_f32(y, a, packed, c, GEMM_DESC(M, N, K, TM, TN, UNROLL, 1, 0, ((K) + 2) / 3, 0), begin, end);          \
    }                                                                                                                  \
    EP_NOINLINE static void columns_##M##_##N(float *y, ptrdiff_t begin, ptrdiff_t end)                                \
    {                                                                                                                  \
        ep_gemm_f32(y, a, packed, c, GEMM_DESC(M, N, K, TM, TN, UNROLL, 1, 1, K, 0), begin, end);                      \
    }                                                                                                                  \
    EP_NOINLINE static void direct_##M##_##N(float *y, ptrdiff_t begin, ptrdiff_t end)                                 \
    {                                                                                                                  \
        ep_gemm_f32(y, a, b, c, GEMM_DESC(M, N, K, TM, TN, UNROLL, 0, 0, K, N), begin, end);                           \
    }                                                                                                                  \
    EP_NOINLINE static void dots_##M##_##N(float *y, ptrdiff_t begin, ptrdiff_t end)                                   \
    {                                                                                                                  \
        ep_gemm_dot_f32(y, a, transposed, c, GEMM_DESC(M, N, K, 2, 3, 2, 0, 0, K, K), begin, end);                     \
    }                                                                                                                  \
    static void gemm_##M##_##N(void)                                                                                   \
    {                                                                                                                  \
        const ptrdiff_t groups = ((N) + (TN)*L - 1) / ((TN)*L);                                                        \
        const ptrdiff_t tiles = ((M) + (TM)-1) / (TM);                                                                 \
        float *wanted = operands(M, N, K, TN, groups);                                                                 \
        CHECK("rows " #M "x" #N, rows_##M##_##N, tiles, (M) * (N), wanted);                                            \
        CHECK("blocks " #M "x" #N, blocks_##M##_##N, tiles, (M) * (N), wanted);                                        \
        CHECK("columns " #M "x" #N, columns_##M##_##N, groups, (M) * (N), wanted);                                     \
        if ((N) >= L) {                                                                                                \
            CHECK("direct " #M "x" #N, direct_##M##_##N, tiles, (M) * (N), wanted);                                    \
        }                                                                                                              \
        CHECK("dots " #M "x" #N, dots_##M##_##N, ((M) + 1) / 2, (M) * (N), wanted);                                    \
        free(a), free(b), free(c), free(wanted), free(packed), free(transposed);                                       \
    }

static void product(float *y, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k)
{
    for (ptrdiff_t i = 0; i < m; i++) {
        for (ptrdiff_t j = 0; j < n; j++) {
            double sum = 0.0;
            for (ptrdiff_t p = 0; p < k; p++) {
                sum += (double)a[i * k + p] * (double)b[p * n + j];
            }
            y[i * n + j] = fmaxf(0.0f, (float)(0.5 * sum + 2.0 * (double)c[j]));
        }
    }
}

/* Fill a, b, c and the two other orders of b; returns what the product should be. */
static float *operands(ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, ptrdiff_t tile_n, ptrdiff_t groups)
{
    const ep_gemm_pack_desc pack = {
        .n = n, .k = k, .k_step = n, .n_step = 1, .tile_n = tile_n, .batch = {1, 1, 1, 1, 1, 1}};
    a = numbers(m * k, 1);
    b = numbers(k * n, 2);
    c = numbers(n, 3);
    packed = numbers((n + L - 1) / L * L * k, 4);
    transposed = numbers(k * n, 5);
    for (ptrdiff_t p = 0; p < k; p++) {
        for (ptrdiff_t j = 0; j < n; j++) {
            transposed[j * k + p] = b[p * n + j];
        }
    }
    ep_gemm_pack_f32(packed, b, pack, groups / 2, groups);
    ep_gemm_pack_f32(packed, b, pack, 0, groups / 2);
    float *wanted = numbers(m * n, 6);
    product(wanted, m, n, k);
    return wanted;
}

TEST_GEMM(1, 10, 64, 1, 1, 8)
TEST_GEMM(5, 45, 13, 3, 2, 1)

/* x[outer][axis][inner] */
static void softmax(float *y, const float *x, ptrdiff_t outer, ptrdiff_t axis, ptrdiff_t inner, int log)
{
    for (ptrdiff_t at = 0; at < outer * inner; at++) {
        const ptrdiff_t start = at / inner * axis * inner + at % inner;
        double sum = 0.0;
        for (ptrdiff_t p = 0; p < axis; p++) {
            sum += exp((double)x[start + p * inner]);
        }
        for (ptrdiff_t p = 0; p < axis; p++) {
            const double value = (double)x[start + p * inner];
            y[start + p * inner] = (float)(log ? value - __builtin_log(sum) : exp(value) / sum);
        }
    }
}

static void test_softmax(void)
{
    float *x = numbers(5 * 37 * 21, 1), *wanted = numbers(5 * 37 * 21, 2);
#define ROWS(y, begin, end)                                                                                            \
    ep_softmax_f32(y, x, (ep_softmax_desc){.outer = 105, .axis = 37, .inner = 1, .log = 0}, begin, end)
    softmax(wanted, x, 105, 37, 1, 0);
    CHECK("softmax of rows", ROWS, 105, 105 * 37, wanted);
#define COLUMNS(y, begin, end)                                                                                         \
    ep_softmax_f32(y, x, (ep_softmax_desc){.outer = 5, .axis = 37, .inner = 21, .log = 1}, begin, end)
    softmax(wanted, x, 5, 37, 21, 1);
    CHECK("logarithm of softmax of columns", COLUMNS, 5, 5 * 37 * 21, wanted);
    free(x), free(wanted);
}

static void test_reduce(void)
{
    float *x = numbers(6 * 35 * 19, 1), *wanted = numbers(6 * 35, 2);
#define ROW_MEANS(y, begin, end)                                                                                       \
    ep_reduce_f32(y, x,                                                                                                \
                  (ep_reduce_desc){.op = EP_REDUCE_MEAN,                                                               \
                                   .keep = {1, 1, 1, 210},                                                             \
                                   .keep_step = {0, 0, 0, 19},                                                         \
                                   .reduce = {1, 1, 1, 1},                                                             \
                                   .columns = 1,                                                                       \
                                   .row = 19,                                                                          \
                                   .repeat = 1},                                                                       \
                  begin, end)
    for (ptrdiff_t i = 0; i < 210; i++) {
        double sum = 0.0;
        for (ptrdiff_t p = 0; p < 19; p++) {
            sum += (double)x[i * 19 + p];
        }
        wanted[i] = (float)(sum / 19);
    }
    CHECK("means of rows", ROW_MEANS, 210, 210, wanted);
#define COLUMN_MAXIMA(y, begin, end)                                                                                   \
    ep_reduce_f32(y, x,                                                                                                \
                  (ep_reduce_desc){.op = EP_REDUCE_MAX,                                                                \
                                   .keep = {1, 1, 1, 6},                                                               \
                                   .keep_step = {0, 0, 0, 35 * 19},                                                    \
                                   .reduce = {1, 1, 1, 35},                                                            \
                                   .reduce_step = {0, 0, 0, 19},                                                       \
                                   .columns = 19,                                                                      \
                                   .row = 1,                                                                           \
                                   .repeat = 35},                                                                      \
                  begin, end)
    for (ptrdiff_t i = 0; i < 6 * 19; i++) {
        wanted[i] = -1e9f;
        for (ptrdiff_t p = 0; p < 35; p++) {
            wanted[i] = fmaxf(wanted[i], x[i / 19 * 35 * 19 + p * 19 + i % 19]);
        }
    }
    CHECK("maxima of columns", COLUMN_MAXIMA, 6, 6 * 19, wanted);
    free(x), free(wanted);
}

static void test_layer_norm(void)
{
    float *x = numbers(9 * 41, 1), *scale = numbers(41, 2), *bias = numbers(41, 3), *wanted = numbers(9 * 41, 4);
#define LAYER_NORM(y, begin, end)                                                                                      \
    ep_layer_norm_f32(y, x, scale, bias,                                                                               \
                      (ep_layer_norm_desc){.outer = 9, .n = 41, .epsilon = 1e-3f, .center = 1, .has_bias = 1}, begin,  \
                      end)
    for (ptrdiff_t o = 0; o < 9; o++) {
        double mean = 0.0, variance = 0.0;
        for (ptrdiff_t p = 0; p < 41; p++) {
            mean += (double)x[o * 41 + p] / 41;
        }
        for (ptrdiff_t p = 0; p < 41; p++) {
            variance += ((double)x[o * 41 + p] - mean) * ((double)x[o * 41 + p] - mean) / 41;
        }
        for (ptrdiff_t p = 0; p < 41; p++) {
            const double normal = ((double)x[o * 41 + p] - mean) / sqrt(variance + 1e-3);
            wanted[o * 41 + p] = (float)(normal * (double)scale[p] + (double)bias[p]);
        }
    }
    CHECK("layer normalization", LAYER_NORM, 9, 9 * 41, wanted);
    free(x), free(scale), free(bias), free(wanted);
}

int main(void)
{
    gemm_1_10();
    gemm_5_45();
    test_softmax();
    test_reduce();
    test_layer_norm();
    return failures != 0;
}
