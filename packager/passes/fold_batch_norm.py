"""BatchNormalization becomes part of the weights before it, or one multiplication and one addition."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from packager.passes.affine import fold_affine, foldable
from packager.passes.graph import (
    absorb,
    add_constant,
    array,
    dims,
    insert_before,
    is_float32,
    new_node,
    note,
    remove,
    required,
    take_over,
)
from packager.passes.node_pass import NodePass


class FoldBatchNormalization(NodePass):
    """Fold inference BatchNormalization into the convolution or product before it.

    ::
        x -> Conv(w, b) -> t -> BatchNormalization -> y     =>     x -> Conv(w * s, b * s + t) -> y
        x -> BatchNormalization -> y                        =>     x -> Mul(s) -> Add(t) -> y

    with ``s = scale / sqrt(var + epsilon)`` and ``t = bias - mean * s``.

    Does nothing when one of the four statistics is computed at run time, or the tensor is not float32.  The second form
    is taken when ``t`` has another reader or is a graph output, when the weights are computed at run time, and when an
    activation sits between: folding would change what others see.
    """

    def rewrite(self, node: ir.Node) -> str | None:
        """See the class."""
        if node.op_type != "BatchNormalization" or not is_float32(node.outputs[0]):
            return None
        found = [array(value) for value in node.inputs[1:5]]
        if any(statistic is None for statistic in found):
            return None
        gamma, beta, mean, var = (np.asarray(statistic, np.float64) for statistic in found)
        scale = gamma / np.sqrt(var + node.attributes.get_float("epsilon", 1e-5))
        shift = beta - mean * scale
        if not (np.isfinite(scale).all() and np.isfinite(shift).all()):
            return None
        before = foldable(node.inputs[0])
        if before is not None and _channels_last_is_ok(before, node) and fold_affine(before, scale, shift):
            text = f"{before.op_type} + BatchNormalization"
            absorb(node, before)
            note(before, "BatchNormalization")
            return text
        _expand(node, scale, shift)
        return "BatchNormalization as Mul + Add"


def _channels_last_is_ok(before: ir.Node, node: ir.Node) -> bool:
    """BatchNormalization's channels are axis 1; those of a product are its last axis."""
    return before.op_type in {"Conv", "ConvTranspose"} or len(dims(required(node, 0))) == 2


def _expand(node: ir.Node, scale: np.ndarray, shift: np.ndarray) -> None:
    x, y = required(node, 0), node.outputs[0]
    shape = (-1, *(1,) * (len(dims(x)) - 2))
    stem = node.name or str(y.name)
    multiply = new_node("Mul", [x, add_constant(node, f"{stem}.scale", scale.reshape(shape))], y, name=stem)
    add_of = add_constant(node, f"{stem}.shift", shift.reshape(shape))
    plus = new_node("Add", [multiply.outputs[0], add_of], y, name=f"{stem}.add")
    insert_before(node, multiply)
    insert_before(node, plus)
    take_over(y, plus.outputs[0])
    remove(node)
