"""Factors before a convolution or product become part of its weights."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from packager.passes.affine import per_channel
from packager.passes.graph import (
    Array,
    FloatArray,
    add_constant,
    array,
    dims,
    input_at,
    is_float32,
    note,
    only_reader,
    remove,
    set_input,
)
from packager.passes.node_pass import NodePass


class FoldIntoNext(NodePass):
    """Fold constant factors of the input channels into the Conv, Gemm or MatMul that reads them.

    ::
        x -> Mul(c) -> t -> Conv(w) -> y       =>     x -> Conv(w * c) -> y
        x -> Div(c) -> t -> MatMul(w) -> y     =>     x -> MatMul(w / c) -> y

    Additions stay: ``(x - mean) w`` and ``x w - mean w`` differ by much when the mean is large.

    Does nothing when ``t`` has another reader or is a graph output, when the constant differs within an input channel
    or widens the tensor, for ``c / x``, when the weights are computed at run time, and when they would not be finite.
    """

    def rewrite(self, node: ir.Node) -> str | None:
        """See the class."""
        if node.op_type not in {"Mul", "Div"} or not is_float32(node.outputs[0]):
            return None
        reader = _reader(node.outputs[0])
        for index in (0, 1) if node.op_type == "Mul" else (0,):
            x, constant = node.inputs[index], array(input_at(node, 1 - index))
            if reader is None or x is None or constant is None or dims(x) != dims(node.outputs[0]):
                continue
            axis = 1 if reader.op_type == "Conv" else len(dims(x)) - 1
            factors = per_channel(constant, dims(x), axis)
            if factors is None or not _scale_inputs(reader, factors if node.op_type == "Mul" else _inverse(factors)):
                continue
            reader.replace_input_with(0, x)
            remove(node)
            note(reader, f"{node.op_type} of a constant before")
            return f"{node.op_type} of a constant + {reader.op_type}"
        return None


def _reader(value: ir.Value) -> ir.Node | None:
    """The only reader when factors can move into its weights."""
    node = only_reader(value)
    if node is None or node.domain != "" or node.op_type not in {"Conv", "Gemm", "MatMul"}:
        return None
    weights = array(input_at(node, 1))
    if node.inputs[0] is not value or weights is None or node.attributes.get_int("transA", 0) == 1:
        return None
    return node if node.op_type == "Conv" or weights.ndim == 2 else None


def _inverse(factors: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore"):
        return 1.0 / factors


def _scale_inputs(reader: ir.Node, factors: FloatArray) -> bool:
    """Multiply the weights of each input channel; False, and nothing changed, when that is not finite in float32."""
    weights = array(reader.inputs[1])
    assert weights is not None
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = (weights.astype(np.float64) * _along_inputs(reader, factors, weights)).astype(np.float32)
    if not np.isfinite(scaled).all():
        return False
    stem = reader.name or str(reader.outputs[0].name)
    set_input(reader, 1, add_constant(reader, f"{stem}.weight", scaled))
    return True


def _along_inputs(reader: ir.Node, factors: FloatArray, weights: Array) -> FloatArray:
    """``factors`` shaped so that they multiply the input channels of ``weights``."""
    if reader.op_type != "Conv":
        return factors if reader.attributes.get_int("transB", 0) == 1 else factors[:, None]
    groups = reader.attributes.get_int("group", 1)
    rows = np.repeat(factors.reshape(groups, -1), weights.shape[0] // groups, axis=0)
    return rows.reshape(*rows.shape, *(1,) * (weights.ndim - 2))
