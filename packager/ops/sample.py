"""GridSample and RoiAlign."""

from __future__ import annotations

import math

import onnx_ir as ir

from packager.lower.context import LoweringContext
from packager.lower.registry import lowering
from packager.ops.arguments import required
from packager.program import Descriptor, DType, Kernel, KernelCall

GRID_SAMPLE = Kernel("ep_grid_sample_f32", "ep_sample.h", splits=True)
ROI_ALIGN = Kernel("ep_roi_align_f32", "ep_sample.h", fallible=True)

_TAPS = {"nearest": 1, "linear": 2, "bilinear": 2, "cubic": 4, "bicubic": 4}
_PADDING = {"zeros": "EP_GRID_ZEROS", "border": "EP_GRID_BORDER", "reflection": "EP_GRID_REFLECTION"}


def _require_float32(node: ir.Node, ctx: LoweringContext, count: int) -> None:
    for index in range(count):
        dtype = ctx.dtype(required(node, index, ctx))
        if dtype is not DType.FLOAT32:
            raise ctx.unsupported(node, f"{dtype.label} tensors")


@lowering("GridSample")
def grid_sample(node: ir.Node, ctx: LoweringContext) -> KernelCall:
    """Values of x at the positions of a grid whose coordinates go from -1 to 1; ONNX GridSample-22, 2-D and 3-D."""
    _require_float32(node, ctx, 2)
    dims, grid = ctx.shape(required(node, 0, ctx)), ctx.shape(required(node, 1, ctx))
    inside = dims[2:]
    mode = node.attributes.get_string("mode", "linear")
    padding = node.attributes.get_string("padding_mode", "zeros")
    if mode not in _TAPS or padding not in _PADDING or len(inside) not in (2, 3):
        raise ctx.unsupported(node, f"mode '{mode}' with padding_mode '{padding}' on {len(inside)} spatial axes")
    missing = 3 - len(inside)
    descriptor = Descriptor.of(
        "ep_grid_desc",
        images=dims[0],
        channels=dims[1],
        positions=math.prod(grid[1:-1]),
        axes=len(inside),
        extent=(1,) * missing + inside,
        taps=(1,) * missing + (_TAPS[mode],) * len(inside),
        padding=_PADDING[padding],
        align_corners=bool(node.attributes.get_int("align_corners", 0)),
    )
    return ctx.call(GRID_SAMPLE, node, ctx.outputs(node), ctx.inputs(node), descriptor, extent=dims[0])


@lowering("RoiAlign")
def roi_align(node: ir.Node, ctx: LoweringContext) -> KernelCall:
    """Regions of x as planes of one size, sampled between cells; ONNX RoiAlign-22."""
    _require_float32(node, ctx, 2)
    dims, out = ctx.shape(required(node, 0, ctx)), ctx.shape(node.outputs[0])
    mode = node.attributes.get_string("mode", "avg")
    transformation = node.attributes.get_string("coordinate_transformation_mode", "half_pixel")
    if mode not in ("avg", "max") or transformation not in ("half_pixel", "output_half_pixel"):
        raise ctx.unsupported(node, f"mode '{mode}' with coordinate_transformation_mode '{transformation}'")
    descriptor = Descriptor.of(
        "ep_roi_desc",
        images=dims[0],
        channels=dims[1],
        height=dims[2],
        width=dims[3],
        rois=out[0],
        out_height=out[2],
        out_width=out[3],
        sampling=node.attributes.get_int("sampling_ratio", 0),
        scale=float(node.attributes.get_float("spatial_scale", 1.0)),
        half_pixel=transformation == "half_pixel",
        maximum=mode == "max",
    )
    return ctx.call(ROI_ALIGN, node, ctx.outputs(node), ctx.inputs(node), descriptor)
