"""Expand and Tile: copies that read some cells more than once."""

from __future__ import annotations

import onnx_ir as ir

from packager.lower.context import LoweringContext
from packager.lower.registry import lowering
from packager.ops.arguments import constant_ints, required
from packager.ops.views import View, view_or_copy
from packager.program import KernelCall


@lowering("Expand")
def expand(node: ir.Node, ctx: LoweringContext) -> list[KernelCall]:
    """``y = x`` broadcast to the output's shape, both ways as numpy does; ONNX Expand-13."""
    x = required(node, 0, ctx)
    return view_or_copy(ctx, node, node.outputs[0], x, View.of(ctx.shape(x)).broadcast(ctx.shape(node.outputs[0])))


@lowering("Tile")
def tile(node: ir.Node, ctx: LoweringContext) -> list[KernelCall]:
    """``y = x`` repeated ``repeats[k]`` times along axis k; ONNX Tile-13."""
    x = required(node, 0, ctx)
    repeats = constant_ints(node, 1, "repeats", ctx) or ()
    dims = ctx.shape(x)
    if len(repeats) != len(dims):
        raise ctx.unsupported(node, f"{len(repeats)} repeats for a tensor of rank {len(dims)}")
    view = View.of(dims)
    doubled: list[int] = []
    for axis, (count, dim) in enumerate(zip(repeats, dims, strict=True)):
        view = view.split(2 * axis, (1, dim))
        doubled += [count, dim]
    return view_or_copy(ctx, node, node.outputs[0], x, view.broadcast(doubled))
