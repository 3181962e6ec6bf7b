/* SPDX-License-Identifier: Apache-2.0 */
/** GridSample and RoiAlign: values of a plane between its cells, at positions that are data; plain f32. */
#ifndef EP_SAMPLE_H
#define EP_SAMPLE_H

#include "ep_index.h"
#include "ep_vec.h"

typedef enum ep_grid_padding { EP_GRID_ZEROS, EP_GRID_BORDER, EP_GRID_REFLECTION } ep_grid_padding;

/** x[images, channels, extent...], y[images, channels, positions], grid[images, positions, axes]: three spatial axes,
 *  missing ones (the outer) have extent 1.  `taps` cells along each axis count: 1 nearest, 2 linear, 4 cubic; 1 on a
 *  missing axis. */
typedef struct ep_grid_desc {
    ptrdiff_t images, channels, positions, axes;
    ptrdiff_t extent[3];
    int taps[3];
    ep_grid_padding padding;
    int align_corners;
} ep_grid_desc;

/** Where and how much along one axis; index -1 is a cell of zeros. */
typedef struct ep_grid_taps {
    ptrdiff_t index[4];
    float weight[4];
} ep_grid_taps;

/** x folded back at `low` and `high` until it is between them. */
EP_INLINE float ep_grid_reflect(float x, float low, float high)
{
    const float range = high - low;
    const float away = x < low ? low - x : x - low;
    if (!(range > 0.0f)) {
        return low;
    }
    const float rest = away - 2.0f * range * ep_floor_f32(away / (2.0f * range));
    return low + (rest <= range ? rest : 2.0f * range - rest);
}

/** A position as a cell of the axis under the padding mode, -1 for zeros; `at` is a whole number. */
EP_INLINE ptrdiff_t ep_grid_cell(float at, ptrdiff_t extent, float low, float high, ep_grid_padding padding)
{
    const float last = (float)(extent - 1);
    if (padding == EP_GRID_ZEROS) {
        return at >= 0.0f && at <= last ? (ptrdiff_t)at : -1;
    }
    const float folded = padding == EP_GRID_REFLECTION ? ep_grid_reflect(at, low, high) : at;
    return folded > 0.0f ? (folded < last ? (ptrdiff_t)folded : extent - 1) : 0; /* a NaN becomes 0 */
}

/** Keys' weights with a = -0.75 of the four cells around a position `t` past the second. */
EP_INLINE void ep_grid_cubic(float t, float *weight)
{
    const float a = -0.75f;
    const float u = 1.0f - t;
    weight[0] = ((a * (t + 1.0f) - 5.0f * a) * (t + 1.0f) + 8.0f * a) * (t + 1.0f) - 4.0f * a;
    weight[1] = ((a + 2.0f) * t - (a + 3.0f)) * t * t + 1.0f;
    weight[2] = ((a + 2.0f) * u - (a + 3.0f)) * u * u + 1.0f;
    weight[3] = ((a * (u + 1.0f) - 5.0f * a) * (u + 1.0f) + 8.0f * a) * (u + 1.0f) - 4.0f * a;
}

EP_INLINE ep_grid_taps ep_grid_axis(float n, const ep_grid_desc d, int axis)
{
    const ptrdiff_t extent = d.extent[axis];
    const float length = (float)extent;
    const float low = d.align_corners ? 0.0f : -0.5f;
    const float high = d.align_corners ? length - 1.0f : length - 0.5f;
    float x = d.align_corners ? (n + 1.0f) / 2.0f * (length - 1.0f) : ((n + 1.0f) * length - 1.0f) / 2.0f;
    ep_grid_taps taps = {{0}, {0}};
    if (d.taps[axis] == 1) {
        x = ep_round_f32(x);
    }
    if ((x < low || x > high) && d.padding == EP_GRID_BORDER) {
        x = x < 0.0f ? 0.0f : length - 1.0f;
    } else if ((x < low || x > high) && d.padding == EP_GRID_REFLECTION) {
        x = ep_grid_reflect(x, low, high);
    }
    const float base = ep_floor_f32(x);
    if (d.taps[axis] == 1) {
        taps.weight[0] = 1.0f;
    } else if (d.taps[axis] == 2) {
        taps.weight[0] = 1.0f - (x - base);
        taps.weight[1] = x - base;
    } else {
        ep_grid_cubic(x - base, taps.weight);
    }
    for (int t = 0; t < d.taps[axis]; t++) {
        const float at = base + (float)t - (d.taps[axis] == 4 ? 1.0f : 0.0f);
        taps.index[t] = ep_grid_cell(at, extent, low, high, d.padding);
        if (taps.index[t] < 0) {
            taps.index[t] = 0;
            taps.weight[t] = 0.0f;
        }
    }
    return taps;
}

