"""After loading every shape is a tuple of integers and every constant is known."""

from __future__ import annotations

import numpy as np
import pytest

from packager.errors import ModelError
from packager.frontend.load import load_model
from tests.frontend.models import add_initializer, op_types, parse, random, run


def test_a_shape_chain_of_an_exporter_becomes_one_reshape() -> None:
    text = """g (float[N, 3, 4] x) => (float[N, M] y) {
        s = Shape (x)
        zero = Constant <value_ints = [0]> ()
        one = Constant <value_ints = [1]> ()
        n = Gather <axis = 0> (s, zero)
        minus = Constant <value_ints = [-1]> ()
        target = Concat <axis = 0> (n, minus)
        y = Reshape (x, target)
    }"""
    loaded = load_model(parse(text), dims={"N": 2})
    assert op_types(loaded.model) == ["Reshape"]
    assert tuple(loaded.model.graph.outputs[0].shape or ()) == (2, 12)
    assert loaded.model.graph[0].inputs[1].const_value is not None  # type: ignore[union-attr]


def test_long_chains_reach_the_fixpoint() -> None:
    steps = " ".join(f"s{k} = Shape (x{k}) p{k} = Add (s{k}, s{k}) x{k + 1} = Expand (one, p{k})" for k in range(12))
    text = (
        f"g (float[1] x0) => (float[N] y) {{ one = Constant <value = float[1] {{1.0}}> () {steps} y = Add (x12, x0) }}"
    )
    loaded = load_model(parse(text))
    assert op_types(loaded.model) == ["Add"]
    assert tuple(loaded.model.graph.outputs[0].shape or ()) == (4096,)


def test_nodes_with_several_outputs_are_folded() -> None:
    text = """g (float[2] x) => (float[2] y) {
        c = Constant <value_floats = [1.0, 2.0, 3.0, 4.0]> ()
        a, b = Split <axis = 0> (c)
        t = Mul (x, a)
        y = Add (t, b)
    }"""
    loaded = load_model(parse(text))
    assert op_types(loaded.model) == ["Mul", "Add"]
    np.testing.assert_array_equal(run(loaded.model, {"x": np.ones(2, np.float32)})[0], [4, 6])


def test_a_folded_output_of_the_graph_keeps_its_name() -> None:
    text = """g (float[2] x) => (float[2] y, float[2] b) {
        c = Constant <value_floats = [1.0, 2.0, 3.0, 4.0]> ()
        a, b = Split <axis = 0> (c)
        y = Mul (x, a)
    }"""
    outputs = load_model(parse(text)).model.graph.outputs
    assert [value.name for value in outputs] == ["y", "b"]
    assert outputs[1].const_value is not None
    np.testing.assert_array_equal(outputs[1].const_value.numpy(), [3, 4])


def test_outputs_that_were_left_out_are_not_folded() -> None:
    text = """g (float[2] x) => (float[2] y) {
        c = Constant <value_floats = [1.0, 2.0, 3.0, 4.0]> ()
        a, unused = Split <axis = 0> (c)
        y = Mul (x, a)
    }"""
    model = parse(text)
    model.graph.node[1].output[1] = ""
    assert op_types(load_model(model).model) == ["Mul"]


def test_heavy_weights_are_folded_too() -> None:
    model = add_initializer(
        parse("g (float[1, 300] x) => (float[1, 200] y) { t = Transpose (w) y = MatMul (x, t) }"), w=random(200, 300)
    )
    loaded = load_model(model)
    assert op_types(loaded.model) == ["MatMul"]


def test_quantized_weights_keep_their_dequantizelinear() -> None:
    text = """g (float[2, 2] x) => (float[2, 2] y) {
        q = Constant <value = int8[2, 2] {1, 2, 3, 4}> ()
        s = Constant <value = float {0.5}> ()
        z = Constant <value = int8 {0}> ()
        w = DequantizeLinear (q, s, z)
        y = MatMul (x, w)
    }"""
    assert op_types(load_model(parse(text)).model) == ["DequantizeLinear", "MatMul"]


