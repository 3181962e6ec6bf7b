"""The activation lists of LSTM, GRU and RNN as ``ep_rnn_act`` literals."""

from __future__ import annotations

from dataclasses import dataclass

import onnx_ir as ir

from packager.lower.context import LoweringContext
from packager.program import FieldValue


@dataclass(frozen=True)
class _Function:
    """An enumerator and the defaults of the parameters the function takes (None: it takes none)."""

    kind: str
    alpha: float | None = None
    beta: float | None = None


_FUNCTIONS = {
    "relu": _Function("EP_RNN_RELU"),
    "tanh": _Function("EP_RNN_TANH"),
    "sigmoid": _Function("EP_RNN_SIGMOID"),
    "affine": _Function("EP_RNN_AFFINE", 1.0, 0.0),
    "leakyrelu": _Function("EP_RNN_LEAKY_RELU", 0.01),
    "thresholdedrelu": _Function("EP_RNN_THRESHOLDED_RELU", 1.0),
    "scaledtanh": _Function("EP_RNN_SCALED_TANH", 1.0, 1.0),
    "hardsigmoid": _Function("EP_RNN_HARD_SIGMOID", 0.2, 0.5),
    "elu": _Function("EP_RNN_ELU", 1.0),
    "softsign": _Function("EP_RNN_SOFTSIGN"),
    "softplus": _Function("EP_RNN_SOFTPLUS"),
}

_DEFAULTS = {"LSTM": ("Sigmoid", "Tanh", "Tanh"), "GRU": ("Sigmoid", "Tanh"), "RNN": ("Tanh",)}
_SLOTS = 3  # activations of a direction in ep_rnn_desc


def activation_fields(node: ir.Node, directions: int, ctx: LoweringContext) -> tuple[FieldValue, ...]:
    """``act[2][3]`` of ``ep_rnn_desc``; alphas and betas go, in order, to the functions that take them."""
    defaults = _DEFAULTS[node.op_type]
    names = list(node.attributes.get_strings("activations", ())) or list(defaults) * directions
    if len(names) != len(defaults) * directions:
        wanted = len(defaults) * directions
        raise ctx.unsupported(node, f"{len(names)} activations where {wanted} are needed")
    alphas = iter(node.attributes.get_floats("activation_alpha", ()))
    betas = iter(node.attributes.get_floats("activation_beta", ()))
    fields: list[FieldValue] = []
    for name in names:
        function = _FUNCTIONS.get(name.lower())
        if function is None:
            raise ctx.unsupported(node, f"activation {name} is not one of {', '.join(_FUNCTIONS)}")
        alpha = next(alphas, function.alpha) if function.alpha is not None else 0.0
        beta = next(betas, function.beta) if function.beta is not None else 0.0
        fields.append((function.kind, float(alpha or 0.0), float(beta or 0.0)))
    unused: tuple[FieldValue, ...] = ("EP_RNN_SIGMOID", 0.0, 0.0)
    rows = [
        (*fields[at : at + len(defaults)], *[unused] * (_SLOTS - len(defaults)))
        for at in range(0, len(fields), len(defaults))
    ]
    return (rows[0], rows[-1])
