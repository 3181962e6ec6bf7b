"""GridSample and RoiAlign."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from packager.errors import ModelError
from tests.ops.agreement import ISAS, assert_agrees, compiled, numbers, reference
from tests.support import node_model, run_model
from tests.support.harness import KernelStatusError

SANITIZED = ("-O1", "-fsanitize=undefined,float-cast-overflow", "-fno-sanitize-recover=all")


@pytest.mark.parametrize("align", [0, 1])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_grid_sample_agrees_inside_and_far_outside(mode: str, padding: str, align: int) -> None:
    feeds = {"x": numbers(2, 3, 5, 4), "grid": numbers(2, 6, 7, 2, seed=1) * 1.5}
    model = node_model("GridSample", feeds, opset=20, mode=mode, padding_mode=padding, align_corners=align)
    if (mode, padding) == ("cubic", "border"):
        # "use border values for out-of-bound grid locations": ONNX's reference moves the location to the border,
        # onnxruntime moves only the cells around it
        np.testing.assert_allclose(run_model(model, feeds)["y"], reference(model, feeds), rtol=1e-4, atol=1e-4)
    else:
        assert_agrees(model, feeds, ISAS[1], rtol=1e-4)


@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_grid_sample_has_two_or_three_spatial_axes(mode: str) -> None:
    feeds = {"x": numbers(1, 2, 3, 5, 4), "grid": numbers(1, 2, 3, 4, 3, seed=1)}
    assert_agrees(node_model("GridSample", feeds, opset=20, mode=mode), feeds, "scalar", rtol=1e-4)


@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_positions_that_are_no_numbers_read_nothing_outside(mode: str, padding: str) -> None:
    wild = np.array([np.nan, np.inf, -np.inf, 1e30, -1e30, 3e9], np.float32)
    feeds = {"x": numbers(1, 1, 3, 3), "grid": np.stack([wild, wild[::-1]], axis=-1)[None, None]}
    model = node_model("GridSample", feeds, opset=20, mode=mode, padding_mode=padding)
    assert run_model(model, feeds, flags=SANITIZED)["y"].shape == (1, 1, 1, 6)


BOXES = np.array([[0, 0, 6, 4], [1.5, 2.5, 3, 9], [-3, -2, 1, 1], [5, 5, 2, 2]], np.float32)


@pytest.mark.parametrize("sampling", [0, 2])
@pytest.mark.parametrize("transformation", ["half_pixel", "output_half_pixel"])
@pytest.mark.parametrize("mode", ["avg", "max"])
def test_roi_align_samples_every_bin(mode: str, transformation: str, sampling: int) -> None:
    feeds = {"x": numbers(2, 3, 8, 9), "rois": BOXES[:3], "batch": np.array([0, 1, 1])}
    attributes: dict[str, Any] = {"output_height": 3, "output_width": 2, "sampling_ratio": sampling}
    attributes |= {"coordinate_transformation_mode": transformation, "spatial_scale": 0.8, "mode": mode}
    assert_agrees(node_model("RoiAlign", feeds, opset=16, **attributes), feeds, ISAS[1], rtol=1e-4)


def test_a_region_of_no_image_ends_the_run() -> None:
    feeds = {"x": numbers(2, 1, 4, 4), "rois": BOXES, "batch": np.array([0, 1, 2, 0])}
    with pytest.raises(KernelStatusError):
        run_model(node_model("RoiAlign", feeds, opset=16), feeds, flags=SANITIZED)


def test_other_types_are_refused() -> None:
    feeds = {"x": numbers(1, 1, 4, 4).astype(np.float64), "grid": numbers(1, 2, 2, 2)}
    with pytest.raises(ModelError, match="float64"):
        compiled(node_model("GridSample", feeds, opset=20))
