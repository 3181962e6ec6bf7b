"""ONNX's own node tests of element-wise operators, those of one operator merged into one model (one compilation)."""

from __future__ import annotations

import functools
import warnings
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
import onnx.helper as oh

from packager.program import DType
from tests.support.harness import Array

OLDEST_OPSET = 7
"""Below it broadcasting and attributes meant something else; the frontend refuses such models."""

_KNOWN_TYPES = frozenset(member.label for member in DType)


@dataclass(frozen=True)
class Case:
    """One node with inputs and expected outputs."""

    name: str
    opset: int
    node: onnx.NodeProto
    inputs: dict[str, Array]
    outputs: dict[str, Array]


@functools.cache
def backend_cases() -> dict[str, list[Case]]:
    """All single-node cases by operator whose tensors have types this project knows."""
    from onnx.backend.test.loader import load_model_tests

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # the cases overflow on purpose while they are made
        tests = load_model_tests(kind="node")
    found: dict[str, list[Case]] = defaultdict(list)
    for test in tests:
        case = _case(test)
        if case is not None:
            found[case.node.op_type].append(case)
    return found


def _case(test: Any) -> Case | None:
    model = test.model
    opset = next((entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")), 0)
    if len(model.graph.node) != 1 or model.graph.node[0].domain or opset < OLDEST_OPSET or not test.data_sets:
        return None
    given, expected = test.data_sets[0]
    if any(item is None or isinstance(item, list) for item in (*given, *expected)):  # optionals and sequences
        return None
    inputs = {info.name: _array(item) for info, item in zip(model.graph.input, given, strict=True)}
    outputs = {info.name: _array(item) for info, item in zip(model.graph.output, expected, strict=True)}
    everything = [*inputs.values(), *outputs.values()]
    if any(array.dtype.name not in _KNOWN_TYPES or array.size == 0 for array in everything):
        return None
    return Case(test.name, opset, model.graph.node[0], inputs, outputs)


def _array(item: Any) -> Array:
    return onnx.numpy_helper.to_array(item) if isinstance(item, onnx.TensorProto) else np.asarray(item)


def merged(cases: list[Case]) -> tuple[onnx.ModelProto, dict[str, Array], dict[str, Array]]:
    """One model that holds every case side by side, its feeds and what it should give."""
    nodes: list[onnx.NodeProto] = []
    feeds: dict[str, Array] = {}
    expected: dict[str, Array] = {}
    for index, case in enumerate(cases):
        node = onnx.NodeProto()
        node.CopyFrom(case.node)
        node.name = f"{case.name}_{index}"
        del node.input[:], node.output[:]
        node.input.extend(f"{name}_{index}" if name else "" for name in case.node.input)
        node.output.extend(f"{name}_{index}" if name else "" for name in case.node.output)
        nodes.append(node)
        feeds |= {f"{name}_{index}": array for name, array in case.inputs.items()}
        expected |= {f"{name}_{index}": array for name, array in case.outputs.items()}
    graph = oh.make_graph(
        nodes,
        "cases",
        [oh.make_tensor_value_info(n, oh.np_dtype_to_tensor_dtype(a.dtype), a.shape) for n, a in feeds.items()],
        [oh.make_tensor_value_info(n, oh.np_dtype_to_tensor_dtype(a.dtype), a.shape) for n, a in expected.items()],
    )
    return oh.make_model(graph, opset_imports=[oh.make_opsetid("", cases[0].opset)], ir_version=10), feeds, expected
