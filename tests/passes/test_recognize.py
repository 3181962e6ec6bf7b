"""GlobalPools, RecognizeLayerNorm, SinkViews and AbsorbTranspose."""

from __future__ import annotations

import numpy as np
import pytest
from onnx_ir.passes import common

from packager.passes.absorb_transpose import AbsorbTranspose
from packager.passes.global_pools import GlobalPools
from packager.passes.recognize_layer_norm import RecognizeLayerNorm
from packager.passes.sink_views import SinkViews
from tests.frontend.models import Array, op_types, random
from tests.passes.support import apply, untouched

AXES: dict[str, Array] = {"planes": np.array([2, -1]), "rows": np.array([2]), "channels": np.array([1, 2])}


def on_planes(node: str, result: str = "float[a, b, c, d] y") -> str:
    return f"g (float[2, 3, 4, 5] x) => ({result}) {{ {node} }}"


# -- GlobalPools ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        ("y = ReduceMean (x, planes)", ["GlobalAveragePool"]),
        ("y = ReduceMax (x, planes)", ["GlobalMaxPool"]),
        ("y = AveragePool <kernel_shape = [4, 5], strides = [4, 5]> (x)", ["GlobalAveragePool"]),
        ("y = MaxPool <kernel_shape = [4, 5]> (x)", ["GlobalMaxPool"]),
    ],
)
def test_a_reduction_over_planes_is_a_global_pool(node: str, expected: list[str]) -> None:
    assert op_types(apply(GlobalPools(), on_planes(node), **AXES)) == expected


def test_axes_that_are_dropped_are_dropped_by_a_view() -> None:
    text = on_planes("y = ReduceMean <keepdims = 0> (x, planes)", "float[a, b] y")
    assert op_types(apply(GlobalPools(), text, **AXES)) == ["GlobalAveragePool", "Reshape"]


@pytest.mark.parametrize(
    "node",
    [
        "y = ReduceMean (x, rows)",
        "y = ReduceMean (x, channels)",
        "y = ReduceMean (x)",
        "y = AveragePool <kernel_shape = [4, 4]> (x)",
        "y = AveragePool <kernel_shape = [4, 5], pads = [1, 0, 1, 0]> (x)",
        'y = AveragePool <kernel_shape = [4, 5], auto_pad = "SAME_UPPER"> (x)',
        "y = MaxPool <kernel_shape = [2, 3], dilations = [3, 2]> (x)",
    ],
)
def test_other_reductions_stay(node: str) -> None:
    untouched(GlobalPools(), on_planes(node), **AXES)


def test_a_max_pool_whose_indices_are_read_stays() -> None:
    text = on_planes("y, i = MaxPool <kernel_shape = [4, 5]> (x)", "float[a, b, c, d] y, int64[e, f, g, h] i")
    untouched(GlobalPools(), text)


# -- RecognizeLayerNorm -----------------------------------------------------------------------------------------------

NORM: dict[str, Array] = {
    "last": np.array([-1]),
    "first": np.array([1]),
    "two": np.array([-2, -1]),
    "eps": np.array(1e-5, np.float32),
    "n2": np.array(2, np.float32),
    "scale": random(4),
    "bias": random(1, 1, 4),
    "plane": random(3, 4),
}
BODY = """
    m = ReduceMean (x, {axes}) d = Sub (x, m) q = {square}
    v = ReduceMean (q, {axes}) e = Add (v, eps) s = Sqrt (e) {tail}
"""


def normed(tail: str, axes: str = "last", square: str = "Mul (d, d)", result: str = "float[2, 3, 4] y") -> str:
    return f"g (float[2, 3, 4] x) => ({result}) {{ {BODY.format(axes=axes, square=square, tail=tail)} }}"


@pytest.mark.parametrize("square", ["Mul (d, d)", "Pow (d, n2)"])
@pytest.mark.parametrize(
    ("tail", "axes", "inputs"),
    [
        ("n = Div (d, s) a = Mul (n, scale) y = Add (a, bias)", "last", 3),
        ("n = Div (d, s) a = Mul (plane, n) y = Add (plane, a)", "two", 3),
        ("n = Div (d, s) y = Mul (n, scale)", "last", 2),
        ("n = Div (d, s) y = Add (n, bias)", "two", 3),
        ("y = Div (d, s)", "last", 2),
    ],
)
def test_the_parts_of_a_layer_norm_become_one(square: str, tail: str, axes: str, inputs: int) -> None:
    model = apply(RecognizeLayerNorm(), normed(tail, axes, square), **NORM)
    common.RemoveUnusedNodesPass()(model)
    (node,) = model.graph
    assert node.op_type == "LayerNormalization"
    assert len(node.inputs) == inputs


