"""Normalizations."""

from __future__ import annotations

import math

import numpy as np
import onnx_ir as ir

from packager.lower.context import LoweringContext
from packager.lower.registry import lowering
from packager.ops.arguments import axis_attribute, input_at, required, required_operand
from packager.ops.softmax import around_axis
from packager.program import Buffer, Descriptor, DType, Kernel, KernelCall, Operand

LAYER_NORM = Kernel("ep_layer_norm_f32", "ep_norm.h", splits=True)
LAYER_NORM_STATS = Kernel("ep_layer_norm_stats_f32", "ep_norm.h", splits=True)
GROUP_NORM = Kernel("ep_group_norm_f32", "ep_norm.h", splits=True)
BATCH_NORM = Kernel("ep_batch_norm_f32", "ep_norm.h", splits=True)
LP_NORM = Kernel("ep_lp_norm_f32", "ep_norm.h", splits=True)
LRN = Kernel("ep_lrn_f32", "ep_norm.h", splits=True)


@lowering("LayerNormalization", "RMSNormalization")
def layer_norm(node: ir.Node, ctx: LoweringContext) -> list[KernelCall]:
    """``(x - mean) / sqrt(variance + epsilon) * scale + bias`` over the axes from ``axis`` on; RMS: without mean.

    ONNX LayerNormalization-17 with its optional outputs Mean and InvStdDev, RMSNormalization-23.
    """
    dims = _float_shape(node, ctx)
    axis = axis_attribute(node, len(dims), ctx, default=-1)
    n, outer = math.prod(dims[axis:]), math.prod(dims[:axis])
    center = node.op_type == "LayerNormalization"
    bias = _row_operand(node, 2, dims[axis:], ctx) if center else None
    scale = _row_operand(node, 1, dims[axis:], ctx)
    assert scale is not None
    descriptor = Descriptor.of(
        "ep_layer_norm_desc",
        outer=outer,
        n=n,
        epsilon=node.attributes.get_float("epsilon", 1e-5),
        center=int(center),
        has_bias=int(bias is not None),
    )
    inputs = [required_operand(node, 0, ctx), scale, bias]
    wanted = [output.name for output in node.outputs[1:]]
    if not any(wanted):
        kernel, outputs = LAYER_NORM, [ctx.buffer(node.outputs[0])]
    else:
        kernel = LAYER_NORM_STATS
        outputs = [_output_or_temporary(node, index, outer, ctx) for index in range(3)]
    return [ctx.call(kernel, node, outputs, inputs, descriptor, extent=outer, in_place=[(0, 0)])]


@lowering("InstanceNormalization", "GroupNormalization")
def group_norm(node: ir.Node, ctx: LoweringContext) -> list[KernelCall]:
    """Statistics over each image's groups of channels (instance: every channel), then a scale and bias per channel.

    ONNX InstanceNormalization-22, GroupNormalization-21.
    """
    dims = _float_shape(node, ctx)
    channels = dims[1]
    groups = channels
    if node.op_type == "GroupNormalization":
        groups = node.attributes.get_int("num_groups", 0)
        if groups <= 0 or channels % groups:
            raise ctx.unsupported(node, f"{channels} channels do not make {groups} groups")
    for index, name in ((1, "scale"), (2, "bias")):
        if ctx.shape(required(node, index, ctx)) != (channels,):
            raise ctx.unsupported(node, f"{name} needs one value for each of the {channels} channels")
    descriptor = Descriptor.of(
        "ep_group_norm_desc",
        outer=dims[0] * groups,
        groups=groups,
        channels=channels // groups,
        inner=math.prod(dims[2:]),
        epsilon=node.attributes.get_float("epsilon", 1e-5),
    )
    inputs = [required_operand(node, index, ctx) for index in range(3)]
    outputs = [ctx.buffer(node.outputs[0])]
    return [ctx.call(GROUP_NORM, node, outputs, inputs, descriptor, extent=dims[0] * groups, in_place=[(0, 0)])]


