from __future__ import annotations

import numpy as np
import pytest

from packager.errors import ModelError
from tests.ops.linalg_network import Network, floats
from tests.support.harness import ISAS, Array, compile_program, node_model, run_model

SHAPES = [(10,), (1, 12), (3, 1), (2, 40), (2, 5, 3), (2, 3, 17), (1, 21, 4, 9)]


def softmax(x: Array, axis: int) -> Array:
    e = np.exp(x.astype(np.float64) - x.max(axis=axis, keepdims=True))
    return np.asarray(e / e.sum(axis=axis, keepdims=True))


@pytest.mark.parametrize("isa", ISAS)
def test_any_axis_of_any_shape(isa: str) -> None:
    rng = np.random.default_rng(0)
    network = Network()
    for shape in SHAPES:
        x = floats(rng, *shape) * 5
        for axis in range(-len(shape), len(shape)):
            wanted = softmax(x, axis)
            network.node("Softmax", [x], wanted.astype(np.float32), axis=axis)
            network.node("LogSoftmax", [x], np.log(wanted).astype(np.float32), axis=axis)
    network.check(isa)


def test_the_default_axis_is_the_last() -> None:
    x = floats(np.random.default_rng(1), 3, 4)
    network = Network()
    network.node("Softmax", [x], softmax(x, -1).astype(np.float32))
    network.check("avx2")


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("axis", [0, 1])
def test_extreme_values_stay_sane(isa: str, axis: int) -> None:
    x = np.array([[0, -np.inf, 1], [88, 3e38, -3e38], [-1e30, -1e30, -1e30], [1000, 1000, 1001]], np.float32)
    x = x if axis == 1 else x.T.copy()
    wanted = softmax(x, axis).astype(np.float32)
    assert np.isfinite(wanted).all()
    got = run_model(node_model("Softmax", {"x": x}, axis=axis), {"x": x}, isa=isa)["y"]
    np.testing.assert_allclose(got, wanted, rtol=1e-6)


@pytest.mark.parametrize("axis", [0, 1])
def test_a_row_without_any_finite_value_is_nan_as_the_formula_says(axis: int) -> None:
    x = np.full((2, 3), -np.inf, np.float32)
    x[1] = [1, np.nan, 2]
    x = x if axis == 1 else x.T.copy()
    assert np.isnan(run_model(node_model("Softmax", {"x": x}, axis=axis), {"x": x})["y"]).all()


def test_hardmax_marks_the_first_of_equal_values() -> None:
    network = Network()
    x = np.array([[1, 3, 3], [2, 2, 2]], np.float32)
    network.node("Hardmax", [x], np.array([[0, 1, 0], [1, 0, 0]], np.float32))
    network.node("Hardmax", [x], np.array([[0, 1, 1], [1, 0, 0]], np.float32), axis=0)
    network.check("sse")


def test_doubles_are_refused_by_name() -> None:
    with pytest.raises(ModelError, match=r"Softmax: no kernel for float64"):
        compile_program(node_model("Softmax", {"x": np.ones((2, 3))}))