@pytest.mark.parametrize(
    ("tail", "axes", "square"),
    [
        ("y = Div (d, s)", "first", "Mul (d, d)"),
        ("y = Div (d, s)", "last", "Mul (d, x)"),
        ("y = Div (x, s)", "last", "Mul (d, d)"),
    ],
    ids=["not the last axes", "not a square", "not the difference"],
)
def test_what_only_looks_like_a_norm_stays(tail: str, axes: str, square: str) -> None:
    untouched(RecognizeLayerNorm(), normed(tail, axes, square), **NORM)


@pytest.mark.parametrize("extra", ["z = Neg (d)", "z = Neg (q)", "z = Neg (s)"])
def test_a_part_with_another_reader_keeps_the_norm_as_it_is(extra: str) -> None:
    untouched(
        RecognizeLayerNorm(), normed(f"y = Div (d, s) {extra}", result="float[2, 3, 4] y, float[a, b, c] z"), **NORM
    )


# -- SinkViews --------------------------------------------------------------------------------------------------------

PRODUCT = "g (float[3, 6] x) => ({}) {{ t = MatMul (x, w) u = Reshape (t, shape) {} }}"
SHAPE: dict[str, Array] = {"w": random(6, 4), "shape": np.array([2, 6])}


def test_an_activation_goes_above_a_view() -> None:
    model = apply(SinkViews(), PRODUCT.format("float[2, 6] y", "y = Sigmoid (u)"), **SHAPE)
    assert op_types(model) == ["MatMul", "Sigmoid", "Reshape"]


@pytest.mark.parametrize(
    ("result", "body"),
    [
        ("float[2, 6] y, float[2, 6] z", "y = Sigmoid (u) z = Neg (u)"),
        ("float[2, 6] y, float[3, 4] z", "y = Sigmoid (u) z = Neg (t)"),
        ("float[2, 6] y, float[2, 6] u", "y = Sigmoid (u)"),
        ("float[2, 6] y", "y = Sin (u)"),
        ("float[2, 6] y", "n = Neg (t) v = Reshape (n, shape) y = Sigmoid (v)"),
    ],
    ids=["view read twice", "product read twice", "view is an output", "no activation", "no product above"],
)
def test_other_activations_stay_below(result: str, body: str) -> None:
    untouched(SinkViews(), PRODUCT.format(result, body), **SHAPE)


# -- AbsorbTranspose --------------------------------------------------------------------------------------------------

FLAT = "g (float[2, 3, 4, 5] x) => ({}) {{ t = Transpose <perm = [{}]> (x) u = Reshape (t, flat) {} }}"
WEIGHTS: dict[str, Array] = {
    "flat": np.array([2, -1]),
    "w": random(60, 7),
    "wt": random(7, 60),
    "odd": np.array([6, -1]),
}


@pytest.mark.parametrize("node", ["MatMul (u, w)", "Gemm (u, w)", "Gemm <transB = 1> (u, wt)"])
@pytest.mark.parametrize("perm", ["0, 2, 3, 1", "0, 3, 1, 2", "0, 3, 2, 1"])
def test_weights_take_the_order_of_what_is_flattened(node: str, perm: str) -> None:
    model = apply(AbsorbTranspose(), FLAT.format("float[2, 7] y", perm, f"y = {node}"), **WEIGHTS)
    assert op_types(model) == ["Reshape", node.split(" ", maxsplit=1)[0]]


@pytest.mark.parametrize(
    ("result", "perm", "body"),
    [
        ("float[2, 7] y, float[a, b, c, d] z", "0, 2, 3, 1", "y = MatMul (u, w) z = Neg (t)"),
        ("float[2, 7] y, float[a, b] z", "0, 2, 3, 1", "y = MatMul (u, w) z = Neg (u)"),
        ("float[2, 7] y", "1, 0, 2, 3", "y = MatMul (u, w)"),
        ("float[6, 7] y", "0, 2, 3, 1", "v = Reshape (t, odd) y = MatMul (v, short)"),
    ],
    ids=["transpose read twice", "view read twice", "first axis moves", "first axis is not kept"],
)
def test_other_transposes_stay(result: str, perm: str, body: str) -> None:
    untouched(AbsorbTranspose(), FLAT.format(result, perm, body), short=random(20, 7), **WEIGHTS)


def test_weights_computed_at_run_time_stay() -> None:
    text = FLAT.format("float[2, 7] y", "0, 2, 3, 1", "y = MatMul (u, w)").replace(" x)", " x, float[60, 7] w)")
    untouched(AbsorbTranspose(), text, flat=WEIGHTS["flat"])
