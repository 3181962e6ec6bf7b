"""Multiplications and additions of constants become part of the weights before them."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from packager.passes.affine import channel_axis, fold_affine, foldable, per_channel
from packager.passes.graph import FloatArray, absorb, array, dims, input_at, note
from packager.passes.node_pass import NodePass


class FoldArithmetic(NodePass):
    """Fold Neg, and Mul, Div, Add and Sub by per-channel constants, into Conv, ConvTranspose, Gemm and MatMul.

    ::
        x -> Conv(w, b) -> t -> Mul(c) -> y     =>     x -> Conv(w * c, b * c) -> y
        x -> MatMul(w) -> t -> Add(c) -> y      =>     x -> Gemm(w, c) -> y   (or MatMul with a third input)

    Does nothing when ``t`` has another reader or is a graph output, when the constant differs within a channel or
    widens the result, when weights or bias are computed at run time, after a fused activation or residual, for
    ``c / t``, and when the folded weights would not be finite.
    """

    def rewrite(self, node: ir.Node) -> str | None:
        """See the class."""
        if node.op_type == "Neg":
            return _fold_negation(node)
        if node.op_type not in {"Mul", "Div", "Add", "Sub"}:
            return None
        for index in (0, 1):
            before = foldable(node.inputs[index])
            constant = array(input_at(node, 1 - index))
            if before is None or constant is None or dims(node.outputs[0]) != dims(before.outputs[0]):
                continue
            channels = per_channel(constant, dims(before.outputs[0]), channel_axis(before))
            pair = None if channels is None else _affine(node.op_type, channels, first=index == 0)
            if pair is not None and fold_affine(before, *pair):
                text = f"{before.op_type} + {node.op_type} of a constant"
                absorb(node, before)
                note(before, f"{node.op_type} of a constant")
                return text
        return None


def _fold_negation(node: ir.Node) -> str | None:
    before = foldable(node.inputs[0])
    if before is None:
        return None
    channels = dims(before.outputs[0])[channel_axis(before)]
    if not fold_affine(before, -np.ones(channels), np.zeros(channels)):
        return None
    text = f"{before.op_type} + Neg"
    absorb(node, before)
    note(before, "Neg")
    return text


def _affine(op_type: str, constant: FloatArray, *, first: bool) -> tuple[FloatArray, FloatArray] | None:
    """(scale, shift) of ``t op constant``, or of ``constant op t`` when ``t`` is not the first operand."""
    one, zero = np.ones_like(constant), np.zeros_like(constant)
    if op_type == "Mul":
        return constant, zero
    if op_type == "Add":
        return one, constant
    if op_type == "Sub":
        return (one, -constant) if first else (-one, constant)
    if not first or (constant == 0).any():
        return None
    return 1.0 / constant, zero
