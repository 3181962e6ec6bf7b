"""Activations become the epilogue of the convolution or product before them."""

from __future__ import annotations

import math

import onnx_ir as ir

from packager.passes.affine import FOLDING_OPS
from packager.passes.graph import absorb, array, dims, input_at, is_float32, note, producer, read_once, scalar
from packager.passes.node_pass import NodePass

KIND = "edgepack_activation"
ALPHA = "edgepack_activation_alpha"
BETA = "edgepack_activation_beta"

Activation = tuple[str, float, float]

_PLAIN = {
    "Relu": "relu",
    "Sigmoid": "sigmoid",
    "Tanh": "tanh",
    "HardSwish": "hard_swish",
    "Softplus": "softplus",
    "Mish": "mish",
}


class FuseActivation(NodePass):
    """Move an activation into the Conv, ConvTranspose, Gemm or MatMul that feeds it.

    ::
        x -> Conv -> t -> Relu -> y     =>     x -> Conv[edgepack_activation=relu] -> y

    Does nothing when ``t`` has another reader or is a graph output (both would see the activated value), when the node
    has an activation already, for parameters computed at run time, for a Clip with one side open (other than Relu),
    and for tensors that are not float32.
    """

    def rewrite(self, node: ir.Node) -> str | None:
        """See the class."""
        before = producer(node.inputs[0] if node.inputs else None, *FOLDING_OPS)
        if before is None or KIND in before.attributes or not is_float32(node.outputs[0]):
            return None
        found = activation_of(node)
        if found is None or not read_once(before.outputs[0]) or dims(before.outputs[0]) != dims(node.outputs[0]):
            return None
        kind, alpha, beta = found
        before.attributes[KIND] = ir.AttrString(KIND, kind)
        before.attributes[ALPHA] = ir.AttrFloat32(ALPHA, alpha)
        before.attributes[BETA] = ir.AttrFloat32(BETA, beta)
        text = f"{before.op_type} + {node.op_type}"
        note(before, node.op_type)
        absorb(node, before)
        return text


def activation_of(node: ir.Node) -> Activation | None:
    """(kind, alpha, beta) of a node that is an activation kernels apply, as documented in ``ep_act.h``."""
    attributes = node.attributes
    if node.op_type in _PLAIN:
        return _PLAIN[node.op_type], 0.0, 0.0
    if node.op_type == "Clip":
        return _clip(node)
    if node.op_type == "LeakyRelu":
        return "leaky_relu", attributes.get_float("alpha", 0.01), 0.0
    if node.op_type == "Elu":
        return "elu", attributes.get_float("alpha", 1.0), 0.0
    if node.op_type == "HardSigmoid":
        return "hard_sigmoid", attributes.get_float("alpha", 0.2), attributes.get_float("beta", 0.5)
    if node.op_type == "Swish" and attributes.get_float("alpha", 1.0) == 1.0:
        return "silu", 0.0, 0.0
    if node.op_type == "Gelu":
        return ("gelu_tanh" if attributes.get_string("approximate", "none") == "tanh" else "gelu"), 0.0, 0.0
    return None


def _clip(node: ir.Node) -> Activation | None:
    limits = []
    for index, default in ((1, -math.inf), (2, math.inf)):
        value = input_at(node, index)
        if value is not None and (array(value) is None or scalar(value) is None):
            return None
        limit = scalar(value)
        limits.append(default if limit is None else limit)
    low, high = limits
    if low == 0.0 and high == math.inf:
        return "relu", 0.0, 0.0
    return ("clip", low, high) if math.isfinite(low) and math.isfinite(high) else None
