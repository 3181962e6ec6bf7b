/* SPDX-License-Identifier: Apache-2.0 */
/** Activation epilogue: what a conv, gemm or matmul kernel applies to its result before it is stored.
 *
 *  `ep_act_f32(x, act)` takes a float, `ep_act_f32x4/x8/x16` a vector of that many lanes (those the target has),
 *  `ep_act_f32v` the target's widest.  `act` is a constant in generated code, so one kind remains after inlining.
 *
 *  kind            formula                                    alpha, beta
 *  RELU            max(0, x)
 *  CLIP            min(max(x, alpha), beta)                   limits
 *  LEAKY_RELU      x < 0 ? alpha * x : x                      slope
 *  SIGMOID         1 / (1 + e^-x)
 *  TANH            tanh(x)
 *  HARD_SIGMOID    min(max(alpha * x + beta, 0), 1)           slope, offset
 *  HARD_SWISH      x * min(max(x / 6 + 1/2, 0), 1)
 *  SILU            x / (1 + e^-x)
 *  ELU             x < 0 ? alpha * (e^x - 1) : x              scale
 *  GELU            x / 2 * (1 + erf(x / sqrt 2))
 *  GELU_TANH       x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3)))
 *  SOFTPLUS        log(1 + e^x)
 *  MISH            x * tanh(log(1 + e^x))
 *
 *  A NaN stays a NaN in every kind. */
#ifndef EP_ACT_H
#define EP_ACT_H

#include "ep_base.h"
#include "ep_math.h"

enum ep_act_kind {
    EP_ACT_NONE = 0,
    EP_ACT_RELU,
    EP_ACT_CLIP,
    EP_ACT_LEAKY_RELU,
    EP_ACT_SIGMOID,
    EP_ACT_TANH,
    EP_ACT_HARD_SIGMOID,
    EP_ACT_HARD_SWISH,
    EP_ACT_SILU,
    EP_ACT_ELU,
    EP_ACT_GELU,
    EP_ACT_GELU_TANH,
    EP_ACT_SOFTPLUS,
    EP_ACT_MISH
};

typedef struct ep_act {
    int kind; /* enum ep_act_kind */
    float alpha, beta;
} ep_act;

#define EP_VW 1
#include "ep_act.inc.h"
#if EP_F32_LANES >= 4
#define EP_VW 4
#include "ep_act.inc.h"
#endif
#if EP_F32_LANES >= 8
#define EP_VW 8
#include "ep_act.inc.h"
#endif
#if EP_F32_LANES >= 16
#define EP_VW 16
#include "ep_act.inc.h"
#endif

#define ep_act_f32v EP_V(ep_act)

#endif
