"""Concatenations of concatenations, and of the pieces of one tensor."""

from __future__ import annotations

import onnx_ir as ir

from packager.passes.graph import can_take_over, dims, producer, read_once, remove, required, take_over
from packager.passes.node_pass import NodePass


class MergeConcats(NodePass):
    """Flatten nested Concats; a Concat of all parts of a Split is the tensor that was split.

    ::
        a, b -> Concat -> t;  t, c -> Concat -> y     =>     a, b, c -> Concat -> y
        x -> Split -> a, b;   a, b -> Concat -> y     =>     x = y

    Does nothing when the axes differ, when ``t`` has another reader or is a graph output, when parts are missing or in
    another order, or when ``y`` is a graph output and ``x`` a graph input.
    """

    def rewrite(self, node: ir.Node) -> str | None:
        """See the class."""
        if node.op_type != "Concat":
            return None
        axis = _axis(node)
        if self._undo_split(node, axis):
            return "Split + Concat without effect"
        merged = False
        operands: list[ir.Value | None] = []
        for value in node.inputs:
            inner = producer(value, "Concat")
            if inner is not None and value is not None and read_once(value) and _axis(inner) == axis:
                operands += inner.inputs
                merged = True
            else:
                operands.append(value)
        if not merged:
            return None
        inners = [value.producer() for value in node.inputs if value is not None and value not in operands]
        node.resize_inputs(len(operands))
        for index, value in enumerate(operands):
            node.replace_input_with(index, value)
        for inner in inners:
            assert inner is not None
            remove(inner)
        return "Concat + Concat"

    @staticmethod
    def _undo_split(node: ir.Node, axis: int) -> bool:
        split = producer(node.inputs[0], "Split")
        if split is None or _axis(split) != axis or list(node.inputs) != list(split.outputs):
            return False
        x, y = required(split, 0), node.outputs[0]
        if not can_take_over(y, x):
            return False
        for index in range(len(node.inputs)):
            node.replace_input_with(index, None)
        take_over(y, x)
        remove(node)
        return True


def _axis(node: ir.Node) -> int:
    return node.attributes.get_int("axis", 0) % len(dims(required(node, 0)))
