"""Turn what the fusion passes left behind into plain ONNX again, so that onnxruntime can run it."""

from __future__ import annotations

import onnx
import onnx_ir as ir
from onnx_ir.passes import common

from packager.passes.fuse_activation import ALPHA, BETA, KIND
from packager.passes.fuse_elementwise import BODY
from packager.passes.graph import (
    add_constant,
    dims,
    insert_after,
    insert_before,
    new_node,
    remove,
    set_input,
    take_over,
)
from packager.passes.node_pass import FUSED_DOMAIN
from tests.frontend.models import Array, run

_OPERATORS = {
    "relu": ("Relu", {}),
    "clip": ("Clip", {}),
    "leaky_relu": ("LeakyRelu", {"alpha": ALPHA}),
    "sigmoid": ("Sigmoid", {}),
    "tanh": ("Tanh", {}),
    "hard_sigmoid": ("HardSigmoid", {"alpha": ALPHA, "beta": BETA}),
    "hard_swish": ("HardSwish", {}),
    "silu": ("Swish", {}),
    "elu": ("Elu", {"alpha": ALPHA}),
    "gelu": ("Gelu", {}),
    "gelu_tanh": ("Gelu", {}),
    "softplus": ("Softplus", {}),
    "mish": ("Mish", {}),
}


def expand(model: ir.Model) -> ir.Model:
    """A plain copy of ``model``: activations, residuals, biases of MatMul and fused loops are nodes again."""
    graph = model.graph.clone()
    for node in list(ir.traversal.RecursiveGraphIterator(graph)):
        if node.graph is None or (node.graph.name or "").endswith("_body"):
            continue
        if node.domain == FUSED_DOMAIN:
            _expand_loop(node)
            continue
        kind = node.attributes.get_string(KIND, "")
        if kind:
            _expand_activation(node, kind)
        for op_type, index, arity in (("Conv", 3, 3), ("MatMul", 2, 2)):
            if node.op_type == op_type and len(node.inputs) > index:
                _expand_addition(node, index, arity)
    graph.opset_imports.pop(FUSED_DOMAIN, None)
    plain = ir.Model(graph, ir_version=10)
    common.NameFixPass()(plain)
    return plain


def run_expanded(model: ir.Model, feeds: dict[str, Array]) -> list[Array]:
    """The outputs of an optimised model; Swish, which onnxruntime lacks, in terms of Sigmoid."""
    return run(_without_swish(expand(model)), feeds)


def _without_swish(model: ir.Model) -> ir.Model:
    for node in list(model.graph):
        if node.op_type == "Swish":
            x, y = node.inputs[0], node.outputs[0]
            sigmoid = new_node("Sigmoid", [x], y)
            product = new_node("Mul", [x, sigmoid.outputs[0]], y)
            insert_before(node, sigmoid)
            insert_before(node, product)
            take_over(y, product.outputs[0])
            remove(node)
    return model


def _expand_activation(node: ir.Node, kind: str) -> None:
    op_type, names = _OPERATORS[kind]
    y = node.outputs[0]
    attributes: list[ir.Attr] = [ir.AttrFloat32(n, node.attributes.get_float(a, 0.0)) for n, a in names.items()]
    if kind == "gelu_tanh":
        attributes.append(ir.AttrString("approximate", "tanh"))
    inputs: list[ir.Value] = []
    if kind == "clip":
        inputs = [add_constant(node, f"{y.name}.{n}", node.attributes.get_float(n, 0.0)) for n in (ALPHA, BETA)]
    _append(node, new_node(op_type, [None, *inputs], y, attributes=attributes))
    for name in (KIND, ALPHA, BETA):
        node.attributes.pop(name)


def _expand_addition(node: ir.Node, index: int, arity: int) -> None:
    other = node.inputs[index]
    node.resize_inputs(arity)
    _append(node, new_node("Add", [None, other], node.outputs[0]))


def _append(node: ir.Node, after: ir.Node) -> None:
    """Let ``after`` read the output of ``node``, and everybody else read ``after``."""
    insert_after(node, after)
    take_over(node.outputs[0], after.outputs[0])
    set_input(after, 0, node.outputs[0])


def _expand_loop(node: ir.Node) -> None:
    body = node.attributes[BODY].as_graph().clone()
    values: dict[ir.Value, ir.Value | None] = dict(zip(body.inputs, node.inputs, strict=True))
    for value in body.initializers.values():
        assert value.const_value is not None
        values[value] = add_constant(node, f"{node.name}.number", value.const_value.numpy(), value.dtype.numpy())  # type: ignore[union-attr]
    for inner in body:
        operands = [values[value] if value is not None else None for value in inner.inputs]
        copy = new_node(inner.op_type, operands, inner.outputs[0], attributes=list(inner.attributes.values()))
        assert dims(inner.outputs[0]) == dims(node.outputs[0])
        insert_before(node, copy)
        values[inner.outputs[0]] = copy.outputs[0]
    result = values[body.outputs[0]]
    assert result is not None
    take_over(node.outputs[0], result)
    remove(node)


def check(name: str, model: ir.Model) -> None:
    """The graph is valid ONNX after the pass ``name``, and recorded shapes are those onnx infers."""
    plain = expand(model)
    proto = ir.to_proto(plain)
    onnx.checker.check_model(proto)
    recorded = {value.name: dims(value) for node in plain.graph for value in node.outputs if value.shape is not None}
    del proto.graph.value_info[:]
    for value in proto.graph.output:
        value.type.tensor_type.ClearField("shape")
    inferred = onnx.shape_inference.infer_shapes(proto, check_type=True, strict_mode=True, data_prop=True)
    for value in (*inferred.graph.output, *inferred.graph.value_info):
        shape = tuple(dim.dim_value for dim in value.type.tensor_type.shape.dim)
        assert recorded.get(value.name, shape) == shape, f"{name}: {value.name} is {shape}, not {recorded[value.name]}"
