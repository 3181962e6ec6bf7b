"""float16 models compute in float32: half is a storage type on most targets; only graph inputs and outputs keep it."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

HALF = ir.DataType.FLOAT16
SINGLE = ir.DataType.FLOAT


def widen(model: ir.Model) -> bool:
    """Turn every float16 tensor, weight and attribute of ``model`` into float32, in place; False when there is none.

    ::
        x:f16 -> Op -> y:f16     =>     x:f16 -> Cast -> Op -> Cast -> y:f16

    Casts to float16 inside the graph become casts to float32: values are no longer rounded between operators.
    """
    values = [value for graph in model.graphs() for value in _values(graph)]
    if not any(value.dtype == HALF for value in values) and not _has_half_attribute(model):
        return False
    for node in ir.traversal.RecursiveGraphIterator(model.graph):
        _widen_attributes(node)
    for value in values:
        if value.dtype == HALF:
            value.dtype = SINGLE
            if value.const_value is not None:
                value.const_value = ir.Tensor(value.const_value.numpy().astype(np.float32), name=value.name)
            _keep_port(model.graph, value)
    return True


def _values(graph: ir.Graph) -> list[ir.Value]:
    found = [*graph.inputs, *graph.initializers.values()]
    for node in graph:
        found.extend(node.outputs)
    return found


def _has_half_attribute(model: ir.Model) -> bool:
    return any(
        (attribute.type == ir.AttributeType.TENSOR and attribute.value.dtype == HALF) or _names_half(attribute)
        for node in ir.traversal.RecursiveGraphIterator(model.graph)
        for attribute in node.attributes.values()
    )


def _names_half(attribute: ir.Attr) -> bool:
    return attribute.name in {"to", "dtype", "output_dtype"} and attribute.value == HALF.value


def _widen_attributes(node: ir.Node) -> None:
    for attribute in list(node.attributes.values()):
        if attribute.type == ir.AttributeType.TENSOR and attribute.value.dtype == HALF:
            wide = ir.Tensor(attribute.value.numpy().astype(np.float32))
            node.attributes[attribute.name] = ir.AttrTensor(attribute.name, wide)
        elif _names_half(attribute):
            node.attributes[attribute.name] = ir.AttrInt64(attribute.name, SINGLE.value)


def _keep_port(graph: ir.Graph, value: ir.Value) -> None:
    """Give a graph input or output its float16 type back, with a Cast towards the float32 inside."""
    if value in graph.inputs:
        value.dtype = HALF
        cast = _cast(value, SINGLE, f"{value.name}_float32")
        wide = cast.outputs[0]
        value.replace_all_uses_with(wide)
        cast.replace_input_with(0, value)
        graph.insert_before(graph[0], cast) if len(graph) else graph.append(cast)
    for position, output in enumerate(graph.outputs):
        if output is value:
            name = value.name
            value.name = f"{name}_float32"
            cast = _cast(value, HALF, str(name))
            graph.append(cast)
            graph.outputs[position] = cast.outputs[0]


def _cast(value: ir.Value, to: ir.DataType, name: str) -> ir.Node:
    cast = ir.Node("", "Cast", [value], [ir.AttrInt64("to", to.value)], name=f"cast_{name}")
    cast.outputs[0].name = name
    cast.outputs[0].type = ir.TensorType(to)
    cast.outputs[0].shape = value.shape
    return cast
