/* SPDX-License-Identifier: Apache-2.0 */
/** GRU, float32; operands as in ep_rnn.h, gates in the order z, r, h.
 *
 *      z = f(pre_z + h R_z + b_z)    r = f(pre_r + h R_r + b_r)    H = (1 - z) n + z h
 *      linear_before_reset:  n = g(pre_h + r (h R_h + b_h))
 *      otherwise:            n = g(pre_h + (r h) R_h + b_h)
 *
 *  b is r_bias.  With linear_before_reset all three gates are packed together in `r`; otherwise `r` has z and r, and `r_h`
 *  the third gate alone.  scratch: directions * batch * 4 * blocks * lanes floats. */
#ifndef EP_RNN_GRU_H
#define EP_RNN_GRU_H

#include "ep_rnn.h"

/** The state of one sequence while it runs, and its weights: all of one direction. */
typedef struct ep_gru_pass {
    float *h, *h_next, *update, *reset; /* update and reset: linear_before_reset == 0 only */
    const float *r, *r_h, *r_bias;
} ep_gru_pass;

/** r_bias of block j, gate g; zero when there is none. */
EP_INLINE ep_f32v ep_gru_f32_bias(const ep_gru_pass s, const ep_rnn_desc d, const ptrdiff_t j, const ptrdiff_t g)
{
    if (d.has.r_bias) {
        return ep_load_f32v(s.r_bias + (j * 3 + g) * EP_F32_LANES);
    }
    return ep_splat_f32v(0.0f);
}

/** (1 - z) n + z h for block j. */
EP_INLINE void ep_gru_f32_blend(const ep_gru_pass s, const ptrdiff_t j, const ep_f32v z, const ep_f32v n)
{
    const ep_f32v h = ep_load_f32v(s.h + j * EP_F32_LANES);
    ep_store_f32v(s.h_next + j * EP_F32_LANES, (1.0f - z) * n + z * h);
}

/** One step with linear_before_reset. */
EP_INLINE void ep_gru_f32_step_linear(const float *EP_RESTRICT pre, const ep_gru_pass s, const ep_rnn_desc d,
                                      const ep_rnn_act *act)
{
    for (ptrdiff_t j = 0; j < ep_rnn_blocks(d); j++) {
        const float *from = pre + j * 3 * EP_F32_LANES;
        ep_f32v gates[3];
        EP_UNROLL
        for (int g = 0; g < 3; g++) {
            gates[g] = ep_gru_f32_bias(s, d, j, g);
        }
        ep_rnn_recur(gates, s.r + j * d.hidden * 3 * EP_F32_LANES, s.h, d.hidden, 3);
        const ep_f32v z = ep_rnn_activate(ep_load_f32v(from) + gates[0], act[0], d.clip);
        const ep_f32v r = ep_rnn_activate(ep_load_f32v(from + EP_F32_LANES) + gates[1], act[0], d.clip);
        const ep_f32v n = ep_rnn_activate(ep_load_f32v(from + 2 * EP_F32_LANES) + r * gates[2], act[1], d.clip);
        ep_gru_f32_blend(s, j, z, n);
    }
}

/** One step without: all of r * h must be known before the third gate can be computed. */
EP_INLINE void ep_gru_f32_step(const float *EP_RESTRICT pre, const ep_gru_pass s, const ep_rnn_desc d,
                               const ep_rnn_act *act)
{
    for (ptrdiff_t j = 0; j < ep_rnn_blocks(d); j++) {
        const float *from = pre + j * 3 * EP_F32_LANES;
        ep_f32v gates[2];
        EP_UNROLL
        for (int g = 0; g < 2; g++) {
            gates[g] = ep_load_f32v(from + g * EP_F32_LANES) + ep_gru_f32_bias(s, d, j, g);
        }
        ep_rnn_recur(gates, s.r + j * d.hidden * 2 * EP_F32_LANES, s.h, d.hidden, 2);
        ep_store_f32v(s.update + j * EP_F32_LANES, ep_rnn_activate(gates[0], act[0], d.clip));
        ep_store_f32v(s.reset + j * EP_F32_LANES,
                      ep_rnn_activate(gates[1], act[0], d.clip) * ep_load_f32v(s.h + j * EP_F32_LANES));
    }
    for (ptrdiff_t j = 0; j < ep_rnn_blocks(d); j++) {
        ep_f32v n = ep_load_f32v(pre + (j * 3 + 2) * EP_F32_LANES) + ep_gru_f32_bias(s, d, j, 2);
        ep_rnn_recur(&n, s.r_h + j * d.hidden * EP_F32_LANES, s.reset, d.hidden, 1);
        ep_gru_f32_blend(s, j, ep_load_f32v(s.update + j * EP_F32_LANES), ep_rnn_activate(n, act[1], d.clip));
    }
}

