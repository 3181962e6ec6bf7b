/* SPDX-License-Identifier: Apache-2.0 */
/* MaxPool and AveragePool for one element type or vector width.  The includer defines
 *   EP_P_FN(name)      names of this type
 *   EP_P_T, EP_P_V     the element in memory and what one step works on (a vector of channels, or the element)
 *   EP_P_LOAD(p), EP_P_STORE(p, v), EP_P_MAX(x, best), EP_P_LOWEST
 *   EP_P_SCALE(sum, count)   the average; without it there is only MaxPool
 * which are undefined again at the end. */

EP_INLINE EP_P_V EP_P_FN(ep_pool_start)(const int average)
{
#ifdef EP_P_SCALE
    if (average) {
        return (EP_P_V){0};
    }
#endif
    (void)average;
    return EP_P_LOWEST;
}

EP_INLINE EP_P_V EP_P_FN(ep_pool_step)(const EP_P_V cell, const EP_P_V acc, const int average)
{
#ifdef EP_P_SCALE
    if (average) {
        return acc + cell;
    }
#endif
    (void)average;
    return EP_P_MAX(cell, acc);
}

EP_INLINE EP_P_V EP_P_FN(ep_pool_result)(const EP_P_V acc, const ptrdiff_t count, const int average)
{
#ifdef EP_P_SCALE
    if (average) {
        return EP_P_SCALE(acc, count);
    }
#endif
    (void)average;
    (void)count;
    return acc;
}

/* Columns [begin, end) of one output row; `inner`: no window of them leaves the row. */
EP_INLINE void EP_P_FN(ep_pool_columns)(EP_P_T *EP_RESTRICT y, const EP_P_T *EP_RESTRICT x, const ep_window_desc d,
                                        const ep_taps td, const ep_taps th, ptrdiff_t begin, ptrdiff_t end,
                                        const int inner, const int average)
{
    const ptrdiff_t rows = average ? ep_taps_counted(d, 0, td) * ep_taps_counted(d, 1, th) : 0;
    for (ptrdiff_t ow = begin; ow < end; ow++) {
        ep_taps tw = {ow * d.stride[2] - d.before[2], 0, d.kernel[2]};
        if (!inner) {
            tw = ep_taps_at(d, 2, ow);
        }
        EP_P_V acc = EP_P_FN(ep_pool_start)(average);
        for (ptrdiff_t kd = td.from; kd < td.to; kd++) {
            for (ptrdiff_t kh = th.from; kh < th.to; kh++) {
                const EP_P_T *const row = x + (td.first + kd * d.dilation[0]) * d.xs[0] +
                                          (th.first + kh * d.dilation[1]) * d.xs[1] + tw.first * d.xs[2];
                for (ptrdiff_t kw = tw.from; kw < tw.to; kw++) {
                    acc = EP_P_FN(ep_pool_step)(EP_P_LOAD(row + kw * d.dilation[2] * d.xs[2]), acc, average);
                }
            }
        }
        const ptrdiff_t count = !average ? 1 : rows * (inner ? d.kernel[2] : ep_taps_counted(d, 2, tw));
        EP_P_STORE(y + ow * d.ys[2], EP_P_FN(ep_pool_result)(acc, count, average));
    }
}

EP_INLINE void EP_P_FN(ep_pool_planes)(EP_P_T *EP_RESTRICT y, const EP_P_T *EP_RESTRICT x, const ep_window_desc d,
                                       ptrdiff_t begin, ptrdiff_t end, const int average)
{
    const ptrdiff_t inner_begin = ep_window_inner_begin(d);
    const ptrdiff_t inner_end = ep_window_inner_end(d);
    for (ptrdiff_t p = begin; p < end; p++) {
        const EP_P_T *const plane = x + p * d.x_plane;
        for (ptrdiff_t od = 0; od < d.out[0]; od++) {
            const ep_taps td = ep_taps_at(d, 0, od);
            for (ptrdiff_t oh = 0; oh < d.out[1]; oh++) {
                const ep_taps th = ep_taps_at(d, 1, oh);
                EP_P_T *const row = y + p * d.y_plane + od * d.ys[0] + oh * d.ys[1];
                EP_P_FN(ep_pool_columns)(row, plane, d, td, th, 0, inner_begin, 0, average);
                EP_P_FN(ep_pool_columns)(row, plane, d, td, th, inner_begin, inner_end, 1, average);
                EP_P_FN(ep_pool_columns)(row, plane, d, td, th, inner_end, d.out[2], 0, average);
            }
        }
    }
}

EP_INLINE void EP_P_FN(ep_max_pool)(void *EP_RESTRICT y, const void *EP_RESTRICT x, const ep_window_desc d,
                                    ptrdiff_t begin, ptrdiff_t end)
{
    EP_P_FN(ep_pool_planes)((EP_P_T *)y, (const EP_P_T *)x, d, begin, end, 0);
}

#ifdef EP_P_SCALE
EP_INLINE void EP_P_FN(ep_average_pool)(void *EP_RESTRICT y, const void *EP_RESTRICT x, const ep_window_desc d,
                                        ptrdiff_t begin, ptrdiff_t end)
{
    EP_P_FN(ep_pool_planes)((EP_P_T *)y, (const EP_P_T *)x, d, begin, end, 1);
}
#endif

#undef EP_P_FN
#undef EP_P_T
#undef EP_P_V
#undef EP_P_LOAD
#undef EP_P_STORE
#undef EP_P_MAX
#undef EP_P_LOWEST
#undef EP_P_SCALE
