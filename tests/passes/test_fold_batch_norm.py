"""FoldBatchNormalization."""

from __future__ import annotations

import numpy as np
import pytest

from packager.passes.fold_batch_norm import FoldBatchNormalization
from tests.frontend.models import Array, op_types, random
from tests.passes.support import apply, untouched

STATISTICS: dict[str, Array] = {
    "scale": random(4, seed=1),
    "bias": random(4, seed=2),
    "mean": random(4, seed=3),
    "var": np.array([0.1, 1.0, 2.0, 5.0], np.float32),
}
NORM = "y = BatchNormalization <epsilon = 0.01> (t, scale, bias, mean, var)"


@pytest.mark.parametrize("biased", [False, True])
def test_it_goes_into_a_convolution(biased: bool) -> None:
    text = f"""g (float[1, 6, 8, 8] x) => (float[1, 4, 6, 6] y) {{
        t = Conv <group = 2> (x, w{", b" if biased else ""}) {NORM}
    }}"""
    biases: dict[str, Array] = {"b": random(4)} if biased else {}
    model = apply(FoldBatchNormalization(), text, w=random(4, 3, 3, 3), **biases, **STATISTICS)
    assert op_types(model) == ["Conv"]


@pytest.mark.parametrize("group", [1, 2])
def test_it_goes_into_a_transposed_convolution(group: int) -> None:
    text = f"""g (float[1, 6, 5, 5] x) => (float[1, 4, 11, 11] y) {{
        t = ConvTranspose <group = {group}, strides = [2, 2]> (x, w) {NORM}
    }}"""
    model = apply(FoldBatchNormalization(), text, w=random(6, 4 // group, 3, 3), **STATISTICS)
    assert op_types(model) == ["ConvTranspose"]


@pytest.mark.parametrize("transposed", [0, 1])
def test_it_goes_into_a_gemm_with_alpha_and_beta(transposed: int) -> None:
    text = f"""g (float[2, 6] x) => (float[2, 4] y) {{
        t = Gemm <transB = {transposed}, alpha = 0.5, beta = 2.0> (x, w, b) {NORM}
    }}"""
    weights = random(4, 6) if transposed else random(6, 4)
    model = apply(FoldBatchNormalization(), text, w=weights, b=random(1, 4), **STATISTICS)
    assert op_types(model) == ["Gemm"]


def test_alone_it_is_a_multiplication_and_an_addition() -> None:
    text = f"g (float[2, 4, 5] t) => (float[2, 4, 5] y) {{ {NORM} }}"
    assert op_types(apply(FoldBatchNormalization(), text, **STATISTICS)) == ["Mul", "Add"]


@pytest.mark.parametrize(
    "between",
    ["t = Conv (x, w) z = Relu (t)", "c = Conv (x, w) t = Relu (c) z = Identity (t)"],
    ids=["another reader", "an activation between"],
)
def test_a_convolution_that_others_see_is_left_alone(between: str) -> None:
    text = f"g (float[1, 4, 8] x) => (float[1, 4, 6] y, float[1, 4, 6] z) {{ {between} {NORM} }}"
    model = apply(FoldBatchNormalization(), text, w=random(4, 4, 3), **STATISTICS)
    assert op_types(model)[:1] == ["Conv"]
    assert "Mul" in op_types(model)


def test_a_convolution_that_is_an_output_is_left_alone() -> None:
    text = f"g (float[1, 4, 8] x) => (float[1, 4, 6] t, float[1, 4, 6] y) {{ t = Conv (x, w) {NORM} }}"
    assert op_types(apply(FoldBatchNormalization(), text, w=random(4, 4, 3), **STATISTICS)) == ["Conv", "Mul", "Add"]


def test_weights_computed_at_run_time_are_left_alone() -> None:
    text = f"g (float[1, 4, 8] x, float[4, 4, 3] w) => (float[1, 4, 6] y) {{ t = Conv (x, w) {NORM} }}"
    assert op_types(apply(FoldBatchNormalization(), text, **STATISTICS)) == ["Conv", "Mul", "Add"]


def test_channels_of_a_batched_product_are_not_those_of_the_norm() -> None:
    text = f"g (float[2, 4, 6] x) => (float[2, 4, 4] y) {{ t = MatMul (x, w) {NORM} }}"
    assert op_types(apply(FoldBatchNormalization(), text, w=random(6, 4), **STATISTICS)) == ["MatMul", "Mul", "Add"]


def test_statistics_computed_at_run_time_are_left_alone() -> None:
    text = f"g (float[1, 4, 8] t, float[4] mean) => (float[1, 4, 8] y) {{ {NORM} }}"
    untouched(FoldBatchNormalization(), text, **{name: STATISTICS[name] for name in ("scale", "bias", "var")})


def test_shared_weights_keep_their_value_for_the_other_reader() -> None:
    text = f"""g (float[1, 4, 8] x) => (float[1, 4, 6] y, float[1, 4, 6] z) {{
        t = Conv (x, w) {NORM} z = Conv (x, w)
    }}"""
    assert op_types(apply(FoldBatchNormalization(), text, w=random(4, 4, 3), **STATISTICS)) == ["Conv", "Conv"]
