/* SPDX-License-Identifier: Apache-2.0 */
/* Depthwise convolution for one vector width; ep_dwconv.h includes this once per width, after defining EP_DWCONV_FN
 * (names), EP_DWCONV_L (lanes), EP_DWCONV_V and EP_DWCONV_VU (the vector, aligned and not) and EP_DWCONV_ACT. */

/** acc += one kernel row over one row of `tw` output vectors: every input column is loaded once and used by each tap. */
EP_INLINE void EP_DWCONV_FN(ep_dwconv_row)(EP_DWCONV_V *acc, const float *EP_RESTRICT x, const EP_DWCONV_V *wv,
                                           const ep_dwconv_desc d, const int tw)
{
    const int span = (int)(EP_DWCONV_L / d.block);
    const int sw = (int)d.sw, dw = (int)d.dw, kw = (int)d.kw;
    const int columns = ((tw - 1) * sw * span) + (kw - 1) * dw + 1;
    EP_UNROLL
    for (int j = 0; j < columns; j++) {
        if (d.edge && (j < d.left || j - d.left >= d.iw)) {
            continue;
        }
        EP_UNROLL
        for (int q = 0; q < kw; q++) {
            const int step = j - q * dw; /* input columns from the tile's first to this tap's */
            if (step >= 0 && step % (sw * span) == 0 && step / (sw * span) < tw) {
                acc[step / (sw * span)] += *(const EP_DWCONV_VU *)(const void *)(x + j * d.block) * wv[q];
            }
        }
    }
}

/** acc += one kernel row, for kernels too wide to keep in registers. */
EP_INLINE void EP_DWCONV_FN(ep_dwconv_wide_row)(EP_DWCONV_V *acc, const float *EP_RESTRICT x,
                                                const float *EP_RESTRICT w, const ep_dwconv_desc d, const int tw)
{
    for (ptrdiff_t q = 0; q < d.kw; q++) {
        const EP_DWCONV_V wv = *(const EP_DWCONV_VU *)(const void *)(w + q * EP_DWCONV_L);
        EP_UNROLL
        for (int t = 0; t < tw; t++) {
            const ptrdiff_t at = t * d.sw * EP_DWCONV_L + q * d.dw * d.block;
            acc[t] += *(const EP_DWCONV_VU *)(const void *)(x + at) * wv;
        }
    }
}

/** One register tile: th rows of tw vectors.  With `clip`, input rows outside the plane are left out; `first` is the row the
 *  first tap of the first output row reads. */
EP_INLINE void EP_DWCONV_FN(ep_dwconv_tile)(float *y, const float *EP_RESTRICT x, const float *EP_RESTRICT w,
                                            const float *EP_RESTRICT bias, const float *r, const ep_dwconv_desc d,
                                            const int th, const int tw, const int clip, const ptrdiff_t first)
{
    EP_DWCONV_V acc[EP_DWCONV_MAX_PIXELS];
    EP_UNROLL
    for (int t = 0; t < th * tw; t++) {
        acc[t] = *(const EP_DWCONV_VU *)(const void *)bias;
    }
    for (ptrdiff_t p = 0; p < d.kh; p++) {
        EP_DWCONV_V wv[EP_DWCONV_WIDE_KERNEL];
        if (d.kw < EP_DWCONV_WIDE_KERNEL) {
            EP_UNROLL
            for (int q = 0; q < d.kw; q++) {
                wv[q] = *(const EP_DWCONV_VU *)(const void *)(w + (p * d.kw + q) * EP_DWCONV_L);
            }
        }
        EP_UNROLL
        for (int i = 0; i < th; i++) {
            const ptrdiff_t down = i * d.sh + p * d.dh;
            if (clip && (first + down < 0 || first + down >= d.ih)) {
                continue;
            }
            const float *row = x + down * d.x_row;
            if (d.kw < EP_DWCONV_WIDE_KERNEL) {
                EP_DWCONV_FN(ep_dwconv_row)(acc + i * tw, row, wv, d, tw);
            } else {
                EP_DWCONV_FN(ep_dwconv_wide_row)(acc + i * tw, row, w + p * d.kw * EP_DWCONV_L, d, tw);
            }
        }
    }
    EP_UNROLL
    for (int t = 0; t < th * tw; t++) {
        if (d.residual) {
            acc[t] += *(const EP_DWCONV_VU *)(const void *)(r + (t / tw) * d.r_row + (t % tw) * EP_DWCONV_L);
        }
        *(EP_DWCONV_VU *)(void *)(y + (t / tw) * d.y_row + (t % tw) * EP_DWCONV_L) = EP_DWCONV_ACT(acc[t], d.act);
    }
}

