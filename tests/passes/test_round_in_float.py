"""RoundInFloat."""

from __future__ import annotations

import numpy as np
import pytest

from packager.passes.round_in_float import RoundInFloat
from tests.frontend.models import Array, op_types
from tests.passes.support import apply, untouched

TEXT = (
    "g (float[2, 9] x) => (float[2, 9] y) { q = QuantizeLinear (x, s, z) d = DequantizeLinear (q, t, u) y = Neg (d) }"
)


def parameters(scale: float, zero: int, dtype: str) -> dict[str, Array]:
    number, offset = np.array(scale, np.float32), np.array(zero, dtype)
    return {"s": number, "z": offset, "t": number, "u": offset}


@pytest.mark.parametrize(("dtype", "zero"), [("int8", 0), ("int8", -128), ("uint8", 3), ("int16", 5), ("uint16", 7)])
@pytest.mark.parametrize("scale", [0.01, 0.25])
def test_a_value_that_is_quantized_and_read_back_is_rounded_in_float(dtype: str, zero: int, scale: float) -> None:
    model = apply(RoundInFloat(), TEXT, **parameters(scale, zero, dtype))
    assert op_types(model) == ["Div", "Round", "Clip", "Mul", "Neg"]


def test_every_reader_of_the_levels_gets_its_own_steps() -> None:
    text = (
        "g (float[2, 9] x) => (float[2, 9] y) { q = QuantizeLinear (x, s, z) a = DequantizeLinear (q, s, z) "
        "b = DequantizeLinear (q, s, z) y = Mul (a, b) }"
    )
    model = apply(RoundInFloat(), text, **{k: v for k, v in parameters(0.1, 1, "int8").items() if k in "sz"})
    assert "QuantizeLinear" not in op_types(model)
    assert op_types(model).count("Round") == 2


def test_levels_that_leave_the_graph_stay_quantized() -> None:
    text = "g (float[9] x) => (float[9] y, int8[9] q) { q = QuantizeLinear (x, s, z) y = DequantizeLinear (q, s, z) }"
    model = apply(RoundInFloat(), text, **{k: v for k, v in parameters(0.1, 1, "int8").items() if k in "sz"})
    assert "QuantizeLinear" in op_types(model)
    assert "DequantizeLinear" not in op_types(model)


def test_other_parameters_on_the_way_back_are_left_alone() -> None:
    untouched(RoundInFloat(), TEXT, **(parameters(0.1, 1, "int8") | {"t": np.array(0.2, np.float32)}))
    untouched(RoundInFloat(), TEXT, **(parameters(0.1, 1, "int8") | {"u": np.array(2, np.int8)}))


def test_a_scale_for_each_index_is_left_alone() -> None:
    scales = np.linspace(0.1, 0.9, 9, dtype=np.float32)
    zeros = np.arange(9, dtype=np.int8)
    untouched(RoundInFloat(), TEXT, s=scales, z=zeros, t=scales, u=zeros)
