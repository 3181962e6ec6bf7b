/* SPDX-License-Identifier: Apache-2.0 */
/** Convolutions on buffers of exactly the size they need (a sanitizer sees every stray access): against the definition in
 *  double precision, and in two pieces, which must give the same bits as the whole. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ep/ep_conv.h"
#include "ep/ep_conv_plain.h"
#include "ep/ep_conv_transpose.h"
#include "ep/ep_dwconv.h"
#include "ep/ep_reorder.h"

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

static void expect_close(const char *what, const float *got, const float *wanted, ptrdiff_t count)
{
    for (ptrdiff_t i = 0; i < count; i++) {
        if (!(fabsf(got[i] - wanted[i]) <= 1e-4f)) {
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

/* Run CALL(y, begin, end) whole and in two pieces on fresh outputs of COUNT floats; leaves the whole in `whole`. */
#define BOTH_WAYS(WHAT, CALL, EXTENT, COUNT)                                                                           \
    float *whole = numbers(COUNT, 7);                                                                                  \
    float *pieces = numbers(COUNT, 7);                                                                                 \
    CALL(whole, 0, EXTENT);                                                                                            \
    CALL(pieces, (EXTENT) / 2, EXTENT);                                                                                \
    CALL(pieces, 0, (EXTENT) / 2);                                                                                     \
    expect_same(WHAT, pieces, whole, COUNT);                                                                           \
    free(pieces)

typedef struct layer {
    ptrdiff_t ic, oc, ih, iw, oh, ow, k, stride, pad, groups;
} layer;

/* y[oc][oh][ow] = max(0, conv(x[ic][ih][iw], w[oc][ic / groups][k][k]) + bias + r) */
static void definition(float *y, const float *x, const float *w, const float *bias, const float *r, const layer l)
{
    const ptrdiff_t group_ic = l.ic / l.groups, group_oc = l.oc / l.groups;
    for (ptrdiff_t at = 0; at < l.oc * l.oh * l.ow; at++) {
        const ptrdiff_t o = at / (l.oh * l.ow), i = at / l.ow % l.oh, j = at % l.ow;
        double sum = (double)bias[o] + (r != NULL ? (double)r[at] : 0.0);
        for (ptrdiff_t tap = 0; tap < group_ic * l.k * l.k; tap++) {
            const ptrdiff_t c = tap / (l.k * l.k), row = i * l.stride + tap / l.k % l.k - l.pad;
            const ptrdiff_t column = j * l.stride + tap % l.k - l.pad;
            if (row >= 0 && row < l.ih && column >= 0 && column < l.iw) {
                const ptrdiff_t channel = o / group_oc * group_ic + c;
                sum += (double)x[(channel * l.ih + row) * l.iw + column] * (double)w[o * group_ic * l.k * l.k + tap];
            }
        }
        y[at] = sum > 0.0 ? (float)sum : 0.0f;
    }
}

static const ep_act relu = {EP_ACT_RELU, 0.0f, 0.0f};

#if EP_F32_LANES > 1
#if EP_F32_LANES == 16
#define CONV ep_conv_f32__x16
#define DWCONV ep_dwconv_f32__x16
#elif EP_F32_LANES == 8
#define CONV ep_conv_f32__x8
#define DWCONV ep_dwconv_f32__x8
#else
#define CONV ep_conv_f32__x4
#define DWCONV ep_dwconv_f32__x4
#endif

enum { L = EP_F32_LANES, B = 4 };

/* Blocked steps of a tensor with a border of `halo` pixels all around. */
typedef struct steps {
    ptrdiff_t row, plane, image, origin;
} steps;

static steps steps_of(ptrdiff_t channels, ptrdiff_t block, ptrdiff_t height, ptrdiff_t width, ptrdiff_t halo)
{
    const ptrdiff_t row = (width + 2 * halo) * block, plane = (height + 2 * halo) * row;
    const steps made = {row, plane, (channels + block - 1) / block * plane, halo * (row + block)};
    return made;
}

static ep_reorder_desc into_blocks(ptrdiff_t channels, ptrdiff_t block, ptrdiff_t height, ptrdiff_t width,
                                   const steps to)
{
    const ep_reorder_desc d = {.images = 1,
                               .channels = channels,
                               .height = height,
                               .width = width,
                               .x_block = channels,
                               .x_lane = height * width,
                               .x_row = width,
                               .x_pixel = 1,
                               .y_block = block,
                               .y_lane = 1,
                               .y_plane = to.plane,
                               .y_row = to.row,
                               .y_pixel = block};
    return d;
}

