"""LayerNormalization that an exporter spelled out becomes one operator again."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import onnx_ir as ir

from packager.passes.graph import (
    Array,
    add_constant,
    array,
    dims,
    input_at,
    insert_before,
    is_float32,
    new_node,
    only_reader,
    producer,
    read_once,
    required,
    scalar,
    take_over,
)
from packager.passes.node_pass import NodePass


@dataclass(frozen=True)
class _Norm:
    """``(x - mean) / sqrt(var + epsilon)`` over the axes from ``axis`` on."""

    x: ir.Value
    axis: int
    epsilon: float


class RecognizeLayerNorm(NodePass):
    """Write the normalisation over trailing axes as LayerNormalization.

    ::
        m = ReduceMean(x);  d = x - m;  v = ReduceMean(d * d);  y = d / Sqrt(v + epsilon) * scale + bias
        =>     x -> LayerNormalization(scale, bias) -> y

    ``scale`` and ``bias`` may be missing; ``d * d`` may be ``Pow(d, 2)``.

    Does nothing when the axes are not the last ones or differ, when epsilon is computed, or when a value in between has
    a reader outside.
    """

    def rewrite(self, node: ir.Node) -> str | None:
        """See the class."""
        found = _normalised(node)
        if found is None or not is_float32(node.outputs[0]):
            return None
        shape = dims(found.x)[found.axis :]
        last, scale = _following(node, "Mul", shape)
        last, bias = _following(last, "Add", shape)
        stem = node.name or str(node.outputs[0].name)
        inputs = [found.x, add_constant(node, f"{stem}.scale", np.ones(shape) if scale is None else scale)]
        if bias is not None:
            inputs.append(add_constant(node, f"{stem}.bias", bias))
        attributes = [ir.AttrInt64("axis", found.axis), ir.AttrFloat32("epsilon", found.epsilon)]
        norm = new_node("LayerNormalization", inputs, last.outputs[0], attributes=attributes, name=stem)
        insert_before(last, norm)
        take_over(last.outputs[0], norm.outputs[0])
        return "LayerNormalization from its parts"


def _normalised(node: ir.Node) -> _Norm | None:
    """The normalisation that ends in this Div."""
    if node.op_type != "Div":
        return None
    difference = producer(node.inputs[0], "Sub")
    root = producer(node.inputs[1], "Sqrt")
    if difference is None or root is None or not read_once(root.outputs[0]):
        return None
    variance, epsilon = _plus_number(required(root, 0))
    power = producer(variance, "ReduceMean")
    mean = producer(difference.inputs[1], "ReduceMean")
    if power is None or mean is None or epsilon is None:
        return None
    x, axis = required(difference, 0), _first_axis(mean)
    square = _square_of(required(power, 0), difference.outputs[0])
    if mean.inputs[0] is not x or square is None or axis is None or _first_axis(power) != axis:
        return None
    inside = {node, square}
    if any(use.node not in inside for use in difference.outputs[0].uses()) or difference.outputs[0].is_graph_output():
        return None
    if not all(read_once(value) for value in (mean.outputs[0], power.outputs[0])):
        return None
    if any(use.node is not power for use in square.outputs[0].uses()) or square.outputs[0].is_graph_output():
        return None
    return _Norm(x, axis, epsilon)


def _plus_number(value: ir.Value) -> tuple[ir.Value | None, float | None]:
    """``(v, number)`` when ``value = v + number`` is read here only."""
    node = producer(value, "Add")
    if node is None or not read_once(value):
        return None, None
    for index in (0, 1):
        number = scalar(input_at(node, index))
        if number is not None:
            return node.inputs[1 - index], number
    return None, None


def _square_of(value: ir.Value, of: ir.Value) -> ir.Node | None:
    """The node that computes ``of * of`` as ``value``."""
    node = producer(value, "Pow", "Mul")
    if node is None or node.inputs[0] is not of:
        return None
    squared = node.inputs[1] is of if node.op_type == "Mul" else scalar(node.inputs[1]) == 2.0
    return node if squared else None


def _first_axis(node: ir.Node) -> int | None:
    """The first of the reduced axes when they are the last ones and stay as ones."""
    rank = len(dims(required(node, 0)))
    axes = array(input_at(node, 1))
    if axes is None or node.attributes.get_int("keepdims", 1) != 1:
        return None
    found = sorted(int(axis) % rank for axis in axes)
    return found[0] if found and found == list(range(found[0], rank)) else None


def _following(node: ir.Node, op_type: str, shape: tuple[int, ...]) -> tuple[ir.Node, Array | None]:
    """The ``op_type`` by a constant of the normalised shape that alone reads ``node``, and the constant."""
    reader = only_reader(node.outputs[0])
    if (
        reader is None
        or reader.domain != ""
        or reader.op_type != op_type
        or dims(reader.outputs[0]) != dims(node.outputs[0])
    ):
        return node, None
    other = required(reader, 1) if reader.inputs[0] is node.outputs[0] else required(reader, 0)
    constant = array(other)
    if constant is None:
        return node, None
    rank = len(shape)
    lead, own = constant.shape[: max(constant.ndim - rank, 0)], constant.shape[max(constant.ndim - rank, 0) :]
    if any(extent != 1 for extent in lead):
        return node, None
    return reader, np.broadcast_to(constant.reshape(own), shape)