@lowering("BatchNormalization")
def batch_norm(node: ir.Node, ctx: LoweringContext) -> list[KernelCall]:
    """``(x - mean) / sqrt(variance + epsilon) * scale + bias`` by channel; ONNX BatchNormalization-15, inference only.

    The fusion passes fold constant statistics into neighbours; this serves statistics that are computed.
    """
    if node.attributes.get_int("training_mode", 0):
        raise ctx.unsupported(node, "training_mode=1 is not supported", "export the model in evaluation mode")
    dims = _float_shape(node, ctx)
    channels = dims[1] if len(dims) > 1 else 1
    descriptor = Descriptor.of(
        "ep_batch_norm_desc",
        outer=dims[0] * channels,
        channels=channels,
        inner=math.prod(dims[2:]),
        epsilon=node.attributes.get_float("epsilon", 1e-5),
    )
    inputs = [required_operand(node, index, ctx) for index in range(5)]
    outputs = [ctx.buffer(node.outputs[0])]
    return [ctx.call(BATCH_NORM, node, outputs, inputs, descriptor, extent=dims[0] * channels, in_place=[(0, 0)])]


@lowering("LpNormalization")
def lp_norm(node: ir.Node, ctx: LoweringContext) -> list[KernelCall]:
    """``x / (sum |x|^p)^(1/p)`` along ``axis``, 0 where the norm is 0; ONNX LpNormalization-22."""
    dims = _float_shape(node, ctx)
    outer, axis, inner = around_axis(dims, axis_attribute(node, len(dims), ctx, default=-1))
    p = node.attributes.get_int("p", 2)
    if p not in (1, 2):
        raise ctx.unsupported(node, f"p={p}: only 1 and 2 are defined")
    descriptor = Descriptor.of("ep_lp_norm_desc", outer=outer, axis=axis, inner=inner, p=p)
    outputs, inputs = [ctx.buffer(node.outputs[0])], [required_operand(node, 0, ctx)]
    return [ctx.call(LP_NORM, node, outputs, inputs, descriptor, extent=outer, in_place=[(0, 0)])]


@lowering("LRN")
def lrn(node: ir.Node, ctx: LoweringContext) -> list[KernelCall]:
    """``x / (bias + alpha / size * sum of squares over size neighbouring channels)^beta``; ONNX LRN-13."""
    dims = _float_shape(node, ctx)
    size = node.attributes.get_int("size", 0)
    if size < 1:
        raise ctx.unsupported(node, f"size={size} is not a window")
    descriptor = Descriptor.of(
        "ep_lrn_desc",
        outer=dims[0] * dims[1],
        channels=dims[1],
        inner=math.prod(dims[2:]),
        before=(size - 1) // 2,
        after=size // 2,
        scale=node.attributes.get_float("alpha", 1e-4) / size,
        beta=node.attributes.get_float("beta", 0.75),
        bias=node.attributes.get_float("bias", 1.0),
    )
    outputs, inputs = [ctx.buffer(node.outputs[0])], [required_operand(node, 0, ctx)]
    return [ctx.call(LRN, node, outputs, inputs, descriptor, extent=dims[0] * dims[1])]


def _float_shape(node: ir.Node, ctx: LoweringContext) -> tuple[int, ...]:
    """The shape of a float32 input 0; ModelError for other types."""
    value = required(node, 0, ctx)
    if ctx.dtype(value) is not DType.FLOAT32:
        raise ctx.unsupported(node, f"no kernel for {ctx.dtype(value).label}", "convert the model to float32")
    return ctx.shape(value)


def _row_operand(node: ir.Node, index: int, row: tuple[int, ...], ctx: LoweringContext) -> Operand | None:
    """Scale or bias with exactly the values of one normalised row; a constant is broadcast at build time."""
    value = input_at(node, index)
    if value is None:
        return None
    dims = ctx.shape(value)
    array = ctx.array(value)
    try:
        fits = np.broadcast_shapes(dims, row) == row
    except ValueError:
        fits = False
    if fits and array is not None:
        return ctx.constant(np.ascontiguousarray(np.broadcast_to(array, row)).reshape(-1), value.name or "scale")
    if not fits or math.prod(dims) != math.prod(row):
        raise ctx.unsupported(node, f"input {index} of shape {dims} does not give one value to each place of {row}")
    return ctx.operand(value)


def _output_or_temporary(node: ir.Node, index: int, count: int, ctx: LoweringContext) -> Buffer:
    """The buffer of an output, or one nobody reads where it was left out."""
    if index < len(node.outputs) and node.outputs[index].name:
        return ctx.buffer(node.outputs[index])
    return ctx.temporary((count,), DType.FLOAT32)
