"""FoldArithmetic."""

from __future__ import annotations

import numpy as np
import pytest

from packager.passes.fold_arithmetic import FoldArithmetic
from tests.frontend.models import op_types, random
from tests.passes.support import apply, untouched

CONV = "g (float[1, 3, 8] x) => (float[1, 4, 6] y) {{ t = Conv (x, w) {} }}"
WEIGHT = random(4, 3, 3)
CHANNELS = np.array([[0.5], [2.0], [-1.5], [3.0]], np.float32)


@pytest.mark.parametrize(
    "node", ["Mul (t, c)", "Mul (c, t)", "Add (t, c)", "Sub (t, c)", "Sub (c, t)", "Div (t, c)", "Neg (t)"]
)
@pytest.mark.parametrize("constant", [CHANNELS, CHANNELS[None], np.float32(2.5), np.full((1, 1, 1), 2.5, np.float32)])
def test_arithmetic_with_constants_goes_into_a_convolution(node: str, constant: np.ndarray) -> None:
    model = apply(FoldArithmetic(), CONV.format(f"y = {node}"), w=WEIGHT, c=np.asarray(constant))
    assert op_types(model) == ["Conv"]


def test_several_operators_in_a_row_go_into_one_convolution() -> None:
    body = "a = Mul (t, c) b = Add (a, c) d = Sub (c, b) y = Div (d, c)"
    assert op_types(apply(FoldArithmetic(), CONV.format(body), w=WEIGHT, c=CHANNELS)) == ["Conv"]


def test_a_product_with_a_bias_of_two_matrices_is_a_gemm() -> None:
    text = "g (float[2, 6] x) => (float[2, 4] y) { t = MatMul (x, w) y = Add (t, c) }"
    assert op_types(apply(FoldArithmetic(), text, w=random(6, 4), c=random(4))) == ["Gemm"]


def test_a_batched_product_takes_its_bias_as_third_input() -> None:
    text = "g (float[3, 2, 6] x) => (float[3, 2, 4] y) { t = MatMul (x, w) a = Mul (c, t) y = Add (a, c) }"
    model = apply(FoldArithmetic(), text, w=random(6, 4), c=random(1, 1, 4))
    assert op_types(model) == ["MatMul"]
    assert len(model.graph[0].inputs) == 3


def test_a_gemm_takes_both() -> None:
    text = """g (float[2, 6] x) => (float[2, 4] y) {
        t = Gemm <transB = 1, alpha = 2.0> (x, w) a = Mul (t, c) y = Add (a, c)
    }"""
    assert op_types(apply(FoldArithmetic(), text, w=random(4, 6), c=random(4))) == ["Gemm"]


def test_it_says_what_it_did_on_the_node() -> None:
    model = apply(FoldArithmetic(), CONV.format("y = Add (t, c)"), w=WEIGHT, c=CHANNELS)
    assert model.graph[0].meta["edgepack.fused"] == "Add of a constant"
    assert [value.name for value in model.graph.outputs] == ["y"]


@pytest.mark.parametrize(
    ("body", "constant"),
    [
        ("y = Mul (t, c)", random(4, 6)),
        ("y = Mul (t, c)", random(6)),
        ("y = Div (c, t)", CHANNELS),
        ("r = Relu (t) y = Mul (r, c)", CHANNELS),
        ("y = Mul (t, t)", CHANNELS),
        ("y = Mul (t, c)", np.full((4, 1), np.inf, np.float32)),
        ("y = Div (t, c)", np.zeros((4, 1), np.float32)),
        ("y = Mul (t, c)", np.full((4, 1), 3e38, np.float32)),
    ],
    ids=["per element", "per column", "c / t", "activation", "no constant", "infinite", "division by zero", "overflow"],
)
def test_what_does_not_fold_is_left_alone(body: str, constant: np.ndarray) -> None:
    untouched(FoldArithmetic(), CONV.format(body), w=WEIGHT * 10, c=constant)


def test_a_value_with_another_reader_is_left_alone() -> None:
    text = (
        "g (float[1, 3, 8] x) => (float[1, 4, 6] y, float[1, 4, 6] z) { t = Conv (x, w) y = Mul (t, c) z = Relu (t) }"
    )
    untouched(FoldArithmetic(), text, w=WEIGHT, c=CHANNELS)


def test_a_graph_output_is_left_alone() -> None:
    text = "g (float[1, 3, 8] x) => (float[1, 4, 6] y, float[1, 4, 6] t) { t = Conv (x, w) y = Mul (t, c) }"
    untouched(FoldArithmetic(), text, w=WEIGHT, c=CHANNELS)


def test_a_constant_that_widens_the_result_is_left_alone() -> None:
    text = "g (float[1, 3, 8] x) => (float[5, 4, 6] y) { t = Conv (x, w) y = Add (t, c) }"
    untouched(FoldArithmetic(), text, w=WEIGHT, c=random(5, 1, 1))


def test_weights_computed_at_run_time_are_left_alone() -> None:
    text = "g (float[1, 3, 8] x, float[4, 3, 3] w) => (float[1, 4, 6] y) { t = Conv (x, w) y = Mul (t, c) }"
    untouched(FoldArithmetic(), text, c=CHANNELS)


def test_a_bias_computed_at_run_time_is_left_alone() -> None:
    text = "g (float[1, 3, 8] x, float[4] b) => (float[1, 4, 6] y) { t = Conv (x, w, b) y = Mul (t, c) }"
    untouched(FoldArithmetic(), text, w=WEIGHT, c=CHANNELS)


def test_a_product_with_a_vector_is_left_alone() -> None:
    text = "g (float[2, 6] x) => (float[2] y) { t = MatMul (x, w) y = Mul (t, c) }"
    untouched(FoldArithmetic(), text, w=random(6), c=np.array([2.0], np.float32))