/** The state of direction n, sequence b before step i: even and odd steps take turns with two places. */
EP_INLINE ep_gru_pass ep_gru_f32_pass(const float *r, const float *r_h, const float *r_bias, float *scratch,
                                      const ep_rnn_desc d, const ptrdiff_t n, const ptrdiff_t b, const ptrdiff_t i)
{
    const ptrdiff_t width = ep_rnn_blocks(d) * EP_F32_LANES;
    float *own = scratch + (n * d.batch + b) * 4 * width;
    const ep_gru_pass s = {.h = own + i % 2 * width,
                           .h_next = own + (i + 1) % 2 * width,
                           .update = own + 2 * width,
                           .reset = own + 3 * width,
                           .r = r + n * width * (d.linear_before_reset ? 3 : 2) * d.hidden,
                           .r_h = d.linear_before_reset ? r : r_h + n * width * d.hidden,
                           .r_bias = d.has.r_bias ? r_bias + n * width * 3 : r};
    return s;
}

/** Step number i of direction n, sequence b; nothing past its end. */
EP_INLINE void ep_gru_f32_at(float *y, const float *pre, const ep_gru_pass s, const ptrdiff_t length,
                             const ep_rnn_desc d, const ptrdiff_t n, const ptrdiff_t b, const ptrdiff_t i)
{
    if (i >= length) {
        return;
    }
    const ptrdiff_t t = d.reverse[n] ? length - 1 - i : i;
    const ptrdiff_t width = ep_rnn_blocks(d) * EP_F32_LANES;
    const float *row = pre + ((t * d.row_step + b * d.row_batch) * d.directions + n) * width * 3;
    if (d.linear_before_reset) {
        ep_gru_f32_step_linear(row, s, d, d.act[n]);
    } else {
        ep_gru_f32_step(row, s, d, d.act[n]);
    }
    if (d.has.y) {
        ep_rnn_copy(y + n * d.y_direction + t * d.y_step + b * d.y_batch, s.h_next, d.hidden);
    }
}

/** Directions [first, last), step by step. */
EP_INLINE void ep_gru_f32_run(float *y, float *y_h, const float *pre, const float *r, const float *r_h,
                              const float *r_bias, const int32_t *lengths, const float *h_0, float *scratch,
                              const ep_rnn_desc d, const ptrdiff_t first, const ptrdiff_t last)
{
    for (ptrdiff_t n = first; n < last; n++) {
        for (ptrdiff_t b = 0; b < d.batch; b++) {
            const ptrdiff_t state = n * d.state_direction + b * d.state_batch;
            const ep_gru_pass s = ep_gru_f32_pass(r, r_h, r_bias, scratch, d, n, b, 0);
            ep_rnn_start(s.h, d.has.h_0 ? h_0 + state : r, d.has.h_0, d);
        }
    }
    for (ptrdiff_t i = 0; i < d.steps; i++) {
        for (ptrdiff_t b = 0; b < d.batch; b++) {
            const ptrdiff_t length = ep_rnn_length(lengths, d, b);
            EP_UNROLL
            for (ptrdiff_t n = first; n < last; n++) {
                ep_gru_f32_at(y, pre, ep_gru_f32_pass(r, r_h, r_bias, scratch, d, n, b, i), length, d, n, b, i);
            }
        }
    }
    for (ptrdiff_t n = first; n < last; n++) {
        for (ptrdiff_t b = 0; b < d.batch; b++) {
            const ptrdiff_t length = ep_rnn_length(lengths, d, b);
            ep_rnn_pad(y + n * d.y_direction, d, b, length);
            if (d.has.y_h) {
                const ep_gru_pass s = ep_gru_f32_pass(r, r_h, r_bias, scratch, d, n, b, length);
                ep_rnn_copy(y_h + n * d.state_direction + b * d.state_batch, s.h, d.hidden);
            }
        }
    }
}

/** See the head of the file.  Outputs and inputs may not overlap. */
EP_INLINE void ep_gru_f32(float *y, float *y_h, const float *pre, const float *r, const float *r_h, const float *r_bias,
                          const int32_t *lengths, const float *h_0, float *scratch, const ep_rnn_desc d)
{
    if (d.together || d.directions == 1) {
        ep_gru_f32_run(y, y_h, pre, r, r_h, r_bias, lengths, h_0, scratch, d, 0, d.directions);
    } else {
        ep_gru_f32_run(y, y_h, pre, r, r_h, r_bias, lengths, h_0, scratch, d, 0, 1);
        ep_gru_f32_run(y, y_h, pre, r, r_h, r_bias, lengths, h_0, scratch, d, 1, 2);
    }
}

#endif
