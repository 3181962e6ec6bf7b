/* SPDX-License-Identifier: Apache-2.0 */
/** What LSTM, GRU and RNN share.
 *
 *  The hidden units are handled in blocks of one vector; all gates of a block are computed together.  Weights lie as
 *  [direction][block][k][gate][lane] (ep_rnn_pack_f32, or packager/ops/rnn.py for constants), biases and peepholes as the same
 *  with k = 1, zero past the last unit.  `pre` is what the input contributes, X * W^T + Wb for all steps at once (one
 *  ep_gemm_f32): [row][direction][block][gate][lane].  Lanes past the last unit never reach a valid one. */
#ifndef EP_RNN_H
#define EP_RNN_H

#include "ep_math.h"
#include "ep_reduce_lanes.h"

#define EP_RNN_MAX_GATES 4
#define EP_RNN_SUMS 8 /* independent sums, to hide the latency of the multiply-add */

enum ep_rnn_act_kind {
    EP_RNN_RELU,             /* max(0, x) */
    EP_RNN_TANH,             /* tanh(x) */
    EP_RNN_SIGMOID,          /* 1 / (1 + e^-x) */
    EP_RNN_AFFINE,           /* alpha * x + beta */
    EP_RNN_LEAKY_RELU,       /* x >= 0 ? x : alpha * x */
    EP_RNN_THRESHOLDED_RELU, /* x >= alpha ? x : 0 */
    EP_RNN_SCALED_TANH,      /* alpha * tanh(beta * x) */
    EP_RNN_HARD_SIGMOID,     /* min(max(alpha * x + beta, 0), 1) */
    EP_RNN_ELU,              /* x >= 0 ? x : alpha * (e^x - 1) */
    EP_RNN_SOFTSIGN,         /* x / (1 + |x|) */
    EP_RNN_SOFTPLUS          /* log(1 + e^x) */
};

typedef struct ep_rnn_act {
    int kind;
    float alpha, beta;
} ep_rnn_act;

/** Which optional operands there are; the others are never read or written. */
typedef struct ep_rnn_has {
    int y, y_h, y_c;
    int r_bias, peepholes, lengths, h_0, c_0;
} ep_rnn_has;

typedef struct ep_rnn_desc {
    ptrdiff_t directions, steps, batch, hidden;
    int reverse[2];
    ptrdiff_t row_step, row_batch;          /* steps in rows of pre */
    ptrdiff_t y_step, y_batch, y_direction; /* steps in Y */
    ptrdiff_t state_batch, state_direction; /* steps in Y_h, Y_c, initial_h and initial_c */
    float clip;                             /* limits what enters an activation; 0: no limit */
    int input_forget;                       /* LSTM: the forget gate is 1 - input gate */
    int linear_before_reset;                /* GRU */
    int together;         /* both directions in one walk: the steps of one fill the other's waiting time */
    ep_rnn_act act[2][3]; /* f, g, h of each direction */
    ep_rnn_has has;
} ep_rnn_desc;

/** The activation of one vector, its input clipped. */
EP_INLINE ep_f32v ep_rnn_activate(ep_f32v x, const ep_rnn_act act, const float clip)
{
    const ep_f32v zero = ep_splat_f32v(0.0f);
    if (clip > 0.0f) {
        x = ep_min_f32v(ep_splat_f32v(clip), ep_max_f32v(ep_splat_f32v(-clip), x));
    }
    switch (act.kind) {
    case EP_RNN_RELU:
        return ep_max_f32v(zero, x);
    case EP_RNN_TANH:
        return ep_tanh_f32v(x);
    case EP_RNN_AFFINE:
        return x * act.alpha + act.beta;
    case EP_RNN_LEAKY_RELU:
        return ep_select_f32v(ep_lt_f32v(x, zero), x * act.alpha, x);
    case EP_RNN_THRESHOLDED_RELU:
        return ep_select_f32v(ep_lt_f32v(x, ep_splat_f32v(act.alpha)), zero, x);
    case EP_RNN_SCALED_TANH:
        return ep_tanh_f32v(x * act.beta) * act.alpha;
    case EP_RNN_HARD_SIGMOID:
        return ep_min_f32v(ep_splat_f32v(1.0f), ep_max_f32v(zero, x * act.alpha + act.beta));
    case EP_RNN_ELU:
        return ep_select_f32v(ep_lt_f32v(x, zero), ep_expm1_f32v(x) * act.alpha, x);
    case EP_RNN_SOFTSIGN:
        return x / (ep_abs_f32v(x) + 1.0f);
    case EP_RNN_SOFTPLUS:
        return ep_softplus_f32v(x);
    default:
        return ep_sigmoid_f32v(x);
    }
}

