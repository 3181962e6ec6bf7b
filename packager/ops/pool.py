"""MaxPool, AveragePool and LpPool, and the global pools."""

from __future__ import annotations

import math

import onnx_ir as ir

from packager.lower.context import LoweringContext
from packager.lower.registry import LayoutRule, lowering
from packager.ops.arguments import required, required_operand
from packager.ops.windows import Window, pitches, planes, window_of
from packager.program import Descriptor, DType, FieldValue, Kernel, KernelCall

_MAX = {
    DType.FLOAT32: Kernel("ep_max_pool_f32", "ep_pooling.h", splits=True),
    DType.FLOAT64: Kernel("ep_max_pool_f64", "ep_pooling.h", splits=True),
    DType.INT8: Kernel("ep_max_pool_s8", "ep_pooling.h", splits=True),
    DType.UINT8: Kernel("ep_max_pool_u8", "ep_pooling.h", splits=True),
}
_MAX_INDEX = {
    DType.FLOAT32: Kernel("ep_max_index_f32", "ep_max_index.h", splits=True),
    DType.FLOAT64: Kernel("ep_max_index_f64", "ep_max_index.h", splits=True),
    DType.INT8: Kernel("ep_max_index_s8", "ep_max_index.h", splits=True),
    DType.UINT8: Kernel("ep_max_index_u8", "ep_max_index.h", splits=True),
}
_AVERAGE = {
    DType.FLOAT32: Kernel("ep_average_pool_f32", "ep_pooling.h", splits=True),
    DType.FLOAT64: Kernel("ep_average_pool_f64", "ep_pooling.h", splits=True),
}
_BLOCKED_MAX = {b: Kernel(f"ep_max_pool_f32x{b}", "ep_pooling.h", splits=True) for b in (4, 8, 16)}
_BLOCKED_AVERAGE = {b: Kernel(f"ep_average_pool_f32x{b}", "ep_pooling.h", splits=True) for b in (4, 8, 16)}
_GLOBAL = {
    block: Kernel(f"ep_global_average_f32{f'x{block}' if block else ''}", "ep_global_pool.h", splits=True)
    for block in (0, 4, 8, 16)
}
_LP = Kernel("ep_lp_pool_f32", "ep_lp_pool.h", splits=True)


@lowering("MaxPool", layout=LayoutRule.SPATIAL)
def max_pool(node: ir.Node, ctx: LoweringContext) -> KernelCall:
    """``y[o]`` = the maximum of x over a window; ONNX MaxPool-22, with Indices and storage_order.

    Plain, or x and y blocked with one block (float32, without Indices).
    """
    window = window_of(node, ctx)
    if len(node.outputs) > 1 and node.outputs[1].name:
        return _max_with_indices(node, ctx, window)
    return _pool(node, ctx, window, average=False)


@lowering("AveragePool", layout=LayoutRule.SPATIAL)
def average_pool(node: ir.Node, ctx: LoweringContext) -> KernelCall:
    """``y[o]`` = the mean of x over a window, padding left out or (count_include_pad) counted; ONNX AveragePool-22.

    Plain, or x and y blocked with one block (float32).
    """
    window = window_of(node, ctx)
    if window.is_whole and not any(window.after) and ctx.dtype(node.outputs[0]) is DType.FLOAT32:
        return _global_average(node, ctx)
    return _pool(node, ctx, window, average=True)


@lowering("LpPool")
def lp_pool(node: ir.Node, ctx: LoweringContext) -> KernelCall:
    """``y[o]`` = the p-norm of x over a window; ONNX LpPool-22."""
    return _lp(node, ctx, window_of(node, ctx))


@lowering("GlobalAveragePool", layout=LayoutRule.SPATIAL)
def global_average_pool(node: ir.Node, ctx: LoweringContext) -> KernelCall:
    """``y[n, c]`` = the mean of a channel; ONNX GlobalAveragePool-22.

    Plain to plain; blocked to blocked or to plain (float32).
    """
    if ctx.dtype(node.outputs[0]) is DType.FLOAT32:
        return _global_average(node, ctx)
    return _pool(node, ctx, _whole(node, ctx), average=True)


@lowering("GlobalMaxPool", layout=LayoutRule.SPATIAL)
def global_max_pool(node: ir.Node, ctx: LoweringContext) -> KernelCall:
    """``y[n, c]`` = the maximum of a channel; ONNX GlobalMaxPool-22.

    Plain, or x and y blocked with one block (float32).
    """
    return _pool(node, ctx, _whole(node, ctx), average=False)


@lowering("GlobalLpPool")
def global_lp_pool(node: ir.Node, ctx: LoweringContext) -> KernelCall:
    """``y[n, c]`` = the p-norm of a channel; ONNX GlobalLpPool-22."""
    return _lp(node, ctx, _whole(node, ctx))


