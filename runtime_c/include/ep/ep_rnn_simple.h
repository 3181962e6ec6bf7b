/* SPDX-License-Identifier: Apache-2.0 */
/** RNN, float32: H = f(pre + h R + b) with b = r_bias; operands as in ep_rnn.h, one gate.
 *  scratch: 2 * blocks * lanes floats. */
#ifndef EP_RNN_SIMPLE_H
#define EP_RNN_SIMPLE_H

#include "ep_rnn.h"

/** One step of one sequence. */
EP_INLINE void ep_rnn_f32_step(float *EP_RESTRICT h_next, const float *EP_RESTRICT h, const float *EP_RESTRICT pre,
                               const float *EP_RESTRICT r, const float *EP_RESTRICT r_bias, const ep_rnn_desc d,
                               const ep_rnn_act act)
{
    for (ptrdiff_t j = 0; j < ep_rnn_blocks(d); j++) {
        ep_f32v gate = ep_load_f32v(pre + j * EP_F32_LANES);
        if (d.has.r_bias) {
            gate += ep_load_f32v(r_bias + j * EP_F32_LANES);
        }
        ep_rnn_recur(&gate, r + j * d.hidden * EP_F32_LANES, h, d.hidden, 1);
        ep_store_f32v(h_next + j * EP_F32_LANES, ep_rnn_activate(gate, act, d.clip));
    }
}

/** One direction, number `n`. */
EP_INLINE void ep_rnn_f32_direction(float *y, float *y_h, const float *pre, const float *r, const float *r_bias,
                                    const int32_t *lengths, const float *h_0, float *scratch, const ep_rnn_desc d,
                                    const ptrdiff_t n)
{
    const ptrdiff_t width = ep_rnn_blocks(d) * EP_F32_LANES;
    float *h = scratch;
    float *h_next = scratch + width;
    const float *bias = d.has.r_bias ? r_bias + n * width : r;
    for (ptrdiff_t b = 0; b < d.batch; b++) {
        const ptrdiff_t state = n * d.state_direction + b * d.state_batch;
        const ptrdiff_t length = ep_rnn_length(lengths, d, b);
        ep_rnn_start(h, d.has.h_0 ? h_0 + state : r, d.has.h_0, d);
        for (ptrdiff_t i = 0; i < length; i++) {
            const ptrdiff_t t = d.reverse[n] ? length - 1 - i : i;
            const float *row = pre + ((t * d.row_step + b * d.row_batch) * d.directions + n) * width;
            ep_rnn_f32_step(h_next, h, row, r + n * width * d.hidden, bias, d, d.act[n][0]);
            ep_rnn_swap(&h, &h_next);
            if (d.has.y) {
                ep_rnn_copy(y + n * d.y_direction + t * d.y_step + b * d.y_batch, h, d.hidden);
            }
        }
        ep_rnn_pad(y + n * d.y_direction, d, b, length);
        if (d.has.y_h) {
            ep_rnn_copy(y_h + state, h, d.hidden);
        }
    }
}

/** See the head of the file.  Outputs and inputs may not overlap. */
EP_INLINE void ep_rnn_f32(float *y, float *y_h, const float *pre, const float *r, const float *r_bias,
                          const int32_t *lengths, const float *h_0, float *scratch, const ep_rnn_desc d)
{
    ep_rnn_f32_direction(y, y_h, pre, r, r_bias, lengths, h_0, scratch, d, 0);
    if (d.directions == 2) {
        ep_rnn_f32_direction(y, y_h, pre, r, r_bias, lengths, h_0, scratch, d, 1);
    }
}

#endif
