"""Softmax, LogSoftmax and Hardmax."""

from __future__ import annotations

import math

import onnx_ir as ir

from packager.lower.context import LoweringContext
from packager.lower.registry import lowering
from packager.ops.arguments import axis_attribute, required, required_operand
from packager.program import Descriptor, DType, Kernel, KernelCall

SOFTMAX = Kernel("ep_softmax_f32", "ep_softmax.h", splits=True)
HARDMAX = Kernel("ep_hardmax_f32", "ep_arg.h", splits=True)


def around_axis(dims: tuple[int, ...], axis: int) -> tuple[int, int, int]:
    """``dims`` as (outer, extent of ``axis``, inner); a scalar is one value on one axis."""
    if not dims:
        return (1, 1, 1)
    return (math.prod(dims[:axis]), dims[axis], math.prod(dims[axis + 1 :]))


@lowering("Softmax", "LogSoftmax")
def softmax(node: ir.Node, ctx: LoweringContext) -> list[KernelCall]:
    """``y = exp(x) / sum(exp(x))`` along ``axis``, or its logarithm; ONNX Softmax-13, LogSoftmax-13."""
    outer, axis, inner = _extents(node, ctx)
    if outer * axis * inner == 0:
        return []
    log = node.op_type == "LogSoftmax"
    descriptor = Descriptor.of("ep_softmax_desc", outer=outer, axis=axis, inner=inner, log=int(log))
    call = ctx.call(
        SOFTMAX,
        node,
        [ctx.buffer(node.outputs[0])],
        [required_operand(node, 0, ctx)],
        descriptor,
        extent=outer,
        in_place=[(0, 0)],
    )
    return [call]


@lowering("Hardmax")
def hardmax(node: ir.Node, ctx: LoweringContext) -> list[KernelCall]:
    """1 at the first largest value along ``axis``, else 0; ONNX Hardmax-13."""
    outer, axis, inner = _extents(node, ctx)
    if outer * axis * inner == 0:
        return []
    descriptor = Descriptor.of("ep_arg_desc", outer=outer, axis=axis, inner=inner, smallest=0, last=0)
    outputs, inputs = [ctx.buffer(node.outputs[0])], [required_operand(node, 0, ctx)]
    return [ctx.call(HARDMAX, node, outputs, inputs, descriptor, extent=outer)]


def _extents(node: ir.Node, ctx: LoweringContext) -> tuple[int, int, int]:
    value = required(node, 0, ctx)
    if ctx.dtype(value) is not DType.FLOAT32:
        raise ctx.unsupported(node, f"no kernel for {ctx.dtype(value).label}", "convert the model to float32")
    dims = ctx.shape(value)
    return around_axis(dims, axis_attribute(node, len(dims), ctx, default=-1))
