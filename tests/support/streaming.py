"""Streaming models for tests, and what they give frame by frame."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnx.helper as oh
from onnx import TensorProto, numpy_helper
from onnx.reference import ReferenceEvaluator

Array = npt.NDArray[Any]

STATES = {"h_out": "h_in", "count_out": "count_in"}
"""The states of :func:`recurrent_model`."""


def recurrent_model(size: int = 6) -> onnx.ModelProto:
    """``h = tanh(x W + h U)``, ``y = 2 h`` and a counter of calls, all as plain ONNX operators."""
    dice = np.random.default_rng(3)
    constants = {name: dice.uniform(-1, 1, (size, size)).astype(np.float32) for name in ("w", "u")}
    nodes = [
        oh.make_node("MatMul", ["x", "w"], ["xw"]),
        oh.make_node("MatMul", ["h_in", "u"], ["hu"]),
        oh.make_node("Add", ["xw", "hu"], ["sum"]),
        oh.make_node("Tanh", ["sum"], ["h_out"]),
        oh.make_node("Mul", ["h_out", "two"], ["y"]),
        oh.make_node("Add", ["count_in", "one"], ["count_out"]),
        oh.make_node("Cast", ["count_out"], ["calls"], to=TensorProto.FLOAT),
    ]
    initializers = [numpy_helper.from_array(value, name) for name, value in constants.items()]
    initializers += [numpy_helper.from_array(np.array(2, np.float32), "two")]
    initializers += [numpy_helper.from_array(np.array([1], np.int64), "one")]
    return model_of(
        nodes,
        {"x": [1, size], "h_in": [1, size], "count_in": [1]},
        {"y": [1, size], "calls": [1], "h_out": [1, size], "count_out": [1]},
        initializers,
    )


def model_of(
    nodes: Sequence[onnx.NodeProto],
    inputs: Mapping[str, Sequence[int]],
    outputs: Mapping[str, Sequence[int]],
    initializers: Sequence[onnx.TensorProto] = (),
) -> onnx.ModelProto:
    """A checked model; what is called ``count...`` is int64, the rest float."""

    def values(dims: Mapping[str, Sequence[int]]) -> list[onnx.ValueInfoProto]:
        types = {name: TensorProto.INT64 if name.startswith("count") else TensorProto.FLOAT for name in dims}
        return [oh.make_tensor_value_info(name, types[name], shape) for name, shape in dims.items()]

    graph = oh.make_graph(list(nodes), "stream", values(inputs), values(outputs), list(initializers))
    model = oh.make_model(graph, opset_imports=[oh.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    return model


def iterate(
    model: onnx.ModelProto, states: Mapping[str, str], frames: Sequence[Mapping[str, Array]]
) -> Iterator[dict[str, Array]]:
    """The outputs of ``model`` for each frame when ``states``, zeros at first, are carried on by hand."""
    given = {value.name: value.type.tensor_type for value in model.graph.input}
    names = [value.name for value in model.graph.output]
    reference = ReferenceEvaluator(model)
    held = {
        name: np.zeros(
            [dim.dim_value for dim in given[name].shape.dim], oh.tensor_dtype_to_np_dtype(given[name].elem_type)
        )
        for name in states.values()
    }
    for frame in frames:
        found = dict(zip(names, reference.run(None, {**frame, **held}), strict=True))
        held = {target: found[source] for source, target in states.items()}
        yield {name: value for name, value in found.items() if name not in states}
