/* SPDX-License-Identifier: Apache-2.0 */
/** LSTM, float32; operands as in ep_rnn.h, gates in the order i, o, f, c and peepholes i, o, f.
 *
 *      i = f(pre_i + h R_i + P_i c)    f = f(pre_f + h R_f + P_f c)    C = f c + i g(pre_c + h R_c)
 *      o = f(pre_o + h R_o + P_o C)    H = o h(C)
 *
 *  `clip` limits what enters f and g, but not the cell state on its way into h: so do onnxruntime and OpenVINO, and the
 *  operator text ("applied to the input of activations") leaves it open.
 *  scratch: 3 * blocks * lanes floats. */
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

/** One direction, number `n`. */
EP_INLINE void ep_lstm_f32_direction(float *y, float *y_h, float *y_c, const float *pre, const float *r,
                                     const float *r_bias, const float *peepholes, const int32_t *lengths,
                                     const float *h_0, const float *c_0, float *scratch, const ep_rnn_desc d,
                                     const ptrdiff_t n)
{
    const ptrdiff_t width = ep_rnn_blocks(d) * EP_F32_LANES;
    float *h = scratch;
    float *h_next = scratch + width;
    float *cell = scratch + 2 * width;
    const float *bias = d.has.r_bias ? r_bias + n * width * 4 : r;
    const float *holes = d.has.peepholes ? peepholes + n * width * 3 : r;
    for (ptrdiff_t b = 0; b < d.batch; b++) {
        const ptrdiff_t state = n * d.state_direction + b * d.state_batch;
        const ptrdiff_t length = ep_rnn_length(lengths, d, b);
        ep_rnn_start(h, d.has.h_0 ? h_0 + state : r, d.has.h_0, d);
        ep_rnn_start(cell, d.has.c_0 ? c_0 + state : r, d.has.c_0, d);
        for (ptrdiff_t i = 0; i < length; i++) {
            const ptrdiff_t t = d.reverse[n] ? length - 1 - i : i;
            const float *row = pre + ((t * d.row_step + b * d.row_batch) * d.directions + n) * width * 4;
            ep_lstm_f32_step(h_next, cell, h, row, r + n * width * 4 * d.hidden, bias, holes, d, d.act[n]);
            ep_rnn_swap(&h, &h_next);
            if (d.has.y) {
                ep_rnn_copy(y + n * d.y_direction + t * d.y_step + b * d.y_batch, h, d.hidden);
            }
        }
        ep_rnn_pad(y + n * d.y_direction, d, b, length);
        if (d.has.y_h) {
            ep_rnn_copy(y_h + state, h, d.hidden);
        }
        if (d.has.y_c) {
            ep_rnn_copy(y_c + state, cell, d.hidden);
        }
    }
}

/** See the head of the file.  Outputs and inputs may not overlap. */
EP_INLINE void ep_lstm_f32(float *y, float *y_h, float *y_c, const float *pre, const float *r, const float *r_bias,
                           const float *peepholes, const int32_t *lengths, const float *h_0, const float *c_0,
                           float *scratch, const ep_rnn_desc d)
{
    ep_lstm_f32_direction(y, y_h, y_c, pre, r, r_bias, peepholes, lengths, h_0, c_0, scratch, d, 0);
    if (d.directions == 2) {
        ep_lstm_f32_direction(y, y_h, y_c, pre, r, r_bias, peepholes, lengths, h_0, c_0, scratch, d, 1);
    }
}

#endif
