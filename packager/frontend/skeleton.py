"""The model without its weights: onnx's C++ tools work on it, so that none of them copies 100 MB."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import onnx
import onnx_ir as ir
from onnx import helper, numpy_helper

from packager.errors import ModelError, Problem
from packager.frontend.opset import STANDARD_DOMAINS, graphs

HEAVY_ELEMENTS = 256
"""Tensors with more elements than this are held aside; shapes, axes, scales and pads stay visible to inference."""

_IR_VERSION = 10


@dataclass
class Skeleton:
    """``model``: the graph, heavy weights as its inputs; ``heavy``: those weights by name, owned by the original."""

    model: onnx.ModelProto
    heavy: dict[str, onnx.TensorProto] = field(default_factory=dict)


def make_skeleton(original: onnx.ModelProto, where: str) -> Skeleton:
    """Copy everything but heavy weights.

    Constant nodes of the main graph become initializers, initializers that are also graph inputs become constants.
    """
    _refuse_sparse(original, where)
    model = onnx.ModelProto(ir_version=max(original.ir_version, _IR_VERSION))
    model.opset_import.extend(original.opset_import)
    model.functions.extend(original.functions)
    skeleton = Skeleton(model)
    source, graph = original.graph, model.graph
    graph.name = source.name or "graph"
    constants = {tensor.name for tensor in source.initializer}
    graph.input.extend(value for value in source.input if value.name not in constants)
    for tensor in source.initializer:
        _keep(skeleton, tensor.name, tensor)
    for node in source.node:
        tensor_of = _constant_tensor(node)
        if tensor_of is not None:
            _keep(skeleton, node.output[0], tensor_of)
        else:
            graph.node.append(node)
    graph.value_info.extend(source.value_info)
    graph.output.extend(source.output)
    forget_shapes(model)
    return skeleton


def forget_shapes(model: onnx.ModelProto) -> None:
    """Drop the shapes of what standard operators compute: today's rules infer them, from pinned dimensions."""
    for graph in graphs(model.graph):
        foreign = {name for node in graph.node if node.domain not in STANDARD_DOMAINS for name in node.output}
        kept = [value for value in graph.value_info if value.name in foreign]
        del graph.value_info[:]
        graph.value_info.extend(kept)
        for value in graph.output:
            if value.name not in foreign:
                value.type.tensor_type.ClearField("shape")


def check_graph(skeleton: Skeleton, where: str) -> None:
    """Run onnx.s own checker: names that nothing defines, missing attributes, wrong order, and more."""
    model = onnx.ModelProto()
    model.CopyFrom(skeleton.model)
    for value in model.graph.output:
        value.type.tensor_type.shape.SetInParent()
    try:
        onnx.checker.check_model(model)
    except onnx.checker.ValidationError as error:
        what = f"the model is not valid ONNX: {str(error).strip().splitlines()[0]}"
        raise ModelError(
            Problem("EP0107", what, where, "`onnx.checker.check_model` says the same; fix the export")
        ) from error
    _check_splits(model, where)


def _check_splits(model: onnx.ModelProto, where: str) -> None:
    """Refuse a Split whose num_outputs is not the number of its outputs: onnx's shape inference would abort."""
    problems = []
    for graph in graphs(model.graph):
        for node in graph.node:
            counts = [attribute.i for attribute in node.attribute if attribute.name == "num_outputs"]
            if node.op_type == "Split" and counts and counts != [len(node.output)]:
                what = f"Split has num_outputs {counts[0]} and {len(node.output)} outputs"
                problems.append(Problem("EP0107", what, f"{where}: node '{node.name}'", "fix the export"))
    if problems:
        raise ModelError(problems)


def check_names(model: onnx.ModelProto, where: str) -> None:
    """Refuse names defined twice in nested scopes, and outputs that are inputs under the same name."""
    problems = []
    inputs = {value.name for value in model.graph.input}
    for value in model.graph.output:
        if value.name in inputs:
            what = f"output '{value.name}' is a graph input"
            problems.append(Problem("EP0109", what, where, "put an Identity between them, under another name"))
    problems += _shadowing(model.graph, set(), where)
    if problems:
        raise ModelError(problems)


