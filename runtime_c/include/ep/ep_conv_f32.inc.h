/* SPDX-License-Identifier: Apache-2.0 */
/* Direct convolution for one vector width; ep_conv.h includes this once per width, after defining EP_CONV_FN (names),
 * EP_CONV_L (lanes), EP_CONV_V and EP_CONV_VU (the vector, aligned and not) and EP_CONV_ACT. */

/* Where one register tile reads and writes. `column` is its first output column, a constant in tiles that touch the
 * padding; rows [p_begin, p_end) of the kernel lie inside the plane. */
typedef struct EP_CONV_FN(ep_conv_tile) {
    const float *x, *w, *bias, *r;
    float *y;
    ptrdiff_t oc;
    ptrdiff_t column, p_begin, p_end;
} EP_CONV_FN(ep_conv_tile);

/** acc += the products of `lanes` channels under one kernel element. Pixel t of the tile is in its column `t % tw`; with
 *  `edge` those outside the plane are left out, `first` being the input column of pixel 0. */
EP_INLINE void EP_CONV_FN(ep_conv_lanes)(EP_CONV_V acc[EP_CONV_MAX_OC][EP_CONV_MAX_PIXELS], const float *EP_RESTRICT x,
                                         const float *EP_RESTRICT w, const ptrdiff_t lanes, const ep_conv_desc d,
                                         const int th, const int tw, const int toc, const int edge,
                                         const ptrdiff_t first)
{
    for (ptrdiff_t lane = 0; lane < lanes; lane++) {
        EP_CONV_V wv[EP_CONV_MAX_OC];
        EP_UNROLL
        for (int b = 0; b < toc; b++) {
            wv[b] = *(const EP_CONV_VU *)(const void *)(w + (lane * toc + b) * EP_CONV_L);
            if (d.prefetch) {
                __builtin_prefetch(w + d.prefetch + (lane * toc + b) * EP_CONV_L, 0, 2);
            }
        }
        EP_UNROLL
        for (int t = 0; t < th * tw; t++) {
            if (edge && (first + t * d.sw < 0 || first + t * d.sw >= d.iw)) {
                continue;
            }
            const float xv = x[(t / tw) * d.sh * d.x_row + (t % tw) * d.sw * d.x_pixel + lane * d.x_lane];
            EP_UNROLL
            for (int b = 0; b < toc; b++) {
                acc[b][t] += wv[b] * xv;
            }
        }
    }
}

/** The sum of one tile where the halo covers the padding: channel blocks outermost. */
EP_INLINE void EP_CONV_FN(ep_conv_sum)(EP_CONV_V acc[EP_CONV_MAX_OC][EP_CONV_MAX_PIXELS],
                                       const EP_CONV_FN(ep_conv_tile) * at, const ep_conv_desc d, const int th,
                                       const int tw, const int toc)
{
    const float *w = at->w;
    for (ptrdiff_t c = 0; c < d.ic; c += d.x_block) {
        const ptrdiff_t lanes = d.ic % d.x_block == 0 || d.ic - c > d.x_block ? d.x_block : d.ic - c;
        const float *block = at->x + c / d.x_block * d.x_plane;
        for (ptrdiff_t p = 0; p < d.kh; p++) {
            for (ptrdiff_t q = 0; q < d.kw; q++) {
                const float *x = block + p * d.dh * d.x_row + q * d.dw * d.x_pixel;
                EP_CONV_FN(ep_conv_lanes)(acc, x, w, lanes, d, th, tw, toc, 0, 0);
                w += lanes * toc * EP_CONV_L;
            }
        }
    }
}

/** The sum of one tile of a plane without halo: kernel elements outermost; of each, only pixels inside take part. */
EP_INLINE void EP_CONV_FN(ep_conv_sum_border)(EP_CONV_V acc[EP_CONV_MAX_OC][EP_CONV_MAX_PIXELS],
                                              const EP_CONV_FN(ep_conv_tile) * at, const ep_conv_desc d, const int tw,
                                              const int toc, const int edge)
{
    for (ptrdiff_t p = at->p_begin; p < at->p_end; p++) {
        EP_UNROLL
        for (int q = 0; q < d.kw; q++) {
            const ptrdiff_t first = at->column * d.sw + q * d.dw - d.left;
            for (ptrdiff_t c = 0; c < d.ic; c += d.x_block) {
                const ptrdiff_t lanes = d.ic % d.x_block == 0 || d.ic - c > d.x_block ? d.x_block : d.ic - c;
                const float *x = at->x + c / d.x_block * d.x_plane + p * d.dh * d.x_row + q * d.dw * d.x_pixel;
                const float *w = at->w + ((p * d.kw + q) * d.ic + c) * toc * EP_CONV_L;
                EP_CONV_FN(ep_conv_lanes)(acc, x, w, lanes, d, 1, tw, toc, edge, first);
            }
        }
    }
}