/** y[n, c, p] = sum over the taps around grid[n, p] of weight * x[n, c, cell]; ONNX GridSample-22.  The range counts
 *  images.  y may overlap no input. */
EP_INLINE void ep_grid_sample_f32(void *EP_RESTRICT y, const void *EP_RESTRICT x, const void *EP_RESTRICT grid,
                                  const ep_grid_desc d, ptrdiff_t begin, ptrdiff_t end)
{
    const ptrdiff_t plane = d.extent[0] * d.extent[1] * d.extent[2];
    for (ptrdiff_t n = begin * d.positions; n < end * d.positions; n++) {
        const ep_data_f32 *const position = (const ep_data_f32 *)grid + n * d.axes;
        const ep_grid_taps width = ep_grid_axis(position[0], d, 2);
        const ep_grid_taps height = ep_grid_axis(position[1], d, 1);
        const ep_grid_taps depth = ep_grid_axis(d.axes == 3 ? position[2] : 0.0f, d, 0);
        for (ptrdiff_t c = 0; c < d.channels; c++) {
            const ep_data_f32 *const cells = (const ep_data_f32 *)x + (n / d.positions * d.channels + c) * plane;
            float sum = 0.0f;
            for (int i = 0; i < d.taps[0]; i++) {
                for (int j = 0; j < d.taps[1]; j++) {
                    const float outer = depth.weight[i] * height.weight[j];
                    const ep_data_f32 *const row =
                        cells + (depth.index[i] * d.extent[1] + height.index[j]) * d.extent[2];
                    float part = 0.0f;
                    for (int k = 0; k < d.taps[2]; k++) {
                        part += width.weight[k] != 0.0f ? width.weight[k] * row[width.index[k]] : 0.0f;
                    }
                    sum += outer != 0.0f ? outer * part : 0.0f; /* zeros stay zeros beside an infinity */
                }
            }
            ((ep_data_f32 *)y)[(n / d.positions * d.channels + c) * d.positions + n % d.positions] = sum;
        }
    }
}

/** x[images, channels, height, width], rois[rois, 4] as x1 y1 x2 y2, batch[rois], y[rois, channels, out_height,
 *  out_width]. */
typedef struct ep_roi_desc {
    ptrdiff_t images, channels, height, width;
    ptrdiff_t rois, out_height, out_width;
    ptrdiff_t sampling; /* samples along an axis of a bin; 0: as many as its size rounded up */
    float scale;
    int half_pixel;
    int maximum; /* of the weighted neighbours of all samples, else the mean of the samples */
} ep_roi_desc;

/** The lower neighbour of a coordinate and the weight of the upper one; -1 when it lies a cell or more outside. */
EP_INLINE ptrdiff_t ep_roi_neighbour(float at, ptrdiff_t extent, float *upper)
{
    *upper = 0.0f;
    if (!(at >= -1.0f && at <= (float)extent)) {
        return -1;
    }
    const float inside = at > 0.0f ? at : 0.0f;
    const ptrdiff_t low = (ptrdiff_t)inside;
    if (low >= extent - 1) {
        return extent - 1;
    }
    *upper = inside - (float)low;
    return low;
}

