"""Transposes move down through element-wise operators to where they cancel, or out of the way of a fusion."""

from __future__ import annotations

import onnx_ir as ir

from packager.passes.affine import FOLDING_OPS
from packager.passes.graph import (
    add_constant,
    array,
    dims,
    insert_after,
    new_node,
    only_reader,
    producer,
    read_once,
    remove,
    required,
    take_over,
)
from packager.passes.merge_transposes import inverse, permutation
from packager.passes.node_pass import NodePass

UNARY = frozenset(
    "Abs Ceil Celu Clip Cos Elu Erf Exp Floor Gelu HardSigmoid HardSwish LeakyRelu Log Mish Neg Reciprocal Relu Round "
    "Selu Sigmoid Sign Sin Softplus Softsign Sqrt Swish Tanh ThresholdedRelu Not Cast".split()
)
BINARY = frozenset(
    "Add Sub Mul Div Pow Min Max Sum Mean PRelu And Or Xor Equal Less Greater LessOrEqual GreaterOrEqual".split()
)


class SinkTransposes(NodePass):
    """Apply an element-wise operator (or Concat) before the Transpose of its operands instead of after it.

    ::
        x -> Transpose[p] -> t -> Relu -> y     =>     x -> Relu -> t -> Transpose[p] -> y

    It is done when two or more operands are transposed alike (fewer transposes), when the readers lead to another
    Transpose (they then merge), or when the operator can become part of the convolution or product above.  Constants
    are permuted at compile time.

    Does nothing when a transposed operand has another reader or is a graph output (there would be more transposes),
    when operands are transposed differently, or when an operand is computed and not transposed.
    """

    def rewrite(self, node: ir.Node) -> str | None:
        """See the class."""
        if node.op_type not in UNARY | BINARY | {"Concat"} or len(node.outputs) != 1:
            return None
        perm = _common_permutation(node)
        if perm is None or not _pays(node):
            return None
        if not all(_can_permute(value, perm) for value in node.inputs if value is not None):
            return None
        for index, value in enumerate(node.inputs):
            transpose = producer(value, "Transpose")
            if transpose is not None:
                node.replace_input_with(index, required(transpose, 0))
                if not transpose.outputs[0].uses():
                    remove(transpose)
            elif value is not None:
                node.replace_input_with(index, _permuted(node, value, perm))
        if node.op_type == "Concat":
            node.attributes["axis"] = ir.AttrInt64("axis", perm[node.attributes.get_int("axis", 0)])
        _transpose_after(node, perm)
        return f"Transpose below {node.op_type}"


def _common_permutation(node: ir.Node) -> list[int] | None:
    """The permutation all computed operands share; None when there is none, or one is not free to move."""
    found: list[int] | None = None
    for value in node.inputs:
        if value is None or array(value) is not None:
            continue
        transpose = producer(value, "Transpose")
        if transpose is None or value.is_graph_output() or any(use.node is not node for use in value.uses()):
            return None
        perm = permutation(transpose)
        if len(perm) != len(dims(node.outputs[0])) or (found is not None and perm != found):
            return None
        found = perm
    return found


def _pays(node: ir.Node) -> bool:
    transposes = {id(value) for value in node.inputs if producer(value, "Transpose") is not None}
    if len(transposes) > 1 or _leads_to_transpose(node):
        return True
    source = producer(node.inputs[0], "Transpose")
    above = producer(required(source, 0), *FOLDING_OPS) if source is not None else None
    return above is not None and read_once(above.outputs[0]) and node.op_type != "Concat"


def _leads_to_transpose(node: ir.Node) -> bool:
    """Whether the readers, through operators this pass could cross next, are Transposes."""
    while True:
        reader = only_reader(node.outputs[0])
        if reader is None or reader.domain != "":
            return False
        if reader.op_type == "Transpose":
            return True
        computed = sum(value is not None and array(value) is None for value in reader.inputs)
        if computed != 1 or reader.op_type not in UNARY | BINARY or len(reader.outputs) != 1:
            return False
        node = reader


def _can_permute(value: ir.Value, perm: list[int]) -> bool:
    """Constants broadcast from the right: of lower rank they get leading ones, of a higher rank there are none here."""
    return array(value) is None or len(dims(value)) <= len(perm)


def _permuted(node: ir.Node, value: ir.Value, perm: list[int]) -> ir.Value:
    """The constant operand as it must be before the Transpose."""
    constant = array(value)
    assert constant is not None
    if constant.size == 1 and node.op_type != "Concat":
        return value
    full = constant.reshape((1,) * (len(perm) - constant.ndim) + constant.shape)
    return add_constant(node, f"{value.name}.permuted", full.transpose(inverse(perm)), constant.dtype)


def _transpose_after(node: ir.Node, perm: list[int]) -> None:
    old = node.outputs[0]
    shape = dims(old)
    transpose = new_node("Transpose", [], old, attributes=[ir.AttrInt64s("perm", perm)])
    insert_after(node, transpose)
    take_over(old, transpose.outputs[0])
    old.shape = ir.Shape([shape[axis] for axis in inverse(perm)])
    transpose.resize_inputs(1)
    transpose.replace_input_with(0, old)
