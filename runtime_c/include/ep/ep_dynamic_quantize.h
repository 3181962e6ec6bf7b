/* SPDX-License-Identifier: Apache-2.0 */
/** DynamicQuantizeLinear: y = clamp(round(x / scale) + zero, 0, 255) with scale = (high - low) / 255 and
 *  zero = clamp(round(-low / scale), 0, 255) over [low, high], the range of x widened to contain 0.  Ties round to even.
 *
 *  Tensors of zeros have scale 1.  A NaN in x gives zero; infinities give scale infinity.  y and x do not overlap. */
#ifndef EP_DYNAMIC_QUANTIZE_H
#define EP_DYNAMIC_QUANTIZE_H

#include "ep_cast.h"
#include "ep_vec.h"

typedef struct ep_dynamic_quantize_desc {
    ptrdiff_t count;
} ep_dynamic_quantize_desc;

EP_INLINE void ep_dynamic_quantize_u8(uint8_t *EP_RESTRICT y, float *EP_RESTRICT scale, uint8_t *EP_RESTRICT zero,
                                      const float *EP_RESTRICT x, const ep_dynamic_quantize_desc d)
{
    ep_f32v low = ep_splat_f32v(0.0f);
    ep_f32v high = low;
    for (ptrdiff_t i = 0; i < d.count;
         i += EP_F32_LANES) { /* lanes past the end load as 0, which both ranges contain */
        const ptrdiff_t rest = d.count - i;
        const ep_f32v v = rest >= EP_F32_LANES ? ep_load_f32v(x + i) : ep_load_part_f32v(x + i, rest);
        low = ep_min_f32v(v, low);
        high = ep_max_f32v(v, high);
    }
    const float bottom = ep_hmin_f32v(low);
    const float width = ep_hmax_f32v(high) - bottom;
    const float step = width > 0.0f ? width / 255.0f : 1.0f;
    const int32_t offset = ep_quantize_f32(-bottom, step, 0, 0, 255);
    *scale = step;
    *zero = (uint8_t)offset;
    for (ptrdiff_t i = 0; i < d.count; i++) {
        y[i] = (uint8_t)ep_quantize_f32(x[i], step, offset, 0, 255);
    }
}

#endif