def to_ir(skeleton: Skeleton) -> ir.Model:
    """The onnx_ir model, heavy weights back in place as initializers."""
    return attach(skeleton.model, {name: _tensor(proto, name) for name, proto in skeleton.heavy.items()})


def attach(proto: onnx.ModelProto, heavy: Mapping[str, ir.TensorProtocol]) -> ir.Model:
    """The onnx_ir model of ``proto``, with the graph inputs named in ``heavy`` turned into initializers."""
    try:
        model = ir.from_proto(proto)
    except ir.serde.SerdeError as error:
        cause = error.__cause__ or error
        what = f"the model is not valid ONNX: {str(cause).strip()}"
        raise ModelError(Problem("EP0107", what, proto.graph.name, "fix the export")) from error
    graph = model.graph
    for value in list(graph.inputs):
        if value.name is not None and value.name in heavy:
            graph.inputs.remove(value)
            value.const_value = heavy[value.name]
            graph.register_initializer(value)
    return model


def detach(model: ir.Model) -> tuple[onnx.ModelProto, dict[str, ir.TensorProtocol]]:
    """The proto of ``model`` with heavy weights as graph inputs, and those weights; ``model`` stays as it is."""
    graph = model.graph
    heavy: dict[str, ir.TensorProtocol] = {}
    values = [value for value in graph.initializers.values() if _size(value) > HEAVY_ELEMENTS]
    for value in values:
        assert value.name is not None
        assert value.const_value is not None
        heavy[value.name] = value.const_value
        value.const_value = None
        graph.initializers.pop(value.name)
        graph.inputs.append(value)
    try:
        proto = ir.to_proto(model)
    finally:
        for value in values:
            graph.inputs.remove(value)
            value.const_value = heavy[str(value.name)]
            graph.register_initializer(value)
    return proto, heavy


def _size(value: ir.Value) -> int:
    return value.const_value.size if value.const_value is not None else 0


def _keep(skeleton: Skeleton, name: str, tensor: onnx.TensorProto) -> None:
    if math.prod(tensor.dims) > HEAVY_ELEMENTS:
        skeleton.heavy[name] = tensor
        skeleton.model.graph.input.append(helper.make_tensor_value_info(name, tensor.data_type, tensor.dims))
        return
    skeleton.model.graph.initializer.append(tensor)
    skeleton.model.graph.initializer[-1].name = name


def _constant_tensor(node: onnx.NodeProto) -> onnx.TensorProto | None:
    if node.op_type != "Constant" or node.domain not in STANDARD_DOMAINS or len(node.attribute) != 1:
        return None
    attribute = node.attribute[0]
    if attribute.name == "value":
        tensor: onnx.TensorProto = attribute.t
        return tensor
    if attribute.name in {"value_float", "value_floats"}:
        array = np.array(helper.get_attribute_value(attribute), np.float32)
        return numpy_helper.from_array(array)
    if attribute.name in {"value_int", "value_ints"}:
        return numpy_helper.from_array(np.array(helper.get_attribute_value(attribute), np.int64))
    return None


def _tensor(proto: onnx.TensorProto, name: str) -> ir.TensorProtocol:
    if proto.data_type in {onnx.TensorProto.STRING, onnx.TensorProto.INT4, onnx.TensorProto.UINT4}:
        return ir.serde.deserialize_tensor(proto)
    return ir.Tensor(numpy_helper.to_array(proto), name=name)


def _refuse_sparse(model: onnx.ModelProto, where: str) -> None:
    names = [sparse.values.name for graph in graphs(model.graph) for sparse in graph.sparse_initializer]
    if names:
        what = f"sparse initializers are not supported: {', '.join(names)}"
        raise ModelError(Problem("EP0112", what, where, "store them dense"))


def _shadowing(graph: onnx.GraphProto, outer: set[str], where: str) -> list[Problem]:
    defined = {value.name for value in graph.input} | {tensor.name for tensor in graph.initializer}
    defined |= {name for node in graph.node for name in node.output if name}
    problems = [
        Problem(
            "EP0108", f"name '{name}' in subgraph '{graph.name}' shadows an outer tensor", where, "rename one of them"
        )
        for name in sorted(defined & outer)
    ]
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                problems += _shadowing(attribute.g, outer | defined, where)
    return problems
