/* SPDX-License-Identifier: Apache-2.0 */
/** Vectors at ragged edges: `n` of the lanes exist, 1 <= n <= EP_F32_LANES.  Constant n costs no branch. */
#ifndef EP_REDUCE_LANES_H
#define EP_REDUCE_LANES_H

#include "ep_vec.h"

/** The first n lanes from p, the others zero. */
EP_INLINE ep_f32v ep_load_lanes_f32v(const float *p, const ptrdiff_t n)
{
    if (n == EP_F32_LANES) {
        return ep_load_f32v(p);
    }
    return ep_load_part_f32v(p, n);
}

/** The first n lanes from p, the others equal to fill. */
EP_INLINE ep_f32v ep_fill_lanes_f32v(const float *p, const ptrdiff_t n, const float fill)
{
    if (n == EP_F32_LANES) {
        return ep_load_f32v(p);
    }
    float lanes[EP_F32_LANES];
    EP_UNROLL
    for (ptrdiff_t i = 0; i < EP_F32_LANES; i++) {
        lanes[i] = i < n ? p[i] : fill;
    }
    return ep_load_f32v(lanes);
}

/** Write the first n lanes to p. */
EP_INLINE void ep_store_lanes_f32v(float *p, const ep_f32v v, const ptrdiff_t n)
{
    if (n == EP_F32_LANES) {
        ep_store_f32v(p, v);
    } else {
        ep_store_part_f32v(p, v, n);
    }
}

#endif
