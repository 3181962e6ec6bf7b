"""Concat: without copies where it can be, right wherever."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnx.helper as oh
import pytest

from tests.ops.agreement import ISAS, assert_agrees, compiled, kernels, network, numbers
from tests.support import node_model


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_concat_joins_tensors_and_constants_along_any_axis(axis: int, isa: str) -> None:
    dims = [[2, 3, 4] for _ in range(3)]
    for part, extent in zip(dims, (1, 5, 2), strict=True):
        part[axis] = extent
    a, b, c = (numbers(*part, seed=seed) for seed, part in enumerate(dims))
    model = node_model("Concat", {"a": a, "b": b}, constants={"c": c}, order=["a", "c", "b"], axis=axis)
    assert_agrees(model, {"a": a, "b": b}, isa)


def _joined(*parts: str, axis: int = 0, extent: int, **outputs: tuple[int, ...]) -> onnx.ModelProto:
    """Parts a = exp x and b = sqrt |x| (4 x 8 each), joined, then negated."""
    return network(
        [
            oh.make_node("Exp", ["x"], ["a"]),
            oh.make_node("Abs", ["x"], ["m"]),
            oh.make_node("Reshape", ["m", "flat"], ["f"]),
            oh.make_node("Reshape", ["f", "square"], ["b"]),
            oh.make_node("Concat", list(parts), ["j"], axis=axis),
            oh.make_node("Neg", ["j"], ["y"]),
        ],
        {"x": numbers(4, 8)},
        {"y": (extent, 8) if axis == 0 else (4, extent), **outputs},
        flat=np.array([32]),
        square=np.array([4, 8]),
    )


def test_producers_write_straight_into_the_output_also_through_a_reshape() -> None:
    model = _joined("a", "b", extent=8)
    assert "ep_copy_nd" not in kernels(compiled(model))
    assert_agrees(model, {"x": numbers(4, 8)}, "avx2")


def test_a_tensor_that_comes_twice_is_placed_once_and_copied_once() -> None:
    model = _joined("a", "b", "a", extent=12)
    assert kernels(compiled(model)).count("ep_copy_nd") == 1
    assert_agrees(model, {"x": numbers(4, 8)}, "avx2")


def test_a_part_that_is_a_graph_output_stays_where_it_is() -> None:
    model = _joined("a", "b", extent=8, a=(4, 8))
    assert kernels(compiled(model)).count("ep_copy_nd") == 1
    assert_agrees(model, {"x": numbers(4, 8)}, "avx2")


def test_parts_that_do_not_lie_together_are_copied() -> None:
    model = _joined("a", "b", axis=1, extent=16)
    assert {"ep_copy_nd", "ep_concat"} & set(kernels(compiled(model)))
    assert_agrees(model, {"x": numbers(4, 8)}, "avx2")


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.float64])
def test_channels_last_parts_are_joined_in_one_pass(dtype: type[Any], isa: str) -> None:
    feeds = {f"x{k}": numbers(5, 3, width, seed=k, dtype=dtype) for k, width in enumerate((1, 2, 1, 3))}
    model = node_model("Concat", feeds, axis=-1)
    assert kernels(compiled(model)) == ["ep_concat"]
    assert_agrees(model, feeds, isa)


def test_a_joined_tensor_may_be_part_of_another() -> None:
    x = numbers(2, 8)
    model = network(
        [
            oh.make_node("Exp", ["x"], ["a"]),
            oh.make_node("Tanh", ["x"], ["b"]),
            oh.make_node("Concat", ["a", "b"], ["i"], axis=0),
            oh.make_node("Sigmoid", ["x"], ["c"]),
            oh.make_node("Concat", ["c", "i", "x"], ["j"], axis=0),
            oh.make_node("Neg", ["j"], ["y"]),
        ],
        {"x": x},
        {"y": (8, 8)},
    )
    assert kernels(compiled(model)).count("ep_copy_nd") == 1  # x, which the caller owns
    assert_agrees(model, {"x": x}, "avx2")


@pytest.mark.parametrize(("batch", "copies"), [(1, 0), (2, 2)])
@pytest.mark.parametrize("channels", [(16, 32), (8, 24), (4, 12)])
def test_blocked_parts_lie_in_the_output_when_there_is_one_image(
    channels: tuple[int, int], batch: int, copies: int
) -> None:
    x = numbers(batch, 8, 9, 7)
    weights = {f"w{k}": numbers(count, 8, 3, 3, seed=k) for k, count in enumerate(channels)}
    model = network(
        [
            *(oh.make_node("Conv", ["x", f"w{k}"], [f"p{k}"], pads=[1, 1, 1, 1]) for k in range(2)),
            oh.make_node("Concat", ["p0", "p1"], ["j"], axis=1),
            oh.make_node("Conv", ["j", "last"], ["y"], pads=[1, 1, 1, 1]),
        ],
        {"x": x},
        {"y": (batch, 8, 9, 7)},
        last=numbers(8, sum(channels), 3, 3, seed=9),
        **weights,
    )
    program = compiled(model, ISAS[1])
    assert kernels(program).count("ep_copy_nd") == copies
    assert_agrees(model, {"x": x}, ISAS[1], rtol=1e-4)


@pytest.mark.parametrize("axis", [2, 3])
def test_blocked_tensors_are_joined_along_the_plane(axis: int) -> None:
    x, dims = numbers(1, 8, 6, 5), [1, 8, 6, 5]
    dims[axis] *= 2
    model = network(
        [
            oh.make_node("Conv", ["x", "w"], ["a"], pads=[1, 1, 1, 1]),
            oh.make_node("Concat", ["a", "a"], ["j"], axis=axis),
            oh.make_node("Conv", ["j", "w"], ["y"], pads=[1, 1, 1, 1]),
        ],
        {"x": x},
        {"y": tuple(dims)},
        w=numbers(8, 8, 3, 3, seed=1),
    )
    assert_agrees(model, {"x": x}, ISAS[1], rtol=1e-4)
