/* SPDX-License-Identifier: Apache-2.0 */
/** RNN, float32: H = f(pre + h R + b) with b = r_bias; operands as in ep_rnn.h, one gate.
 *  scratch: directions * batch * 2 * blocks * lanes floats. */
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

/** Directions [first, last), step by step; h before even and before odd steps take turns. */
EP_INLINE void ep_rnn_f32_steps(float *y, const float *pre, const float *r, const float *r_bias, const int32_t *lengths,
                                float *scratch, const ep_rnn_desc d, const ptrdiff_t first, const ptrdiff_t last)
{
    const ptrdiff_t width = ep_rnn_blocks(d) * EP_F32_LANES;
    for (ptrdiff_t i = 0; i < d.steps; i++) {
        for (ptrdiff_t b = 0; b < d.batch; b++) {
            const ptrdiff_t length = ep_rnn_length(lengths, d, b);
            if (i >= length) {
                continue;
            }
            EP_UNROLL
            for (ptrdiff_t n = first; n < last; n++) {
                const ptrdiff_t t = d.reverse[n] ? length - 1 - i : i;
                float *own = scratch + (n * d.batch + b) * 2 * width;
                float *h_next = own + (i + 1) % 2 * width;
                ep_rnn_f32_step(h_next, own + i % 2 * width,
                                pre + ((t * d.row_step + b * d.row_batch) * d.directions + n) * width,
                                r + n * width * d.hidden, d.has.r_bias ? r_bias + n * width : r, d, d.act[n][0]);
                if (d.has.y) {
                    ep_rnn_copy(y + n * d.y_direction + t * d.y_step + b * d.y_batch, h_next, d.hidden);
                }
            }
        }
    }
}

/** See the head of the file.  Outputs and inputs may not overlap. */
EP_INLINE void ep_rnn_f32(float *y, float *y_h, const float *pre, const float *r, const float *r_bias,
                          const int32_t *lengths, const float *h_0, float *scratch, const ep_rnn_desc d)
{
    const ptrdiff_t width = ep_rnn_blocks(d) * EP_F32_LANES;
    for (ptrdiff_t at = 0; at < d.directions * d.batch; at++) {
        const ptrdiff_t state = at / d.batch * d.state_direction + at % d.batch * d.state_batch;
        ep_rnn_start(scratch + at * 2 * width, d.has.h_0 ? h_0 + state : r, d.has.h_0, d);
    }
    if (d.together || d.directions == 1) {
        ep_rnn_f32_steps(y, pre, r, r_bias, lengths, scratch, d, 0, d.directions);
    } else {
        ep_rnn_f32_steps(y, pre, r, r_bias, lengths, scratch, d, 0, 1);
        ep_rnn_f32_steps(y, pre, r, r_bias, lengths, scratch, d, 1, 2);
    }
    for (ptrdiff_t at = 0; at < d.directions * d.batch; at++) {
        const ptrdiff_t state = at / d.batch * d.state_direction + at % d.batch * d.state_batch;
        const ptrdiff_t length = ep_rnn_length(lengths, d, at % d.batch);
        ep_rnn_pad(y + at / d.batch * d.y_direction, d, at % d.batch, length);
        if (d.has.y_h) {
            ep_rnn_copy(y_h + state, scratch + at * 2 * width + length % 2 * width, d.hidden);
        }
    }
}

#endif
