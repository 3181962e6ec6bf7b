"""Reshape, Transpose, Slice, Split, Pad, Expand, Tile, DepthToSpace and SpaceToDepth."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx.helper as oh
import pytest

from packager.errors import ModelError
from packager.ops.slice import slice_range
from packager.ops.views import Axis, View, collapse
from tests.ops.agreement import ISAS, assert_agrees, compiled, counting, kernels, network
from tests.support import node_model

X = counting(2, 3, 5, 7)
ints = np.array


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("perm", [(0, 2, 3, 1), (3, 2, 1, 0), (1, 0, 2, 3), (0, 1, 3, 2), (2, 0, 3, 1)])
def test_transpose_moves_axes(perm: tuple[int, ...], isa: str) -> None:
    assert_agrees(node_model("Transpose", {"x": X}, perm=list(perm)), {"x": X}, isa)


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.float64, np.bool_])
def test_transpose_moves_elements_of_every_size(dtype: type[Any], isa: str) -> None:
    x = counting(9, 21, dtype=np.int64).astype(dtype)
    assert_agrees(node_model("Transpose", {"x": x}, perm=[1, 0]), {"x": x}, isa)


def test_a_transpose_that_moves_only_axes_of_extent_1_is_free() -> None:
    x = {"x": counting(1, 4, 6)}
    model = network(
        [
            oh.make_node("Relu", ["x"], ["a"]),
            oh.make_node("Transpose", ["a"], ["b"], perm=[1, 0, 2]),
            oh.make_node("Sqrt", ["b"], ["y"]),
        ],
        x,
        {"y": (4, 1, 6)},
    )
    assert not {"ep_copy_nd", "ep_transpose"} & set(kernels(compiled(model)))
    assert_agrees(model, x, "avx2")


@pytest.mark.parametrize("isa", ISAS)
def test_slice_takes_negative_steps_and_bounds_far_outside(isa: str) -> None:
    bounds = {
        "starts": ints([0, 3, -1]),
        "ends": ints([2**62, -9, -(2**62)]),
        "axes": ints([1, 2, -1]),
        "steps": ints([1, -1, -2]),
    }
    assert_agrees(node_model("Slice", {"x": X}, constants=bounds), {"x": X}, isa)


@pytest.mark.parametrize(
    ("bounds", "expected"),
    [
        ((0, 5, 1, 5), (0, 5)),
        ((-3, -1, 1, 5), (2, 2)),
        ((4, 1, 1, 5), (4, 0)),
        ((9, -9, -2, 5), (4, 3)),
        ((-1, -(2**63), -1, 5), (4, 5)),
    ],
)
def test_slice_bounds_are_clamped_as_numpy_does(bounds: tuple[int, int, int, int], expected: tuple[int, int]) -> None:
    start, end, step, dim = bounds
    assert slice_range(start, end, step, dim) == expected
    assert len(range(dim)[start:end:step]) == expected[1]


def test_slice_with_bounds_known_at_run_time_only_is_refused() -> None:
    bounds = {"starts": ints([0]), "ends": ints([2])}
    with pytest.raises(ModelError):
        compiled(node_model("Slice", {"x": X, **bounds}))


def test_consecutive_cells_of_a_tensor_are_a_view() -> None:
    x = {"x": counting(4, 16)}
    model = network(
        [
            oh.make_node("Exp", ["x"], ["e"]),
            oh.make_node("Split", ["e"], ["a", "b"], axis=0, num_outputs=2),
            oh.make_node("MatMul", ["a", "w"], ["ya"]),
            oh.make_node("MatMul", ["b", "w"], ["yb"]),
        ],
        {"x": x["x"] / 64},
        {"ya": (2, 3), "yb": (2, 3)},
        w=counting(16, 3) / 48,
    )
    assert not {"ep_copy_nd", "ep_transpose"} & set(kernels(compiled(model)))
    assert_agrees(model, {"x": x["x"] / 64}, "avx2")


@pytest.mark.parametrize("isa", ISAS)
def test_split_gives_uneven_parts(isa: str) -> None:
    assert_agrees(node_model("Split", {"x": X}, ("a", "b", "c"), axis=3, num_outputs=3), {"x": X}, isa)
    parts = {"split": ints([1, 4])}
    assert_agrees(node_model("Split", {"x": X}, ("a", "b"), constants=parts, axis=-2), {"x": X}, isa)


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("mode", ["constant", "reflect", "edge", "wrap"])
def test_pad_adds_and_removes_cells(mode: str, isa: str) -> None:
    pads = {"pads": ints([0, 1, 2, -1, 1, 0, -1, 3])}
    assert_agrees(node_model("Pad", {"x": X}, constants=pads, mode=mode), {"x": X}, isa)


@pytest.mark.parametrize("isa", ISAS)
def test_pad_takes_axes_and_a_value_computed_at_run_time(isa: str) -> None:
    value = np.full((1,), 7, np.float32)
    model = node_model(
        "Pad",
        {"x": X, "value": value},
        constants={"pads": ints([3, 2]), "axes": ints([-1])},
        order=["x", "pads", "value", "axes"],
    )
    assert_agrees(model, {"x": X, "value": value}, isa)


def test_reflected_padding_may_be_wider_than_the_axis() -> None:
    x = counting(1, 3)
    model = node_model("Pad", {"x": x}, constants={"pads": ints([0, 2, 0, 2])}, mode="reflect")
    assert_agrees(model, {"x": x}, "scalar")


@pytest.mark.parametrize("isa", ISAS)
def test_tile_and_expand_repeat_cells(isa: str) -> None:
    x = counting(1, 3, 1, 4)
    assert_agrees(node_model("Tile", {"x": x}, constants={"r": ints([2, 1, 3, 2])}), {"x": x}, isa)
    assert_agrees(node_model("Expand", {"x": x}, constants={"s": ints([2, 2, 3, 5, 1])}), {"x": x}, isa)


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("mode", ["DCR", "CRD"])
def test_depth_to_space_orders_blocks_by_mode(mode: str, isa: str) -> None:
    x = counting(2, 27, 2, 3)
    assert_agrees(node_model("DepthToSpace", {"x": x}, blocksize=3, mode=mode), {"x": x}, isa)


@pytest.mark.parametrize("isa", ISAS)
def test_space_to_depth_undoes_depth_to_space(isa: str) -> None:
    x = counting(2, 3, 4, 6)
    assert_agrees(node_model("SpaceToDepth", {"x": x}, blocksize=2), {"x": x}, isa)


@pytest.mark.parametrize("op_type", ["Identity", "Flatten"])
def test_a_graph_output_never_shares_memory_with_a_graph_input(op_type: str) -> None:
    program = compiled(node_model(op_type, {"x": X}))
    (given,), (made,) = program.inputs, program.outputs
    assert given.operand != made.operand
    assert kernels(program) == ["ep_copy_nd"]
    assert_agrees(node_model(op_type, {"x": X}), {"x": X}, "avx2")


def test_axes_that_run_on_are_one_loop() -> None:
    whole = View.of((2, 3, 4))
    assert collapse(whole, whole) == [Axis(24, 1, 1)]
    assert collapse(whole.slice(1, 1, 2), View.of((2, 2, 4))) == [Axis(2, 12, 8), Axis(8, 1, 1)]
    assert collapse(whole.permute((0, 2, 1)), View.of((2, 4, 3))) == [Axis(2, 12, 12), Axis(4, 1, 3), Axis(3, 4, 1)]
