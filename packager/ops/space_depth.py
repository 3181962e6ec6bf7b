"""DepthToSpace and SpaceToDepth: transposes of a reshaped tensor."""

from __future__ import annotations

import onnx_ir as ir

from packager.lower.context import LoweringContext
from packager.lower.registry import lowering
from packager.ops.arguments import required
from packager.ops.views import View, view_or_copy
from packager.program import KernelCall


@lowering("DepthToSpace")
def depth_to_space(node: ir.Node, ctx: LoweringContext) -> list[KernelCall]:
    """``x[N, C, H, W] -> y[N, C/b^2, H*b, W*b]``; ONNX DepthToSpace-13, modes DCR and CRD."""
    x, block = required(node, 0, ctx), node.attributes.get_int("blocksize", 1)
    channels = ctx.shape(x)[1] // (block * block)
    view = View.of(ctx.shape(x))
    if node.attributes.get_string("mode", "DCR") == "CRD":
        view = view.split(1, (channels, block, block)).permute((0, 1, 4, 2, 5, 3))
    else:
        view = view.split(1, (block, block, channels)).permute((0, 3, 4, 1, 5, 2))
    return view_or_copy(ctx, node, node.outputs[0], x, view)


@lowering("SpaceToDepth")
def space_to_depth(node: ir.Node, ctx: LoweringContext) -> list[KernelCall]:
    """``x[N, C, H, W] -> y[N, C*b^2, H/b, W/b]``, ONNX SpaceToDepth-28, modes DCR and CRD."""
    x, block = required(node, 0, ctx), node.attributes.get_int("blocksize", 1)
    _, _, height, width = ctx.shape(x)
    if height % block or width % block:
        raise ctx.unsupported(node, f"blocksize {block} does not divide {height} x {width}")
    view = View.of(ctx.shape(x)).split(3, (width // block, block)).split(2, (height // block, block))
    order = (0, 1, 3, 5, 2, 4) if node.attributes.get_string("mode", "DCR") == "CRD" else (0, 3, 5, 1, 2, 4)
    return view_or_copy(ctx, node, node.outputs[0], x, view.permute(order))
