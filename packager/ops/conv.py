"""Conv."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import onnx_ir as ir

from packager.lower.context import LoweringContext
from packager.lower.registry import LayoutRule, lowering
from packager.ops.activation_attr import activation_fields
from packager.ops.arguments import input_at, required, required_operand
from packager.ops.conv_blocked import ConvOperands, blocked_call, output_planes
from packager.ops.conv_plain import PlainConv, plain_call
from packager.ops.reorder import reorder_call
from packager.passes.conv_geometry import ConvGeometry, conv_geometry
from packager.program import Buffer, DType, KernelCall, Operand


@lowering("Conv", layout=LayoutRule.SPATIAL)
def conv(node: ir.Node, ctx: LoweringContext) -> Iterator[KernelCall]:
    """``y = act(conv(x, w) + bias + residual)``; ONNX Conv-11, one to three spatial dimensions.

    A fourth input, left by fusion, is the residual.
    """
    shape = checked_geometry(node, ctx)
    call = _blocked(node, ctx, shape)
    if call is not None:
        yield call
        return
    yield from _plain(node, ctx, shape)


def checked_geometry(node: ir.Node, ctx: LoweringContext) -> ConvGeometry:
    """The node's geometry; ModelError for element types, ranks and channel counts that no kernel has."""
    x, w = required(node, 0, ctx), required(node, 1, ctx)
    dims, filters = ctx.shape(x), ctx.shape(w)
    if ctx.dtype(x) is not DType.FLOAT32:
        raise ctx.unsupported(node, f"no kernel for {ctx.dtype(x).label}", "convert the model to float32")
    if not 3 <= len(dims) <= 5:
        raise ctx.unsupported(node, f"{len(dims) - 2} spatial dimensions; one to three are supported")
    groups = node.attributes.get_int("group", 1)
    if len(filters) != len(dims) or groups < 1 or filters[1] * groups != dims[1] or filters[0] % groups:
        raise ctx.unsupported(node, f"weights {filters} do not fit {dims[1]} channels in {groups} groups")
    return conv_geometry(node, dims, filters, ctx.shape(node.outputs[0]))


def _blocked(node: ir.Node, ctx: LoweringContext, shape: ConvGeometry) -> KernelCall | None:
    weights, bias = ctx.array(node.inputs[1]), input_at(node, 2)
    offsets = ctx.array(bias) if bias is not None else np.zeros(shape.oc, np.float32)
    residual = ctx.operand(input_at(node, 3))
    y = ctx.buffer(node.outputs[0])
    if ctx.isa.lanes == 1 or shape.rank > 2 or weights is None or offsets is None:
        return None
    planes = output_planes(y, ctx.isa.lanes)
    if planes is None or not (residual is None or _same_blocks(residual, y)):
        return None
    filters = weights.astype(np.float32).reshape(weights.shape[:2] + shape.as_planes().kernel)
    operands = ConvOperands(
        required_operand(node, 0, ctx),
        filters,
        offsets.astype(np.float32),
        residual if isinstance(residual, Buffer) else None,
        y,
        activation_fields(node),
        planes,
    )
    return blocked_call(node, ctx, operands, shape)


def _same_blocks(residual: Operand, y: Buffer) -> bool:
    return isinstance(residual, Buffer) and residual.format.block == y.format.block


def _plain(node: ir.Node, ctx: LoweringContext, shape: ConvGeometry) -> Iterator[KernelCall]:
    """The row-major kernel, between copies where the layout pass wanted blocks that no kernel has."""
    weights = ctx.array(node.inputs[1])
    operands: list[Operand | None] = []
    for index in (0, 3):
        operand = ctx.operand(input_at(node, index))
        if isinstance(operand, Buffer) and not operand.format.is_plain:
            copy = ctx.temporary(operand.shape, operand.dtype)
            yield reorder_call(node, ctx, copy, operand)
            operand = copy
        operands.append(operand)
    x, residual = operands
    assert x is not None
    y = ctx.buffer(node.outputs[0])
    target = y if y.format.is_plain else ctx.temporary(y.shape, y.dtype)
    made = PlainConv(
        x,
        weights.astype(np.float32) if weights is not None else required_operand(node, 1, ctx),
        ctx.operand(input_at(node, 2)),
        residual,
        target,
        activation_fields(node),
        required(node, 1, ctx).name or "weights",
    )
    yield plain_call(node, ctx, made, shape)
    if target is not y:
        yield reorder_call(node, ctx, y, target)
