/* SPDX-License-Identifier: Apache-2.0 */
/* MaxPool with Indices for one element type.  The includer defines EP_P_FN(name) and EP_P_T, undefined at the end. */

EP_INLINE void EP_P_FN(ep_max_index)(void *EP_RESTRICT y, void *EP_RESTRICT index, const void *EP_RESTRICT x,
                                     const ep_max_index_desc d, ptrdiff_t begin, ptrdiff_t end)
{
    const ep_window_desc w = d.window;
    const EP_P_T *EP_RESTRICT source = x;
    EP_P_T *EP_RESTRICT target = y;
    int64_t *EP_RESTRICT chosen = index;
    for (ptrdiff_t p = begin; p < end; p++) {
        for (ptrdiff_t o = 0; o < w.y_plane; o++) {
            const ep_taps t0 = ep_taps_at(w, 0, o / w.ys[0]);
            const ep_taps t1 = ep_taps_at(w, 1, o / w.ys[1] % w.out[1]);
            const ep_taps t2 = ep_taps_at(w, 2, o % w.out[2]);
            EP_P_T best = 0;
            ptrdiff_t at = -1;
            for (ptrdiff_t kd = t0.from; kd < t0.to; kd++) {
                const ptrdiff_t i0 = t0.first + kd * w.dilation[0];
                for (ptrdiff_t kh = t1.from; kh < t1.to; kh++) {
                    const ptrdiff_t i1 = t1.first + kh * w.dilation[1];
                    for (ptrdiff_t kw = t2.from; kw < t2.to; kw++) {
                        const ptrdiff_t i2 = t2.first + kw * w.dilation[2];
                        const EP_P_T cell = source[p * w.x_plane + i0 * w.xs[0] + i1 * w.xs[1] + i2 * w.xs[2]];
                        if (at < 0 || cell > best) {
                            best = cell;
                            at = p * w.x_plane + i0 * d.index[0] + i1 * d.index[1] + i2 * d.index[2];
                        }
                    }
                }
            }
            target[p * w.y_plane + o] = best;
            chosen[p * w.y_plane + o] = at;
        }
    }
}

#undef EP_P_FN
#undef EP_P_T
