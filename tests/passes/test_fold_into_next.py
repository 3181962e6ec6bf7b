"""FoldIntoNext."""

from __future__ import annotations

import numpy as np
import pytest

from packager.passes.fold_into_next import FoldIntoNext
from tests.frontend.models import Array, op_types, random
from tests.passes.support import apply, untouched

CHANNELS = np.array([[0.5], [2.0], [-1.5], [3.0]], np.float32)
NUMBER = np.array(2.5, np.float32)


def conv(node: str, reader: str = "Conv (t, w)", result: str = "float[1, 6, d] y") -> str:
    return f"g (float[1, 4, 8] x) => ({result}) {{ t = {node} y = {reader} }}"


@pytest.mark.parametrize("node", ["Mul (x, c)", "Mul (c, x)", "Div (x, c)"])
@pytest.mark.parametrize("constant", [CHANNELS, NUMBER])
@pytest.mark.parametrize("group", [1, 2])
def test_it_goes_into_a_convolution(node: str, constant: Array, group: int) -> None:
    reader = f"Conv <group = {group}> (t, w, b)"
    model = apply(FoldIntoNext(), conv(node, reader), w=random(6, 4 // group, 3), b=random(6, seed=2), c=constant)
    assert op_types(model) == ["Conv"]


def test_factors_go_into_a_convolution_with_padding() -> None:
    model = apply(FoldIntoNext(), conv("Mul (x, c)", "Conv <pads = [1, 1]> (t, w)"), w=random(6, 4, 3), c=CHANNELS)
    assert op_types(model) == ["Conv"]


@pytest.mark.parametrize("reader", ["MatMul (t, w)", "Gemm (t, w, b)", "Gemm <transB = 1> (t, wt)"])
@pytest.mark.parametrize("node", ["Mul (x, c)", "Div (x, c)"])
def test_it_goes_into_a_product(node: str, reader: str) -> None:
    text = f"g (float[2, 4] x) => (float[2, 6] y) {{ t = {node} y = {reader} }}"
    weights = {"w": random(4, 6), "wt": random(6, 4), "b": random(6), "c": CHANNELS[:, 0]}
    assert op_types(apply(FoldIntoNext(), text, **weights)) == [reader.split(" ", maxsplit=1)[0]]


@pytest.mark.parametrize(
    ("node", "reader", "constant"),
    [
        ("Add (x, c)", "Conv (t, w)", CHANNELS),
        ("Sub (x, c)", "Conv (t, w)", CHANNELS),
        ("Mul (x, c)", "Conv (t, w)", random(8)),
        ("Div (c, x)", "Conv (t, w)", CHANNELS),
        ("Mul (x, x)", "Conv (t, w)", CHANNELS),
        ("Div (x, c)", "Conv (t, w)", np.array(0, np.float32)),
        ("Mul (x, c)", "Conv (t, w)", np.array(3e38, np.float32)),
        ("Mul (x, c)", "Softmax (t)", CHANNELS),
    ],
    ids=[
        "a sum",
        "a difference",
        "not per channel",
        "c / x",
        "no constant",
        "division by zero",
        "overflow",
        "no weights",
    ],
)
def test_what_does_not_fold_is_left_alone(node: str, reader: str, constant: Array) -> None:
    result = "float[1, d, e] y"
    untouched(FoldIntoNext(), conv(node, reader, result), w=random(6, 4, 3) * 10, c=constant)


def test_a_value_with_another_reader_is_left_alone() -> None:
    text = conv("Mul (x, c)", "Conv (t, w) z = Relu (t)", "float[1, 6, d] y, float[1, 4, 8] z")
    untouched(FoldIntoNext(), text, w=random(6, 4, 3), c=CHANNELS)


def test_a_graph_output_is_left_alone() -> None:
    untouched(
        FoldIntoNext(), conv("Mul (x, c)", result="float[1, 6, d] y, float[1, 4, 8] t"), w=random(6, 4, 3), c=CHANNELS
    )


def test_a_constant_that_widens_the_tensor_is_left_alone() -> None:
    text = "g (float[1, 4, 8] x) => (float[3, 6, 6] y) { t = Mul (x, c) y = Conv (t, w) }"
    untouched(FoldIntoNext(), text, w=random(6, 4, 3), c=random(3, 1, 1))


def test_weights_computed_at_run_time_are_left_alone() -> None:
    text = "g (float[1, 4, 8] x, float[6, 4, 3] w) => (float[1, 6, 6] y) { t = Mul (x, c) y = Conv (t, w) }"
    untouched(FoldIntoNext(), text, c=CHANNELS)
