/* SPDX-License-Identifier: Apache-2.0 */
/* The activations for one vector width; ep_act.h includes this once per width, after defining EP_ACT_FN (names),
 * EP_ACT_T (the vector), EP_ACT_INTS (its integer twin, vectors only), EP_ACT_MAX, EP_ACT_MIN and EP_ACT_CALL
 * (a function of ep_math.h on this width). */

#ifdef EP_ACT_INTS
#define EP_ACT_IF_NEGATIVE(x, yes, no) EP_ACT_FN(ep_act_select)((EP_ACT_INTS)((x) < 0.0f), (yes), (no))

EP_INLINE EP_ACT_T EP_ACT_FN(ep_act_select)(const EP_ACT_INTS mask, const EP_ACT_T yes, const EP_ACT_T no)
{
    return (EP_ACT_T)(((EP_ACT_INTS)yes & mask) | ((EP_ACT_INTS)no & ~mask));
}
#endif

/** min(max(x, low), high); a NaN stays a NaN. */
EP_INLINE EP_ACT_T EP_ACT_FN(ep_act_clamp)(const EP_ACT_T x, const float low, const float high)
{
    const EP_ACT_T raised = EP_ACT_MAX(low, x);
    return EP_ACT_MIN(high, raised);
}

EP_INLINE EP_ACT_T EP_ACT_FN(ep_act_sigmoid)(const EP_ACT_T x)
{
    return 1.0f / (1.0f + EP_ACT_CALL(ep_exp, -x));
}

EP_INLINE EP_ACT_T EP_ACT_FN(ep_act_elu)(const EP_ACT_T x, const float alpha)
{
    const EP_ACT_T below = alpha * (EP_ACT_CALL(ep_exp, x) - 1.0f);
    return EP_ACT_IF_NEGATIVE(x, below, x);
}

EP_INLINE EP_ACT_T EP_ACT_FN(ep_act_gelu)(const EP_ACT_T x)
{
    const EP_ACT_T scaled = x * 0.70710678118654752440f;
    return 0.5f * x * (1.0f + EP_ACT_CALL(ep_erf, scaled));
}

EP_INLINE EP_ACT_T EP_ACT_FN(ep_act_gelu_tanh)(const EP_ACT_T x)
{
    const EP_ACT_T inner = 0.79788456080286535588f * (x + 0.044715f * x * x * x);
    return 0.5f * x * (1.0f + EP_ACT_CALL(ep_tanh, inner));
}

/** See ep_act.h. */
EP_INLINE EP_ACT_T EP_ACT_FN(ep_act)(const EP_ACT_T x, const ep_act act)
{
    switch (act.kind) {
    case EP_ACT_RELU:
        return EP_ACT_MAX(0.0f, x);
    case EP_ACT_CLIP:
        return EP_ACT_FN(ep_act_clamp)(x, act.alpha, act.beta);
    case EP_ACT_LEAKY_RELU:
        return EP_ACT_IF_NEGATIVE(x, act.alpha * x, x);
    case EP_ACT_SIGMOID:
        return EP_ACT_FN(ep_act_sigmoid)(x);
    case EP_ACT_TANH:
        return EP_ACT_CALL(ep_tanh, x);
    case EP_ACT_HARD_SIGMOID:
        return EP_ACT_FN(ep_act_clamp)(act.alpha * x + act.beta, 0.0f, 1.0f);
    case EP_ACT_HARD_SWISH:
        return x * EP_ACT_FN(ep_act_clamp)(x * (1.0f / 6.0f) + 0.5f, 0.0f, 1.0f);
    case EP_ACT_SILU:
        return x * EP_ACT_FN(ep_act_sigmoid)(x);
    case EP_ACT_ELU:
        return EP_ACT_FN(ep_act_elu)(x, act.alpha);
    case EP_ACT_GELU:
        return EP_ACT_FN(ep_act_gelu)(x);
    case EP_ACT_GELU_TANH:
        return EP_ACT_FN(ep_act_gelu_tanh)(x);
    default:
        return x;
    }
}

#undef EP_ACT_FN
#undef EP_ACT_T
#undef EP_ACT_INTS
#undef EP_ACT_MAX
#undef EP_ACT_MIN
#undef EP_ACT_IF_NEGATIVE
#undef EP_ACT_CALL
