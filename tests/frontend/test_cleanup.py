"""Inference forms only: Identity and Dropout vanish, training forms are refused."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from packager.errors import ModelError
from packager.frontend.load import load_model
from packager.frontend.names import identifier
from tests.frontend.models import add_initializer, op_types, parse, random, run

STATISTICS = {"scale": random(3), "bias": random(3), "mean": random(3), "var": np.ones(3, np.float32)}


def test_identity_and_dropout_vanish() -> None:
    text = """g (float[4] x) => (float[4] y) {
        a = Identity (x) b = Dropout (a) c = Neg (b) d = Identity (c) y = Dropout (d)
    }"""
    loaded = load_model(parse(text))
    assert op_types(loaded.model) == ["Neg"]
    assert [value.name for value in loaded.model.graph.outputs] == ["y"]


def test_an_output_that_repeats_an_input_keeps_its_identity() -> None:
    loaded = load_model(parse("g (float[4] x) => (float[4] y, float[4] z) { y = Identity (x) z = Relu (x) }"))
    assert sorted(op_types(loaded.model)) == ["Identity", "Relu"]


def test_two_outputs_of_one_value_keep_their_names() -> None:
    model = parse("g (float[4] x) => (float[4] y, float[4] z) { y = Relu (x) z = Identity (y) }")
    loaded = load_model(model)
    assert [value.name for value in loaded.model.graph.outputs] == ["y", "z"]
    feed = {"x": random(4)}
    np.testing.assert_array_equal(run(loaded.model, feed), run(model, feed))


def test_a_branch_that_returns_an_outer_value_keeps_its_identity() -> None:
    text = """g (bool c, float[2] x) => (float[2] y) {
        n = Neg (x)
        y = If (c) <
            then_branch = t () => (float[2] a) { a = Identity (n) },
            else_branch = e () => (float[2] b) { b = Abs (n) }
        >
    }"""
    feed = {"c": np.array(True), "x": random(2)}
    np.testing.assert_array_equal(run(load_model(parse(text)).model, feed)[0], -random(2))


@pytest.mark.parametrize("opset", [7, 10, 12, 17])
def test_dropout_of_every_version_vanishes(opset: int) -> None:
    model = parse("g (float[4] x) => (float[4] y) { a = Dropout (x) y = Neg (a) }", opset=opset)
    assert op_types(load_model(model).model) == ["Neg"]


@pytest.mark.parametrize(
    "node",
    [
        "yes = Constant <value = bool {1}> () r = Constant <value = float {0.5}> () y = Dropout (x, r, yes)",
        "y, mask = Dropout (x) z = Cast <to = 1> (mask)",
    ],
)
def test_dropout_that_trains_is_refused(node: str) -> None:
    outputs = "float[4] y" + (", float[4] z" if "mask" in node else "")
    with pytest.raises(ModelError, match=r"EP0204.*Dropout"):
        load_model(parse(f"g (float[4] x) => ({outputs}) {{ {node} }}"))


def test_batchnormalization_that_trains_is_refused_by_node() -> None:
    text = """g (float[2, 3, 4] x) => (float[2, 3, 4] y, float[3] m, float[3] v) {
        [bn] y, m, v = BatchNormalization <training_mode = 1> (x, scale, bias, mean, var)
    }"""
    with pytest.raises(ModelError, match=r"training_mode=1 (.|\n)*node 'bn'"):
        load_model(add_initializer(parse(text), **STATISTICS))


@pytest.mark.parametrize("opset", [7, 9, 14, 17])
def test_batchnormalization_of_every_version_is_kept(opset: int) -> None:
    text = "g (float[2, 3, 4] x) => (float[2, 3, 4] y) { y = BatchNormalization (x, scale, bias, mean, var) }"
    model = add_initializer(parse(text, opset=opset), **STATISTICS)
    x = random(2, 3, 4)
    np.testing.assert_allclose(run(load_model(model).model, {"x": x})[0], run(model, {"x": x})[0], rtol=1e-5, atol=1e-6)


def test_a_name_that_shadows_an_outer_one_is_refused() -> None:
    text = """g (bool c, float[2] x) => (float[2] y) {
        w = Neg (x)
        y = If (c) <then_branch = t () => (float[2] a) { w = Abs (x) a = Add (x, w) },
                    else_branch = e () => (float[2] b) { b = Add (x, w) }>
    }"""
    with pytest.raises(ModelError, match="name 'w' in subgraph 't' shadows an outer tensor"):
        load_model(parse(text))


def test_an_output_that_is_an_input_by_name_is_refused() -> None:
    with pytest.raises(ModelError, match="output 'x' is a graph input"):
        load_model(parse("g (float[2] x) => (float[2] x, float[2] y) { y = Relu (x) }"))


def test_a_graph_that_uses_undefined_names_is_refused() -> None:
    with pytest.raises(ModelError, match=r"EP0107.*not valid ONNX"):
        load_model(parse("g (float[2] x) => (float[2] y) { y = Add (x, nowhere) }"))


def test_sequence_outputs_are_refused_by_name_and_operator() -> None:
    model = parse("g (float[2] x) => (float[2] y) { y = Relu (x) s = SequenceConstruct (x) }")
    sequence = onnx.helper.make_tensor_sequence_value_info("s", onnx.TensorProto.FLOAT, None)
    model.graph.output.append(sequence)
    with pytest.raises(ModelError, match=r"output 's' is a sequence, not a tensor \(made by SequenceConstruct\)"):
        load_model(model)


@pytest.mark.parametrize(
    ("text", "name"),
    [("MobileNet-v2 (1.0)", "mobilenet_v2_1_0"), ("3dnet", "m_3dnet"), ("模型", "model"), ("", "model")],
)
def test_names_become_c_identifiers(text: str, name: str) -> None:
    assert identifier(text) == name
