"""OneHot, ReverseSequence, Trilu, CumSum and TopK."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from packager.errors import ModelError
from tests.ops.agreement import ISAS, assert_agrees, compiled, numbers
from tests.support import node_model, run_model
from tests.support.harness import KernelStatusError

X = numbers(2, 5, 3, 4)


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.float32])
def test_one_hot_ignores_indices_outside(dtype: type[Any], axis: int, isa: str) -> None:
    feeds = {"i": np.array([[0, -1, 3], [7, 2, -9]]).astype(dtype), "v": np.array([2, 5], np.float32)}
    constants = {"depth": np.array(4)}
    model = node_model("OneHot", feeds, constants=constants, order=["i", "depth", "v"], axis=axis)
    assert_agrees(model, feeds, isa)


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("time_axis", [0, 1])
def test_reverse_sequence_turns_the_beginning_of_each_entry(time_axis: int, isa: str) -> None:
    batch = X.shape[1 - time_axis]
    feeds = {"x": X, "l": np.arange(batch) % X.shape[time_axis] + 1}
    model = node_model("ReverseSequence", feeds, time_axis=time_axis, batch_axis=1 - time_axis)
    assert_agrees(model, feeds, isa)


def test_a_sequence_longer_than_the_axis_ends_the_run() -> None:
    feeds = {"x": X, "l": np.array([1, 6])}
    with pytest.raises(KernelStatusError):
        run_model(node_model("ReverseSequence", feeds, time_axis=1, batch_axis=0), feeds)


@pytest.mark.parametrize("upper", [0, 1])
@pytest.mark.parametrize("k", [-2, 0, 1, 100, -100])
def test_trilu_keeps_one_side_of_a_diagonal(k: int, upper: int) -> None:
    assert_agrees(node_model("Trilu", {"x": X}, constants={"k": np.array(k)}, upper=upper), {"x": X}, "avx2")


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("exclusive", [0, 1])
@pytest.mark.parametrize("reverse", [0, 1])
@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_cum_sum_runs_along_the_axis(dtype: type[Any], reverse: int, exclusive: int, isa: str) -> None:
    x = numbers(2, 5, 3, dtype=dtype)
    constants = {"axis": np.array(-2)}
    model = node_model("CumSum", {"x": x}, constants=constants, exclusive=exclusive, reverse=reverse)
    assert_agrees(model, {"x": x}, isa)


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("largest", [0, 1])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_top_k_gives_the_first_of_equals(axis: int, largest: int, isa: str) -> None:
    x = np.random.default_rng(0).integers(-3, 4, (3, 9, 2))
    constants = {"k": np.array([2])}
    model = node_model("TopK", {"x": x}, ("values", "indices"), constants=constants, axis=axis, largest=largest)
    assert_agrees(model, {"x": x}, isa)


def test_top_k_may_sort_the_whole_axis() -> None:
    x = numbers(2, 40)
    model = node_model("TopK", {"x": x}, ("values", "indices"), constants={"k": np.array([40])})
    assert_agrees(model, {"x": x}, "avx2")


def test_a_k_known_at_run_time_only_is_refused() -> None:
    feeds = {"x": X, "k": np.array([2])}
    with pytest.raises(ModelError):
        compiled(node_model("TopK", feeds, ("values", "indices")))
