"""Cast between every pair of element types, and the values at which conversions go wrong."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import onnx
import onnx.helper as oh
import pytest

from tests.support.harness import Array, best_isa, node_model, run_model

FLOATS = ["float16", "bfloat16", "float32", "float64"]
INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
ALL = [*FLOATS, *INTEGERS, "bool"]

SANITIZED = ("-O1", "-fsanitize=undefined,float-cast-overflow", "-fno-sanitize-recover=all")


def dtype_of(name: str) -> np.dtype[np.generic]:
    return np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)


def cast_to_all(x: Array, targets: list[str], flags: tuple[str, ...] = ("-O1",)) -> dict[str, Array]:
    """``x`` cast to each of ``targets`` by one compiled model."""
    kinds = {name: oh.np_dtype_to_tensor_dtype(dtype_of(name)) for name in targets}
    graph = oh.make_graph(
        [oh.make_node("Cast", ["x"], [f"to_{name}"], to=kind) for name, kind in kinds.items()],
        "casts",
        [oh.make_tensor_value_info("x", oh.np_dtype_to_tensor_dtype(x.dtype), x.shape)],
        [oh.make_tensor_value_info(f"to_{name}", kind, x.shape) for name, kind in kinds.items()],
    )
    model = oh.make_model(graph, opset_imports=[oh.make_opsetid("", 21)], ir_version=10)
    onnx.checker.check_model(model)
    results = run_model(model, {"x": x}, isa=best_isa(), flags=flags)
    return {name: results[f"to_{name}"].view(dtype_of(name)) for name in targets}


@pytest.mark.parametrize("source", ALL)
def test_values_that_both_types_hold_survive(source: str) -> None:
    x = np.array([0, 1, 2, 100, 7, 1, 0], dtype_of(source))
    results = cast_to_all(x, [name for name in ALL if name != source])
    for name, result in results.items():
        np.testing.assert_array_equal(result, x.astype(dtype_of(name)), err_msg=name)


def saturated(value: float, dtype: str) -> int:
    """``value`` without its fraction, as near as ``dtype`` can come."""
    limits = np.iinfo(dtype)
    whole = math.copysign(2**100, value) if math.isinf(value) else value
    return max(int(limits.min), min(int(limits.max), int(whole)))


@pytest.mark.parametrize("source", ["float32", "float64"])
def test_floats_go_toward_zero_and_saturate(source: str) -> None:
    values = [-2.9, -0.9, 0.9, 2.9, 127.9, -128.9, 255.9, 1e3, -1e3, 1e10, -1e10, 1e30, -1e30, math.inf, -math.inf]
    edges = [float(2**power) for power in (7, 8, 15, 16, 31, 32, 63, 64)]
    x = np.array([*values, *edges, *(-edge for edge in edges)], source)
    for name, result in cast_to_all(x, INTEGERS, SANITIZED).items():
        wanted = [saturated(value, name) for value in x.tolist()]
        np.testing.assert_array_equal(result, np.array(wanted, name), err_msg=name)


def test_nan_becomes_zero_and_true() -> None:
    results = cast_to_all(np.array([math.nan], np.float32), [*INTEGERS, "bool"], SANITIZED)
    assert {name: int(result[0]) for name, result in results.items()} == {**dict.fromkeys(INTEGERS, 0), "bool": 1}


@pytest.mark.parametrize("source", INTEGERS)
def test_integers_keep_their_low_bits(source: str) -> None:
    limits = np.iinfo(source)
    x = np.array([limits.min, limits.max, limits.max // 2 + 1, limits.max // 3], source)
    for name, result in cast_to_all(x, [name for name in INTEGERS if name != source]).items():
        np.testing.assert_array_equal(result, x.astype(name), err_msg=name)


@pytest.mark.parametrize("half", ["float16", "bfloat16"])
def test_every_half_is_read_exactly(half: str) -> None:
    x = np.arange(1 << 16, dtype=np.uint16).view(dtype_of(half))
    result = cast_to_all(x, ["float32"])["float32"]
    np.testing.assert_array_equal(result, x.astype(np.float32))


@pytest.mark.parametrize("half", ["float16", "bfloat16"])
def test_floats_round_to_the_nearest_half_ties_to_even(half: str) -> None:
    every = np.arange(0x7C00 if half == "float16" else 0x7F80, dtype=np.uint16).view(dtype_of(half)).astype(np.float32)
    between = (every[:-1].astype(np.float64) + every[1:]) / 2
    ties = between.astype(np.float32)
    x = np.concatenate([every, ties, np.nextafter(ties, np.float32(0)), np.nextafter(ties, np.float32(np.inf))])
    x = np.concatenate([x, -x, np.array([math.inf, -math.inf, math.nan, 65519.0, 65520.0, 3.4e38], np.float32)])
    with np.errstate(over="ignore"):
        wanted = x.astype(dtype_of(half))
    result = cast_to_all(x, [half])[half]
    numbers = ~np.isnan(x)
    np.testing.assert_array_equal(result[numbers].view(np.uint16), wanted[numbers].view(np.uint16))
    assert np.isnan(result[~numbers].astype(np.float32)).all()


def test_cast_like_takes_the_type_of_its_second_input_only() -> None:
    x, like = np.array([1.9, -2.9, 0.0], np.float32), np.array([[5, 6]], np.int16)
    results = run_model(node_model("CastLike", {"x": x, "like": like}), {"x": x, "like": like}, isa=best_isa())
    assert results["y"].dtype == np.int16
    assert results["y"].tolist() == [1, -2, 0]
