"""Means and maxima over whole planes are global pools, however they are written."""

from __future__ import annotations

import onnx_ir as ir

from packager.passes.graph import (
    add_constant,
    array,
    dims,
    input_at,
    insert_before,
    is_float32,
    new_node,
    remove,
    required,
    take_over,
)
from packager.passes.node_pass import NodePass

_GLOBAL = {
    "ReduceMean": "GlobalAveragePool",
    "ReduceMax": "GlobalMaxPool",
    "AveragePool": "GlobalAveragePool",
    "MaxPool": "GlobalMaxPool",
}


class GlobalPools(NodePass):
    """Write a reduction over all spatial axes as a global pool, whose kernels read blocked tensors.

    ::
        x[N, C, H, W] -> ReduceMean[axes=2,3] -> y          =>     x -> GlobalAveragePool (-> Reshape) -> y
        x[N, C, H, W] -> AveragePool[kernel=H,W] -> y       =>     x -> GlobalAveragePool -> y

    Does nothing for other axes, for pools with padding, dilations or more than one window, and when a MaxPool's indices
    are read.
    """

    def rewrite(self, node: ir.Node) -> str | None:
        """See the class."""
        if node.op_type not in _GLOBAL or not is_float32(node.outputs[0]):
            return None
        x, y = required(node, 0), node.outputs[0]
        shape = dims(x)
        if len(shape) not in (3, 4, 5) or not _covers_planes(node, shape):
            return None
        kept = (*shape[:2], *(1,) * (len(shape) - 2))
        pool = new_node(_GLOBAL[node.op_type], [x], y, shape=kept, name=node.name)
        insert_before(node, pool)
        result = pool
        if dims(y) != kept:
            target = add_constant(node, f"{y.name}.shape", dims(y), "int64")
            result = new_node("Reshape", [pool.outputs[0], target], y)
            insert_before(node, result)
        take_over(y, result.outputs[0])
        remove(node)
        return f"{node.op_type} over planes as {pool.op_type}"


def _covers_planes(node: ir.Node, shape: tuple[int, ...]) -> bool:
    if node.op_type.startswith("Reduce"):
        axes = array(input_at(node, 1))
        return axes is not None and sorted(int(axis) % len(shape) for axis in axes) == list(range(2, len(shape)))
    pads = node.attributes.get_ints("pads", ())
    plain = node.attributes.get_string("auto_pad", "NOTSET") in {"NOTSET", "VALID"} and not any(pads)
    dense = all(step == 1 for step in node.attributes.get_ints("dilations", ()))
    kernel = tuple(node.attributes.get_ints("kernel_shape", ()))
    return plain and dense and len(node.outputs) == 1 and kernel == shape[2:]
