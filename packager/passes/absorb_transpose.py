"""The transpose before a flattened product becomes an order of the product's weights."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from packager.passes.graph import (
    add_constant,
    array,
    dims,
    is_float32,
    producer,
    read_once,
    remove,
    required,
    set_input,
)
from packager.passes.merge_transposes import permutation
from packager.passes.node_pass import NodePass


class AbsorbTranspose(NodePass):
    """Permute the rows of constant weights instead of the tensor that is flattened before them.

    ::
        x[N, C, H, W] -> Transpose[0,2,3,1] -> t -> Reshape[N, HWC] -> u -> Gemm(w) -> y
        =>     x[N, C, H, W] -> Reshape[N, CHW] -> u -> Gemm(w in the order of CHW) -> y

    Networks trained with channels last end like this.

    Does nothing when ``t`` or ``u`` has another reader or is a graph output, when the first axis moves or is not kept
    by the Reshape, and when the weights are computed at run time.
    """

    def rewrite(self, node: ir.Node) -> str | None:
        """See the class."""
        if node.op_type not in {"Gemm", "MatMul"} or not is_float32(node.outputs[0]):
            return None
        view = producer(node.inputs[0], "Reshape")
        transpose = producer(view.inputs[0], "Transpose") if view is not None else None
        weights = array(node.inputs[1])
        if view is None or transpose is None or weights is None or weights.ndim != 2:
            return None
        if not (read_once(view.outputs[0]) and read_once(transpose.outputs[0])):
            return None
        perm, moved, flat = permutation(transpose), dims(transpose.outputs[0]), dims(view.outputs[0])
        if perm[0] != 0 or len(flat) != 2 or flat[0] != moved[0] or node.attributes.get_int("transA", 0) == 1:
            return None
        axis = 1 if node.attributes.get_int("transB", 0) == 1 else 0
        rows = np.arange(flat[1]).reshape(moved[1:]).transpose([perm.index(k) - 1 for k in range(1, len(perm))])
        set_input(
            node, 1, add_constant(node, f"{node.name}.weight", weights.take(rows.reshape(-1), axis), weights.dtype)
        )
        view.replace_input_with(0, required(transpose, 0))
        remove(transpose)
        return f"Transpose into the weights of {node.op_type}"