def test_an_if_with_a_known_condition_becomes_its_branch() -> None:
    text = """g (float[1, 4] x) => (float[4] y) {
        s = Shape (x)
        two = Constant <value_ints = [2]> ()
        n = Size (s)
        c = Equal (n, two)
        c0 = Squeeze (c)
        y = If (c0) <
            then_branch = t () => (float[4] a) { ax = Constant <value_ints = [0]> () a = Squeeze (x, ax) },
            else_branch = e () => (float[1, 4] b) { b = Neg (x) }
        >
    }"""
    assert op_types(load_model(parse(text)).model) == ["Squeeze"]


def test_initializers_that_are_inputs_are_constants() -> None:
    model = parse("g (float[2, 3] x, float[3] b) => (float[2, 3] y) { y = Add (x, b) }", ir_version=3, opset=8)
    loaded = load_model(add_initializer(model, b=random(3)))
    assert [value.name for value in loaded.model.graph.inputs] == ["x"]
    assert loaded.model.graph.initializers["b"].const_value is not None


def test_a_constant_that_cannot_be_computed_names_the_node() -> None:
    text = """g (float s) => (int64 y) {
        shape = Shape (s)
        zero = Constant <value = int64 {0}> ()
        [pick] y = Gather <axis = 0> (shape, zero)
    }"""
    with pytest.raises(ModelError, match=r"EP0207(.|\n)*Gather(.|\n)*'pick'"):
        load_model(parse(text))


def test_shapes_that_depend_on_data_are_refused_by_name() -> None:
    with pytest.raises(ModelError, match=r"EP0206.*'y' \(output of NonZero\)"):
        load_model(parse("g (float[2, 3] x) => (int64[2, N] y) { y = NonZero (x) }"))


def test_tensors_without_elements_are_refused_by_name() -> None:
    with pytest.raises(ModelError, match=r"zero-size dimension.*'x' \[0, 3\]"):
        load_model(parse("g (float[0, 3] x) => (float[0, 3] y) { y = Relu (x) }"))


def test_wrong_declared_shapes_give_way_to_inferred_ones() -> None:
    model = parse("g (float[2, 3] x) => (float[7, 7] y) <float[9] t> { t = Relu (x) y = Neg (t) }")
    loaded = load_model(model)
    assert tuple(loaded.model.graph.outputs[0].shape or ()) == (2, 3)


def test_a_pool_that_rounds_up_ignores_windows_in_the_padding() -> None:
    node = "y = MaxPool <ceil_mode = 1, kernel_shape = [3, 2], pads = [1, 1, 1, 1], strides = [3, 2]> (x)"
    loaded = load_model(parse(f"g (float[1, 2, 6, 5] x) => (float[1, 2, a, b] y) {{ {node} }}", opset=12))
    assert tuple(loaded.model.graph.outputs[0].shape or ()) == (1, 2, 3, 3)


def test_an_operator_that_is_wrong_is_explained() -> None:
    text = "g (float[2, 4] x) => (float[2, a] y) { [cut] p, q = Split <axis = 1> (x) y = Neg (p) }"
    with pytest.raises(ModelError, match=r"onnx says: (.|\n)*cut"):
        load_model(parse(text, opset=18))


def test_an_output_that_is_constant_is_an_initializer() -> None:
    model = parse("g (float[2, 3] x) => (int64[2] y, float[2, 3] z) { y = Shape (x) z = Relu (x) }")
    loaded = load_model(model)
    assert op_types(loaded.model) == ["Relu"]
    (y, _) = loaded.model.graph.outputs
    assert y.name == "y"
    assert y.const_value is not None
    np.testing.assert_array_equal(run(loaded.model, {"x": random(2, 3)})[0], [2, 3])
