"""OneHot, ReverseSequence, Trilu, CumSum, CumProd and TopK."""

from __future__ import annotations

import math

import onnx_ir as ir

from packager.lower.context import LoweringContext
from packager.lower.registry import lowering
from packager.ops.arguments import axis_attribute, constant_ints, normalised_axis, required, required_operand
from packager.ops.elements import element
from packager.program import Descriptor, DType, Kernel, KernelCall

ONE_HOT = Kernel("ep_one_hot", "ep_sequence.h", splits=True)
REVERSE = Kernel("ep_reverse_sequence", "ep_sequence.h", fallible=True)
TRILU = Kernel("ep_trilu", "ep_sequence.h", splits=True)
_SCAN = {
    dtype: Kernel(f"ep_scan_{suffix}", "ep_scan.h", splits=True)
    for dtype, suffix in (
        (DType.FLOAT32, "f32"),
        (DType.FLOAT64, "f64"),
        (DType.INT32, "s32"),
        (DType.INT64, "s64"),
        (DType.UINT32, "u32"),
        (DType.UINT64, "u64"),
    )
}
_TOPK = {
    dtype: Kernel(f"ep_topk_{suffix}", "ep_topk.h", splits=True)
    for dtype, suffix in (
        (DType.FLOAT32, "f32"),
        (DType.FLOAT64, "f64"),
        (DType.INT8, "s8"),
        (DType.INT16, "s16"),
        (DType.INT32, "s32"),
        (DType.INT64, "s64"),
        (DType.UINT8, "u8"),
        (DType.UINT16, "u16"),
        (DType.UINT32, "u32"),
        (DType.UINT64, "u64"),
    )
}


@lowering("OneHot")
def one_hot(node: ir.Node, ctx: LoweringContext) -> KernelCall:
    """``y[o, d, i] = values[d == indices[o, i]]``; ONNX OneHot-11.  The depth is a constant."""
    indices, values = required(node, 0, ctx), required_operand(node, 2, ctx)
    dims = ctx.shape(node.outputs[0])
    axis = axis_attribute(node, len(dims), ctx, default=-1)
    outer = math.prod(dims[:axis])
    descriptor = Descriptor.of(
        "ep_one_hot_desc",
        size=ctx.dtype(node.outputs[0]).size,
        index=element(indices, node, ctx),
        outer=outer,
        depth=dims[axis],
        inner=math.prod(dims[axis + 1 :]),
    )
    inputs = (required_operand(node, 0, ctx), values)
    return ctx.call(ONE_HOT, node, ctx.outputs(node), inputs, descriptor, extent=outer)


@lowering("ReverseSequence")
def reverse_sequence(node: ir.Node, ctx: LoweringContext) -> KernelCall:
    """The first ``sequence_lens[b]`` steps of each batch entry in reverse; ONNX ReverseSequence-10."""
    x = required(node, 0, ctx)
    dims = ctx.shape(x)
    batch_axis, time_axis = node.attributes.get_int("batch_axis", 1), node.attributes.get_int("time_axis", 0)
    if {batch_axis, time_axis} != {0, 1}:
        raise ctx.unsupported(node, f"batch_axis {batch_axis} and time_axis {time_axis} are not 0 and 1")
    inner = math.prod(dims[2:])
    strides = (dims[1] * inner, inner)
    descriptor = Descriptor.of(
        "ep_reverse_desc",
        size=ctx.dtype(x).size,
        batch=dims[batch_axis],
        time=dims[time_axis],
        inner=inner,
        batch_stride=strides[batch_axis],
        time_stride=strides[time_axis],
    )
    return ctx.call(REVERSE, node, ctx.outputs(node), ctx.inputs(node), descriptor)


@lowering("Trilu")
def trilu(node: ir.Node, ctx: LoweringContext) -> KernelCall:
    """The upper or lower triangle of matrices, zeros elsewhere; ONNX Trilu-14.  ``k`` is a constant."""
    x = required(node, 0, ctx)
    dims = ctx.shape(x)
    k = constant_ints(node, 1, "k", ctx) or (0,)
    columns = dims[-1]
    descriptor = Descriptor.of(
        "ep_trilu_desc",
        size=ctx.dtype(x).size,
        rows=dims[-2],
        columns=columns,
        k=min(max(k[0], -dims[-2] - 1), columns + 1),
        upper=bool(node.attributes.get_int("upper", 1)),
    )
    inputs = (required_operand(node, 0, ctx),)
    return ctx.call(TRILU, node, ctx.outputs(node), inputs, descriptor, extent=math.prod(dims[:-1]))


@lowering("CumSum", "CumProd")
def scan(node: ir.Node, ctx: LoweringContext) -> KernelCall:
    """Running sums or products along an axis; ONNX CumSum-14, CumProd-26.  The axis is a constant."""
    x = required(node, 0, ctx)
    dims, dtype = ctx.shape(x), ctx.dtype(x)
    if dtype not in _SCAN:
        raise ctx.unsupported(node, f"{dtype.label} tensors")
    axis = normalised_axis((constant_ints(node, 1, "axis", ctx) or (0,))[0], len(dims), node, ctx)
    outer = math.prod(dims[:axis])
    descriptor = Descriptor.of(
        "ep_scan_desc",
        outer=outer,
        axis=dims[axis],
        inner=math.prod(dims[axis + 1 :]),
        exclusive=bool(node.attributes.get_int("exclusive", 0)),
        reverse=bool(node.attributes.get_int("reverse", 0)),
        product=node.op_type == "CumProd",
    )
    inputs = (required_operand(node, 0, ctx),)
    return ctx.call(_SCAN[dtype], node, ctx.outputs(node), inputs, descriptor, extent=outer, in_place=((0, 0),))


@lowering("TopK")
def top_k(node: ir.Node, ctx: LoweringContext) -> KernelCall:
    """The k best values along an axis and their indices, sorted also where that is not asked for; ONNX TopK-24."""
    x = required(node, 0, ctx)
    dims, dtype = ctx.shape(x), ctx.dtype(x)
    if dtype not in _TOPK:
        raise ctx.unsupported(node, f"{dtype.label} tensors")
    axis = axis_attribute(node, len(dims), ctx, default=-1)
    (k,) = constant_ints(node, 1, "K", ctx) or (0,)
    if not 0 < k <= dims[axis]:
        raise ctx.unsupported(node, f"K = {k} of an axis of extent {dims[axis]}")
    outer = math.prod(dims[:axis])
    descriptor = Descriptor.of(
        "ep_topk_desc",
        outer=outer,
        axis=dims[axis],
        inner=math.prod(dims[axis + 1 :]),
        k=k,
        largest=bool(node.attributes.get_int("largest", 1)),
    )
    inputs = (required_operand(node, 0, ctx),)
    return ctx.call(_TOPK[dtype], node, ctx.outputs(node), inputs, descriptor, extent=outer)