/** Residual, activation and store of one vector: L channels of one pixel, in L / y_block blocks. */
EP_INLINE void EP_CONV_FN(ep_conv_store)(float *y, const float *r, EP_CONV_V v, const ptrdiff_t oc,
                                         const ep_conv_desc d)
{
    if (d.y_block == EP_CONV_L) {
        if (d.residual) {
            v += *(const EP_CONV_VU *)(const void *)r;
        }
        *(EP_CONV_VU *)(void *)y = EP_CONV_ACT(v, d.act);
        return;
    }
    if (d.residual) {
        EP_CONV_V sum = {0};
        EP_UNROLL
        for (int i = 0; i < EP_CONV_L; i++) {
            if (oc + i / d.y_block * d.y_block < d.oc) {
                sum[i] = r[i / d.y_block * d.r_plane + i % d.y_block];
            }
        }
        v += sum;
    }
    const union {
        EP_CONV_V whole;
        ep_f32x4 part[EP_CONV_L / 4];
    } quarters = {EP_CONV_ACT(v, d.act)};
    EP_UNROLL
    for (int i = 0; i < EP_CONV_L; i += 4) {
        if (oc + i / d.y_block * d.y_block < d.oc) {
            *(ep_f32x4_u *)(void *)(y + i / d.y_block * d.y_plane + i % d.y_block) = quarters.part[i / 4];
        }
    }
}

/** One register tile: th x tw pixels, toc vectors of channels. */
EP_INLINE void EP_CONV_FN(ep_conv_tile_run)(const EP_CONV_FN(ep_conv_tile) at, const ep_conv_desc d, const int th,
                                            const int tw, const int toc, const int edge)
{
    EP_CONV_V acc[EP_CONV_MAX_OC][EP_CONV_MAX_PIXELS];
    EP_UNROLL
    for (int b = 0; b < toc; b++) {
        EP_UNROLL
        for (int t = 0; t < th * tw; t++) {
            acc[b][t] = *(const EP_CONV_VU *)(const void *)(at.bias + b * EP_CONV_L);
        }
    }
    if (d.border) {
        EP_CONV_FN(ep_conv_sum_border)(acc, &at, d, tw, toc, edge);
    } else {
        EP_CONV_FN(ep_conv_sum)(acc, &at, d, th, tw, toc);
    }
    EP_UNROLL
    for (int b = 0; b < toc; b++) {
        const ptrdiff_t blocks = b * (EP_CONV_L / d.y_block);
        EP_UNROLL
        for (int t = 0; t < th * tw; t++) {
            float *y = at.y + blocks * d.y_plane + (t / tw) * d.y_row + (t % tw) * d.y_pixel;
            const float *r = d.residual ? at.r + blocks * d.r_plane + (t / tw) * d.r_row + (t % tw) * d.r_pixel : at.r;
            EP_CONV_FN(ep_conv_store)(y, r, acc[b][t], at.oc + b * EP_CONV_L, d);
        }
    }
}

/** All tiles of `th` output rows for `toc` vectors of channels. */
EP_INLINE void EP_CONV_FN(ep_conv_row)(EP_CONV_FN(ep_conv_tile) at, const ep_conv_desc d, const int th, const int toc)
{
    const int tw = d.tile_w;
    const ptrdiff_t full = d.ow / tw;
    const int rest = (int)(d.ow % tw);
    const ptrdiff_t head = d.border ? 1 : 0; /* tiles at a constant place: first... */
    const ptrdiff_t tail = d.border && rest == 0 && full > 1 ? full - 1 : full; /* ...and last */
    const ptrdiff_t x_step = tw * d.sw * d.x_pixel, y_step = tw * d.y_pixel, r_step = tw * d.r_pixel;
    const EP_CONV_FN(ep_conv_tile) start = at;
    if (d.border && full > 0) {
        EP_CONV_FN(ep_conv_tile_run)(at, d, th, tw, toc, 1);
    }
    at.x += head * x_step;
    at.y += head * y_step;
    at.r = d.residual ? at.r + head * r_step : at.r;
    for (ptrdiff_t i = head; i < tail; i++) {
        EP_CONV_FN(ep_conv_tile_run)(at, d, th, tw, toc, 0);
        at.x += x_step;
        at.y += y_step;
        at.r = d.residual ? at.r + r_step : at.r;
    }
    const int width = rest != 0 ? rest : tw;
    const ptrdiff_t done = rest != 0 ? full : full - 1;
    if (rest != 0 || (d.border && full > 1)) {
        at.x = start.x + done * x_step;
        at.y = start.y + done * y_step;
        at.r = d.residual ? start.r + done * r_step : at.r;
        at.column = done * tw;
        EP_CONV_FN(ep_conv_tile_run)(at, d, th, width, toc, d.border);
    }
}

