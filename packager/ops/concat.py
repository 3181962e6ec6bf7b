"""Concat: producers write straight into the output where their part lies together, the rest is copied."""

from __future__ import annotations

import math

import onnx_ir as ir

from packager.lower.context import LoweringContext
from packager.lower.registry import LayoutRule, lowering
from packager.ops.arguments import axis_attribute
from packager.ops.views import View, copy
from packager.program import Buffer, Descriptor, Format, Kernel, KernelCall, Operand, nchw

CONCAT = Kernel("ep_concat", "ep_concat.h", splits=True, variadic=True)
CONCAT_PARTS = 16
_SHORT_RUN_BYTES = 64


@lowering("Concat", layout=LayoutRule.SPATIAL)
def concat(node: ir.Node, ctx: LoweringContext) -> list[KernelCall]:
    """``y = the inputs`` one after the other along ``axis``; ONNX Concat-13.

    Plain, or all operands blocked with the same block (halos may differ).
    """
    output = node.outputs[0]
    dims, fmt = ctx.shape(output), ctx.format(output)
    axis = axis_attribute(node, len(dims), ctx)
    if fmt.is_plain and _has_short_runs(node, ctx, axis):
        return [_interleaved(node, ctx, axis)]
    calls: list[KernelCall] = []
    start = 0
    for value in node.inputs:
        assert value is not None
        part = ctx.shape(value)
        if math.prod(part) and not _placed(ctx, value, output, axis, start):
            operand = ctx.operand(value)
            assert operand is not None
            if fmt.is_plain:
                to = View.of(dims).slice(axis, start, part[axis])
                calls += copy(ctx, node, (ctx.buffer(output), to), (operand, View.of(part)))
            else:
                calls += _copy_blocked(ctx, node, (operand, ctx.format(value), part), axis, start)
        start += part[axis]
    return calls


def _has_short_runs(node: ir.Node, ctx: LoweringContext, axis: int) -> bool:
    """Whether every row of the output takes less than a cache line from each part."""
    dims = ctx.shape(node.outputs[0])
    limit = _SHORT_RUN_BYTES // ctx.dtype(node.outputs[0]).size
    runs = [math.prod(ctx.shape(value)[axis:]) for value in node.inputs if value is not None]
    return math.prod(dims[:axis]) > 1 and len(runs) <= CONCAT_PARTS and min(runs) > 0 and max(runs) <= limit


def _interleaved(node: ir.Node, ctx: LoweringContext, axis: int) -> KernelCall:
    output = node.outputs[0]
    dims = ctx.shape(output)
    runs = tuple(math.prod(ctx.shape(value)[axis:]) for value in node.inputs if value is not None)
    descriptor = Descriptor.of(
        "ep_concat_desc",
        size=ctx.dtype(output).size,
        parts=len(runs),
        row=sum(runs),
        run=runs + (0,) * (CONCAT_PARTS - len(runs)),
    )
    return ctx.call(CONCAT, node, (ctx.buffer(output),), ctx.inputs(node), descriptor, extent=math.prod(dims[:axis]))


def _placed(ctx: LoweringContext, value: ir.Value, output: ir.Value, axis: int, start: int) -> bool:
    """Whether the part can be (and now is) written by its producer."""
    dims, fmt = ctx.shape(output), ctx.format(output)
    if math.prod(dims[:axis]) != 1:
        return False
    strides = fmt.strides(dims)
    if fmt.is_plain:
        return ctx.place_inside(value, output, start * strides[axis])
    if axis > 1 or start % fmt.block:
        return False
    return ctx.place_inside(value, output, start // fmt.block * strides[1] if axis else start * strides[0])


def _copy_blocked(
    ctx: LoweringContext, node: ir.Node, part: tuple[Operand, Format, tuple[int, ...]], axis: int, start: int
) -> list[KernelCall]:
    operand, fmt, dims = part
    output = node.outputs[0]
    target, block = ctx.buffer(output), ctx.format(output).block
    assert isinstance(operand, Buffer), "the layout pass leaves constants row-major and then the Concat too"
    assert fmt.block == block, "operands of a blocked Concat have one block"
    source, whole = View.of(dims, fmt), View.of(ctx.shape(output), ctx.format(output))
    if axis != 1:
        stored_axis = axis if axis == 0 or len(dims) == 4 else 3
        to = whole.slice(stored_axis, start, source.extents[stored_axis])
        return copy(ctx, node, (target, to), (operand, source))
    first, shift = divmod(start, block)
    blocks = source.extents[1]
    if shift == 0:
        return copy(ctx, node, (target, whole.slice(1, first, blocks)), (operand, source))
    # lanes [0, block - shift) of a source block end one target block, the other lanes begin the next one; lanes past
    # the part's channels are undefined and the next part, copied later, overwrites them
    kept = block - shift
    calls = copy(
        ctx,
        node,
        (target, whole.slice(1, first, blocks).slice(4, shift, kept)),
        (operand, source.slice(4, 0, kept)),
    )
    _, channels, _, _ = nchw(dims)
    spilled = blocks if (channels - 1) % block >= kept else blocks - 1
    return calls + copy(
        ctx,
        node,
        (target, whole.slice(1, first + 1, spilled).slice(4, 0, shift)),
        (operand, source.slice(1, 0, spilled).slice(4, kept, shift)),
    )
