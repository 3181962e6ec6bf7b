/* SPDX-License-Identifier: Apache-2.0 */
/* Body of ep_act.h for one width, EP_VW; see there for the contract. */
#include "ep_width.inc.h"

/* min(max(x, low), high); a NaN stays a NaN */
EP_INLINE EP_F EP_FN(ep_act_clamp)(const EP_F x, const float low, const float high)
{
    return EP_FN(ep_min)(EP_FN(ep_splat)(high), EP_FN(ep_max)(EP_FN(ep_splat)(low), x));
}

EP_INLINE EP_F EP_FN(ep_act)(const EP_F x, const ep_act act)
{
    const EP_F zero = EP_FN(ep_splat)(0.0f);
    switch (act.kind) {
    case EP_ACT_RELU:
        return EP_FN(ep_max)(zero, x);
    case EP_ACT_CLIP:
        return EP_FN(ep_act_clamp)(x, act.alpha, act.beta);
    case EP_ACT_LEAKY_RELU:
        return EP_FN(ep_select)(EP_FN(ep_lt)(x, zero), act.alpha * x, x);
    case EP_ACT_SIGMOID:
        return EP_FN(ep_sigmoid)(x);
    case EP_ACT_TANH:
        return EP_FN(ep_tanh)(x);
    case EP_ACT_HARD_SIGMOID:
        return EP_FN(ep_act_clamp)(act.alpha * x + act.beta, 0.0f, 1.0f);
    case EP_ACT_HARD_SWISH:
        return x * EP_FN(ep_act_clamp)(x * (1.0f / 6.0f) + 0.5f, 0.0f, 1.0f);
    case EP_ACT_SILU:
        return x * EP_FN(ep_sigmoid)(x);
    case EP_ACT_ELU:
        return EP_FN(ep_select)(EP_FN(ep_lt)(x, zero), act.alpha * EP_FN(ep_expm1)(x), x);
    case EP_ACT_GELU:
        return EP_FN(ep_gelu)(x);
    case EP_ACT_GELU_TANH:
        return EP_FN(ep_gelu_tanh)(x);
    case EP_ACT_SOFTPLUS:
        return EP_FN(ep_softplus)(x);
    case EP_ACT_MISH:
        return EP_FN(ep_mish)(x);
    default:
        return x;
    }
}

#include "ep_width_end.inc.h"
