"""float16 models compute in float32 and keep their float16 inputs and outputs."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from packager.frontend.load import load_model
from tests.frontend.models import add_initializer, op_types, parse, random, run

TEXT = """g (float16[2, 6] x) => (float16[2, 4] y, float16[2, 4] t) {
    t = MatMul (x, w)
    f = Cast <to = 1> (t)
    h = Cast <to = 10> (f)
    y = Mul (h, half)
}"""


WEIGHTS = {"w": random(6, 4).astype(np.float16), "half": np.array([0.5], np.float16)}


def test_only_ports_stay_float16() -> None:
    loaded = load_model(add_initializer(parse(TEXT), **WEIGHTS))
    graph = loaded.model.graph
    assert [value.dtype for value in (*graph.inputs, *graph.outputs)] == [ir.DataType.FLOAT16] * 3
    inside = {value.dtype for node in graph for value in node.outputs if not value.is_graph_output()}
    assert inside == {ir.DataType.FLOAT}
    assert {value.dtype for value in graph.initializers.values()} == {ir.DataType.FLOAT}
    assert loaded.warnings == ("float16 tensors are computed in float32",)


def test_results_agree_with_float16_arithmetic() -> None:
    model = add_initializer(parse(TEXT), **WEIGHTS)
    x = random(2, 6, seed=3).astype(np.float16)
    loaded = load_model(model)
    assert [value.name for value in loaded.model.graph.outputs] == ["y", "t"]
    for got, want in zip(run(loaded.model, {"x": x}), run(model, {"x": x}), strict=True):
        assert got.dtype == np.float16
        np.testing.assert_allclose(got.astype(np.float32), want.astype(np.float32), rtol=5e-3, atol=5e-3)


def test_float32_models_are_left_alone() -> None:
    loaded = load_model(parse("g (float[2] x) => (float[2] y) { y = Relu (x) }"))
    assert op_types(loaded.model) == ["Relu"]
    assert loaded.warnings == ()