/* x[channels][height][width] in blocks, the border zero, lanes past the last channel NaN. */
static float *blocked(const float *x, ptrdiff_t channels, ptrdiff_t block, ptrdiff_t height, ptrdiff_t width,
                      ptrdiff_t halo)
{
    const steps to = steps_of(channels, block, height, width, halo);
    float *y = calloc((size_t)to.image, sizeof(float));
    for (ptrdiff_t i = 0; i < to.image; i++) {
        const ptrdiff_t column = i % to.row / block - halo, row = i % to.plane / to.row - halo;
        const int inside = column >= 0 && column < width && row >= 0 && row < height;
        y[i] = inside && i / to.plane * block + i % block >= channels ? NAN : 0.0f;
    }
    const ptrdiff_t count = (channels + block - 1) / block;
    ep_reorder_f32(y + to.origin, x, into_blocks(channels, block, height, width, to), count / 2, count);
    ep_reorder_f32(y + to.origin, x, into_blocks(channels, block, height, width, to), 0, count / 2);
    return y;
}

static float *row_major(const float *y, ptrdiff_t channels, ptrdiff_t block, ptrdiff_t height, ptrdiff_t width)
{
    const steps from = steps_of(channels, block, height, width, 0);
    const ptrdiff_t plane = height * width, count = (channels + 3) / 4;
    const ep_reorder_desc d = {.images = 1,
                               .channels = channels,
                               .height = height,
                               .width = width,
                               .x_block = block,
                               .x_lane = 1,
                               .x_plane = from.plane,
                               .x_row = from.row,
                               .x_pixel = block,
                               .y_block = 4,
                               .y_lane = plane,
                               .y_plane = 4 * plane,
                               .y_row = width,
                               .y_pixel = 1};
    float *made = numbers(channels * plane, 9);
    ep_reorder_f32(made, y, d, count / 2, count);
    ep_reorder_f32(made, y, d, 0, count / 2);
    return made;
}

/* Weights in the order of the vector kernel, as packager/ops/conv_blocked.py makes it. */
static float *packed(const float *w, const layer l, ptrdiff_t x_block, int tile_oc, int border)
{
    const ptrdiff_t oc = (l.oc + L - 1) / L * L, taps = l.k * l.k;
    float *made = malloc((size_t)(oc * l.ic * taps) * sizeof(float)), *at = made;
    for (ptrdiff_t o = 0; o < oc; o += (ptrdiff_t)tile_oc * L) {
        const ptrdiff_t width = oc - o < (ptrdiff_t)tile_oc * L ? oc - o : (ptrdiff_t)tile_oc * L;
        for (ptrdiff_t c = 0; c < l.ic; c += border ? l.ic : x_block) {
            const ptrdiff_t lanes = border ? l.ic : (l.ic - c < x_block ? l.ic - c : x_block);
            for (ptrdiff_t i = 0; i < taps * lanes * width; i++) {
                const ptrdiff_t channel = o + i % width, lane = c + i / width % lanes, tap = i / width / lanes;
                *at++ = channel < l.oc ? w[(channel * l.ic + lane) * taps + tap] : 0.0f;
            }
        }
    }
    return made;
}

static ep_conv_desc dense(const layer l, const steps x, const steps y, ptrdiff_t x_block, int border)
{
    const ep_conv_desc d = {.images = 1,
                            .groups = 1,
                            .ic = l.ic,
                            .oc = l.oc,
                            .x_block = x_block,
                            .y_block = B,
                            .ih = l.ih,
                            .iw = l.iw,
                            .oh = l.oh,
                            .ow = l.ow,
                            .kh = l.k,
                            .kw = l.k,
                            .sh = l.stride,
                            .sw = l.stride,
                            .dh = 1,
                            .dw = 1,
                            .top = l.pad,
                            .left = l.pad,
                            .x_lane = 1,
                            .x_pixel = x_block,
                            .x_row = x.row,
                            .x_plane = x.plane,
                            .y_pixel = B,
                            .y_row = y.row,
                            .y_plane = y.plane,
                            .r_pixel = B,
                            .r_row = y.row,
                            .r_plane = y.plane,
                            .tile_h = 1,
                            .tile_w = 3,
                            .tile_oc = 2,
                            .border = border,
                            .oc_outer = 1,
                            .act = relu};
    return d;
}

