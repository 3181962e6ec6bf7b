"""Operators that return their input go away."""

from __future__ import annotations

import onnx_ir as ir

from packager.passes.graph import can_take_over, dims, remove, take_over
from packager.passes.node_pass import NodePass

_SAME_SHAPE = frozenset(
    {"Slice", "Pad", "Expand", "Reshape", "Tile", "Squeeze", "Unsqueeze", "Flatten", "Identity", "Split"}
)
"""These copy elements in order: an output of the input's shape is the input (Slice only with positive steps)."""

_SINGLE_INPUT = frozenset({"Concat", "Sum", "Mean", "Max", "Min"})


class RemoveNoOps(NodePass):
    """Drop operators whose output equals their input.

    ::
        x -> Slice[everything] -> y,   x -> Concat -> y,   x -> Cast[same type] -> y     =>     x = y

    Does nothing when ``y`` is a graph output and ``x`` a graph input, a constant or another output: an output needs a
    value of its own.
    """

    def rewrite(self, node: ir.Node) -> str | None:
        """See the class."""
        if len(node.outputs) != 1 or not node.inputs or node.inputs[0] is None:
            return None
        x, y = node.inputs[0], node.outputs[0]
        if not _returns_input(node, x, y) or not can_take_over(y, x):
            return None
        op_type = node.op_type
        for index in range(len(node.inputs)):
            node.replace_input_with(index, None)
        take_over(y, x)
        remove(node)
        return f"{op_type} without effect"


def _returns_input(node: ir.Node, x: ir.Value, y: ir.Value) -> bool:
    if x.dtype != y.dtype or dims(x) != dims(y):
        return False
    if node.op_type == "Slice":
        return _steps_forward(node)
    if node.op_type == "Pad":
        return _pads_nothing(node)
    if node.op_type in _SAME_SHAPE:
        return True
    if node.op_type == "Transpose":
        perm = list(node.attributes.get_ints("perm", None) or reversed(range(len(dims(x)))))
        return perm == sorted(perm)
    if node.op_type in _SINGLE_INPUT:
        return len(node.inputs) == 1
    return node.op_type in {"Cast", "CastLike"}


def _steps_forward(node: ir.Node) -> bool:
    steps = node.inputs[4].const_value if len(node.inputs) > 4 and node.inputs[4] is not None else None
    if len(node.inputs) > 4 and node.inputs[4] is not None and steps is None:
        return False
    return steps is None or bool((steps.numpy() > 0).all())


def _pads_nothing(node: ir.Node) -> bool:
    """Negative and positive pads may cancel in the shape, not in the values."""
    pads = node.inputs[1].const_value if node.inputs[1] is not None else None
    return pads is not None and not pads.numpy().any()
