"""Views, transposes, slices and concatenations: the passes that clear the way for the others."""

from __future__ import annotations

import numpy as np
import pytest

from packager.passes.gather_to_slice import GatherToSlice
from packager.passes.merge_concats import MergeConcats
from packager.passes.merge_transposes import MergeTransposes
from packager.passes.merge_views import MergeViews
from packager.passes.remove_noops import RemoveNoOps
from packager.passes.sink_transposes import SinkTransposes
from tests.frontend.models import Array, op_types, random
from tests.passes.support import apply, untouched

INTS: dict[str, Array] = {
    "i0": np.array([0]),
    "i1": np.array([1]),
    "i2": np.array([2]),
    "all": np.array([9223372036854775807]),
    "back": np.array([-1]),
    "none": np.array([-9223372036854775807]),
    "pads": np.zeros(6, np.int64),
    "cancel": np.array([0, 0, 1, 0, 0, -1]),
    "flat": np.array([6, 4]),
    "cube": np.array([2, 3, 4]),
}


def text(body: str, result: str = "float[a, b, c] y", x: str = "float[2, 3, 4] x") -> str:
    return f"g ({x}) => ({result}) {{ {body} }}"


# -- RemoveNoOps ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "node",
    [
        "Slice (n, i0, all, i1)",
        "Pad (n, pads)",
        "Expand (n, cube)",
        "Reshape (n, cube)",
        "Transpose <perm = [0, 1, 2]> (n)",
        "Concat <axis = 1> (n)",
        "Max (n)",
        "Cast <to = 1> (n)",
        "Split <axis = 1, num_outputs = 1> (n)",
    ],
)
def test_an_operator_that_returns_its_input_goes_away(node: str) -> None:
    model = apply(RemoveNoOps(), text(f"n = Neg (x) t = {node} y = Abs (t)"), **INTS)
    assert op_types(model) == ["Neg", "Abs"]


@pytest.mark.parametrize(
    "node",
    [
        "Slice (x, back, none, i1, back)",
        "Pad (x, cancel)",
        "Transpose <perm = [0, 2, 1]> (x)",
        "Concat <axis = 0> (x, x)",
    ],
    ids=["reversed", "pads that cancel", "moved", "two operands"],
)
def test_an_operator_with_an_effect_stays(node: str) -> None:
    untouched(RemoveNoOps(), text(f"t = {node} y = Abs (t)"), **INTS)


def test_an_output_keeps_a_value_of_its_own() -> None:
    untouched(RemoveNoOps(), text("y = Reshape (x, cube)"), **INTS)


# -- MergeViews -------------------------------------------------------------------------------------------------------


def test_a_chain_of_views_is_one() -> None:
    body = "a = Unsqueeze (x, i0) b = Squeeze (a, i0) c = Reshape (b, flat) d = Flatten (c) y = Unsqueeze (d, i1)"
    model = apply(MergeViews(), text(body), **INTS)
    assert op_types(model) == ["Reshape"]


def test_an_inner_view_with_another_reader_stays() -> None:
    model = apply(
        MergeViews(),
        text("a = Reshape (x, flat) y = Unsqueeze (a, i0) z = Abs (a)", "float[a, b, c] y, float[d, e] z"),
        **INTS,
    )
    assert op_types(model) == ["Reshape", "Reshape", "Abs"]
    assert model.graph[1].inputs[0] is model.graph.inputs[0]


def test_a_transpose_that_only_moves_ones_is_a_view() -> None:
    model = apply(MergeViews(), text("y = Transpose <perm = [1, 0, 2]> (x)", x="float[1, 3, 4] x"))
    assert op_types(model) == ["Reshape"]


def test_a_plain_reshape_stays() -> None:
    untouched(MergeViews(), text("y = Reshape (x, flat)", "float[a, b] y"), **INTS)


def test_a_transpose_that_moves_elements_stays() -> None:
    untouched(MergeViews(), text("y = Transpose <perm = [1, 0, 2]> (x)"))


# -- MergeTransposes --------------------------------------------------------------------------------------------------


def test_two_transposes_are_one() -> None:
    model = apply(MergeTransposes(), text("t = Transpose <perm = [1, 2, 0]> (x) y = Transpose <perm = [0, 2, 1]> (t)"))
    assert op_types(model) == ["Transpose"]


def test_inverse_transposes_are_an_identity() -> None:
    model = apply(MergeTransposes(), text("t = Transpose <perm = [1, 2, 0]> (x) y = Transpose <perm = [2, 0, 1]> (t)"))
    assert list(model.graph[0].attributes["perm"].value) == [0, 1, 2]


def test_an_inner_transpose_with_another_reader_stays() -> None:
    body = "t = Transpose (x) y = Transpose (t) z = Abs (t)"
    assert op_types(apply(MergeTransposes(), text(body, "float[a, b, c] y, float[d, e, f] z"))).count("Transpose") == 2


def test_a_transpose_alone_stays() -> None:
    untouched(MergeTransposes(), text("y = Transpose (x)"))


# -- SinkTransposes ---------------------------------------------------------------------------------------------------

