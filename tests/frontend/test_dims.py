"""Symbolic dimensions get values by name or by position; what is left open is named with the flag that closes it."""

from __future__ import annotations

import numpy as np
import pytest

from packager.errors import ModelError
from packager.frontend.load import load_model
from tests.frontend.models import parse, random, run

TWO_OPEN = """g (float[batch, 3, width] x, float[batch] k) => (float[batch, width] y) {
    axes = Constant <value_ints = [1]> ()
    s = ReduceSum <keepdims = 0> (x, axes)
    k2 = Unsqueeze (k, axes)
    y = Mul (s, k2)
}"""


def dims_of(model_text: str, **dims: int) -> list[tuple[object, ...]]:
    loaded = load_model(parse(model_text), dims=dims)
    return [tuple(value.shape or ()) for value in (*loaded.model.graph.inputs, *loaded.model.graph.outputs)]


def test_a_name_pins_every_axis_of_that_name() -> None:
    assert dims_of(TWO_OPEN, batch=2, width=5) == [(2, 3, 5), (2,), (2, 5)]


def test_input_and_axis_pin_one_axis() -> None:
    loaded = load_model(parse(TWO_OPEN), dims={"x:0": 2, "k:0": 2, "x:2": 5})
    assert tuple(loaded.model.graph.outputs[0].shape or ()) == (2, 5)


def test_a_pinned_model_computes_what_the_open_one_does() -> None:
    feeds = {"x": random(2, 3, 5), "k": random(2, seed=1)}
    loaded = load_model(parse(TWO_OPEN), dims={"batch": 2, "width": 5})
    np.testing.assert_allclose(run(loaded.model, feeds)[0], run(parse(TWO_OPEN), feeds)[0], rtol=1e-6)


def test_the_original_is_pinned_too() -> None:
    original = load_model(parse(TWO_OPEN), dims={"batch": 2, "width": 5}).original
    assert [dim.dim_value for dim in original.graph.input[0].type.tensor_type.shape.dim] == [2, 3, 5]
    assert [dim.dim_value for dim in original.graph.output[0].type.tensor_type.shape.dim] == [2, 5]


def test_all_open_dimensions_are_named_in_one_error() -> None:
    with pytest.raises(ModelError) as caught:
        load_model(parse(TWO_OPEN))
    assert len(caught.value.problems) == 1
    text = str(caught.value)
    for part in ("input 'x' axis 0 ('batch')", "input 'x' axis 2 ('width')", "input 'k' axis 0", "--dim batch=N"):
        assert part in text


def test_unnamed_dimensions_are_given_by_position() -> None:
    model = parse("g (float[N, M] x) => (float[N, M] y) { y = Relu(x) }")
    shape = model.graph.input[0].type.tensor_type.shape
    shape.dim[0].dim_value = -1
    shape.dim[1].dim_param = "?"
    with pytest.raises(ModelError, match=r"--dim x:0=N --dim x:1=N"):
        load_model(model)
    assert tuple(load_model(model, dims={"x:0": 2, "x:1": 3}).model.graph.outputs[0].shape or ()) == (2, 3)
    assert tuple(load_model(model, dims={"-1": 2, "?": 3}).model.graph.outputs[0].shape or ()) == (2, 3)


def test_a_key_that_matches_nothing_lists_what_would() -> None:
    with pytest.raises(ModelError, match=r"no symbolic dimension 'bacth'\n.*\n.*dimensions are: batch"):
        load_model(parse(TWO_OPEN), dims={"bacth": 1, "width": 3})


def test_a_fixed_dimension_cannot_be_changed() -> None:
    with pytest.raises(ModelError, match="axis 1 is 3 in the model and cannot become 4"):
        load_model(parse(TWO_OPEN), dims={"x:1": 4, "batch": 1, "width": 1})


def test_a_dimension_of_zero_is_refused() -> None:
    with pytest.raises(ModelError, match="must be at least 1, not 0"):
        load_model(parse(TWO_OPEN), dims={"batch": 0, "width": 1})


def test_output_names_of_dimensions_need_no_value() -> None:
    text = "g (float[4, 4] x) => (float[unk_1, unk_2] y) { y = Transpose(x) }"
    assert dims_of(text) == [(4, 4), (4, 4)]
