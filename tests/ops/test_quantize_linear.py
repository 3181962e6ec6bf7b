"""QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear as operators of their own."""

from __future__ import annotations

import math

import numpy as np
import pytest

from packager.errors import ModelError
from tests.support.harness import Array, best_isa, compile_program, node_model, run_model

TYPES = ["int8", "uint8", "int16", "uint16"]


def quantized(x: Array, scale: Array, zero: Array) -> Array:
    """The operator's text in numpy: float32 division, half to even, saturation."""
    limits = np.iinfo(zero.dtype)
    with np.errstate(over="ignore"):
        level = np.asarray(np.round(x / scale), np.float64)
    return np.clip(level + zero, limits.min, limits.max).astype(zero.dtype)


@pytest.mark.parametrize("dtype", TYPES)
def test_ties_round_to_even_before_the_zero_point_is_added(dtype: str) -> None:
    zero = np.array(5, dtype)
    x = np.array([0.5, 1.5, 2.5, -0.5, -1.5, 3.49, 3.51], np.float32)
    model = node_model("QuantizeLinear", {"x": x}, constants={"scale": np.array(1, np.float32), "zero": zero})
    results = run_model(model, {"x": x}, isa=best_isa())
    np.testing.assert_array_equal(results["y"], np.array([5, 7, 7, 5, 3, 8, 9], dtype))


@pytest.mark.parametrize("dtype", TYPES)
def test_huge_values_and_infinities_saturate_and_nan_is_the_zero_point(dtype: str) -> None:
    limits, zero = np.iinfo(dtype), np.array(3, dtype)
    x = np.array([1e38, -1e38, math.inf, -math.inf, math.nan, 1e9, -1e9], np.float32)
    model = node_model("QuantizeLinear", {"x": x}, constants={"scale": np.array(0.1, np.float32), "zero": zero})
    sanitized = ("-O1", "-fsanitize=undefined,float-cast-overflow", "-fno-sanitize-recover=all")
    results = run_model(model, {"x": x}, isa=best_isa(), flags=sanitized)
    high, low = limits.max, limits.min
    np.testing.assert_array_equal(results["y"], np.array([high, low, high, low, 3, high, low], dtype))


@pytest.mark.parametrize("constant", [True, False], ids=["constant", "computed"])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_each_index_of_the_axis_has_its_own_scale_there_and_back(axis: int, constant: bool) -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(3, 5, 7)).astype(np.float32)
    count = x.shape[axis]
    extra: dict[str, Array] = {
        "scale": np.linspace(0.01, 0.1, count, dtype=np.float32),
        "zero": np.linspace(3, 250, count, dtype=np.uint8),
    }
    inputs, constants = ({}, extra) if constant else (extra, {})
    feeds = {"x": x, **inputs}
    shape = [1, 1, 1]
    shape[axis] = count
    scale, zero = (array.reshape(shape) for array in extra.values())
    wanted = quantized(x, scale, zero)
    model = node_model("QuantizeLinear", feeds, constants=constants, axis=axis)
    np.testing.assert_array_equal(run_model(model, feeds, isa=best_isa())["y"], wanted)
    feeds["x"] = wanted
    model = node_model("DequantizeLinear", feeds, constants=constants, axis=axis)
    back = run_model(model, feeds, isa=best_isa())["y"]
    np.testing.assert_array_equal(back, (wanted.astype(np.int32) - zero.astype(np.int32)).astype(np.float32) * scale)


def test_blocks_along_the_axis_have_their_own_scale() -> None:
    rng = np.random.default_rng(2)
    x = rng.normal(size=(2, 12, 3)).astype(np.float32)
    scale = rng.uniform(0.01, 0.1, (2, 3, 3)).astype(np.float32)
    zero = rng.integers(-20, 20, (2, 3, 3)).astype(np.int8)
    model = node_model("QuantizeLinear", {"x": x}, constants={"s": scale, "z": zero}, axis=1, block_size=4)
    results = run_model(model, {"x": x}, isa=best_isa())
    wanted = quantized(x, np.repeat(scale, 4, axis=1), np.repeat(zero, 4, axis=1))
    np.testing.assert_array_equal(results["y"], wanted)


def test_blocks_that_do_not_fill_the_axis_are_refused() -> None:
    x = np.zeros((2, 10), np.float32)
    model = node_model("QuantizeLinear", {"x": x}, constants={"s": np.ones((2, 3), np.float32)}, axis=1, block_size=4)
    with pytest.raises(ModelError, match="whole number of blocks"):
        compile_program(model)


def test_int32_sums_are_dequantized_without_a_zero_point() -> None:
    x = np.array([-(2**31), 2**31 - 1, 0, 12345], np.int32)
    model = node_model("DequantizeLinear", {"x": x}, constants={"scale": np.array(0.5, np.float32)})
    results = run_model(model, {"x": x}, isa=best_isa())
    np.testing.assert_array_equal(results["y"], x.astype(np.float32) * np.float32(0.5))


@pytest.mark.parametrize("isa", ["scalar", best_isa()])
@pytest.mark.parametrize("shift", [-4.0, 0.0, 4.0])
def test_dynamic_quantization_covers_the_range_and_zero(isa: str, shift: float) -> None:
    x = (np.random.default_rng(3).normal(size=(3, 19)) + shift).astype(np.float32)
    results = run_model(node_model("DynamicQuantizeLinear", {"x": x}, ["y", "scale", "zero"]), {"x": x}, isa=isa)
    low, high = min(x.min(), np.float32(0)), max(x.max(), np.float32(0))
    scale = (high - low) / np.float32(255)
    zero = np.uint8(np.clip(np.round(-low / scale), 0, 255))
    assert results["scale"] == scale
    assert results["zero"] == zero
    np.testing.assert_array_equal(results["y"], quantized(x, scale, np.array(zero)))


def test_dynamic_quantization_of_zeros_has_scale_one() -> None:
    x = np.zeros((4,), np.float32)
    results = run_model(node_model("DynamicQuantizeLinear", {"x": x}, ["y", "scale", "zero"]), {"x": x})
    assert results["scale"].item() == 1.0
    assert results["zero"].item() == 0
    assert results["y"].tolist() == [0, 0, 0, 0]
