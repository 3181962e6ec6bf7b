"""The addition at the end of a residual block becomes part of the convolution computed last."""

from __future__ import annotations

import onnx_ir as ir

from packager.passes.graph import (
    absorb,
    array,
    dims,
    input_at,
    is_float32,
    note,
    only_reader,
    producer,
    required,
    set_input,
)
from packager.passes.node_pass import NodePass

RESIDUAL_INPUT = 3


class FuseResidual(NodePass):
    """Give a Conv the tensor that is added to its result as a fourth input.

    ::
        x -> Conv -> t -+-> Add -> y     =>     x -----> Conv -> y
        s --------------+                       s ------/

    The sum is taken before the activation.  When both operands are convolutions the one that runs last takes the
    other's result.

    Does nothing when ``t`` has another reader or is a graph output, when the operands' shapes differ (broadcasting),
    when ``s`` is a constant or ``t`` itself, or after a fused activation.
    """

    def rewrite(self, node: ir.Node) -> str | None:
        """See the class."""
        if node.op_type != "Add" or not is_float32(node.outputs[0]):
            return None
        left, right = required(node, 0), required(node, 1)
        if left is right or dims(left) != dims(right) or array(left) is not None or array(right) is not None:
            return None
        ready = [conv for conv in (_fusable(left), _fusable(right)) if conv is not None]
        if not ready:
            return None
        graph = node.graph
        assert graph is not None
        conv = max(ready, key=graph.index) if len(ready) > 1 else ready[0]
        other = right if conv.outputs[0] is left else left
        if not _runs_before(other, conv):
            _move_down(conv, node)
        set_input(conv, RESIDUAL_INPUT, other)
        absorb(node, conv)
        note(conv, "Add")
        return "Conv + residual Add"


def _fusable(value: ir.Value) -> ir.Node | None:
    conv = producer(value, "Conv")
    if conv is None or only_reader(value) is None or "edgepack_activation" in conv.attributes:
        return None
    return conv if input_at(conv, RESIDUAL_INPUT) is None else None


def _runs_before(value: ir.Value, conv: ir.Node) -> bool:
    made = value.producer()
    if made is None or made.graph is not conv.graph:
        return True
    assert conv.graph is not None
    return conv.graph.index(made) < conv.graph.index(conv)


def _move_down(conv: ir.Node, add: ir.Node) -> None:
    """Run ``conv`` where the addition was: its only reader, so nothing between needs it."""
    graph = conv.graph
    assert graph is not None
    graph.remove(conv)
    graph.insert_before(add, conv)
