"""Gather, GatherElements and GatherND."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import onnx_ir as ir

from packager.lower.context import LoweringContext
from packager.lower.registry import lowering
from packager.ops.arguments import axis_attribute, required, required_operand
from packager.ops.elements import element
from packager.ops.tables import TableAxis, table_copy
from packager.ops.views import View, spread, view_or_copy
from packager.program import Descriptor, Kernel, KernelCall

GATHER = Kernel("ep_gather", "ep_gather.h", fallible=True)
GATHER_ELEMENTS = Kernel("ep_gather_elements", "ep_gather.h", fallible=True)
GATHER_ND = Kernel("ep_gather_nd", "ep_gather.h", fallible=True)
INDEX_RANK = 8


@lowering("Gather")
def gather(node: ir.Node, ctx: LoweringContext) -> list[KernelCall]:
    """``y[o, j..., i] = x[o, indices[j...], i]``, negative indices from the end; ONNX Gather-13.

    Constant indices are checked now and cost no more than a copy; others are checked at run time (EP_E_INDEX).
    """
    x, indices = required(node, 0, ctx), required(node, 1, ctx)
    dims = ctx.shape(x)
    axis = axis_attribute(node, len(dims), ctx)
    outer, inner = math.prod(dims[:axis]), math.prod(dims[axis + 1 :])
    known = ctx.array(indices)
    if known is not None:
        return _constant_gather(node, ctx, (outer, dims[axis], inner), checked_indices(known, dims[axis], node, ctx))
    if math.prod(ctx.shape(node.outputs[0])) == 0:
        return []
    descriptor = Descriptor.of(
        "ep_gather_desc",
        size=ctx.dtype(x).size,
        index=element(indices, node, ctx),
        outer=outer,
        axis=dims[axis],
        inner=inner,
        count=math.prod(ctx.shape(indices)),
    )
    return [ctx.call(GATHER, node, ctx.outputs(node), ctx.inputs(node), descriptor)]


def checked_indices(
    indices: npt.NDArray[np.generic], extent: int, node: ir.Node, ctx: LoweringContext
) -> tuple[int, ...]:
    """Constant indices counted from the front; ModelError when one is outside [-extent, extent)."""
    flat = [int(index) for index in indices.reshape(-1)]
    for index in flat:
        if not -extent <= index < extent:
            raise ctx.unsupported(node, f"index {index} is outside an axis of extent {extent}")
    return tuple(index % extent for index in flat)


def _constant_gather(
    node: ir.Node, ctx: LoweringContext, dims: tuple[int, int, int], indices: tuple[int, ...]
) -> list[KernelCall]:
    x, y = required(node, 0, ctx), node.outputs[0]
    outer, extent, inner = dims
    array = ctx.array(x)
    if array is not None:
        ctx.define(y, np.take(array.reshape(dims), indices, axis=1).reshape(ctx.shape(y)))
        return []
    count = len(indices)
    first = indices[0] if count else 0
    step = indices[1] - first if count > 1 else 1
    if indices == tuple(first + step * position for position in range(count)):
        return view_or_copy(ctx, node, y, x, View.of(dims).slice(1, first, count, step))
    axes = [
        TableAxis(outer, extent * inner, count * inner),
        TableAxis(count, inner, inner, indices),
        TableAxis(inner, 1, 1),
    ]
    return table_copy(ctx, node, ctx.buffer(y), (required_operand(node, 0, ctx), 0), axes)


def element_axes(
    node: ir.Node, ctx: LoweringContext, whole: tuple[int, ...], part: tuple[int, ...], axis: int
) -> dict[str, tuple[int, ...] | int]:
    """Descriptor fields that walk ``part`` (the indices) and give strides in ``whole``, 0 on ``axis``."""
    if len(whole) > INDEX_RANK:
        raise ctx.unsupported(node, f"rank {len(whole)} (at most {INDEX_RANK})")
    if any(inner > outer for k, (inner, outer) in enumerate(zip(part, whole, strict=True)) if k != axis):
        raise ctx.unsupported(node, f"indices of shape {list(part)} reach past data of shape {list(whole)}")
    strides = View.of(whole).strides
    return {
        "extent": spread(part, INDEX_RANK, 1),
        "strides": spread([0 if k == axis else stride for k, stride in enumerate(strides)], INDEX_RANK, 0),
        "axis": whole[axis],
        "axis_stride": strides[axis],
    }


@lowering("GatherElements")
def gather_elements(node: ir.Node, ctx: LoweringContext) -> list[KernelCall]:
    """``y[.., j, ..] = x[.., indices[.., j, ..], ..]``; ONNX GatherElements-13."""
    x, indices = required(node, 0, ctx), required(node, 1, ctx)
    dims, part = ctx.shape(x), ctx.shape(indices)
    axis = axis_attribute(node, len(dims), ctx)
    if math.prod(part) == 0:
        return []
    known = ctx.array(indices)
    if known is not None:
        checked_indices(known, dims[axis], node, ctx)
    fields = element_axes(node, ctx, dims, part, axis)
    descriptor = Descriptor.of(
        "ep_gather_elements_desc",
        size=ctx.dtype(x).size,
        index=element(indices, node, ctx),
        extent=fields["extent"],
        xs=fields["strides"],
        axis=fields["axis"],
        axis_stride=fields["axis_stride"],
    )
    return [ctx.call(GATHER_ELEMENTS, node, ctx.outputs(node), ctx.inputs(node), descriptor)]


def tuple_axes(node: ir.Node, ctx: LoweringContext, dims: tuple[int, ...], depth: int) -> tuple[int, ...]:
    """Strides of the first ``depth`` axes of ``dims``; ModelError when there are not as many."""
    if not 1 <= depth <= min(len(dims), INDEX_RANK):
        raise ctx.unsupported(node, f"index tuples of {depth} entries for data of rank {len(dims)}")
    return View.of(dims).strides[:depth]


@lowering("GatherND")
def gather_nd(node: ir.Node, ctx: LoweringContext) -> list[KernelCall]:
    """``y[b..., t..., i...] = x[b..., indices[b..., t..., :]..., i...]``; ONNX GatherND-13."""
    x, indices = required(node, 0, ctx), required(node, 1, ctx)
    batch = node.attributes.get_int("batch_dims", 0)
    dims, part = ctx.shape(x), ctx.shape(indices)
    depth = part[-1]
    strides = tuple_axes(node, ctx, dims[batch:], depth)
    if math.prod(ctx.shape(node.outputs[0])) == 0:
        return []
    batches = math.prod(dims[:batch])
    descriptor = Descriptor.of(
        "ep_gather_nd_desc",
        size=ctx.dtype(x).size,
        index=element(indices, node, ctx),
        batches=batches,
        tuples=math.prod(part[batch:-1]),
        depth=depth,
        inner=math.prod(dims[batch + depth :]),
        x_batch=math.prod(dims[batch:]),
        extent=_from_left(dims[batch : batch + depth], 1),
        xs=_from_left(strides, 0),
    )
    return [ctx.call(GATHER_ND, node, ctx.outputs(node), ctx.inputs(node), descriptor)]


def _from_left(values: tuple[int, ...], filler: int) -> tuple[int, ...]:
    return values + (filler,) * (INDEX_RANK - len(values))
