"""Values at which element-wise operators go wrong: infinities, NaN, zeros, integer limits, exponents, doubles."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import onnx
import onnx.helper as oh
import pytest

from tests.support.harness import ISAS, Array, best_isa, node_model, run_model

EVERY_ISA = [name for name in ISAS if ISAS[name][0].lanes <= ISAS[best_isa()][0].lanes]


def number(value: float) -> Array:
    return np.array(value, np.float32)


SPECIAL = np.array(
    [
        0.0,
        -0.0,
        1.0,
        -1.0,
        math.inf,
        -math.inf,
        math.nan,
        1e-45,
        -1e-40,
        3.4e38,
        -3.4e38,
        0.5,
        -0.5,
        1.5,
        2.5,
        88.8,
        -104,
    ],
    np.float32,
)

FUNCTIONS: dict[str, Callable[[Array], Array]] = {
    "Relu": lambda x: np.maximum(x, 0),
    "Sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "Tanh": np.tanh,
    "Exp": np.exp,
    "Log": np.log,
    "Sqrt": np.sqrt,
    "Reciprocal": lambda x: 1 / x,
    "Round": np.round,
    "Floor": np.floor,
    "Ceil": np.ceil,
    "Sign": np.sign,
    "Softplus": lambda x: np.logaddexp(x, 0),
    "LeakyRelu": lambda x: np.where(x < 0, 0.01 * x, x),
    "Elu": lambda x: np.where(x > 0, x, np.expm1(x)),
    "HardSigmoid": lambda x: np.clip(0.2 * x + 0.5, 0, 1),
    "Abs": np.abs,
    "Neg": np.negative,
}


@pytest.mark.parametrize("isa", EVERY_ISA)
def test_infinities_nan_zeros_and_denormals_give_what_numpy_gives(isa: str) -> None:
    nodes = [oh.make_node(op_type, ["x"], [op_type]) for op_type in FUNCTIONS]
    graph = oh.make_graph(
        nodes,
        "values",
        [oh.make_tensor_value_info("x", onnx.TensorProto.FLOAT, SPECIAL.shape)],
        [oh.make_tensor_value_info(op_type, onnx.TensorProto.FLOAT, SPECIAL.shape) for op_type in FUNCTIONS],
    )
    model = oh.make_model(graph, opset_imports=[oh.make_opsetid("", 21)], ir_version=10)
    results = run_model(model, {"x": SPECIAL}, isa=isa)
    with np.errstate(all="ignore"):
        for op_type, function in FUNCTIONS.items():
            wanted = function(SPECIAL.astype(np.float64)).astype(np.float32)
            np.testing.assert_allclose(results[op_type], wanted, rtol=4e-7, atol=1e-44, err_msg=op_type)


INTEGER_TYPES = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]


@pytest.mark.parametrize("dtype", INTEGER_TYPES)
def test_integers_wrap_around_and_division_by_zero_is_defined(dtype: str) -> None:
    limits = np.iinfo(dtype)
    edge = np.array([limits.min, limits.max, 0, 1, 7, limits.max - 1], dtype)
    edge = np.concatenate([edge, np.array([-1, -7], dtype)]) if limits.min < 0 else edge
    a, b = (grid.reshape(-1) for grid in np.meshgrid(edge, edge))
    operators = ["Add", "Sub", "Mul", "Div", "Mod", "Max", "Min"]
    graph = oh.make_graph(
        [oh.make_node(op_type, ["a", "b"], [op_type]) for op_type in operators],
        "integers",
        [oh.make_tensor_value_info(name, oh.np_dtype_to_tensor_dtype(a.dtype), a.shape) for name in ("a", "b")],
        [oh.make_tensor_value_info(name, oh.np_dtype_to_tensor_dtype(a.dtype), a.shape) for name in operators],
    )
    model = oh.make_model(graph, opset_imports=[oh.make_opsetid("", 21)], ir_version=10)
    sanitized = ("-O1", "-fsanitize=undefined", "-fno-sanitize-recover=all")
    results = run_model(model, {"a": a, "b": b}, isa=best_isa(), flags=sanitized)
    with np.errstate(all="ignore"):
        wide = [(int(x), int(y)) for x, y in zip(a, b, strict=True)]
        np.testing.assert_array_equal(results["Add"], a + b)
        np.testing.assert_array_equal(results["Sub"], a - b)
        np.testing.assert_array_equal(results["Mul"], a * b)
        np.testing.assert_array_equal(results["Max"], np.maximum(a, b))
        np.testing.assert_array_equal(results["Min"], np.minimum(a, b))
        np.testing.assert_array_equal(results["Mod"], [x % y if y else 0 for x, y in wide])
        quotients = [abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1) if y else 0 for x, y in wide]
        wrapped = [(q - limits.min) % (limits.max - limits.min + 1) + limits.min for q in quotients]
        np.testing.assert_array_equal(results["Div"], wrapped)


@pytest.mark.parametrize("fmod", [0, 1])
def test_mod_of_floats_is_exact_for_large_quotients(fmod: int) -> None:
    a = np.array([1e30, -1e30, 7.5, -7.5, 5.3, 0.0, math.inf, 3.0, math.nan], np.float32)
    b = np.array([3.7, 3.7, 2.0, 2.0, -2.1, 3.0, 2.0, math.inf, 1.0], np.float32)
    feeds = {"a": a, "b": b}
    model = node_model("Mod", feeds, fmod=fmod)  # onnx wants 1 for floats; exporters write 0 nevertheless
    with np.errstate(invalid="ignore"):
        wanted = np.fmod(a.astype(np.float64), b)
    if fmod == 0:
        wanted = np.where((wanted != 0) & ((wanted < 0) != (b < 0)), wanted + b, wanted)
    results = run_model(model, feeds, isa=best_isa())
    np.testing.assert_allclose(results["y"], wanted.astype(np.float32), rtol=1e-7)


@pytest.mark.parametrize("exponent", [-1, 0, 0.5, -0.5, 1, 2, 3, 4, 2.5, -2])
def test_constant_exponents_give_the_power(exponent: float) -> None:
    x = np.array([0.25, 1.0, 3.0, 10.0, -2.0, -0.0, math.inf], np.float32)
    model = node_model("Pow", {"x": x}, constants={"e": number(exponent)})
    with np.errstate(all="ignore"):
        wanted = np.power(x.astype(np.float64), exponent).astype(np.float32)
    np.testing.assert_allclose(run_model(model, {"x": x}, isa=best_isa())["y"], wanted, rtol=3e-7)


def test_clip_bounds_may_be_computed_at_run_time() -> None:
    feeds = {"x": np.linspace(-2, 2, 60, dtype=np.float32).reshape(3, 20), "low": number(-0.5), "high": number(0.25)}
    results = run_model(node_model("Clip", feeds), feeds, isa=best_isa())
    np.testing.assert_array_equal(results["y"], np.clip(feeds["x"], -0.5, 0.25))


def test_clip_with_crossed_bounds_gives_the_upper_one() -> None:
    x = np.linspace(-2, 2, 20, dtype=np.float32)
    model = node_model("Clip", {"x": x}, constants={"low": number(1), "high": number(-1)})
    np.testing.assert_array_equal(run_model(model, {"x": x}, isa=best_isa())["y"], np.full(20, -1, np.float32))


DOUBLE_FUNCTIONS: dict[str, Callable[[Array], Array]] = {
    "Exp": np.exp,
    "Tanh": np.tanh,
    "Sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "Sin": np.sin,
    "Cos": np.cos,
    "Tan": np.tan,
    "Atan": np.arctan,
    "Sinh": np.sinh,
    "Cosh": np.cosh,
    "Asinh": np.arcsinh,
    "Erf": np.vectorize(math.erf),
    "Softplus": lambda x: np.logaddexp(x, 0),
    "Floor": np.floor,
    "Round": np.round,
}


def test_doubles_keep_their_precision() -> None:
    x = np.concatenate([np.linspace(-9.5, 9.5, 77), [1e-9, -1e-300, 0.0]])
    graph = oh.make_graph(
        [oh.make_node(op_type, ["x"], [op_type]) for op_type in DOUBLE_FUNCTIONS],
        "doubles",
        [oh.make_tensor_value_info("x", onnx.TensorProto.DOUBLE, x.shape)],
        [oh.make_tensor_value_info(op_type, onnx.TensorProto.DOUBLE, x.shape) for op_type in DOUBLE_FUNCTIONS],
    )
    model = oh.make_model(graph, opset_imports=[oh.make_opsetid("", 21)], ir_version=10)
    results = run_model(model, {"x": x}, isa=best_isa())
    for op_type, function in DOUBLE_FUNCTIONS.items():
        np.testing.assert_allclose(results[op_type], function(x), rtol=2e-14, atol=1e-15, err_msg=op_type)


def test_truth_values_are_negated_and_combined() -> None:
    a, b = (np.array(values) for values in ([True, True, False, False], [True, False, True, False]))
    operators = {"And": a & b, "Or": a | b, "Xor": a ^ b, "Equal": a == b, "Not": ~a}
    graph = oh.make_graph(
        [oh.make_node(op_type, ["a", "b"][: 1 + (op_type != "Not")], [op_type]) for op_type in operators],
        "truth",
        [oh.make_tensor_value_info(name, onnx.TensorProto.BOOL, a.shape) for name in ("a", "b")],
        [oh.make_tensor_value_info(name, onnx.TensorProto.BOOL, a.shape) for name in operators],
    )
    model = oh.make_model(graph, opset_imports=[oh.make_opsetid("", 21)], ir_version=10)
    results = run_model(model, {"a": a, "b": b}, isa=best_isa())
    for op_type, wanted in operators.items():
        np.testing.assert_array_equal(results[op_type], wanted, err_msg=op_type)
