"""A quantized value between float operators stays a float that is rounded to its levels."""

from __future__ import annotations

import onnx_ir as ir

from packager.passes.graph import (
    add_constant,
    input_at,
    insert_before,
    is_float32,
    new_node,
    note,
    producer,
    remove,
    required,
    scalar,
    take_over,
)
from packager.passes.node_pass import NodePass

_LIMITS = {
    ir.DataType.INT8: (-128, 127),
    ir.DataType.UINT8: (0, 255),
    ir.DataType.INT16: (-(2**15), 2**15 - 1),
    ir.DataType.UINT16: (0, 2**16 - 1),
}


class RoundInFloat(NodePass):
    """Replace a QuantizeLinear and the DequantizeLinear that undoes it by the float arithmetic both stand for.

    ::
        x -> QuantizeLinear(s, z) -> q -> DequantizeLinear(s, z) -> y
            =>     x -> Div(s) -> Round -> Clip(low - z, high - z) -> Mul(s) -> y

    The values are the same bit for bit (a NaN stays one instead of becoming 0); float vectors replace two passes
    through integers, any memory format will do, and element-wise neighbours join the loop.  It must run after
    arithmetic has been folded: a division moved into weights would round differently.

    Does nothing when scale or zero point differ, have more than one element or are computed at run time.
    """

    def rewrite(self, node: ir.Node) -> str | None:
        """See the class."""
        quantize = producer(input_at(node, 0), "QuantizeLinear")
        if node.op_type != "DequantizeLinear" or quantize is None or not _undoes(node, quantize):
            return None
        level, old = required(node, 0), node.outputs[0]
        offset = _first(node, 2)
        low, high = (add_constant(node, "level", limit - offset) for limit in _LIMITS[level.dtype or ir.DataType.INT8])
        scale = add_constant(node, "scale", _first(node, 1))
        value = required(quantize, 0)
        for op_type, operands in (("Div", (scale,)), ("Round", ()), ("Clip", (low, high)), ("Mul", (scale,))):
            step = new_node(op_type, [value, *operands], old, name=f"{node.name or op_type}/{op_type}")
            note(step, "QuantizeLinear + DequantizeLinear")
            insert_before(node, step)
            value = step.outputs[0]
        take_over(old, value)
        remove(node)
        if not level.uses() and not level.is_graph_output():
            remove(quantize)
        return "QuantizeLinear + DequantizeLinear"


def _undoes(dequantize: ir.Node, quantize: ir.Node) -> bool:
    level, source, result = quantize.outputs[0], required(quantize, 0), dequantize.outputs[0]
    if level.dtype not in _LIMITS or not is_float32(source) or not is_float32(result):
        return False
    for index in (1, 2):
        values = [input_at(node, index) for node in (quantize, dequantize)]
        if any(value is not None and scalar(value) is None for value in values):
            return False
    return all(_first(quantize, index) == _first(dequantize, index) for index in (1, 2))


def _first(node: ir.Node, index: int) -> float:
    """The number at input ``index``; an absent zero point is 0."""
    found = scalar(input_at(node, index))
    return 0.0 if found is None else found