static void test_halo_and_residual(void)
{
    const layer l = {
        .ic = 10, .oc = 3 * L - 2, .ih = 7, .iw = 7, .oh = 7, .ow = 7, .k = 3, .stride = 1, .pad = 1, .groups = 1};
    float *x = numbers(l.ic * 49, 1), *w = numbers(l.oc * l.ic * 9, 2), *bias = numbers(3 * L, 3);
    float *r = numbers(l.oc * 49, 4), *wanted = numbers(l.oc * 49, 5);
    definition(wanted, x, w, bias, r, l);
    const steps from = steps_of(l.ic, 8, 7, 7, 1), to = steps_of(l.oc, B, 7, 7, 0);
    float *xb = blocked(x, l.ic, 8, 7, 7, 1), *rb = blocked(r, l.oc, B, 7, 7, 0), *wb = packed(w, l, 8, 2, 0);
    ep_conv_desc d = dense(l, from, to, 8, 0);
    d.residual = 1;
    d.tile_h = 2;
    d.tile_w = 7;
    d.prefetch = 64;
#define WITH_HALO(y, begin, end) CONV(y, xb + from.origin, wb, bias, rb, d, begin, end)
    BOTH_WAYS("halo", WITH_HALO, 2 * 4, to.image);
    float *got = row_major(whole, l.oc, B, 7, 7);
    expect_close("halo", got, wanted, l.oc * 49);
    free(x), free(w), free(bias), free(r), free(wanted), free(xb), free(rb), free(wb), free(whole), free(got);
}

static void test_border(void)
{
    const layer l = {.ic = 3, .oc = L, .ih = 9, .iw = 14, .oh = 5, .ow = 7, .k = 5, .stride = 2, .pad = 2, .groups = 1};
    float *x = numbers(l.ic * 9 * 14, 1), *w = numbers(l.oc * l.ic * 25, 2), *bias = numbers(L, 3);
    float *wanted = numbers(l.oc * 35, 5), *wb = packed(w, l, 3, 2, 1);
    definition(wanted, x, w, bias, NULL, l);
    const steps to = steps_of(l.oc, B, 5, 7, 0), from = {14, 0, 0, 0};
    ep_conv_desc d = dense(l, from, to, 3, 1);
    d.tile_oc = 1;
    d.x_lane = 9 * 14;
    d.x_pixel = 1;
    d.oc_outer = 0;
#define AT_THE_BORDER(y, begin, end) CONV(y, x, wb, bias, NULL, d, begin, end)
    BOTH_WAYS("border", AT_THE_BORDER, 5, to.image);
    float *got = row_major(whole, l.oc, B, 5, 7);
    expect_close("border", got, wanted, l.oc * 35);
    free(x), free(w), free(bias), free(wanted), free(wb), free(whole), free(got);
}

static void test_depthwise(void)
{
    const layer l = {
        .ic = 2 * B, .oc = 2 * B, .ih = 9, .iw = 16, .oh = 9, .ow = 16, .k = 3, .stride = 1, .pad = 1, .groups = 2 * B};
    float *x = numbers(l.ic * 9 * 16, 1), *w = numbers(l.oc * 9, 2), *bias = numbers(2 * B, 3);
    float *wanted = numbers(l.oc * 9 * 16, 5), wb[2 * 9 * L], bb[2 * L];
    definition(wanted, x, w, bias, NULL, l);
    for (ptrdiff_t i = 0; i < 2 * 9 * L; i++) {
        wb[i] = w[(i / (9 * L) * B + i % B) * 9 + i / L % 9];
    }
    for (ptrdiff_t i = 0; i < 2 * L; i++) {
        bb[i] = bias[i / L * B + i % B];
    }
    const steps from = steps_of(l.ic, B, 9, 16, 1), to = steps_of(l.oc, B, 9, 16, 0);
    float *xb = blocked(x, l.ic, B, 9, 16, 1);
    const ep_dwconv_desc d = {.blocks = 2,
                              .block = B,
                              .oh = 9,
                              .ow = 16,
                              .kh = 3,
                              .kw = 3,
                              .sh = 1,
                              .sw = 1,
                              .dh = 1,
                              .dw = 1,
                              .top = 1,
                              .left = 1,
                              .x_row = from.row,
                              .x_plane = from.plane,
                              .y_row = to.row,
                              .y_plane = to.plane,
                              .tile_h = 2,
                              .tile_w = 3,
                              .act = relu};
#define DEPTHWISE(y, begin, end) DWCONV(y, xb + from.origin, wb, bb, NULL, d, begin, end)
    BOTH_WAYS("depthwise", DEPTHWISE, 2 * 5, to.image);
    float *got = row_major(whole, l.oc, B, 9, 16);
    expect_close("depthwise", got, wanted, l.oc * 9 * 16);
    free(x), free(w), free(bias), free(wanted), free(xb), free(whole), free(got);
}
#endif

