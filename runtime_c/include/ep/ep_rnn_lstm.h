/* SPDX-License-Identifier: Apache-2.0 */
/** LSTM, float32; operands as in ep_rnn.h, gates in the order i, o, f, c and peepholes i, o, f.
 *
 *      i = f(pre_i + h R_i + P_i c)    f = f(pre_f + h R_f + P_f c)    C = f c + i g(pre_c + h R_c)
 *      o = f(pre_o + h R_o + P_o C)    H = o h(C)
 *
 *  `clip` limits what enters f and g, but not the cell state on its way into h: so do onnxruntime and OpenVINO, and the
 *  operator text ("applied to the input of activations") leaves it open.
 *  scratch: directions * batch * 3 * blocks * lanes floats. */
#ifndef EP_RNN_LSTM_H
#define EP_RNN_LSTM_H

#include "ep_rnn.h"

/** One block of hidden units of one step: new cell state in place, returns the new hidden state. */
EP_INLINE ep_f32v ep_lstm_f32_block(ep_f32v *gates, float *EP_RESTRICT cell, const float *EP_RESTRICT peepholes,
                                    const ep_rnn_desc d, const ep_rnn_act *act)
{
    ep_f32v c = ep_load_f32v(cell);
    if (d.has.peepholes) {
        gates[0] += ep_load_f32v(peepholes) * c;
        gates[2] += ep_load_f32v(peepholes + 2 * EP_F32_LANES) * c;
    }
    const ep_f32v input = ep_rnn_activate(gates[0], act[0], d.clip);
    ep_f32v forget = 1.0f - input;
    if (!d.input_forget) {
        forget = ep_rnn_activate(gates[2], act[0], d.clip);
    }
    c = forget * c + input * ep_rnn_activate(gates[3], act[1], d.clip);
    ep_store_f32v(cell, c);
    if (d.has.peepholes) {
        gates[1] += ep_load_f32v(peepholes + EP_F32_LANES) * c;
    }
    return ep_rnn_activate(gates[1], act[0], d.clip) * ep_rnn_activate(c, act[2], 0.0f);
}

/** One step of one sequence: h_next and cell from h. */
EP_INLINE void ep_lstm_f32_step(float *EP_RESTRICT h_next, float *EP_RESTRICT cell, const float *EP_RESTRICT h,
                                const float *EP_RESTRICT pre, const float *EP_RESTRICT r,
                                const float *EP_RESTRICT r_bias, const float *EP_RESTRICT peepholes,
                                const ep_rnn_desc d, const ep_rnn_act *act)
{
    for (ptrdiff_t j = 0; j < ep_rnn_blocks(d); j++) {
        ep_f32v gates[4];
        EP_UNROLL
        for (int g = 0; g < 4; g++) {
            const ptrdiff_t at = (j * 4 + g) * EP_F32_LANES;
            gates[g] = ep_load_f32v(pre + at);
            if (d.has.r_bias) {
                gates[g] += ep_load_f32v(r_bias + at);
            }
        }
        ep_rnn_recur(gates, r + j * d.hidden * 4 * EP_F32_LANES, h, d.hidden, 4);
        const float *p = d.has.peepholes ? peepholes + j * 3 * EP_F32_LANES : r;
        ep_store_f32v(h_next + j * EP_F32_LANES, ep_lstm_f32_block(gates, cell + j * EP_F32_LANES, p, d, act));
    }
}

/** Where direction n, sequence b keeps its state: h before even steps, h before odd steps, cell. */
EP_INLINE float *ep_lstm_f32_state(float *scratch, const ep_rnn_desc d, const ptrdiff_t n, const ptrdiff_t b)
{
    return scratch + (n * d.batch + b) * 3 * ep_rnn_blocks(d) * EP_F32_LANES;
}

/** Directions [first, last), step by step. */
EP_INLINE void ep_lstm_f32_steps(float *y, const float *pre, const float *r, const float *r_bias,
                                 const float *peepholes, const int32_t *lengths, float *scratch, const ep_rnn_desc d,
                                 const ptrdiff_t first, const ptrdiff_t last)
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
                float *own = ep_lstm_f32_state(scratch, d, n, b);
                float *h_next = own + (i + 1) % 2 * width;
                ep_lstm_f32_step(h_next, own + 2 * width, own + i % 2 * width,
                                 pre + ((t * d.row_step + b * d.row_batch) * d.directions + n) * width * 4,
                                 r + n * width * 4 * d.hidden, d.has.r_bias ? r_bias + n * width * 4 : r,
                                 d.has.peepholes ? peepholes + n * width * 3 : r, d, d.act[n]);
                if (d.has.y) {
                    ep_rnn_copy(y + n * d.y_direction + t * d.y_step + b * d.y_batch, h_next, d.hidden);
                }
            }
        }
    }
}

/** See the head of the file.  Outputs and inputs may not overlap. */
EP_INLINE void ep_lstm_f32(float *y, float *y_h, float *y_c, const float *pre, const float *r, const float *r_bias,
                           const float *peepholes, const int32_t *lengths, const float *h_0, const float *c_0,
                           float *scratch, const ep_rnn_desc d)
{
    const ptrdiff_t width = ep_rnn_blocks(d) * EP_F32_LANES;
    for (ptrdiff_t at = 0; at < d.directions * d.batch; at++) {
        const ptrdiff_t state = at / d.batch * d.state_direction + at % d.batch * d.state_batch;
        float *own = ep_lstm_f32_state(scratch, d, at / d.batch, at % d.batch);
        ep_rnn_start(own, d.has.h_0 ? h_0 + state : r, d.has.h_0, d);
        ep_rnn_start(own + 2 * width, d.has.c_0 ? c_0 + state : r, d.has.c_0, d);
    }
    if (d.together || d.directions == 1) {
        ep_lstm_f32_steps(y, pre, r, r_bias, peepholes, lengths, scratch, d, 0, d.directions);
    } else {
        ep_lstm_f32_steps(y, pre, r, r_bias, peepholes, lengths, scratch, d, 0, 1);
        ep_lstm_f32_steps(y, pre, r, r_bias, peepholes, lengths, scratch, d, 1, 2);
    }
    for (ptrdiff_t at = 0; at < d.directions * d.batch; at++) {
        const ptrdiff_t state = at / d.batch * d.state_direction + at % d.batch * d.state_batch;
        const ptrdiff_t length = ep_rnn_length(lengths, d, at % d.batch);
        const float *own = ep_lstm_f32_state(scratch, d, at / d.batch, at % d.batch);
        ep_rnn_pad(y + at / d.batch * d.y_direction, d, at % d.batch, length);
        if (d.has.y_h) {
            ep_rnn_copy(y_h + state, own + length % 2 * width, d.hidden);
        }
        if (d.has.y_c) {
            ep_rnn_copy(y_c + state, own + 2 * width, d.hidden);
        }
    }
}

#endif