/** Samples along an axis of a bin `size` cells long; none for sizes that are no number. */
EP_INLINE ptrdiff_t ep_roi_samples(float size, const ep_roi_desc d)
{
    if (d.sampling > 0) {
        return d.sampling;
    }
    const float up = ep_ceil_f32(size);
    return up > 0.0f && up < 1048576.0f ? (ptrdiff_t)up : 0;
}

/** One bin of one channel: samples begin at (top, left). */
EP_INLINE float ep_roi_bin(const ep_data_f32 *EP_RESTRICT plane, const ep_roi_desc d, float top, float left,
                           float bin_h, float bin_w)
{
    const ptrdiff_t rows = ep_roi_samples(bin_h, d);
    const ptrdiff_t columns = ep_roi_samples(bin_w, d);
    float sum = 0.0f;
    float best = 0.0f;
    for (ptrdiff_t i = 0; i < rows; i++) {
        for (ptrdiff_t j = 0; j < columns; j++) {
            float wy;
            float wx;
            const ptrdiff_t y0 = ep_roi_neighbour(top + ((float)i + 0.5f) * bin_h / (float)rows, d.height, &wy);
            const ptrdiff_t x0 = ep_roi_neighbour(left + ((float)j + 0.5f) * bin_w / (float)columns, d.width, &wx);
            float part[4] = {0};
            if (y0 >= 0 && x0 >= 0) {
                const ptrdiff_t y1 = y0 + 1 < d.height ? y0 + 1 : y0;
                const ptrdiff_t x1 = x0 + 1 < d.width ? x0 + 1 : x0;
                part[0] = (1.0f - wy) * (1.0f - wx) * plane[y0 * d.width + x0];
                part[1] = (1.0f - wy) * wx * plane[y0 * d.width + x1];
                part[2] = wy * (1.0f - wx) * plane[y1 * d.width + x0];
                part[3] = wy * wx * plane[y1 * d.width + x1];
            }
            sum += (part[0] + part[1]) + (part[2] + part[3]);
            for (int k = 0; k < 4; k++) {
                best = (i == 0 && j == 0 && k == 0) || part[k] > best ? part[k] : best;
            }
        }
    }
    const ptrdiff_t count = rows * columns;
    return d.maximum ? best : sum / (float)(count > 0 ? count : 1);
}

/** ONNX RoiAlign-22; EP_E_INDEX when an entry of `batch` is not an image. */
EP_INLINE ep_status ep_roi_align_f32(void *EP_RESTRICT y, const void *EP_RESTRICT x, const void *EP_RESTRICT rois,
                                     const void *EP_RESTRICT batch, const ep_roi_desc d)
{
    const ptrdiff_t plane = d.height * d.width;
    const float shift = d.half_pixel ? 0.5f : 0.0f;
    ep_data_f32 *target = y;
    for (ptrdiff_t r = 0; r < d.rois; r++) {
        const ep_data_f32 *const box = (const ep_data_f32 *)rois + 4 * r;
        const int64_t image = ((const ep_data_s64 *)batch)[r];
        if (image < 0 || image >= d.images) {
            return EP_E_INDEX;
        }
        const float left = box[0] * d.scale - shift;
        const float top = box[1] * d.scale - shift;
        float width = box[2] * d.scale - shift - left;
        float height = box[3] * d.scale - shift - top;
        if (!d.half_pixel) {
            width = width > 1.0f ? width : 1.0f;
            height = height > 1.0f ? height : 1.0f;
        }
        const float bin_h = height / (float)d.out_height;
        const float bin_w = width / (float)d.out_width;
        for (ptrdiff_t c = 0; c < d.channels; c++) {
            const ep_data_f32 *const cells = (const ep_data_f32 *)x + ((ptrdiff_t)image * d.channels + c) * plane;
            for (ptrdiff_t i = 0; i < d.out_height; i++) {
                for (ptrdiff_t j = 0; j < d.out_width; j++) {
                    *target++ = ep_roi_bin(cells, d, top + (float)i * bin_h, left + (float)j * bin_w, bin_h, bin_w);
                }
            }
        }
    }
    return EP_OK;
}

#endif
