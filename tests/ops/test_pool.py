"""MaxPool, AveragePool, LpPool and the global pools, row-major and blocked."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnx.helper as oh
import pytest

from packager.errors import ModelError
from tests.ops.agreement import ISAS, assert_agrees, compiled, kernels, network, numbers, reference
from tests.support import node_model, run_model
from tests.support.harness import KernelStatusError

X = numbers(2, 3, 9, 11)
WINDOWS: dict[str, dict[str, Any]] = {
    "plain": {"kernel_shape": [3, 3]},
    "strided and padded": {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]},
    "ceil": {"kernel_shape": [2, 3], "strides": [2, 3], "ceil_mode": 1},
    "ceil with uneven pads": {"kernel_shape": [2, 3], "strides": [2, 3], "ceil_mode": 1, "pads": [0, 1, 1, 0]},
    "dilated": {"kernel_shape": [3, 2], "dilations": [2, 3], "pads": [1, 0, 2, 1]},
    "same upper": {"kernel_shape": [3, 4], "auto_pad": "SAME_UPPER", "strides": [2, 2]},
    "same lower": {"kernel_shape": [3, 4], "auto_pad": "SAME_LOWER"},
    "valid": {"kernel_shape": [2, 2], "auto_pad": "VALID"},
}


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("window", WINDOWS)
def test_max_pool_takes_every_window(window: str, isa: str) -> None:
    assert_agrees(node_model("MaxPool", {"x": X}, opset=22, **WINDOWS[window]), {"x": X}, isa)


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("counted", [0, 1])
@pytest.mark.parametrize("window", WINDOWS)
def test_average_pool_divides_by_the_cells_that_count(window: str, counted: int, isa: str) -> None:
    attributes = WINDOWS[window] | {"count_include_pad": counted}
    assert_agrees(node_model("AveragePool", {"x": X}, opset=19, **attributes), {"x": X}, isa)


@pytest.mark.parametrize("p", [1, 2, 3])
@pytest.mark.parametrize("window", ["strided and padded", "dilated"])
def test_lp_pool_is_the_p_norm_of_a_window(window: str, p: int) -> None:
    model = node_model("LpPool", {"x": X}, opset=18, p=p, **WINDOWS[window])
    np.testing.assert_allclose(run_model(model, {"x": X})["y"], reference(model, {"x": X}), rtol=1e-5)


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("dims", [(2, 3, 17), (2, 2, 4, 5, 6)])
@pytest.mark.parametrize("op_type", ["MaxPool", "AveragePool"])
def test_pools_have_one_to_three_spatial_axes(op_type: str, dims: tuple[int, ...], isa: str) -> None:
    x, rank = numbers(*dims), len(dims) - 2
    model = node_model(
        op_type, {"x": x}, opset=19, kernel_shape=[3] * rank, strides=[2] * rank, pads=[1] * rank + [0] * rank
    )
    assert_agrees(model, {"x": x}, isa)


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.float64])
def test_padding_is_below_every_value_of_the_type(dtype: type[Any], isa: str) -> None:
    x = (-np.abs(numbers(1, 2, 5, 5, dtype=np.int64)) - 3).clip(-100).astype(dtype)
    model = node_model("MaxPool", {"x": x}, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    assert_agrees(model, {"x": x}, isa)


def test_the_maximum_of_minus_infinities_is_minus_infinity() -> None:
    x = np.full((1, 1, 2, 2), -np.inf, np.float32)
    assert run_model(node_model("MaxPool", {"x": x}, kernel_shape=[2, 2]), {"x": x})["y"].item() == -np.inf


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("order", [0, 1])
@pytest.mark.parametrize("dims", [(1, 2, 13), (2, 3, 9, 11), (2, 2, 4, 5, 6)])
def test_indices_count_rows_or_columns(dims: tuple[int, ...], order: int, isa: str) -> None:
    x, rank = numbers(*dims), len(dims) - 2
    attributes: dict[str, Any] = {"kernel_shape": [3] * rank, "strides": [2] * rank, "pads": [1] * (2 * rank)}
    model = node_model("MaxPool", {"x": x}, ("y", "indices"), storage_order=order, **attributes)
    assert_agrees(model, {"x": x}, isa)


def test_max_unpool_puts_values_back_where_max_pool_found_them() -> None:
    x = np.abs(numbers(2, 3, 6, 8)) + 1
    model = network(
        [
            oh.make_node("MaxPool", ["x"], ["p", "i"], kernel_shape=[2, 2], strides=[2, 2]),
            oh.make_node("MaxUnpool", ["p", "i"], ["y"], kernel_shape=[2, 2], strides=[2, 2]),
        ],
        {"x": x},
        {"y": x.shape},
    )
    got = run_model(model, {"x": x})["y"]
    assert (got != 0).sum() == x.size / 4
    np.testing.assert_array_equal(got[got != 0], x[got != 0])


def test_an_unpooling_index_outside_ends_the_run() -> None:
    feeds = {"x": numbers(1, 1, 1, 2), "i": np.array([[[[0, 99]]]])}
    with pytest.raises(KernelStatusError):
        run_model(node_model("MaxUnpool", feeds, kernel_shape=[2, 2], strides=[2, 2]), feeds)


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("op_type", ["GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"])
@pytest.mark.parametrize("dims", [(2, 5, 49), (1, 3, 7, 7), (1, 2, 3, 4, 5)])
def test_global_pools_reduce_every_channel(op_type: str, dims: tuple[int, ...], isa: str) -> None:
    x = numbers(*dims)
    assert_agrees(node_model(op_type, {"x": x}), {"x": x}, isa)


BLOCKED: dict[str, dict[str, Any]] = {
    "MaxPool": WINDOWS["strided and padded"],
    "AveragePool": WINDOWS["ceil with uneven pads"] | {"count_include_pad": 1},
    "GlobalMaxPool": {},
    "GlobalAveragePool": {},
}


def _between_convolutions(op_type: str, channels: int, **attributes: Any) -> tuple[onnx.ModelProto, Any]:
    x = numbers(2, channels, 9, 11)
    nodes = [
        oh.make_node("Conv", ["x", "w"], ["a"], pads=[1, 1, 1, 1]),
        oh.make_node(op_type, ["a"], ["b"], **attributes),
        oh.make_node("Conv", ["b", "w"], ["y"], pads=[1, 1, 1, 1]),
    ]
    weights = numbers(channels, channels, 3, 3, seed=1) / 8
    model = network(nodes, {"x": x}, {"y": ()}, w=weights)
    del model.graph.output[0].type.tensor_type.shape.dim[:]
    model.graph.output[0].type.tensor_type.ClearField("shape")
    return onnx.shape_inference.infer_shapes(model), x


@pytest.mark.parametrize("channels", [16, 24, 20])
@pytest.mark.parametrize("op_type", BLOCKED)
def test_pools_work_on_blocks_of_every_width(op_type: str, channels: int) -> None:
    model, x = _between_convolutions(op_type, channels, **BLOCKED[op_type])
    block = {16: 16, 24: 8, 20: 4}[channels]
    blocked = [name for name in kernels(compiled(model, "avx512")) if name.endswith(f"pool_f32x{block}")]
    assert blocked or op_type == "GlobalAveragePool"
    assert_agrees(model, {"x": x}, ISAS[1], rtol=1e-4)


def test_an_average_over_the_whole_plane_is_the_global_kernel() -> None:
    model = node_model("AveragePool", {"x": X}, kernel_shape=[9, 11])
    assert kernels(compiled(model)) == ["ep_global_average_f32"]
    assert_agrees(model, {"x": X}, "avx2")


def test_a_ceil_window_that_starts_in_the_end_padding_is_ignored_in_old_versions_too() -> None:
    x = numbers(1, 2, 6, 5)
    attributes: dict[str, Any] = {"ceil_mode": 1, "kernel_shape": [3, 2], "pads": [1, 1, 1, 1], "strides": [3, 2]}
    got = run_model(node_model("MaxPool", {"x": x}, opset=12, **attributes), {"x": x})["y"]
    np.testing.assert_array_equal(got, reference(node_model("MaxPool", {"x": x}, opset=22, **attributes), {"x": x}))


@pytest.mark.parametrize("op_type", ["MaxPool", "AveragePool", "LpPool"])
@pytest.mark.parametrize("padding", ["SAME_UPPER", "SAME_LOWER"])
def test_ceil_mode_makes_no_difference_where_the_padding_follows_from_the_output(op_type: str, padding: str) -> None:
    x = numbers(1, 2, 3, 18)
    attributes: dict[str, Any] = {"auto_pad": padding, "kernel_shape": [2, 1], "strides": [3, 2]}
    floor, ceil = (
        run_model(node_model(op_type, {"x": x}, opset=22, ceil_mode=mode, **attributes), {"x": x})["y"]
        for mode in (0, 1)
    )
    assert floor.shape == (1, 2, 1, 9)
    np.testing.assert_array_equal(floor, ceil)


@pytest.mark.parametrize("padding", ["SAME_UPPER", "SAME_LOWER"])
def test_padding_of_the_same_size_counts_dilated_windows_as_the_text_says(padding: str) -> None:
    """onnxruntime leaves the dilation out of the padding, and gives an output smaller than the declared one."""
    x = numbers(1, 2, 9)
    model = node_model("MaxPool", {"x": x}, opset=22, auto_pad=padding, kernel_shape=[3], strides=[2], dilations=[2])
    padded = np.pad(x, ((0, 0), (0, 0), (2, 2)), constant_values=-np.inf)
    want = np.stack([padded[..., at : at + 5 : 2].max(axis=-1) for at in range(0, 10, 2)], axis=-1)
    np.testing.assert_array_equal(run_model(model, {"x": x})["y"], want)


def test_a_window_larger_than_the_padded_input_is_refused_with_both_sizes() -> None:
    """onnxruntime gives one value, by a division that rounds up; the text gives an empty output."""
    x = numbers(1, 1, 3)
    with pytest.raises(ModelError, match=r"the window of 4 is larger than the input with its padding, 3"):
        compiled(node_model("MaxPool", {"x": x}, opset=22, kernel_shape=[4], strides=[2]))


def test_windows_in_the_padding_alone_are_refused_by_name() -> None:
    x = numbers(1, 2, 6, 5)
    with pytest.raises(ModelError, match=r"MaxPool.*padding alone"):
        compiled(node_model("MaxPool", {"x": x}, kernel_shape=[2, 2], pads=[2, 0, 0, 0]))


def test_more_than_three_spatial_axes_are_refused() -> None:
    x = numbers(1, 1, 3, 3, 3, 3)
    with pytest.raises(ModelError, match="spatial axes"):
        compiled(node_model("MaxPool", {"x": x}, kernel_shape=[2, 2, 2, 2]))