T = "t = Transpose <perm = [1, 2, 0]> (x)"


def test_transposes_around_element_wise_operators_meet() -> None:
    body = f"{T} a = Relu (t) b = Mul (a, c) d = Add (s, b) y = Transpose <perm = [2, 0, 1]> (d)"
    model = apply(SinkTransposes(), text(body), c=random(4, 1), s=np.array([0.5], np.float32))
    assert op_types(model) == ["Relu", "Mul", "Add", "Transpose", "Transpose"]


@pytest.mark.parametrize("node", ["Sub (t, u)", "Concat <axis = 1> (t, u)", "Concat <axis = -1> (u, t, t)"])
def test_operands_transposed_alike_need_one_transpose(node: str) -> None:
    body = f"n = Neg (x) {T} u = Transpose <perm = [1, 2, 0]> (n) y = {node}"
    assert op_types(apply(SinkTransposes(), text(body)))[-2:] == [node.split(" ", maxsplit=1)[0], "Transpose"]


def test_an_activation_reaches_the_product_above() -> None:
    body = "m = MatMul (x, w) t = Transpose <perm = [0, 2, 1]> (m) y = Relu (t)"
    assert op_types(apply(SinkTransposes(), text(body), w=random(4, 5))) == ["MatMul", "Relu", "Transpose"]


@pytest.mark.parametrize(
    "body",
    [
        f"{T} y = Relu (t)",
        f"{T} a = Relu (t) y = Transpose (a) z = Abs (t)",
        f"{T} u = Transpose (x) y = Add (t, u)",
        f"{T} a = Add (t, k) y = Transpose (a)",
    ],
    ids=["no gain", "another reader", "transposed differently", "an operand that is not transposed"],
)
def test_transposes_stay_where_sinking_does_not_pay(body: str) -> None:
    x, result = "float[3, 3, 3] x, float[3, 3, 3] k", "float[a, b, c] y"
    untouched(SinkTransposes(), text(body, result + (", float[d, e, f] z" if "z =" in body else ""), x))


def test_a_transposed_value_that_is_an_output_stays() -> None:
    untouched(SinkTransposes(), text(f"{T} a = Relu (t) y = Transpose (a)", "float[a, b, c] y, float[d, e, f] t"))


# -- GatherToSlice ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("axis", "indices", "expected"),
    [
        (1, np.array(2), ["Slice", "Reshape"]),
        (0, np.array(-1), ["Slice", "Reshape"]),
        (2, np.array([1, 2, 3]), ["Slice"]),
        (-1, np.array([0, 2]), ["Slice"]),
        (2, np.array([[0, 1], [2, 3]]), ["Slice", "Reshape"]),
    ],
)
def test_evenly_spaced_indices_are_a_slice(axis: int, indices: np.ndarray, expected: list[str]) -> None:
    body = f"y = Gather <axis = {axis}> (x, k)"
    rank = 2 + indices.ndim
    result = f"float[{', '.join('abcd'[:rank])}] y"
    assert op_types(apply(GatherToSlice(), text(body, result), k=indices)) == expected


@pytest.mark.parametrize("indices", [[3, 2], [1, 1], [0, 1, 3]], ids=["falling", "repeated", "uneven"])
def test_other_indices_stay(indices: list[int]) -> None:
    untouched(GatherToSlice(), text("y = Gather <axis = 2> (x, k)"), k=np.array(indices))


def test_computed_indices_stay() -> None:
    untouched(GatherToSlice(), text("y = Gather <axis = 2> (x, k)", x="float[2, 3, 4] x, int64[2] k"))


# -- MergeConcats -----------------------------------------------------------------------------------------------------


def test_nested_concats_are_one() -> None:
    body = "n = Neg (x) a = Concat <axis = 1> (x, n) b = Concat <axis = -2> (n, x) y = Concat <axis = 1> (a, x, b)"
    model = apply(MergeConcats(), text(body))
    assert op_types(model) == ["Neg", "Concat"]
    assert len(model.graph[1].inputs) == 5


def test_a_split_that_is_joined_again_goes_away() -> None:
    body = "n = Neg (x) a, b = Split <axis = 2, num_outputs = 2> (n) c = Concat <axis = -1> (a, b) y = Abs (c)"
    assert "Concat" not in op_types(apply(MergeConcats(), text(body)))


@pytest.mark.parametrize(
    "body",
    [
        "n = Neg (x) a = Concat <axis = 0> (x, n) y = Concat <axis = 1> (a, a)",
        "n = Neg (x) a = Concat <axis = 1> (x, n) y = Concat <axis = 1> (a, a)",
        "n = Neg (x) a, b = Split <axis = 2, num_outputs = 2> (n) y = Concat <axis = 2> (b, a)",
        "a, b = Split <axis = 2, num_outputs = 2> (x) y = Concat <axis = 2> (a, b)",
    ],
    ids=["other axis", "read twice", "other order", "an output needs its own value"],
)
def test_other_concats_stay(body: str) -> None:
    untouched(MergeConcats(), text(body))