/** Rows of the kernel that lie inside the plane for output row i. */
EP_INLINE void EP_CONV_FN(ep_conv_clip_rows)(EP_CONV_FN(ep_conv_tile) * at, const ep_conv_desc d, const ptrdiff_t i)
{
    const ptrdiff_t first = i * d.sh - d.top;
    at->p_begin = 0;
    at->p_end = d.kh;
    while (at->p_begin < d.kh && first + at->p_begin * d.dh < 0) {
        at->p_begin++;
    }
    while (at->p_end > at->p_begin && first + (at->p_end - 1) * d.dh >= d.ih) {
        at->p_end--;
    }
}

/** See ep_conv.h. */
EP_INLINE void EP_CONV_FN(ep_conv_f32)(void *y, const void *x, const void *w, const void *bias, const void *r,
                                       const ep_conv_desc d, const ptrdiff_t begin, const ptrdiff_t end)
{
    const ptrdiff_t tile = (ptrdiff_t)d.tile_oc * EP_CONV_L;
    const ptrdiff_t group_oc = d.oc / d.groups;
    const ptrdiff_t group_tiles = (group_oc + tile - 1) / tile;
    const ptrdiff_t tiles = group_tiles * d.groups, rows = (d.oh + d.tile_h - 1) / d.tile_h;
    const int last_toc = (int)((group_oc - (group_tiles - 1) * tile + EP_CONV_L - 1) / EP_CONV_L);
    const int last_th = (int)(d.oh - (rows - 1) * d.tile_h);
    const ptrdiff_t taps = d.kh * d.kw * d.ic;
    const ptrdiff_t group_w = ((group_tiles - 1) * d.tile_oc + last_toc) * EP_CONV_L * taps;
    for (ptrdiff_t unit = begin; unit < end; unit++) {
        const ptrdiff_t inner = unit % (tiles * rows), image = unit / (tiles * rows);
        const ptrdiff_t o = d.oc_outer ? inner / rows : inner % tiles;
        const ptrdiff_t row = (d.oc_outer ? inner % rows : inner / tiles) * d.tile_h;
        const ptrdiff_t group = o / group_tiles, o_tile = o % group_tiles;
        const ptrdiff_t oc = group * group_oc + o_tile * tile;
        EP_CONV_FN(ep_conv_tile) at = {0};
        at.x = (const float *)x + image * d.x_image + group * (d.ic / d.x_block) * d.x_plane +
               (row * d.sh - d.top) * d.x_row - d.left * d.x_pixel;
        at.w = (const float *)w + group * group_w + o_tile * tile * taps;
        at.bias = (const float *)bias + oc;
        at.y = (float *)y + d.y_start + image * d.y_image + oc / d.y_block * d.y_plane + row * d.y_row;
        at.r = d.residual ? (const float *)r + image * d.r_image + oc / d.y_block * d.r_plane + row * d.r_row : NULL;
        at.oc = oc;
        if (d.border) {
            EP_CONV_FN(ep_conv_clip_rows)(&at, d, row);
        }
        const int short_oc = last_toc != d.tile_oc && o_tile == group_tiles - 1;
        if (last_th != d.tile_h && row + d.tile_h > d.oh) {
            if (short_oc) {
                EP_CONV_FN(ep_conv_row)(at, d, last_th, last_toc);
            } else {
                EP_CONV_FN(ep_conv_row)(at, d, last_th, d.tile_oc);
            }
        } else if (short_oc) {
            EP_CONV_FN(ep_conv_row)(at, d, d.tile_h, last_toc);
        } else {
            EP_CONV_FN(ep_conv_row)(at, d, d.tile_h, d.tile_oc);
        }
    }
}

#undef EP_CONV_FN
#undef EP_CONV_L
#undef EP_CONV_V
#undef EP_CONV_VU
#undef EP_CONV_ACT
