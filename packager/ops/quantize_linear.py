"""QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear that no integer operator has taken in."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
import onnx_ir as ir

from packager.lower.context import LoweringContext
from packager.lower.registry import lowering
from packager.ops.arguments import input_at, normalised_axis, required
from packager.ops.broadcast import MAX_RANK, merge, plain_strides
from packager.ops.elementwise import MAP_ANY
from packager.ops.expression import ExpressionBuilder, Term
from packager.program import Descriptor, DType, Kernel, KernelCall

DYNAMIC_QUANTIZE = Kernel("ep_dynamic_quantize_u8", "ep_dynamic_quantize.h")

_INTEGERS = {DType.INT8, DType.UINT8, DType.INT16, DType.UINT16}


@dataclass
class _Reader:
    """The inputs of a node as terms: numbers as literals, tensors as operands, both widened to what is computed in."""

    node: ir.Node
    ctx: LoweringContext
    builder: ExpressionBuilder = field(default_factory=lambda: ExpressionBuilder(vector=False))
    operands: list[ir.Value] = field(default_factory=list)

    def term(self, index: int, dtype: DType) -> Term | None:
        """Input ``index`` as ``dtype``; None when it was left out."""
        value = input_at(self.node, index)
        if value is None:
            return None
        array = self.ctx.array(value) if index > 0 else None
        if array is not None and array.size == 1:
            number = array.reshape(-1)[0].item()
            return self.builder.literal(number, dtype)
        self.operands.append(value)
        return self.builder.convert(self.builder.operand(self.ctx.dtype(value)), dtype)


@lowering("QuantizeLinear")
def quantize_linear(node: ir.Node, ctx: LoweringContext) -> Iterable[KernelCall]:
    """``y = saturate(round(x / scale) + zero)``, ties to even; per tensor, axis or block; ONNX QuantizeLinear-21."""
    stored = ctx.dtype(node.outputs[0])
    if stored not in _INTEGERS:
        raise ctx.unsupported(node, f"quantizing to {stored.label}", "int8, uint8, int16 and uint16 are supported")
    reader = _Reader(node, ctx)
    x, step, zero = reader.term(0, DType.FLOAT32), reader.term(1, DType.FLOAT32), reader.term(2, DType.INT32)
    assert x is not None
    assert step is not None
    offset = zero.text if zero is not None else "0"
    limits = np.iinfo(stored.label)
    text = f"ep_quantize_f32({x.text}, {step.text}, {offset}, {limits.min}, {limits.max})"
    return _map(reader, reader.builder.convert(reader.builder.step(text, DType.INT32), stored))


@lowering("DequantizeLinear")
def dequantize_linear(node: ir.Node, ctx: LoweringContext) -> Iterable[KernelCall]:
    """``y = (x - zero) * scale``; per tensor, axis or block; ONNX DequantizeLinear-21."""
    stored = ctx.dtype(required(node, 0, ctx))
    if stored not in _INTEGERS | {DType.INT32}:
        raise ctx.unsupported(node, f"dequantizing {stored.label}", "integers up to 32 bits are supported")
    reader = _Reader(node, ctx)
    x, step, zero = reader.term(0, DType.INT32), reader.term(1, DType.FLOAT32), reader.term(2, DType.INT32)
    assert x is not None
    assert step is not None
    level = x if zero is None else reader.builder.call("sub", x, zero)
    return _map(reader, reader.builder.infix(reader.builder.convert(level, DType.FLOAT32), "*", step))


@lowering("DynamicQuantizeLinear")
def dynamic_quantize_linear(node: ir.Node, ctx: LoweringContext) -> KernelCall:
    """uint8 over the range of x widened to contain 0; ONNX DynamicQuantizeLinear-11."""
    source = required(node, 0, ctx)
    count = math.prod(ctx.shape(source))
    descriptor = Descriptor.of("ep_dynamic_quantize_desc", count=count)
    return ctx.call(DYNAMIC_QUANTIZE, node, ctx.outputs(node), [ctx.operand(source)], descriptor)


def _map(reader: _Reader, result: Term) -> Iterable[KernelCall]:
    """One element at a time; scale and zero point walk along the quantized axis."""
    node, ctx = reader.node, reader.ctx
    output = ctx.buffer(node.outputs[0])
    if 0 in output.shape:
        return
    operands = [ctx.operand(value) for value in reader.operands]
    axis, block = _granularity(node, ctx)
    split = _split(output.shape, axis, block)
    whole = plain_strides(split, len(split))
    varies = _varies(len(output.shape), axis, block)
    part = plain_strides([extent if kept else 1 for extent, kept in zip(split, varies, strict=True)], len(split))
    space = merge(split, whole, [whole] + [part] * (len(operands) - 1))
    if len(space.extents) > MAX_RANK:
        raise ctx.unsupported(node, f"rank {len(output.shape)}", f"at most {MAX_RANK} axes that do not merge")
    sizes = [ctx.dtype(value).size for value in reader.operands]
    yield ctx.call(
        MAP_ANY,
        node,
        [output],
        operands,
        space.descriptor(output.dtype.size, sizes),
        expression=reader.builder.finish(result, output.dtype),
        extent=space.range,
    )


def _granularity(node: ir.Node, ctx: LoweringContext) -> tuple[int, int]:
    """The quantized axis (-1: one scale for all) and the block size along it (0: one scale for each index)."""
    dims, scale_dims = ctx.shape(required(node, 0, ctx)), ctx.shape(required(node, 1, ctx))
    block = node.attributes.get_int("block_size", 0)
    if math.prod(scale_dims) == 1 and block == 0:
        return -1, 0
    axis = normalised_axis(node.attributes.get_int("axis", 1), len(dims), node, ctx)
    if block == 0 and scale_dims != (dims[axis],):
        raise ctx.unsupported(node, f"scales of shape {scale_dims} for axis {axis} of shape {dims}")
    if block and (dims[axis] % block or scale_dims != (*dims[:axis], dims[axis] // block, *dims[axis + 1 :])):
        raise ctx.unsupported(
            node,
            f"scales of shape {scale_dims} for blocks of {block} along axis {axis} of shape {dims}",
            "the axis must hold a whole number of blocks",
        )
    return axis, block


def _split(dims: tuple[int, ...], axis: int, block: int) -> tuple[int, ...]:
    """``dims`` with the quantized axis as (blocks, elements of a block)."""
    if not block:
        return dims
    return (*dims[:axis], dims[axis] // block, block, *dims[axis + 1 :])


def _varies(rank: int, axis: int, block: int) -> list[bool]:
    """For each axis of the split shape, whether the scale varies along it."""
    if axis < 0:
        return [False] * rank
    if not block:
        return [index == axis for index in range(rank)]
    return [index != axis + 1 for index in range(rank + 1)]