/** th rows of one channel block. */
EP_INLINE void EP_DWCONV_FN(ep_dwconv_rows)(float *y, const float *EP_RESTRICT x, const float *EP_RESTRICT w,
                                            const float *EP_RESTRICT bias, const float *r, const ep_dwconv_desc d,
                                            const int th, const int clip, const ptrdiff_t first)
{
    const ptrdiff_t vectors = d.ow * d.block / EP_DWCONV_L;
    const ptrdiff_t full = vectors - vectors % d.tile_w;
    for (ptrdiff_t j = 0; j < full; j += d.tile_w) {
        EP_DWCONV_FN(ep_dwconv_tile)
        (y + j * EP_DWCONV_L, x + j * d.sw * EP_DWCONV_L, w, bias, d.residual ? r + j * EP_DWCONV_L : r, d, th,
         d.tile_w, clip, first);
    }
    if (vectors % d.tile_w != 0) {
        EP_DWCONV_FN(ep_dwconv_tile)
        (y + full * EP_DWCONV_L, x + full * d.sw * EP_DWCONV_L, w, bias, d.residual ? r + full * EP_DWCONV_L : r, d, th,
         (int)(vectors % d.tile_w), clip, first);
    }
}

/** th rows of one channel block, near the upper and lower edge with the rows outside left out. */
EP_INLINE void EP_DWCONV_FN(ep_dwconv_clipped)(float *y, const float *EP_RESTRICT x, const float *EP_RESTRICT w,
                                               const float *EP_RESTRICT bias, const float *r, const ep_dwconv_desc d,
                                               const int th, const ptrdiff_t first)
{
    if (d.clip && (first < 0 || first + (th - 1) * d.sh + (d.kh - 1) * d.dh >= d.ih)) {
        EP_DWCONV_FN(ep_dwconv_rows)(y, x, w, bias, r, d, th, 1, first);
    } else {
        EP_DWCONV_FN(ep_dwconv_rows)(y, x, w, bias, r, d, th, 0, first);
    }
}

/** See ep_dwconv.h. */
EP_INLINE void EP_DWCONV_FN(ep_dwconv_f32)(void *y, const void *x, const void *w, const void *bias, const void *r,
                                           const ep_dwconv_desc d, const ptrdiff_t begin, const ptrdiff_t end)
{
    const ptrdiff_t rows = (d.oh + d.tile_h - 1) / d.tile_h;
    const int last_th = (int)(d.oh - (rows - 1) * d.tile_h);
    for (ptrdiff_t unit = begin; unit < end; unit++) {
        const ptrdiff_t row = unit % rows * d.tile_h, block = unit / rows % d.blocks, image = unit / rows / d.blocks;
        const float *source = (const float *)x + image * d.x_image + block * d.x_plane +
                              (row * d.sh - d.top) * d.x_row - d.left * d.block;
        const float *weights = (const float *)w + block * d.kh * d.kw * EP_DWCONV_L;
        const float *offsets = (const float *)bias + block * EP_DWCONV_L;
        const float *added =
            d.residual ? (const float *)r + image * d.r_image + block * d.r_plane + row * d.r_row : (const float *)r;
        float *target = (float *)y + image * d.y_image + block * d.y_plane + row * d.y_row;
        if (last_th != d.tile_h && row + d.tile_h > d.oh) {
            EP_DWCONV_FN(ep_dwconv_clipped)(target, source, weights, offsets, added, d, last_th, row * d.sh - d.top);
        } else {
            EP_DWCONV_FN(ep_dwconv_clipped)(target, source, weights, offsets, added, d, d.tile_h, row * d.sh - d.top);
        }
    }
}

#undef EP_DWCONV_FN
#undef EP_DWCONV_L
#undef EP_DWCONV_V
#undef EP_DWCONV_VU
#undef EP_DWCONV_ACT
