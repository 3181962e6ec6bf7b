"""Activations that exporters spell out in several operators become one operator again."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import onnx_ir as ir

from packager.passes.graph import (
    array,
    dims,
    input_at,
    insert_before,
    is_float32,
    new_node,
    producer,
    read_once,
    remove,
    required,
    scalar,
    take_over,
)
from packager.passes.node_pass import NodePass

_Found = tuple[str, ir.Value, tuple[ir.Attr, ...]]


class RecognizeActivations(NodePass):
    """Write a spelled-out activation as the ONNX operator it is.

    ::
        x * Sigmoid(x)                               =>     Swish
        x * HardSigmoid[1/6, 1/2](x)                 =>     HardSwish
        x * Clip(x + 3, 0, 6) / 6                    =>     HardSwish
        Clip(x + 3, 0, 6) / 6                        =>     HardSigmoid[1/6, 1/2]
        x * Tanh(Softplus(x))                        =>     Mish
        x * (Erf(x / sqrt 2) + 1) * 0.5              =>     Gelu        (in any order of the factors)
        PRelu with one slope                         =>     LeakyRelu

    Does nothing when a value in between has another reader or is a graph output, when the constants differ, or when the
    tensor is not float32.
    """

    def rewrite(self, node: ir.Node) -> str | None:
        """See the class."""
        y = node.outputs[0]
        if node.op_type not in {"Mul", "Div", "PRelu"} or not is_float32(y):
            return None
        found = next(iter(_matches(node)), None)
        if found is None or dims(found[1]) != dims(y):
            return None
        op_type, x, attributes = found
        activation = new_node(op_type, [x], y, attributes=attributes, name=node.name)
        insert_before(node, activation)
        take_over(y, activation.outputs[0])
        _remove_unread(node)
        return f"{op_type} from its parts"


def _matches(node: ir.Node) -> Iterator[_Found]:
    if node.op_type == "PRelu":
        yield from _leaky_relu(node)
        return
    yield from _scaled(node)
    yield from _hard_sigmoid(node)
    if node.op_type == "Mul":
        for index in (0, 1):
            yield from _self_gated(required(node, index), required(node, 1 - index))


def _leaky_relu(node: ir.Node) -> Iterator[_Found]:
    slope = array(input_at(node, 1))
    if slope is not None and slope.size and (slope == slope.reshape(-1)[0]).all():
        yield "LeakyRelu", required(node, 0), (ir.AttrFloat32("alpha", float(slope.reshape(-1)[0])),)


def _self_gated(x: ir.Value, gate: ir.Value) -> Iterator[_Found]:
    """``x * gate(x)``."""
    node = _inner(gate, "Sigmoid", "HardSigmoid", "Tanh")
    if node is None:
        return
    argument = required(node, 0)
    if node.op_type == "Sigmoid" and argument is x:
        yield "Swish", x, ()
    elif node.op_type == "HardSigmoid" and argument is x and _is_sixth(node):
        yield "HardSwish", x, ()
    elif node.op_type == "Tanh":
        softplus = _inner(argument, "Softplus")
        if softplus is not None and softplus.inputs[0] is x:
            yield "Mish", x, ()


def _is_sixth(node: ir.Node) -> bool:
    alpha, beta = node.attributes.get_float("alpha", 0.2), node.attributes.get_float("beta", 0.5)
    return math.isclose(alpha, 1 / 6, rel_tol=1e-6) and beta == 0.5


def _scaled(node: ir.Node) -> Iterator[_Found]:
    """A product with one constant factor: HardSwish has 1/6, Gelu 1/2."""
    factors, constant = _factors(node)
    if len(factors) != 2:
        return
    for x, gate in (factors, factors[::-1]):
        if math.isclose(constant, 1 / 6, rel_tol=1e-6) and _is_relu6_of(gate, x):
            yield "HardSwish", x, ()
        elif math.isclose(constant, 0.5, rel_tol=1e-6) and _is_erf_gate(gate, x):
            yield "Gelu", x, ()


def _factors(node: ir.Node) -> tuple[list[ir.Value], float]:
    """The computed factors of a tree of Mul and Div, and the product of its constants."""
    computed: list[ir.Value] = []
    constant = 1.0
    for index, value in enumerate(node.inputs):
        number = scalar(value)
        if number is not None:
            if node.op_type == "Div" and (index == 0 or number == 0):
                return [], 1.0
            constant = constant / number if node.op_type == "Div" else constant * number
            continue
        assert value is not None
        inner = _inner(value, "Mul", "Div")
        if node.op_type == "Div" and index == 1:
            return [], 1.0
        if inner is not None and len(computed) < 2:
            more, factor = _factors(inner)
            if more:
                computed += more
                constant *= factor
                continue
        computed.append(value)
    return computed, constant


def _is_relu6_of(gate: ir.Value, x: ir.Value) -> bool:
    """``gate = Clip(x + 3, 0, 6)``."""
    clip = _inner(gate, "Clip")
    if clip is None or scalar(input_at(clip, 1)) != 0.0 or scalar(input_at(clip, 2)) != 6.0:
        return False
    return _plus(required(clip, 0), 3.0) is x


def _is_erf_gate(gate: ir.Value, x: ir.Value) -> bool:
    """``gate = Erf(x / sqrt 2) + 1``."""
    erf = _inner(_plus(gate, 1.0), "Erf")
    if erf is None:
        return False
    inner = _inner(required(erf, 0), "Mul", "Div")
    if inner is None:
        return False
    factors, constant = _factors(inner)
    return factors == [x] and math.isclose(constant, math.sqrt(0.5), rel_tol=1e-4)


def _hard_sigmoid(node: ir.Node) -> Iterator[_Found]:
    """``Clip(x + 3, 0, 6) / 6``."""
    factors, constant = _factors(node)
    if len(factors) != 1 or not math.isclose(constant, 1 / 6, rel_tol=1e-6):
        return
    clip = _inner(factors[0], "Clip")
    x = _plus(required(clip, 0), 3.0) if clip is not None else None
    if x is not None and _is_relu6_of(factors[0], x):
        yield "HardSigmoid", x, (ir.AttrFloat32("alpha", float(np.float32(1 / 6))), ir.AttrFloat32("beta", 0.5))


def _plus(value: ir.Value | None, number: float) -> ir.Value | None:
    """``x`` when ``value = x + number``."""
    node = _inner(value, "Add")
    if node is None:
        return None
    for index in (0, 1):
        if scalar(input_at(node, index)) == number:
            return node.inputs[1 - index]
    return None


def _inner(value: ir.Value | None, *op_types: str) -> ir.Node | None:
    """The producer of a value nobody else reads."""
    return producer(value, *op_types) if value is not None and read_once(value) else None


def _remove_unread(node: ir.Node) -> None:
    """Remove ``node`` and what only it read."""
    sources = [value for value in node.inputs if value is not None]
    for index in range(len(node.inputs)):
        node.replace_input_with(index, None)
    remove(node)
    for value in sources:
        made = value.producer()
        if made is not None and made.graph is not None and _unread(made):
            _remove_unread(made)


def _unread(node: ir.Node) -> bool:
    return not any(value.uses() or value.is_graph_output() for value in node.outputs)
