"""The coordinates and weights of ONNX Resize-19, as tables over one axis."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from packager.ops.tables import HOLE

Reals = npt.NDArray[np.float32]


@dataclass(frozen=True)
class ResizeAxis:
    """One axis: extents, the scale the coordinates use, the crop region (start, end) as fractions of the axis."""

    inside: int
    outside: int
    scale: float
    roi: tuple[float, float] = (0.0, 1.0)

    def is_identity(self, mode: str) -> bool:
        """Whether every position maps to itself under coordinate transformation ``mode``."""
        cropped = mode == "tf_crop_and_resize" and self.roi != (0.0, 1.0)
        return self.inside == self.outside and math.isclose(self.scale, 1.0) and not cropped


def source_coordinates(axis: ResizeAxis, mode: str) -> Reals:
    """``x_original`` of every output position, in single precision as runtimes compute it.

    Lengths are those of the tensors (integers), also where a fractional scale gave them.  KeyError for an unknown
    coordinate transformation mode.
    """
    return _COORDINATES[mode](np.arange(axis.outside, dtype=np.float32), axis)


def _half_pixel(position: Reals, axis: ResizeAxis) -> Reals:
    return (position + np.float32(0.5)) / np.float32(axis.scale) - np.float32(0.5)


def _tf_half_pixel(position: Reals, axis: ResizeAxis) -> Reals:
    """Resize-11 only; converters keep it."""
    return (position + np.float32(0.5)) / np.float32(axis.scale)


def _half_pixel_symmetric(position: Reals, axis: ResizeAxis) -> Reals:
    adjustment = axis.outside / (axis.scale * axis.inside)
    return np.float32(axis.inside / 2 * (1 - adjustment)) + _half_pixel(position, axis)


def _pytorch_half_pixel(position: Reals, axis: ResizeAxis) -> Reals:
    return _half_pixel(position, axis) if axis.outside > 1 else np.zeros_like(position)


def _align_corners(position: Reals, axis: ResizeAxis) -> Reals:
    if axis.outside == 1:
        return np.zeros_like(position)
    return position * np.float32(axis.inside - 1) / np.float32(axis.outside - 1)


def _asymmetric(position: Reals, axis: ResizeAxis) -> Reals:
    return position / np.float32(axis.scale)


def _crop(position: Reals, axis: ResizeAxis) -> Reals:
    start, end = (np.float32(edge) for edge in axis.roi)
    last = np.float32(axis.inside - 1)
    if axis.outside == 1:
        return np.full_like(position, np.float32(0.5) * (start + end) * last)
    return start * last + position * (end - start) * last / np.float32(axis.outside - 1)


_COORDINATES: dict[str, Callable[[Reals, ResizeAxis], Reals]] = {
    "half_pixel": _half_pixel,
    "half_pixel_symmetric": _half_pixel_symmetric,
    "pytorch_half_pixel": _pytorch_half_pixel,
    "align_corners": _align_corners,
    "asymmetric": _asymmetric,
    "tf_half_pixel_for_nn": _tf_half_pixel,
    "tf_crop_and_resize": _crop,
}
COORDINATE_MODES = tuple(_COORDINATES)

_ROUNDINGS: dict[str, Callable[[Reals], Reals]] = {
    "round_prefer_floor": lambda x: np.ceil(x - np.float32(0.5)),
    "round_prefer_ceil": lambda x: np.floor(x + np.float32(0.5)),
    "floor": np.floor,
    "ceil": np.ceil,
}
NEAREST_MODES = tuple(_ROUNDINGS)


def nearest_indices(axis: ResizeAxis, mode: str, rounding: str) -> tuple[int, ...]:
    """The source index of every output position; HOLE where tf_crop_and_resize leaves the tensor."""
    x = source_coordinates(axis, mode)
    rounded = np.clip(_ROUNDINGS[rounding](x).astype(np.int64), 0, axis.inside - 1)
    return tuple(int(index) for index in np.where(_outside(axis, mode, x), HOLE, rounded))


@dataclass(frozen=True)
class Filter:
    """``linear`` or ``cubic`` with its options."""

    kind: str
    cubic_a: float = -0.75
    antialias: bool = False
    exclude_outside: bool = False


def resampling_tables(
    axis: ResizeAxis, mode: str, kernel: Filter
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]:
    """(indices, weights), each [outside, taps]; the indices of a position outside a crop region are HOLE."""
    x = source_coordinates(axis, mode)
    shrink = min(axis.scale, 1.0) if kernel.antialias else 1.0
    radius = math.ceil((1 if kernel.kind == "linear" else 2) / shrink)
    base = np.floor(x).astype(np.int64)
    offsets = np.arange(1 - radius, radius + 1)
    indices = base[:, None] + offsets[None, :]
    distances = np.abs(indices - x[:, None].astype(np.float64)) * shrink
    weights = _linear(distances) if kernel.kind == "linear" else _cubic(distances, kernel.cubic_a)
    inside = (indices >= 0) & (indices < axis.inside)
    if kernel.exclude_outside:
        weights = np.where(inside, weights, 0.0)
    if kernel.exclude_outside or kernel.antialias:
        weights /= weights.sum(axis=1, keepdims=True)
    indices = np.clip(indices, 0, axis.inside - 1)
    indices[_outside(axis, mode, x)] = HOLE
    return indices.astype(np.int32), weights.astype(np.float32)


def _outside(axis: ResizeAxis, mode: str, x: Reals) -> npt.NDArray[np.bool_]:
    return (mode == "tf_crop_and_resize") & ((x < 0) | (x > axis.inside - 1))


def _linear(distance: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    return np.clip(1.0 - distance, 0.0, 1.0)


def _cubic(distance: npt.NDArray[np.float64], a: float) -> npt.NDArray[np.float64]:
    """Keys' cubic convolution."""
    near = ((a + 2) * distance - (a + 3)) * distance**2 + 1
    far = ((distance - 5) * distance + 8) * distance * a - 4 * a
    return np.where(distance <= 1, near, np.where(distance < 2, far, 0.0))