static void test_row_major(void)
{
    const layer l = {
        .ic = 6, .oc = 10, .ih = 8, .iw = 75, .oh = 8, .ow = 75, .k = 3, .stride = 1, .pad = 1, .groups = 2};
    float *x = numbers(l.ic * 600, 1), *w = numbers(l.oc * 3 * 9, 2), *bias = numbers(l.oc, 3);
    float *r = numbers(l.oc * 600, 4), *wanted = numbers(l.oc * 600, 5), *wb = calloc(2 * 8 * 27, sizeof(float));
    definition(wanted, x, w, bias, r, l);
    for (ptrdiff_t o = 0; o < 10; o++) {
        for (ptrdiff_t tap = 0; tap < 27; tap++) {
            wb[((o / 5 * 2 + o % 5 / 4) * 27 + tap) * 4 + o % 5 % 4] = w[o * 27 + tap];
        }
    }
    const ep_conv_plain_desc d = {.images = 1,
                                  .groups = 2,
                                  .ic = 3,
                                  .oc = 5,
                                  .id = 1,
                                  .ih = 8,
                                  .iw = 75,
                                  .od = 1,
                                  .oh = 8,
                                  .ow = 75,
                                  .kd = 1,
                                  .kh = 3,
                                  .kw = 3,
                                  .sd = 1,
                                  .sh = 1,
                                  .sw = 1,
                                  .dd = 1,
                                  .dh = 1,
                                  .dw = 1,
                                  .top = 1,
                                  .left = 1,
                                  .x_row = 75,
                                  .x_depth = 600,
                                  .x_channel = 600,
                                  .y_pixel = 1,
                                  .y_row = 75,
                                  .y_depth = 600,
                                  .y_channel = 600,
                                  .tile_oc = 4,
                                  .tile_w = 3,
                                  .has_bias = 1,
                                  .residual = 1,
                                  .act = relu};
#define ROW_MAJOR(y, begin, end) ep_conv_plain_f32(y, x, wb, bias, r, d, begin, end)
    BOTH_WAYS("row-major", ROW_MAJOR, 2 * 2 * 8, l.oc * 600);
    expect_close("row-major", whole, wanted, l.oc * 600);
    free(x), free(w), free(bias), free(r), free(wanted), free(wb), free(whole);
}

static void test_transposed(void)
{
    enum { IC = 4, OC = 3, I = 5, O = 12 }; /* kernel 4, stride 3, one output cut off before and three after */
    float *x = numbers(IC * I, 1), *w = numbers(IC * OC * 4, 2), *bias = numbers(OC, 3), wanted[OC * O];
    for (ptrdiff_t o = 0; o < OC * O; o++) {
        wanted[o] = bias[o / O];
        for (ptrdiff_t tap = 0; tap < IC * I * 4; tap++) {
            const ptrdiff_t c = tap / (I * 4), i = tap / 4 % I, q = tap % 4;
            wanted[o] += i * 3 + q - 1 == o % O ? x[c * I + i] * w[(c * OC + o / O) * 4 + q] : 0.0f;
        }
    }
    const ep_conv_transpose_desc d = {.groups = 1,
                                      .ic = IC,
                                      .oc = OC,
                                      .id = 1,
                                      .ih = 1,
                                      .iw = I,
                                      .od = 1,
                                      .oh = 1,
                                      .ow = O,
                                      .kd = 1,
                                      .kh = 1,
                                      .kw = 4,
                                      .sd = 1,
                                      .sh = 1,
                                      .sw = 3,
                                      .dd = 1,
                                      .dh = 1,
                                      .dw = 1,
                                      .left = 1,
                                      .has_bias = 1};
#define TRANSPOSED(y, begin, end) ep_conv_transpose_f32(y, x, w, bias, d, begin, end)
    BOTH_WAYS("transposed", TRANSPOSED, OC, OC * O);
    expect_close("transposed", whole, wanted, OC * O);
    free(x), free(w), free(bias), free(whole);
}

int main(void)
{
#if EP_F32_LANES > 1
    test_halo_and_residual();
    test_border();
    test_depthwise();
#endif
    test_row_major();
    test_transposed();
    return failures != 0;
}
