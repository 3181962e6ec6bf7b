"""Resize: nearest by index tables, linear and cubic axis by axis."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import onnx_ir as ir

from packager.lower.context import LoweringContext
from packager.lower.registry import LayoutRule, lowering
from packager.ops.arguments import axes_attribute, constant_floats, constant_ints, required, required_operand
from packager.ops.resample import (
    COORDINATE_MODES,
    NEAREST_MODES,
    Filter,
    ResizeAxis,
    nearest_indices,
    resampling_tables,
)
from packager.ops.tables import HOLE, TableAxis, table_copy
from packager.ops.views import View
from packager.program import Buffer, Descriptor, DType, Format, Kernel, KernelCall, Operand

RESAMPLE = Kernel("ep_resample_f32", "ep_resample.h", splits=True)

_LONGEST = 1 << 24
"""Positions are single precision, by the text's coordinate functions in every runtime: beyond this they are not exact,
and the tables of an axis would be larger than any network."""

_Indices = npt.NDArray[np.int32]
_Weights = npt.NDArray[np.float32]


@lowering("Resize", layout=LayoutRule.SPATIAL)
def resize(node: ir.Node, ctx: LoweringContext) -> list[KernelCall]:
    """``y`` = x resampled to other extents; ONNX Resize-19 with every mode, roi and aspect ratio policy.

    Plain, or x and y blocked with one block; then only spatial axes change.  Linear and cubic are float32.
    """
    transformation = node.attributes.get_string("coordinate_transformation_mode", "half_pixel")
    if transformation not in COORDINATE_MODES:
        raise ctx.unsupported(node, f"coordinate_transformation_mode '{transformation}'")
    axes = _axes(node, ctx)
    x_format, y_format = ctx.format(required(node, 0, ctx)), ctx.format(node.outputs[0])
    assert x_format.block == y_format.block, "Resize of one block into another"
    if x_format.block and not all(axis.is_identity(transformation) for axis in axes[:2]):
        raise ctx.unsupported(node, "a change of batch or channels on a blocked tensor")
    longest = max((axis.outside for axis in axes if not axis.is_identity(transformation)), default=0)
    if longest > _LONGEST:
        raise ctx.unsupported(node, f"an axis of {longest:,} positions", f"it may have up to {_LONGEST:,}")
    mode = node.attributes.get_string("mode", "nearest")
    if mode == "nearest":
        return _nearest(node, ctx, axes, transformation)
    if mode in ("linear", "cubic"):
        return _resampled(node, ctx, axes, transformation)
    raise ctx.unsupported(node, f"mode '{mode}'")


def _axes(node: ir.Node, ctx: LoweringContext) -> list[ResizeAxis]:
    """Extents, scale and crop region of every axis of x."""
    dims, out = ctx.shape(required(node, 0, ctx)), ctx.shape(node.outputs[0])
    rank = len(dims)
    chosen = axes_attribute(node, rank, ctx)
    scales, sizes = constant_floats(node, 2, "scales", ctx), constant_ints(node, 3, "sizes", ctx)
    roi = constant_floats(node, 1, "roi", ctx) or (0.0,) * len(chosen) + (1.0,) * len(chosen)
    given = scales or sizes
    if given is None or len(given) != len(chosen) or len(roi) != 2 * len(chosen):
        raise ctx.unsupported(node, f"scales or sizes (and roi) do not have one entry for each of {len(chosen)} axes")
    if scales and min(scales) <= 0:
        raise ctx.unsupported(node, f"scales {list(scales)} are not all above 0")
    policy = node.attributes.get_string("keep_aspect_ratio_policy", "stretch")
    ratios = list(scales) if scales else [sizes[k] / dims[axis] for k, axis in enumerate(chosen)] if sizes else []
    if not scales and policy != "stretch":
        ratio = min(ratios) if policy == "not_larger" else max(ratios)
        ratios = [ratio] * len(chosen)
    by_axis = [ResizeAxis(dim, extent, 1.0) for dim, extent in zip(dims, out, strict=True)]
    for position, axis in enumerate(chosen):
        region = (roi[position], roi[position + len(chosen)])
        by_axis[axis] = ResizeAxis(dims[axis], out[axis], ratios[position], region)
    return by_axis


def _by_stored_axis(axes: list[ResizeAxis], fmt: Format) -> list[ResizeAxis]:
    """``axes`` in the order of ``Format.extents``."""
    if fmt.is_plain:
        return axes
    same = ResizeAxis(1, 1, 1.0)
    height = axes[2] if len(axes) == 4 else same
    return [axes[0], axes[1], height, axes[-1], same]


def _nearest(node: ir.Node, ctx: LoweringContext, axes: list[ResizeAxis], transformation: str) -> list[KernelCall]:
    rounding = node.attributes.get_string("nearest_mode", "round_prefer_floor")
    if rounding not in NEAREST_MODES:
        raise ctx.unsupported(node, f"nearest_mode '{rounding}'")
    x, y = required(node, 0, ctx), node.outputs[0]
    source, to = View.of(ctx.shape(x), ctx.format(x)), View.of(ctx.shape(y), ctx.format(y))
    loops = []
    holes = False
    for axis, extent, xs, ys in zip(
        _by_stored_axis(axes, ctx.format(y)), to.extents, source.strides, to.strides, strict=True
    ):
        indices = None if axis.is_identity(transformation) else nearest_indices(axis, transformation, rounding)
        holes = holes or HOLE in (indices or ())
        loops.append(TableAxis(extent, xs, ys, indices))
    fill = None
    if holes:
        value = node.attributes.get_float("extrapolation_value", 0.0)
        fill = ctx.constant(np.array(value).astype(ctx.dtype(y).numpy), "extrapolation")
    return table_copy(ctx, node, ctx.buffer(y), (required_operand(node, 0, ctx), 0), loops, fill=fill)


def _resampled(node: ir.Node, ctx: LoweringContext, axes: list[ResizeAxis], transformation: str) -> list[KernelCall]:
    x, y = required(node, 0, ctx), node.outputs[0]
    if ctx.dtype(y) is not DType.FLOAT32:
        raise ctx.unsupported(node, f"mode '{node.attributes.get_string('mode')}' on {ctx.dtype(y).label} tensors")
    kernel = Filter(
        node.attributes.get_string("mode", "linear"),
        node.attributes.get_float("cubic_coeff_a", -0.75),
        bool(node.attributes.get_int("antialias", 0)),
        bool(node.attributes.get_int("exclude_outside", 0)),
    )
    changed = [k for k, axis in enumerate(axes) if not axis.is_identity(transformation)]
    # shrinking axes first, then the innermost: what follows has less to do, and longer runs
    changed.sort(key=lambda k: (axes[k].scale >= 1, -k))
    calls: list[KernelCall] = []
    current: Operand = required_operand(node, 0, ctx)
    fmt, dims = ctx.format(x), list(ctx.shape(x))
    for step, k in enumerate(changed or [len(axes) - 1]):
        before = tuple(dims)
        dims[k] = axes[k].outside
        last = step + 1 >= len(changed)
        target_format = ctx.format(y) if last else Format(fmt.block)
        target = ctx.buffer(y) if last else ctx.temporary(tuple(dims), DType.FLOAT32, target_format)
        tables = resampling_tables(axes[k], transformation, kernel)
        ends = ((current, fmt, before), (target, target_format, tuple(dims)))
        calls.append(_resample(node, ctx, ends, k, tables))
        current, fmt = target, target_format
    return calls


_Placed = tuple[Operand, Format, tuple[int, ...]]


def _resample(
    node: ir.Node, ctx: LoweringContext, ends: tuple[_Placed, _Placed], axis: int, tables: tuple[_Indices, _Weights]
) -> KernelCall:
    """The call that resamples ``ends[0]`` into ``ends[1]`` along ``axis`` of their dims."""
    (x, x_format, x_dims), (y, y_format, y_dims) = ends
    assert isinstance(y, Buffer)
    source, target = _lines(x_format, x_dims, axis), _lines(y_format, y_dims, axis)
    indices, weights = tables
    descriptor = Descriptor.of(
        "ep_resample_desc",
        planes=target.planes,
        rows=target.rows,
        out=target.extent,
        inner=target.inner,
        taps=indices.shape[1],
        x_plane=source.plane,
        x_row=source.row,
        x_step=source.step,
        y_plane=target.plane,
        y_row=target.row,
        y_step=target.step,
        fill=float(node.attributes.get_float("extrapolation_value", 0.0)),
    )
    stem = node.name or node.op_type
    constants = (ctx.constant(indices, f"{stem}_indices"), ctx.constant(weights, f"{stem}_weights"))
    return ctx.call(RESAMPLE, node, (y,), (x, *constants), descriptor, extent=target.planes)


@dataclass(frozen=True)
class _Lines:
    """A tensor as planes x rows of lines along one axis: counts, pitches in elements, the run behind each position."""

    planes: int
    plane: int
    rows: int
    row: int
    extent: int
    step: int
    inner: int


def _lines(fmt: Format, dims: tuple[int, ...], axis: int) -> _Lines:
    view = View.of(dims, fmt)
    if fmt.is_plain:
        planes, inner = math.prod(dims[:axis]), math.prod(dims[axis + 1 :])
        return _Lines(planes, dims[axis] * inner, 1, 0, dims[axis], inner, inner)
    images, blocks, height, width, block = view.extents
    _, plane, row, cell, _ = view.strides
    if len(dims) == 4 and axis == 2:
        return _Lines(images * blocks, plane, 1, 0, height, row, width * block)
    return _Lines(images * blocks, plane, height, row, width, cell, block)
