"""Gathers of evenly spaced indices are slices."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from packager.passes.graph import (
    add_constant,
    array,
    dims,
    input_at,
    insert_before,
    new_node,
    remove,
    required,
    take_over,
)
from packager.passes.node_pass import NodePass


class GatherToSlice(NodePass):
    """Write a Gather with constant, evenly spaced, rising indices as a Slice, which may become a view.

    ::
        x -> Gather[axis](2) -> y            =>     x -> Slice[2:3] -> Reshape -> y
        x -> Gather[axis]([0, 2, 4]) -> y    =>     x -> Slice[0:5:2] -> y

    Indices of two or more axes are taken in a row and the result is viewed.

    Does nothing when the indices are computed, fall, repeat, are unevenly spaced or out of range.
    """

    def rewrite(self, node: ir.Node) -> str | None:
        """See the class."""
        if node.op_type != "Gather":
            return None
        indices, x = array(input_at(node, 1)), required(node, 0)
        shape = dims(x)
        axis = node.attributes.get_int("axis", 0) % len(shape)
        span = _span(indices, shape[axis])
        if indices is None or span is None:
            return None
        start, stop, step = span
        y, stem = node.outputs[0], node.name or str(node.outputs[0].name)
        bounds = [
            add_constant(node, f"{stem}.{part}", [number], np.int64)
            for part, number in (("start", start), ("stop", stop), ("axis", axis), ("step", step))
        ]
        kept = (*shape[:axis], indices.size, *shape[axis + 1 :])
        result = new_node("Slice", [x, *bounds], y, shape=kept, name=stem)
        insert_before(node, result)
        if indices.ndim != 1:
            target = add_constant(node, f"{stem}.shape", dims(y), np.int64)
            result = new_node("Reshape", [result.outputs[0], target], y, name=f"{stem}.reshape")
            insert_before(node, result)
        take_over(y, result.outputs[0])
        remove(node)
        return "Gather as Slice"


def _span(indices: np.ndarray | None, extent: int) -> tuple[int, int, int] | None:
    """``start, stop, step`` of the indices; None when they are no rising range."""
    if indices is None or indices.size == 0:
        return None
    flat = indices.reshape(-1).astype(np.int64)
    flat = np.where(flat < 0, flat + extent, flat)
    if flat.min() < 0 or flat.max() >= extent:
        return None
    step = int(flat[1] - flat[0]) if flat.size > 1 else 1
    if step < 1 or (np.diff(flat) != step).any():
        return None
    return int(flat[0]), int(flat[-1]) + 1, step
