"""Apply one pass to a small model and see that it still computes the same."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from packager.frontend.load import load_model
from packager.passes.graph import dims
from packager.passes.node_pass import NodePass
from tests.frontend.models import Array, add_initializer, parse, run
from tests.passes.expand import check, run_expanded

OPSET = 20


def load(text: str, **weights: Array) -> ir.Model:
    """The model of a text graph and its initializers."""
    return load_model(add_initializer(parse(text, opset=OPSET), **weights)).model


def feeds_of(model: ir.Model, seed: int = 1) -> dict[str, Array]:
    """Random inputs of the right shapes; truth values where the model wants them."""
    generator = np.random.default_rng(seed)
    found: dict[str, Array] = {}
    for value in model.graph.inputs:
        numbers = generator.standard_normal(dims(value)).astype(np.float32)
        found[str(value.name)] = numbers > 0 if value.dtype == ir.DataType.BOOL else numbers
    return found


def apply(graph_pass: NodePass, text: str, **weights: Array) -> ir.Model:
    """The model after ``graph_pass``, checked against onnxruntime before it."""
    model = load(text, **weights)
    feeds = feeds_of(model)
    expected = run(model, feeds)
    graph_pass(model)
    check(type(graph_pass).__name__, model)
    for got, want in zip(run_expanded(model, feeds), expected, strict=True):
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=2e-5, atol=2e-5)
    return model


def untouched(graph_pass: NodePass, text: str, **weights: Array) -> None:
    """Assert that ``graph_pass`` finds nothing to do."""
    model = load(text, **weights)
    before = [(node.op_type, list(node.inputs)) for node in model.graph]
    assert not graph_pass(model).modified
    assert [(node.op_type, list(node.inputs)) for node in model.graph] == before
