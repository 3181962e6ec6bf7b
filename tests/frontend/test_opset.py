"""Old operator versions mean after the upgrade what they meant before it; unknown versions are refused."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from packager.errors import ModelError
from packager.frontend.load import load_model
from packager.frontend.opset import NEWEST_OPSET, SEMANTICS_OPSET
from tests.frontend.models import Array, add_initializer, op_types, parse, random, run


def same(text: str, opset: int, **feeds: Array) -> None:
    """The upgraded model is static and agrees with onnxruntime on the old one."""
    model = parse(text, opset=opset)
    loaded = load_model(model)
    assert loaded.model.opset_imports[""] == SEMANTICS_OPSET
    expected = run(model, feeds)
    for value, want, got in zip(loaded.model.graph.outputs, expected, run(loaded.model, feeds), strict=True):
        assert tuple(value.shape or ()) == want.shape
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("op_type", ["Softmax", "LogSoftmax", "Hardmax"])
@pytest.mark.parametrize("axis", [0, 1, 2, 3])
def test_softmax_family_before_13_flattens_at_the_axis(op_type: str, axis: int) -> None:
    text = f"g (float[2, 3, 2, 4] x) => (float[2, 3, 2, 4] y) {{ y = {op_type} <axis = {axis}> (x) }}"
    same(text, 11, x=random(2, 3, 2, 4))


@pytest.mark.parametrize("op_type", ["Softmax", "LogSoftmax", "Hardmax"])
def test_softmax_family_before_13_has_axis_1_by_default(op_type: str) -> None:
    same(f"g (float[2, 3, 4] x) => (float[2, 3, 4] y) {{ y = {op_type} (x) }}", 9, x=random(2, 3, 4))


@pytest.mark.parametrize("op_type", ["Softmax", "LogSoftmax", "Hardmax"])
def test_softmax_family_from_13_keeps_its_axis(op_type: str) -> None:
    same(f"g (float[2, 3, 4] x) => (float[2, 3, 4] y) {{ y = {op_type} <axis = 1> (x) }}", 13, x=random(2, 3, 4))


@pytest.mark.parametrize("scales", [[1.0, 1.0, 2.0, 3.0], [1.0, 1.0, 2.5, 1.5]])
@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_upsample_7_samples_at_the_floor(mode: str, scales: list[float]) -> None:
    height, width = int(4 * scales[2]), int(5 * scales[3])
    text = f"""g (float[1, 2, 4, 5] x) => (float[1, 2, {height}, {width}] y) {{
        y = Upsample <mode = "{mode}", scales = {scales}> (x)
    }}"""
    same(text, 7, x=random(1, 2, 4, 5))


@pytest.mark.parametrize("op_type", ["Upsample", "Resize"])
@pytest.mark.parametrize("scale", [2.0, 2.5])
def test_upsample_9_and_resize_10_sample_at_the_floor(op_type: str, scale: float) -> None:
    side = int(4 * scale)
    text = f"""g (float[1, 1, 4, 4] x) => (float[1, 1, {side}, {side}] y) {{
        s = Constant <value = float[4] {{1.0, 1.0, {scale}, {scale}}}> ()
        y = {op_type} <mode = "nearest"> (x, s)
    }}"""
    same(text, 9 if op_type == "Upsample" else 10, x=random(1, 1, 4, 4))


def test_resize_10_that_shrinks_takes_the_next_cell() -> None:
    text = """g (float[1, 1, 7, 7] x) => (float[1, 1, 4, 4] y) {
        s = Constant <value = float[4] {1.0, 1.0, 0.6, 0.6}> ()
        y = Resize <mode = "nearest"> (x, s)
    }"""
    same(text, 10, x=random(1, 1, 7, 7))


@pytest.mark.parametrize(
    ("node", "opset"),
    [
        ("y = Slice <starts = [1], ends = [9223372036854775807], axes = [1]> (x)", 9),
        ("y = Pad <pads = [0, 1, 0, 2], value = 1.5> (x)", 9),
        ("y = Squeeze <axes = [0]> (x)", 9),
        ("y = ReduceSum <axes = [1]> (x)", 11),
        ("y = ReduceMean <axes = [-1], keepdims = 0> (x)", 13),
        ("y, z = Split <axis = 1, split = [2, 3]> (x)", 11),
        ("y = Clip <min = -0.5, max = 0.25> (x)", 10),
        ("y = Dropout <ratio = 0.5> (x)", 10),
        ("y, i = TopK <k = 2, axis = 1> (x)", 9),
        ("y = Flatten (x)", 8),
        ("y = Sum (x, x, x)", 7),
    ],
)
def test_attributes_that_became_inputs_keep_their_meaning(node: str, opset: int) -> None:
    model = parse(f"g (float[1, 5] x) => (float[a, b] y) {{ {node} }}", opset=opset)
    model.graph.output[0].type.tensor_type.ClearField("shape")
    x = random(1, 5)
    loaded = load_model(model)
    expected = run(model, {"x": x})[0]
    assert tuple(loaded.model.graph.outputs[0].shape or ()) == expected.shape
    np.testing.assert_allclose(run(loaded.model, {"x": x})[0], expected, rtol=1e-6)


def test_operators_inside_subgraphs_are_upgraded() -> None:
    text = """g (bool c, float[1, 2, 3] x) => (float[2, 3] y) {
        y = If (c) <
            then_branch = t () => (float[2, 3] a) { s = Squeeze <axes = [0]> (x) a = Hardmax <axis = 0> (s) },
            else_branch = e () => (float[2, 3] b) { b = Squeeze <axes = [0]> (x) }
        >
    }"""
    for condition in (True, False):
        same(text, 11, c=np.array(condition), x=random(1, 2, 3))


@pytest.mark.parametrize("opset", [1, 6, NEWEST_OPSET + 1, 4242])
def test_an_opset_outside_the_range_is_refused_with_the_range(opset: int) -> None:
    model = parse("g (float[1] x) => (float[1] y) { y = Relu(x) }")
    model.opset_import[0].version = opset
    with pytest.raises(ModelError, match=rf"opset {opset} .* range 7\.\.{NEWEST_OPSET}"):
        load_model(model)


def test_an_unknown_ir_version_is_refused_with_the_range() -> None:
    model = parse("g (float[1] x) => (float[1] y) { y = Relu(x) }")
    model.ir_version = 999
    with pytest.raises(ModelError, match=rf"IR version 999 .* 3\.\.{onnx.IR_VERSION}"):
        load_model(model)


@pytest.mark.parametrize("opset", range(7, NEWEST_OPSET + 1))
def test_every_opset_of_the_range_loads(opset: int) -> None:
    text = """g (float[1, 2, 6, 6] x) => (float[1, 3, 2, 2] y) {
        c = Conv (x, w) r = Relu (c) y = MaxPool <kernel_shape = [3, 3]> (r)
    }"""
    loaded = load_model(add_initializer(parse(text, opset=opset), w=random(3, 2, 3, 3)))
    assert op_types(loaded.model) == ["Conv", "Relu", "MaxPool"]
    assert loaded.model.opset_imports[""] == max(opset, SEMANTICS_OPSET)
