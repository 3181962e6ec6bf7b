"""Chains of operators that only rename axes become one Reshape."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from packager.passes.graph import add_constant, array, dims, input_at, producer, remove, required, set_input
from packager.passes.node_pass import NodePass

_VIEWS = ("Reshape", "Flatten", "Squeeze", "Unsqueeze")


class MergeViews(NodePass):
    """Write every view as a Reshape to a constant shape, and read through views of views.

    ::
        x -> Unsqueeze -> t -> Reshape -> u -> Flatten -> y     =>     x -> Reshape -> y

    Inner views stay when others read them: views cost nothing.  A Transpose that only moves axes of size one is a view,
    too.

    Does nothing to a single Reshape to a constant shape without zeros and -1.
    """

    def rewrite(self, node: ir.Node) -> str | None:
        """See the class."""
        transpose = node.op_type == "Transpose" and _keeps_order(node)
        if node.op_type not in _VIEWS and not transpose:
            return None
        inner = producer(node.inputs[0], *_VIEWS)
        target = dims(node.outputs[0])
        if inner is None and node.op_type == "Reshape" and _is_plain(node, target):
            return None
        source = required(inner if inner is not None else node, 0)
        was = node.op_type
        node.op_type = "Reshape"
        for name in ("axis", "perm", "allowzero", "axes"):
            node.attributes.pop(name, None)
        node.replace_input_with(0, source)
        shape = add_constant(node, f"{node.outputs[0].name}.shape", target, np.int64)
        set_input(node, 1, shape)
        if inner is not None and not inner.outputs[0].uses() and not inner.outputs[0].is_graph_output():
            remove(inner)
        if inner is not None:
            return f"{inner.op_type} + {was} as one view"
        return f"{was} as Reshape" if was == "Transpose" else ""


def _is_plain(node: ir.Node, target: tuple[int, ...]) -> bool:
    shape = array(input_at(node, 1))
    return shape is not None and tuple(shape.reshape(-1).tolist()) == target


def _keeps_order(node: ir.Node) -> bool:
    """Whether the axes with more than one element stay in order."""
    shape = dims(required(node, 0))
    perm = node.attributes.get_ints("perm", None) or list(reversed(range(len(shape))))
    moved = [axis for axis in perm if shape[axis] != 1]
    return moved == sorted(moved)
