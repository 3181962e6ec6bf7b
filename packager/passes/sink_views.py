"""Activations move above a view, to the convolution or product they belong to."""

from __future__ import annotations

import onnx_ir as ir

from packager.passes.affine import FOLDING_OPS
from packager.passes.fuse_activation import activation_of
from packager.passes.graph import dims, insert_after, is_float32, new_node, producer, read_once, required, take_over
from packager.passes.node_pass import NodePass


class SinkViews(NodePass):
    """Apply an activation before the Reshape of its operand when it can then be fused.

    ::
        x -> Conv -> t -> Reshape -> u -> Sigmoid -> y     =>     x -> Conv -> t -> Sigmoid -> u -> Reshape -> y

    Does nothing when ``t`` or ``u`` has another reader or is a graph output, and when ``t`` is not made by a
    convolution or product: nothing would be gained.
    """

    def rewrite(self, node: ir.Node) -> str | None:
        """See the class."""
        view = producer(node.inputs[0] if node.inputs else None, "Reshape")
        if view is None or activation_of(node) is None or not is_float32(node.outputs[0]):
            return None
        above = producer(view.inputs[0], *FOLDING_OPS)
        if above is None or not read_once(above.outputs[0]) or not read_once(view.outputs[0]):
            return None
        node.replace_input_with(0, above.outputs[0])
        result, old = node.outputs[0], view.outputs[0]
        lower = new_node("Reshape", [], result, name=view.name)
        insert_after(node, lower)
        take_over(result, lower.outputs[0])
        result.shape = ir.Shape(dims(above.outputs[0]))
        lower.resize_inputs(2)
        lower.replace_input_with(0, result)
        lower.replace_input_with(1, required(view, 1))
        assert not old.uses()
        assert view.graph is not None
        view.graph.remove(view, safe=True)
        return f"{node.op_type} above a view"
