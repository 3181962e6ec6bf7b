/* SPDX-License-Identifier: Apache-2.0 */
/** The windows of pooling operators over up to three spatial axes (depth, height, width; missing axes have extent 1).
 *
 *  A plane is one channel of one image (plain tensors) or one block of channels (blocked ones): plane p begins p *
 *  x_plane elements into x.  Cells outside x do not take part, so tensors need no halo; pitches step over the ones
 *  they have. */
#ifndef EP_WINDOW_H
#define EP_WINDOW_H

#include "ep_base.h"

/* elements of tensors in the arena, which holds every type */
typedef float ep_pool_float __attribute__((may_alias));
typedef double ep_pool_double __attribute__((may_alias));
typedef int8_t ep_pool_int8 __attribute__((may_alias));
typedef uint8_t ep_pool_uint8 __attribute__((may_alias));

typedef struct ep_window_desc {
    ptrdiff_t in[3], out[3]; /* spatial extents */
    ptrdiff_t kernel[3], stride[3], dilation[3];
    ptrdiff_t before[3], after[3]; /* padding */
    ptrdiff_t x_plane, y_plane;    /* pitches in elements */
    ptrdiff_t xs[3], ys[3];
    int count_padding; /* averages: padded cells count (cells past the padding never do) */
} ep_window_desc;

/** The part of a window along one axis: tap k reads cell first + k * dilation, which is in x for from <= k < to. */
typedef struct ep_taps {
    ptrdiff_t first, from, to;
} ep_taps;

/** Taps k with first + k * dilation < limit, at most `kernel`. */
EP_INLINE ptrdiff_t ep_taps_below(ptrdiff_t limit, ptrdiff_t first, ptrdiff_t dilation, ptrdiff_t kernel)
{
    const ptrdiff_t reach = limit - first;
    const ptrdiff_t taps = reach <= 0 ? 0 : (reach + dilation - 1) / dilation;
    return taps < kernel ? taps : kernel;
}

EP_INLINE ep_taps ep_taps_at(const ep_window_desc d, int axis, ptrdiff_t o)
{
    ep_taps taps;
    taps.first = o * d.stride[axis] - d.before[axis];
    taps.from = ep_taps_below(0, taps.first, d.dilation[axis], d.kernel[axis]);
    taps.to = ep_taps_below(d.in[axis], taps.first, d.dilation[axis], d.kernel[axis]);
    return taps;
}

/** Cells of the window along one axis that an average divides by. */
EP_INLINE ptrdiff_t ep_taps_counted(const ep_window_desc d, int axis, const ep_taps taps)
{
    return d.count_padding ? ep_taps_below(d.in[axis] + d.after[axis], taps.first, d.dilation[axis], d.kernel[axis])
                           : taps.to - taps.from;
}

/** The first output column whose window does not begin in the padding. */
EP_INLINE ptrdiff_t ep_window_inner_begin(const ep_window_desc d)
{
    const ptrdiff_t begin = (d.before[2] + d.stride[2] - 1) / d.stride[2];
    return begin < d.out[2] ? begin : d.out[2];
}

/** One past the last output column whose window ends inside x; at least ep_window_inner_begin(). */
EP_INLINE ptrdiff_t ep_window_inner_end(const ep_window_desc d)
{
    const ptrdiff_t begin = ep_window_inner_begin(d);
    const ptrdiff_t room = d.in[2] - 1 - (d.kernel[2] - 1) * d.dilation[2] + d.before[2];
    const ptrdiff_t end = room < 0 ? 0 : room / d.stride[2] + 1;
    return end < begin ? begin : end < d.out[2] ? end : d.out[2];
}

#endif
