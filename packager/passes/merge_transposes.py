"""Transposes of transposes become one, or none."""

from __future__ import annotations

from collections.abc import Sequence

import onnx_ir as ir

from packager.passes.graph import dims, producer, remove, required
from packager.passes.node_pass import NodePass


def permutation(node: ir.Node) -> list[int]:
    """The axes of a Transpose: output axis k is input axis ``perm[k]``."""
    perm = node.attributes.get_ints("perm", None)
    return list(perm) if perm is not None else list(reversed(range(len(dims(required(node, 0))))))


def inverse(perm: Sequence[int]) -> list[int]:
    """The permutation that undoes ``perm``."""
    return [list(perm).index(axis) for axis in range(len(perm))]


class MergeTransposes(NodePass):
    """Read through a Transpose: two become one (an identity, removed by RemoveNoOps, when they are inverse).

    ::
        x -> Transpose[p] -> t -> Transpose[q] -> y     =>     x -> Transpose[p q] -> y

    The inner one stays when others read it; the work of the outer one is the same either way.

    Does nothing to a Transpose whose input is no Transpose.
    """

    def rewrite(self, node: ir.Node) -> str | None:
        """See the class."""
        if node.op_type != "Transpose":
            return None
        inner = producer(node.inputs[0], "Transpose")
        if inner is None:
            return None
        first = permutation(inner)
        perm = [first[axis] for axis in permutation(node)]
        node.replace_input_with(0, required(inner, 0))
        node.attributes["perm"] = ir.AttrInt64s("perm", perm)
        if not inner.outputs[0].uses() and not inner.outputs[0].is_graph_output():
            remove(inner)
        return "Transpose + Transpose"
