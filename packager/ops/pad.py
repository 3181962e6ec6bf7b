"""Pad in all its modes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import onnx_ir as ir

from packager.lower.context import LoweringContext
from packager.lower.registry import lowering
from packager.ops.arguments import axes_input, constant_ints, input_at, required, required_operand
from packager.ops.tables import TableAxis, table_copy
from packager.ops.views import View, spread, view_or_copy
from packager.program import Descriptor, Kernel, KernelCall, Operand

PAD = Kernel("ep_pad", "ep_pad.h", splits=True)
PAD_RANK = 8

_NUMPY_MODES = {"reflect": "reflect", "edge": "edge", "wrap": "wrap"}


@dataclass(frozen=True)
class _Axis:
    extent: int
    before: int
    inside: int
    x: int
    y: int


@lowering("Pad")
def pad(node: ir.Node, ctx: LoweringContext) -> list[KernelCall]:
    """``y = x`` with cells added (where negative: removed) around it; ONNX Pad-24: constant, edge, reflect, wrap."""
    x = required(node, 0, ctx)
    dims = ctx.shape(x)
    before, after = _pads(node, len(dims), ctx)
    view = View.of(dims)
    for axis, dim in enumerate(dims):
        cut = min(dim, max(0, -before[axis]))
        view = view.slice(axis, cut, max(0, dim - cut - max(0, -after[axis])))
    before, after = [max(0, pad) for pad in before], [max(0, pad) for pad in after]
    mode = node.attributes.get_string("mode", "constant")
    if not any(before) and not any(after):
        return view_or_copy(ctx, node, node.outputs[0], x, view)
    if mode == "constant":
        return _constant_pad(node, ctx, view, before)
    if mode not in _NUMPY_MODES:
        raise ctx.unsupported(node, f"mode '{mode}'")
    return _table_pad(node, ctx, view, list(zip(before, after, strict=True)), mode)


def _pads(node: ir.Node, rank: int, ctx: LoweringContext) -> tuple[list[int], list[int]]:
    """Cells added before and after every axis."""
    pads = constant_ints(node, 1, "pads", ctx) or ()
    axes = axes_input(node, 3, rank, ctx)
    axes = axes if axes is not None else tuple(range(rank))
    if len(pads) != 2 * len(axes):
        raise ctx.unsupported(node, f"{len(pads)} pads for {len(axes)} axes")
    before, after = [0] * rank, [0] * rank
    for position, axis in enumerate(axes):
        before[axis], after[axis] = pads[position], pads[position + len(axes)]
    return before, after


def _fill_value(node: ir.Node, ctx: LoweringContext) -> Operand:
    """The operand with the constant: input 2, or zero."""
    value = input_at(node, 2)
    operand = ctx.operand(value)
    if operand is not None:
        return operand
    dtype = ctx.dtype(node.outputs[0])
    return ctx.constant(np.zeros((), dtype.numpy), "zero")


def _constant_pad(node: ir.Node, ctx: LoweringContext, view: View, before: list[int]) -> list[KernelCall]:
    dims = ctx.shape(node.outputs[0])
    if 0 in dims:
        return []
    rows = zip(dims, before, view.extents, view.strides, View.of(dims).strides, strict=True)
    axes = _merge([_Axis(*row) for row in rows])
    if len(axes) > PAD_RANK:
        raise ctx.unsupported(node, f"padding over {len(axes)} axes (at most {PAD_RANK})")
    if len(axes) == 1:
        axes.insert(0, _Axis(1, 0, 1, 0, 0))
    descriptor = Descriptor.of(
        "ep_pad_desc",
        size=ctx.dtype(node.outputs[0]).size,
        extent=spread([axis.extent for axis in axes], PAD_RANK, 1),
        before=spread([axis.before for axis in axes], PAD_RANK, 0),
        inside=spread([axis.inside for axis in axes], PAD_RANK, 1),
        xs=spread([axis.x for axis in axes], PAD_RANK, 0),
        ys=spread([axis.y for axis in axes], PAD_RANK, 0),
        xo=view.offset,
    )
    inputs = (required_operand(node, 0, ctx), _fill_value(node, ctx))
    return [ctx.call(PAD, node, (ctx.buffer(node.outputs[0]),), inputs, descriptor, extent=axes[0].extent)]


def _merge(axes: list[_Axis]) -> list[_Axis]:
    """Merge an axis without padding into the one outside it."""
    merged: list[_Axis] = []
    for axis in axes:
        outer = merged[-1] if merged else None
        if outer and axis.inside == axis.extent and (outer.x == axis.x * axis.extent or outer.inside <= 1):
            n = axis.extent
            merged[-1] = _Axis(outer.extent * n, outer.before * n, outer.inside * n, axis.x, axis.y)
        else:
            merged.append(axis)
    return merged


def _table_pad(
    node: ir.Node, ctx: LoweringContext, view: View, pads: list[tuple[int, int]], mode: str
) -> list[KernelCall]:
    dims = ctx.shape(node.outputs[0])
    axes = []
    for dim, inside, x, y, around in zip(dims, view.extents, view.strides, View.of(dims).strides, pads, strict=True):
        if any(around) and inside == 0:
            raise ctx.unsupported(node, f"mode '{mode}' on an axis without cells")
        indices = None
        if any(around):
            reach = np.pad(np.arange(inside), around, mode=_NUMPY_MODES[mode])  # type: ignore[call-overload]
            indices = tuple(int(index) for index in reach)
        axes.append(TableAxis(dim, x, y, indices))
    target = ctx.buffer(node.outputs[0])
    return table_copy(ctx, node, target, (required_operand(node, 0, ctx), view.offset), axes)
