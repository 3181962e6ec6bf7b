"""Slice and Split: views of the input where the cells lie together, else strided copies."""

from __future__ import annotations

import onnx_ir as ir

from packager.lower.context import LoweringContext
from packager.lower.registry import lowering
from packager.ops.arguments import axes_input, axis_attribute, constant_ints, input_at, required
from packager.ops.views import View, view_or_copy
from packager.program import KernelCall


def slice_range(start: int, end: int, step: int, dim: int) -> tuple[int, int]:
    """(first index, count) of ``start:end:step`` on an axis of extent ``dim``, clamped as ONNX Slice-13 says."""
    start = start + dim if start < 0 else start
    end = end + dim if end < 0 else end
    if step > 0:
        start, end = min(max(start, 0), dim), min(max(end, 0), dim)
        return start, max(0, -(-(end - start) // step))
    start, end = min(max(start, 0), dim - 1), min(max(end, -1), dim - 1)
    return start, max(0, -(-(start - end) // -step))


@lowering("Slice")
def slice_(node: ir.Node, ctx: LoweringContext) -> list[KernelCall]:
    """``y = x[starts:ends:steps]`` on ``axes``; ONNX Slice-13.  All bounds are constants."""
    x = required(node, 0, ctx)
    view = View.of(ctx.shape(x))
    rank = len(view.extents)
    starts, ends = constant_ints(node, 1, "starts", ctx), constant_ints(node, 2, "ends", ctx)
    axes = axes_input(node, 3, rank, ctx)
    steps = constant_ints(node, 4, "steps", ctx)
    if starts is None or ends is None:
        raise ctx.unsupported(node, "starts or ends are missing")
    axes = axes if axes is not None else tuple(range(len(starts)))
    steps = steps if steps is not None else (1,) * len(starts)
    if not len(starts) == len(ends) == len(axes) == len(steps):
        raise ctx.unsupported(node, "starts, ends, axes and steps have different lengths")
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        if step == 0:
            raise ctx.unsupported(node, f"step 0 on axis {axis}")
        first, count = slice_range(start, end, step, view.extents[axis])
        view = view.slice(axis, first, count, step)
    return view_or_copy(ctx, node, node.outputs[0], x, view)


@lowering("Split")
def split(node: ir.Node, ctx: LoweringContext) -> list[KernelCall]:
    """Consecutive parts of x along ``axis``, one per output; ONNX Split-18.  Outputs left out cost nothing."""
    x = required(node, 0, ctx)
    view = View.of(ctx.shape(x))
    axis = axis_attribute(node, len(view.extents), ctx)
    given = constant_ints(node, 1, "split", ctx) if input_at(node, 1) is not None else None
    if given is None:
        count = node.attributes.get_int("num_outputs", len(node.outputs))
        each = -(-view.extents[axis] // count)
        given = tuple(min(each, max(0, view.extents[axis] - each * index)) for index in range(count))
    if sum(given) != view.extents[axis] or len(given) != len(node.outputs) or min(given) < 0:
        raise ctx.unsupported(node, f"parts {list(given)} do not make up axis {axis} of extent {view.extents[axis]}")
    calls: list[KernelCall] = []
    start = 0
    for output, size in zip(node.outputs, given, strict=True):
        if output.name:
            calls += view_or_copy(ctx, node, output, x, view.slice(axis, start, size))
        start += size
    return calls
