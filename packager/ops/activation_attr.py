"""The activation that fusion left on a node, as the ``ep_act`` field of a kernel's descriptor."""

from __future__ import annotations

import math

import onnx_ir as ir

from packager.program import FieldValue

KINDS = frozenset(
    {
        "relu",
        "clip",
        "leaky_relu",
        "sigmoid",
        "tanh",
        "hard_sigmoid",
        "hard_swish",
        "silu",
        "elu",
        "gelu",
        "gelu_tanh",
        "softplus",
        "mish",
    }
)
"""Values of the attribute ``edgepack_activation`` that ``ep_act.h`` computes."""

NO_ACTIVATION: tuple[FieldValue, ...] = ("EP_ACT_NONE", 0.0, 0.0)


def activation_fields(node: ir.Node) -> tuple[FieldValue, ...]:
    """``(kind, alpha, beta)`` from the ``edgepack_activation*`` attributes; no activation when there are none."""
    kind = node.attributes.get_string("edgepack_activation", "")
    if not kind:
        return NO_ACTIVATION
    assert kind in KINDS, f"fusion left an activation no kernel has: {kind}"
    alpha = float(node.attributes.get_float("edgepack_activation_alpha", 0.0))
    beta = float(node.attributes.get_float("edgepack_activation_beta", 0.0))
    if kind == "clip" and alpha == 0.0 and beta == math.inf:
        kind = "relu"
    return (f"EP_ACT_{kind.upper()}", alpha, beta)
