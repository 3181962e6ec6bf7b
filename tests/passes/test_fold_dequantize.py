"""FoldDequantize."""

from __future__ import annotations

import numpy as np
import pytest

from packager.frontend.load import load_model
from packager.passes.fold_dequantize import FoldDequantize
from packager.passes.graph import array
from tests.frontend.models import Array, add_initializer, op_types, parse, random
from tests.passes.support import apply, untouched

DICE = np.random.default_rng(0)
LEVELS = DICE.integers(-128, 128, (4, 6)).astype(np.int8)


def scales(*shape: int) -> Array:
    return np.asarray(DICE.uniform(0.1, 2, shape), np.float32)


def text(attributes: str = "", *, zero: str = ", z") -> str:
    return (
        f"g (float[2, 4] x) => (float[a, b] y) {{ w = DequantizeLinear {attributes} (q, s{zero}) y = MatMul (x, w) }}"
    )


@pytest.mark.parametrize(
    ("attributes", "weights"),
    [
        ("", {"s": scales()[()], "z": np.array(3, np.int8)}),
        ("<axis = 0>", {"s": scales(4), "z": DICE.integers(-9, 9, 4).astype(np.int8)}),
        ("", {"s": scales(6), "z": DICE.integers(-9, 9, 6).astype(np.int8)}),
        ("<axis = -2>", {"s": scales(4), "z": DICE.integers(-9, 9, 4).astype(np.int8)}),
    ],
)
def test_weights_become_floats(attributes: str, weights: dict[str, Array]) -> None:
    weights = {name: np.asarray(value) for name, value in weights.items()}
    assert op_types(apply(FoldDequantize(), text(attributes), q=LEVELS, **weights)) == ["MatMul"]


def test_the_zero_point_may_be_left_out() -> None:
    assert op_types(apply(FoldDequantize(), text(zero=""), q=LEVELS, s=np.asarray(scales(6)))) == ["MatMul"]


def test_blocks_have_their_own_scales() -> None:
    blocked = parse(text("<axis = 0, block_size = 2>", zero=""), opset=21, ir_version=10)
    model = load_model(add_initializer(blocked, q=LEVELS, s=scales(2, 6))).model
    scale = array(model.graph.initializers["s"])
    FoldDequantize()(model)
    assert op_types(model) == ["MatMul"]
    assert scale is not None
    np.testing.assert_array_equal(
        array(model.graph[0].inputs[1]), LEVELS.astype(np.float32) * np.repeat(scale, 2, axis=0)
    )


def test_differences_of_32_bit_levels_do_not_overflow() -> None:
    levels = np.full((4, 6), 2**31 - 1, np.int32)
    model = apply(FoldDequantize(), text(zero=""), q=levels, s=np.asarray(np.float32(2**-31)))
    assert op_types(model) == ["MatMul"]


def test_scales_that_are_computed_stay() -> None:
    body = "g (float[4, 6] x, float s) => (float[a, b] y) { w = DequantizeLinear (q, s) y = Add (x, w) }"
    untouched(FoldDequantize(), body, q=LEVELS)


def test_activations_stay() -> None:
    body = """g (float[4, 6] x) => (float[a, b] y) {
        l = QuantizeLinear (x, s, z) y = DequantizeLinear (l, s, z)
    }"""
    untouched(FoldDequantize(), body, s=np.asarray(np.float32(0.5)), z=np.asarray(np.int8(1)))


def test_a_graph_output_keeps_its_node() -> None:
    body = "g (float[4, 6] x) => (float[a, b] y, float[c, d] w) { w = DequantizeLinear (q, s) y = Add (x, w) }"
    untouched(FoldDequantize(), body, q=LEVELS, s=np.asarray(scales(6)))


def test_other_constants_are_left_to_folding() -> None:
    untouched(FoldDequantize(), "g (float[4] x) => (float[a] y) { y = Add (x, w) }", w=random(4))