/** acc[gate] += sum over k of h[k] * w[k][gate]; k is the number of hidden units. */
EP_INLINE void ep_rnn_recur(ep_f32v *acc, const float *EP_RESTRICT w, const float *EP_RESTRICT h, const ptrdiff_t k,
                            const ptrdiff_t gates)
{
    const ptrdiff_t unroll = EP_RNN_SUMS / gates;
    ep_f32v sums[EP_RNN_SUMS];
    EP_UNROLL
    for (ptrdiff_t s = 0; s < unroll * gates; s++) {
        sums[s] = s < gates ? acc[s] : ep_splat_f32v(0.0f);
    }
    ptrdiff_t p = 0;
    for (; p + unroll <= k; p += unroll) {
        EP_UNROLL
        for (ptrdiff_t u = 0; u < unroll; u++) {
            EP_UNROLL
            for (ptrdiff_t g = 0; g < gates; g++) {
                sums[u * gates + g] += ep_load_f32v(w + ((p + u) * gates + g) * EP_F32_LANES) * h[p + u];
            }
        }
    }
    for (; p < k; p++) {
        EP_UNROLL
        for (ptrdiff_t g = 0; g < gates; g++) {
            sums[g] += ep_load_f32v(w + (p * gates + g) * EP_F32_LANES) * h[p];
        }
    }
    EP_UNROLL
    for (ptrdiff_t g = 0; g < gates; g++) {
        acc[g] = sums[g];
        EP_UNROLL
        for (ptrdiff_t u = 1; u < unroll; u++) {
            acc[g] += sums[u * gates + g];
        }
    }
}

/** Blocks of hidden units. */
EP_INLINE ptrdiff_t ep_rnn_blocks(const ep_rnn_desc d)
{
    return (d.hidden + EP_F32_LANES - 1) / EP_F32_LANES;
}

/** Hidden units in block j. */
EP_INLINE ptrdiff_t ep_rnn_lanes(const ep_rnn_desc d, const ptrdiff_t j)
{
    const ptrdiff_t left = d.hidden - j * EP_F32_LANES;
    return left < EP_F32_LANES ? left : EP_F32_LANES;
}

/** Steps of sequence b: all, or as many as `lengths` says, within bounds whatever it says. */
EP_INLINE ptrdiff_t ep_rnn_length(const int32_t *lengths, const ep_rnn_desc d, const ptrdiff_t b)
{
    if (!d.has.lengths) {
        return d.steps;
    }
    const ptrdiff_t length = (ptrdiff_t)lengths[b];
    return length < 0 ? 0 : length > d.steps ? d.steps : length;
}

/** A state of one sequence: from the operand if there is one, else zero; zero past the last unit. */
EP_INLINE void ep_rnn_start(float *EP_RESTRICT state, const float *EP_RESTRICT from, const int has, const ep_rnn_desc d)
{
    for (ptrdiff_t i = 0; i < ep_rnn_blocks(d) * EP_F32_LANES; i++) {
        state[i] = has && i < d.hidden ? from[i] : 0.0f;
    }
}

/** `count` values from one place to another that it does not overlap. */
EP_INLINE void ep_rnn_copy(float *EP_RESTRICT to, const float *EP_RESTRICT from, const ptrdiff_t count)
{
    for (ptrdiff_t i = 0; i < count; i++) {
        to[i] = from[i];
    }
}

/** Y past the end of sequence b is zero. */
EP_INLINE void ep_rnn_pad(float *y, const ep_rnn_desc d, const ptrdiff_t b, const ptrdiff_t length)
{
    for (ptrdiff_t t = length; d.has.y && t < d.steps; t++) {
        for (ptrdiff_t i = 0; i < d.hidden; i++) {
            y[t * d.y_step + b * d.y_batch + i] = 0.0f;
        }
    }
}

/** Packing at run time: to[direction][block][k][gate][lane] = w[direction * step + offset + row * k + p], where row is
 *  source[gate] * hidden + unit. */
typedef struct ep_rnn_pack_desc {
    ptrdiff_t directions, hidden, k;
    ptrdiff_t gates;
    ptrdiff_t source[EP_RNN_MAX_GATES];
    ptrdiff_t offset, step;
} ep_rnn_pack_desc;

/** Range over directions * blocks. */
EP_INLINE void ep_rnn_pack_f32(float *EP_RESTRICT to, const float *EP_RESTRICT w, const ep_rnn_pack_desc d,
                               const ptrdiff_t begin, const ptrdiff_t end)
{
    const ptrdiff_t blocks = (d.hidden + EP_F32_LANES - 1) / EP_F32_LANES;
    for (ptrdiff_t at = begin; at < end; at++) {
        const float *from = w + at / blocks * d.step + d.offset;
        const ptrdiff_t first = at % blocks * EP_F32_LANES;
        float *block = to + at * d.k * d.gates * EP_F32_LANES;
        for (ptrdiff_t p = 0; p < d.k; p++) {
            for (ptrdiff_t g = 0; g < d.gates; g++) {
                for (ptrdiff_t l = 0; l < EP_F32_LANES; l++) {
                    const ptrdiff_t row = d.source[g] * d.hidden + first + l;
                    block[(p * d.gates + g) * EP_F32_LANES + l] = first + l < d.hidden ? from[row * d.k + p] : 0.0f;
                }
            }
        }
    }
}

#endif
