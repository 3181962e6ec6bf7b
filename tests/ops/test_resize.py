"""Resize in every mode, row-major and blocked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
import onnx.helper as oh
import pytest

from packager.errors import ModelError
from packager.ops.resample import COORDINATE_MODES, Filter, ResizeAxis, resampling_tables, source_coordinates
from tests.ops.agreement import ISAS, assert_agrees, compiled, network, numbers, reference
from tests.support import node_model, run_model
from tests.support.harness import Array

X = numbers(1, 2, 5, 7)
SCALES = {"down and up": [1.0, 1.0, 0.6, 1.7], "double": [1.0, 1.0, 2.0, 2.0]}


def model_of(
    x: Array,
    *,
    sizes: Sequence[int] | None = None,
    scales: Sequence[float] | None = None,
    roi: Sequence[float] | None = None,
    **attributes: Any,
) -> onnx.ModelProto:
    constants: dict[str, Array] = {}
    if roi is not None:
        constants["roi"] = np.array(roi, np.float32)
    if scales is not None:
        constants["scales"] = np.array(scales, np.float32)
    if sizes is not None:
        constants["sizes"] = np.array(sizes, np.int64)
    order = ["x", *(name if name in constants else "" for name in ("roi", "scales", "sizes"))]
    return node_model("Resize", {"x": x}, constants=constants, order=order, opset=19, **attributes)


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("scales", SCALES)
@pytest.mark.parametrize("mode", ["nearest", "linear"])
@pytest.mark.parametrize("coordinates", [mode for mode in COORDINATE_MODES if not mode.startswith("tf_")])
def test_resize_by_scales_agrees_in_every_coordinate_mode(coordinates: str, mode: str, scales: str, isa: str) -> None:
    model = model_of(
        X,
        scales=SCALES[scales],
        mode=mode,
        coordinate_transformation_mode=coordinates,
        nearest_mode="round_prefer_ceil",
    )
    assert_agrees(model, {"x": X}, isa)


@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_the_mode_of_tensorflow_that_version_11_had_is_kept(mode: str) -> None:
    empty = np.array([], np.float32)
    model = node_model(
        "Resize",
        {"x": X},
        constants={"roi": empty, "scales": empty, "sizes": np.array([1, 2, 9, 3])},
        opset=11,
        mode=mode,
        coordinate_transformation_mode="tf_half_pixel_for_nn",
    )
    assert_agrees(model, {"x": X}, "avx2")


@pytest.mark.parametrize("rounding", ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
def test_nearest_rounds_as_asked(rounding: str) -> None:
    assert_agrees(model_of(X, sizes=[1, 2, 10, 3], mode="nearest", nearest_mode=rounding), {"x": X}, "avx2")


@pytest.mark.parametrize("dtype", [np.uint8, np.int64, np.float64])
def test_nearest_moves_elements_of_every_size(dtype: type[Any]) -> None:
    x = numbers(1, 1, 4, 4, dtype=np.int64).astype(dtype)
    model = model_of(x, scales=[1, 1, 2, 3], mode="nearest")
    want = np.repeat(np.repeat(x, 2, axis=2), 3, axis=3)
    np.testing.assert_array_equal(run_model(model, {"x": x})["y"], want)


@pytest.mark.parametrize("antialias", [0, 1])
@pytest.mark.parametrize("exclude", [0, 1])
@pytest.mark.parametrize("mode", ["linear", "cubic"])
@pytest.mark.parametrize("sizes", [[1, 2, 3, 4], [1, 2, 7, 3]])
def test_filters_agree_with_the_reference(sizes: list[int], mode: str, exclude: int, antialias: int) -> None:
    model = model_of(X, sizes=sizes, mode=mode, exclude_outside=exclude, antialias=antialias, cubic_coeff_a=-0.5)
    want = reference(model, {"x": X})
    np.testing.assert_allclose(run_model(model, {"x": X})["y"], want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_cells_outside_a_crop_region_get_the_extrapolation_value(mode: str) -> None:
    model = model_of(
        X,
        sizes=[1, 2, 6, 5],
        roi=[0, 0, 0.2, -0.3, 1, 1, 0.8, 1.4],
        mode=mode,
        coordinate_transformation_mode="tf_crop_and_resize",
        extrapolation_value=7.0,
    )
    want = reference(model, {"x": X})
    assert (want == 7.0).any()
    np.testing.assert_allclose(run_model(model, {"x": X})["y"], want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("policy", ["not_larger", "not_smaller"])
@pytest.mark.parametrize("axes", [[2, 3], [3, 2]])
def test_the_aspect_ratio_is_kept_on_the_axes_given(axes: list[int], policy: str) -> None:
    model = model_of(X, sizes=[9, 10], axes=axes, keep_aspect_ratio_policy=policy, mode="linear")
    want = reference(model, {"x": X})
    np.testing.assert_allclose(run_model(model, {"x": X})["y"], want, rtol=1e-4, atol=1e-5)


def test_linear_resizes_one_and_three_spatial_axes() -> None:
    for dims, sizes in (((2, 3, 8), [2, 3, 13]), ((1, 2, 3, 4, 5), [1, 2, 5, 3, 9])):
        x = numbers(*dims)
        assert_agrees(model_of(x, sizes=sizes, mode="linear"), {"x": x}, "avx2")


def test_an_output_axis_of_length_1_starts_at_the_first_cell() -> None:
    axis = ResizeAxis(inside=5, outside=1, scale=0.2)
    assert source_coordinates(axis, "pytorch_half_pixel").tolist() == [0.0]
    assert source_coordinates(axis, "align_corners").tolist() == [0.0]


@pytest.mark.parametrize("kind", ["linear", "cubic"])
def test_weights_of_a_position_add_up_to_1(kind: str) -> None:
    axis = ResizeAxis(inside=9, outside=4, scale=4 / 9)
    for antialias in (False, True):
        _, weights = resampling_tables(axis, "half_pixel", Filter(kind, antialias=antialias))
        np.testing.assert_allclose(weights.sum(axis=1), 1.0, rtol=1e-6)


@pytest.mark.parametrize("channels", [16, 20])
@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_blocked_tensors_are_resized_in_place_of_a_copy(mode: str, channels: int) -> None:
    x = numbers(1, channels, 6, 5)
    model = network(
        [
            oh.make_node("Conv", ["x", "w"], ["a"], pads=[1, 1, 1, 1]),
            oh.make_node("Resize", ["a", "", "s"], ["b"], mode=mode),
            oh.make_node("Conv", ["b", "w"], ["y"], pads=[1, 1, 1, 1]),
        ],
        {"x": x},
        {"y": (1, channels, 12, 7)},
        s=np.array([1, 1, 2, 1.5], np.float32),
        w=numbers(channels, channels, 3, 3, seed=1) / 8,
    )
    program = compiled(model, ISAS[1])
    reorders = [call for call in program.body if call.kernel.name.startswith("ep_reorder")]
    assert len(reorders) <= 2
    assert_agrees(model, {"x": x}, ISAS[1], rtol=1e-4)


def test_channels_are_resized_between_convolutions_too() -> None:
    x = numbers(1, 8, 6, 5)
    model = network(
        [
            oh.make_node("Conv", ["x", "w"], ["a"], pads=[1, 1, 1, 1]),
            oh.make_node("Resize", ["a", "", "s"], ["b"], mode="nearest"),
            oh.make_node("Conv", ["b", "v"], ["y"], pads=[1, 1, 1, 1]),
        ],
        {"x": x},
        {"y": (1, 8, 6, 5)},
        s=np.array([1, 2, 1, 1], np.float32),
        w=numbers(8, 8, 3, 3, seed=1) / 8,
        v=numbers(8, 16, 3, 3, seed=2) / 8,
    )
    assert_agrees(model, {"x": x}, ISAS[1], rtol=1e-4)


def test_linear_on_integers_is_refused() -> None:
    x = numbers(1, 1, 4, 4, dtype=np.uint8)
    with pytest.raises(ModelError, match="uint8"):
        compiled(model_of(x, scales=[1, 1, 2, 2], mode="linear"))


@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_an_axis_too_long_for_exact_positions_is_refused(mode: str) -> None:
    x = numbers(1, 1, 2, 2)
    with pytest.raises(ModelError, match=r"EP0212.*an axis of 20,000,000 positions"):
        compiled(model_of(x, sizes=[1, 1, 2, 20_000_000], mode=mode))
