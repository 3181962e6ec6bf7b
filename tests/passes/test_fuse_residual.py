"""FuseResidual."""

from __future__ import annotations

import numpy as np
import pytest

from packager.passes.fuse_residual import FuseResidual
from tests.frontend.models import op_types, random
from tests.passes.support import apply, untouched

W = random(3, 3, 3)
CONV = "Conv <pads = [1, 1]> (x, w)"


def text(body: str, result: str = "float[1, 3, 8] y") -> str:
    return f"g (float[1, 3, 8] x) => ({result}) {{ {body} }}"


@pytest.mark.parametrize("sum_of", ["Add (t, x)", "Add (x, t)"])
def test_an_addition_becomes_the_fourth_input(sum_of: str) -> None:
    model = apply(FuseResidual(), text(f"t = {CONV} y = {sum_of}"), w=W)
    (conv,) = model.graph
    assert [value.name if value is not None else None for value in conv.inputs] == ["x", "w", None, "x"]
    assert conv.meta["edgepack.fused"] == "Add"


def test_the_convolution_that_runs_last_takes_the_other() -> None:
    body = f"a = {CONV} r = Relu (a) b = Conv <pads = [1, 1]> (r, w) c = {CONV} y = Add (b, c)"
    model = apply(FuseResidual(), text(body), w=W)
    assert op_types(model) == ["Conv", "Relu", "Conv", "Conv"]
    assert model.graph[3].inputs[3] is model.graph[2].outputs[0]


def test_a_convolution_before_what_is_added_moves_behind_it() -> None:
    model = apply(FuseResidual(), text(f"t = {CONV} a = Abs (x) s = Neg (a) y = Add (t, s)"), w=W)
    assert op_types(model) == ["Abs", "Neg", "Conv"]


def test_only_one_sum_goes_into_a_convolution() -> None:
    model = apply(FuseResidual(), text(f"t = {CONV} a = Add (t, x) y = Add (a, x)"), w=W)
    assert op_types(model) == ["Conv", "Add"]


@pytest.mark.parametrize(
    "body",
    [
        f"t = {CONV} y = Add (t, t)",
        f"t = {CONV} y = Add (t, constant)",
        f"t = {CONV} m = ReduceMean (x, axes) y = Add (t, m)",
        f"t = {CONV} r = Relu (t) y = Add (r, x)",
        f"t = {CONV} y = Mul (t, x)",
    ],
    ids=["itself", "a constant", "broadcasting", "after an activation", "no sum"],
)
def test_other_sums_are_left_alone(body: str) -> None:
    untouched(FuseResidual(), text(body), w=W, constant=random(1, 3, 8), axes=np.array([2]))


def test_a_value_with_another_reader_is_left_alone() -> None:
    body = f"t = {CONV} y = Add (t, x) z = Relu (t)"
    untouched(FuseResidual(), text(body, "float[1, 3, 8] y, float[1, 3, 8] z"), w=W)


def test_a_graph_output_is_left_alone() -> None:
    untouched(FuseResidual(), text(f"t = {CONV} y = Add (t, x)", "float[1, 3, 8] y, float[1, 3, 8] t"), w=W)
