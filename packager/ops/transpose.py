"""Transpose."""

from __future__ import annotations

import onnx_ir as ir

from packager.lower.context import LoweringContext
from packager.lower.registry import lowering
from packager.ops.arguments import required
from packager.ops.views import View, view_or_copy
from packager.program import KernelCall


@lowering("Transpose")
def transpose(node: ir.Node, ctx: LoweringContext) -> list[KernelCall]:
    """``y[i_perm0, i_perm1, ...] = x[i0, i1, ...]``; ONNX Transpose-24.  Free when only axes of extent 1 move."""
    x = required(node, 0, ctx)
    view = View.of(ctx.shape(x))
    order = node.attributes.get_ints("perm") or tuple(reversed(range(len(view.extents))))
    if sorted(order) != list(range(len(view.extents))):
        raise ctx.unsupported(node, f"perm {list(order)} is not a permutation of the {len(view.extents)} axes")
    return view_or_copy(ctx, node, node.outputs[0], x, view.permute(order))
