"""Reorder: the copy between two memory formats that the layout pass inserts."""

from __future__ import annotations

from dataclasses import replace

import onnx_ir as ir

from packager.lower.context import LoweringContext
from packager.lower.registry import LayoutRule, lowering
from packager.ops.arguments import required_operand
from packager.ops.planes import Planes
from packager.program import Buffer, Descriptor, Kernel, KernelCall, Operand, nchw

REORDER = Kernel("ep_reorder_f32", "ep_reorder.h", splits=True)


@lowering("Reorder", domain="edgepack", layout=LayoutRule.SPATIAL)
def reorder(node: ir.Node, ctx: LoweringContext) -> KernelCall:
    """The input's values in the memory format of the output."""
    return reorder_call(node, ctx, ctx.buffer(node.outputs[0]), required_operand(node, 0, ctx))


def reorder_call(node: ir.Node, ctx: LoweringContext, target: Buffer, source: Operand) -> KernelCall:
    """Copy ``source`` to ``target``, tensors of the same shape in different formats."""
    n, c, h, w = nchw(target.shape)
    steps_in, steps_out = Planes.of(source), Planes.of(target)
    if target.format.is_plain:  # four channels at a time
        steps_out = replace(steps_out, block=4, plane=4 * steps_out.lane)
    descriptor = Descriptor.of(
        "ep_reorder_desc",
        images=n,
        channels=c,
        height=h,
        width=w,
        **_side("x", steps_in),
        **_side("y", steps_out),
    )
    return ctx.call(REORDER, node, [target], [source], descriptor, extent=n * -(-c // steps_out.block))


def _side(name: str, steps: Planes) -> dict[str, int]:
    return {
        f"{name}_block": steps.block,
        f"{name}_lane": steps.lane,
        f"{name}_plane": steps.plane,
        f"{name}_row": steps.row,
        f"{name}_pixel": steps.pixel,
        f"{name}_image": steps.image,
    }
