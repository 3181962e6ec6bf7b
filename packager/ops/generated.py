"""Operators whose result is known when compiling: shapes, ranges and fills that folding has left over."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import onnx_ir as ir

from packager.lower.context import LoweringContext
from packager.lower.registry import lowering
from packager.ops.arguments import required
from packager.program import KernelCall


def _scalar(node: ir.Node, index: int, name: str, ctx: LoweringContext) -> npt.NDArray[np.generic]:
    array = ctx.array(required(node, index, ctx))
    if array is None:
        raise ctx.unsupported(node, f"input '{name}' is computed at run time, so the output's shape depends on data")
    return array.reshape(-1)[:1]


@lowering("Shape")
def shape(node: ir.Node, ctx: LoweringContext) -> list[KernelCall]:
    """The extents ``start:end`` of x as int64; ONNX Shape-24."""
    dims = ctx.shape(required(node, 0, ctx))
    start, end = node.attributes.get_int("start", 0), node.attributes.get_int("end", len(dims))
    ctx.define(node.outputs[0], np.array(dims[slice(start, end)], np.int64))
    return []


@lowering("Size")
def size(node: ir.Node, ctx: LoweringContext) -> list[KernelCall]:
    """The number of elements of x as an int64 scalar; ONNX Size-24."""
    ctx.define(node.outputs[0], np.array(math.prod(ctx.shape(required(node, 0, ctx))), np.int64))
    return []


@lowering("ConstantOfShape")
def constant_of_shape(node: ir.Node, ctx: LoweringContext) -> list[KernelCall]:
    """A tensor filled with attribute ``value``, float32 zeros without it; ONNX ConstantOfShape-24."""
    value = node.attributes.get_tensor("value")
    fill = value.numpy().reshape(-1)[:1] if value is not None else np.zeros(1, np.float32)
    ctx.define(node.outputs[0], np.full(ctx.shape(node.outputs[0]), fill[0], fill.dtype))
    return []


@lowering("Range")
def range_(node: ir.Node, ctx: LoweringContext) -> list[KernelCall]:
    """``start + k * delta`` below ``limit``; ONNX Range-11.  All three are constants."""
    start, _, delta = (_scalar(node, k, name, ctx) for k, name in enumerate(("start", "limit", "delta")))
    (count,) = ctx.shape(node.outputs[0])
    steps = np.arange(count).astype(start.dtype)
    ctx.define(node.outputs[0], (start + steps * delta).astype(start.dtype))
    return []


@lowering("EyeLike")
def eye_like(node: ir.Node, ctx: LoweringContext) -> list[KernelCall]:
    """Ones on diagonal ``k``, zeros elsewhere; ONNX EyeLike-22."""
    rows, columns = ctx.shape(node.outputs[0])
    dtype = ctx.dtype(node.outputs[0]).numpy
    ctx.define(node.outputs[0], np.eye(rows, columns, node.attributes.get_int("k", 0)).astype(dtype))
    return []
