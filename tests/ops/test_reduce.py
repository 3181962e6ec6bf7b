from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from packager.errors import ModelError
from packager.ops.reduce import OPERATIONS, Walk
from tests.ops.linalg_network import Network, floats
from tests.support.harness import ISAS, Array, compile_program, node_model, run_model

SHAPE = (2, 3, 5, 18)
AXES = [axes for count in range(1, 5) for axes in itertools.combinations(range(4), count)]


def reduced(op_type: str, x: Array, axes: tuple[int, ...], *, keepdims: bool = True) -> Array:
    wide: Array = x.astype(np.float64)
    options: dict[str, Any] = {"axis": axes, "keepdims": keepdims}
    results = {
        "ReduceSum": lambda: wide.sum(**options),
        "ReduceMean": lambda: wide.mean(**options),
        "ReduceMax": lambda: wide.max(**options),
        "ReduceMin": lambda: wide.min(**options),
        "ReduceProd": lambda: wide.prod(**options),
        "ReduceL1": lambda: np.abs(wide).sum(**options),
        "ReduceL2": lambda: np.sqrt((wide**2).sum(**options)),
        "ReduceLogSum": lambda: np.log(wide.sum(**options)),
        "ReduceLogSumExp": lambda: np.log(np.exp(wide).sum(**options)),
        "ReduceSumSquare": lambda: (wide**2).sum(**options),
    }
    return np.asarray(results[op_type]()).astype(x.dtype)


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("op_type", OPERATIONS)
def test_any_set_of_axes(op_type: str, isa: str) -> None:
    rng = np.random.default_rng(0)
    x = floats(rng, *SHAPE)
    x = np.abs(x) if op_type in ("ReduceLogSum", "ReduceProd") else x
    network = Network()
    for axes in AXES:
        constant = np.array([axis - 4 if axis % 2 else axis for axis in axes])
        wanted = reduced(op_type, x, axes, keepdims=len(axes) % 2 == 1)
        network.node(op_type, [x, constant], wanted, constant=(1,), keepdims=len(axes) % 2)
    network.check(isa, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("op_type", OPERATIONS)
def test_no_axes_means_all_or_each_value_by_itself(op_type: str) -> None:
    x = np.abs(floats(np.random.default_rng(1), 2, 3))
    empty = np.zeros(0, np.int64)
    everything = reduced(op_type, x, (0, 1))
    network = Network()
    network.node(op_type, [x], everything)
    network.node(op_type, [x, empty], everything, constant=(1,))
    network.node(op_type, [x, empty], reduced(op_type, x, ()), constant=(1,), noop_with_empty_axes=1)
    network.node(op_type, [np.full((), 3.5, np.float32)], reduced(op_type, np.full(1, 3.5, np.float32), (0,))[0])
    network.check("avx2")


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint32, np.uint64, np.float64])
def test_wide_types(dtype: type[np.generic]) -> None:
    x: Array = np.random.default_rng(2).integers(1, 5, size=(2, 3, 4)).astype(dtype)
    logarithms = [] if dtype is not np.float64 else ["ReduceLogSum", "ReduceLogSumExp"]
    network = Network()
    for op_type in [*(name for name in OPERATIONS if not name.startswith("ReduceLog")), *logarithms]:
        for axes in [(0,), (1,), (2,), (0, 2)]:
            network.node(op_type, [x, np.array(axes)], reduced(op_type, x, axes), constant=(1,))
    network.check("sse")


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.bool_])
def test_small_types_have_a_largest_and_a_smallest_value(dtype: type[np.generic]) -> None:
    x: Array = np.random.default_rng(3).integers(-100, 100, size=(3, 7)).astype(dtype)
    network = Network(opset=20)
    network.node("ReduceMax", [x, np.array([1])], x.max(axis=1, keepdims=True), constant=(1,))
    network.node("ReduceMin", [x, np.array([0])], x.min(axis=0, keepdims=True), constant=(1,))
    network.check("sse")


@pytest.mark.parametrize("op_type", ["ReduceMax", "ReduceMin"])
@pytest.mark.parametrize("axis", [0, 1])
def test_a_nan_is_not_lost(op_type: str, axis: int) -> None:
    x = np.arange(40 * 40, dtype=np.float32).reshape(40, 40)
    x[7, 33] = np.nan
    model = node_model(op_type, {"x": x}, constants={"axes": np.array([axis])}, keepdims=0)
    got = run_model(model, {"x": x}, isa="avx512")["y"]
    assert np.isnan(got).sum() == 1


def test_infinities_in_log_sum_exp() -> None:
    x = np.array([[-np.inf, -np.inf], [np.inf, 1], [-np.inf, 2], [1000, 1000]], np.float32)
    wanted = np.array([-np.inf, np.inf, 2, 1000 + np.log(2)], np.float32)
    network = Network()
    network.node("ReduceLogSumExp", [x, np.array([1])], wanted, constant=(1,), keepdims=0)
    network.node("ReduceLogSumExp", [x.T.copy(), np.array([0])], wanted, constant=(1,), keepdims=0)
    network.check("avx2")


def test_axes_that_are_computed_are_refused() -> None:
    model = node_model("ReduceSum", {"x": np.ones((2, 3), np.float32), "axes": np.array([1])}, keepdims=1)
    model.graph.output[0].CopyFrom(node_model("ReduceSum", {"x": np.ones((2, 3), np.float32)}).graph.output[0])
    with pytest.raises(ModelError):
        compile_program(model)


def test_logarithms_of_integers_are_refused_by_name() -> None:
    with pytest.raises(ModelError, match=r"ReduceLogSum: no kernel for int32"):
        compile_program(node_model("ReduceLogSum", {"x": np.ones((2, 3), np.int32)}))


def test_neighbouring_axes_are_walked_as_one() -> None:
    assert Walk.over((2, 3, 4, 5), {2, 3}) == Walk(keep=((6, 20),), reduce=(), columns=1, row=20)
    assert Walk.over((2, 3, 4, 5), {0, 1}) == Walk(keep=(), reduce=((6, 20),), columns=20, row=1)
    assert Walk.over((2, 1, 4, 1), {1, 2}) == Walk(keep=((2, 4),), reduce=(), columns=1, row=4)
    assert Walk.over((), set()) == Walk(keep=(), reduce=(), columns=1, row=1)
