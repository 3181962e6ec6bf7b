"""Weights stored as integers become the floats they stand for."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import onnx_ir as ir

from packager.passes.graph import add_constant, array, input_at, is_float32, remove, take_over
from packager.passes.node_pass import NodePass

_INTEGERS = frozenset(
    {
        ir.DataType.INT4,
        ir.DataType.UINT4,
        ir.DataType.INT8,
        ir.DataType.UINT8,
        ir.DataType.INT16,
        ir.DataType.UINT16,
        ir.DataType.INT32,
    }
)


class FoldDequantize(NodePass):
    """Compute DequantizeLinear of constants now: float kernels read float weights.

    ::
        q (constant) -> DequantizeLinear(scale, zero) -> w     =>     w (constant)

    Does nothing when the scale or zero point is computed at run time, when the result is not float32, and when it is a
    graph output, which needs a node of its own.
    """

    def rewrite(self, node: ir.Node) -> str | None:
        """See the class."""
        if node.op_type != "DequantizeLinear" or node.outputs[0].is_graph_output() or not is_float32(node.outputs[0]):
            return None
        levels, scale, zero = array(input_at(node, 0)), array(input_at(node, 1)), array(input_at(node, 2))
        stored = node.inputs[0]
        if levels is None or scale is None or stored is None or stored.dtype not in _INTEGERS:
            return None
        if zero is None and input_at(node, 2) is not None:
            return None
        values = levels.astype(np.int64)
        if zero is not None:
            values = values - _spread(node, zero.astype(np.int64), levels.shape)
        floats = values.astype(np.float32) * _spread(node, scale.astype(np.float32), levels.shape)
        old = node.outputs[0]
        new = add_constant(node, f"{old.name}_dequantized", floats)
        for index in range(len(node.inputs)):
            node.replace_input_with(index, None)
        take_over(old, new)
        remove(node)
        return "DequantizeLinear of constants"


def _spread(node: ir.Node, parameter: npt.NDArray[Any], shape: tuple[int, ...]) -> npt.NDArray[Any]:
    """A scale or zero point per tensor, per index of the axis, or per block along it, to be broadcast to ``shape``."""
    axis = node.attributes.get_int("axis", 1)
    block = node.attributes.get_int("block_size", 0)
    if parameter.size == 1:
        return parameter.reshape((1,) * len(shape))
    if block:
        return np.repeat(parameter, block, axis)[tuple(slice(extent) for extent in shape)]
    aligned = [1] * len(shape)
    aligned[axis] = parameter.size
    return parameter.reshape(aligned)