def _whole(node: ir.Node, ctx: LoweringContext) -> Window:
    """The window that covers a plane; planes of more than two axes count as one long row."""
    value = required(node, 0, ctx)
    inside = ctx.shape(value)[2:]
    if ctx.format(value).is_plain:
        inside = (math.prod(inside),)
    ones = (1,) * len(inside)
    zeros = (0,) * len(inside)
    return Window(inside, ones, inside, ones, ones, zeros, zeros)


def _pool(node: ir.Node, ctx: LoweringContext, window: Window, *, average: bool) -> KernelCall:
    x, y = required(node, 0, ctx), node.outputs[0]
    x_format, y_format, dtype = ctx.format(x), ctx.format(y), ctx.dtype(y)
    assert x_format.block == y_format.block, f"{node.op_type} of one block into another"
    plain = _AVERAGE if average else _MAX
    if dtype not in plain or (x_format.block and dtype is not DType.FLOAT32):
        raise ctx.unsupported(node, f"{dtype.label} tensors")
    blocked = _BLOCKED_AVERAGE if average else _BLOCKED_MAX
    kernel = blocked[x_format.block] if x_format.block else plain[dtype]
    descriptor = Descriptor.of(
        "ep_window_desc",
        **_fields(node, ctx, window),
        count_padding=bool(average and node.attributes.get_int("count_include_pad", 0)),
    )
    return ctx.call(
        kernel,
        node,
        (ctx.buffer(y),),
        (required_operand(node, 0, ctx),),
        descriptor,
        extent=planes(x_format, ctx.shape(x)),
    )


def _fields(node: ir.Node, ctx: LoweringContext, window: Window) -> dict[str, FieldValue]:
    x, y = required(node, 0, ctx), node.outputs[0]
    x_dims, y_dims = ctx.shape(x), ctx.shape(y)
    if ctx.format(x).is_plain:
        x_dims, y_dims = (*x_dims[:2], *window.inside), (*y_dims[:2], *window.outside)
    return window.fields((ctx.format(x), x_dims), (ctx.format(y), y_dims))


def _max_with_indices(node: ir.Node, ctx: LoweringContext, window: Window) -> KernelCall:
    x, y = required(node, 0, ctx), node.outputs[0]
    dtype = ctx.dtype(y)
    assert ctx.format(x).is_plain, "MaxPool with Indices is plain"
    assert ctx.format(y).is_plain, "MaxPool with Indices is plain"
    if dtype not in _MAX_INDEX:
        raise ctx.unsupported(node, f"{dtype.label} tensors")
    depth, height, width = (1,) * (3 - len(window.inside)) + window.inside
    by_rows, by_columns = (height * width, width, 1), (1, depth, depth * height)
    columns = node.attributes.get_int("storage_order", 0)
    descriptor = Descriptor.of(
        "ep_max_index_desc",
        window=(*_fields(node, ctx, window).values(), False),
        index=by_columns if columns else by_rows,
    )
    return ctx.call(
        _MAX_INDEX[dtype],
        node,
        (ctx.buffer(y), ctx.buffer(node.outputs[1])),
        (required_operand(node, 0, ctx),),
        descriptor,
        extent=planes(ctx.format(x), ctx.shape(x)),
    )


def _global_average(node: ir.Node, ctx: LoweringContext) -> KernelCall:
    x, y = required(node, 0, ctx), node.outputs[0]
    dims, x_format, y_format = ctx.shape(x), ctx.format(x), ctx.format(y)
    plane, (_, row, _) = pitches(x_format, dims)
    if x_format.is_plain:
        height, width = 1, math.prod(dims[2:])
    else:
        _, _, height, width, _ = x_format.extents(dims)
    y_plane, _ = pitches(y_format, ctx.shape(y))
    descriptor = Descriptor.of(
        "ep_global_desc",
        height=height,
        width=width,
        x_plane=plane,
        x_row=row,
        y_plane=y_plane,
        blocks=1 if x_format.is_plain else x_format.extents(dims)[1],
        channels=dims[1] if x_format.block and y_format.is_plain else 0,
    )
    assert y_format.is_plain or x_format.block == y_format.block, f"{node.op_type} of one block into another"
    return ctx.call(
        _GLOBAL[x_format.block],
        node,
        (ctx.buffer(y),),
        (required_operand(node, 0, ctx),),
        descriptor,
        extent=planes(x_format, dims),
    )


def _lp(node: ir.Node, ctx: LoweringContext, window: Window) -> KernelCall:
    x, y = required(node, 0, ctx), node.outputs[0]
    if ctx.dtype(y) is not DType.FLOAT32:
        raise ctx.unsupported(node, f"{ctx.dtype(y).label} tensors")
    descriptor = Descriptor.of(
        "ep_lp_desc", window=(*_fields(node, ctx, window).values(), False), p=node.attributes.get_int("p", 2)
    )
    return ctx.call(
        _LP,
        node,
        (ctx.buffer(y),),
        (required_operand(node, 0, ctx),),
        descriptor,
        extent=planes(ctx.format(x), ctx.shape(x)),
    )
