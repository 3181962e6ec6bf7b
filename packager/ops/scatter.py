"""ScatterElements, ScatterND and MaxUnpool."""

from __future__ import annotations

import math

import onnx_ir as ir

from packager.lower.context import LoweringContext
from packager.lower.registry import lowering
from packager.ops.arguments import axis_attribute, required, required_operand
from packager.ops.elements import element
from packager.ops.gather import INDEX_RANK, checked_indices, element_axes, tuple_axes
from packager.ops.views import View
from packager.program import Descriptor, DType, Kernel, KernelCall

SCATTER_ELEMENTS = Kernel("ep_scatter_elements", "ep_scatter.h", fallible=True)
MAX_UNPOOL = Kernel("ep_max_unpool", "ep_scatter.h", fallible=True)
SCATTER_ND = Kernel("ep_scatter_nd", "ep_scatter.h", fallible=True)

_OPS = {
    "none": "EP_SCATTER_SET",
    "add": "EP_SCATTER_ADD",
    "mul": "EP_SCATTER_MUL",
    "min": "EP_SCATTER_MIN",
    "max": "EP_SCATTER_MAX",
}
_BY_BYTES = {1: "EP_ELEMENT_U8", 2: "EP_ELEMENT_U16", 4: "EP_ELEMENT_U32", 8: "EP_ELEMENT_U64"}
_IN_PLACE = ((0, 0),)


def _reduction(node: ir.Node, ctx: LoweringContext) -> tuple[str, str]:
    """(element type, operation); cells that are only replaced are moved as bytes, whatever their type."""
    reduction = node.attributes.get_string("reduction", "none")
    if reduction not in _OPS:
        raise ctx.unsupported(node, f"reduction '{reduction}'")
    data = required(node, 0, ctx)
    if reduction == "none":
        return _BY_BYTES[ctx.dtype(data).size], _OPS[reduction]
    if ctx.dtype(data) is DType.BOOL:
        raise ctx.unsupported(node, f"reduction '{reduction}' of bool tensors")
    return element(data, node, ctx), _OPS[reduction]


@lowering("ScatterElements")
def scatter_elements(node: ir.Node, ctx: LoweringContext) -> KernelCall:
    """``y = x; y[.., indices[.., j, ..], ..] op= updates[.., j, ..]``; ONNX ScatterElements-18."""
    x, indices = required(node, 0, ctx), required(node, 1, ctx)
    dims = ctx.shape(x)
    axis = axis_attribute(node, len(dims), ctx)
    known = ctx.array(indices)
    if known is not None:
        checked_indices(known, dims[axis], node, ctx)
    fields = element_axes(node, ctx, dims, ctx.shape(indices), axis)
    kind, op = _reduction(node, ctx)
    descriptor = Descriptor.of(
        "ep_scatter_elements_desc",
        size=ctx.dtype(x).size,
        type=kind,
        index=element(indices, node, ctx),
        op=op,
        count=math.prod(dims),
        extent=fields["extent"],
        ys=fields["strides"],
        axis=fields["axis"],
        axis_stride=fields["axis_stride"],
    )
    return ctx.call(SCATTER_ELEMENTS, node, ctx.outputs(node), ctx.inputs(node), descriptor, in_place=_IN_PLACE)


@lowering("ScatterND")
def scatter_nd(node: ir.Node, ctx: LoweringContext) -> KernelCall:
    """``y = x; y[indices[t..., :]..., i...] op= updates[t..., i...]``; ONNX ScatterND-18."""
    x, indices = required(node, 0, ctx), required(node, 1, ctx)
    dims, part = ctx.shape(x), ctx.shape(indices)
    depth = part[-1]
    strides = tuple_axes(node, ctx, dims, depth)
    kind, op = _reduction(node, ctx)
    missing = INDEX_RANK - depth
    descriptor = Descriptor.of(
        "ep_scatter_nd_desc",
        size=ctx.dtype(x).size,
        type=kind,
        index=element(indices, node, ctx),
        op=op,
        count=math.prod(dims),
        tuples=math.prod(part[:-1]),
        depth=depth,
        inner=math.prod(dims[depth:]),
        extent=dims[:depth] + (1,) * missing,
        ys=strides + (0,) * missing,
    )
    return ctx.call(SCATTER_ND, node, ctx.outputs(node), ctx.inputs(node), descriptor, in_place=_IN_PLACE)


@lowering("MaxUnpool")
def max_unpool(node: ir.Node, ctx: LoweringContext) -> KernelCall:
    """``y = 0; y[indices[i]] = x[i]``; ONNX MaxUnpool-22.

    Indices count in the shape that kernel, strides and pads give, also where ``output_shape`` asks for a larger one
    (as in ONNX's node test; onnxruntime counts in the larger one).
    """
    x, y = required(node, 0, ctx), node.outputs[0]
    dims, out = ctx.shape(x), ctx.shape(y)
    rank = len(dims) - 2
    kernel = node.attributes.get_ints("kernel_shape") or ()
    strides = node.attributes.get_ints("strides") or (1,) * rank
    pads = node.attributes.get_ints("pads") or (0,) * (2 * rank)
    pooled = dims[:2] + tuple(
        (dims[axis + 2] - 1) * strides[axis] - pads[axis] - pads[axis + rank] + kernel[axis] for axis in range(rank)
    )
    if len(dims) > INDEX_RANK or any(inner > outer for inner, outer in zip(pooled, out, strict=True)):
        raise ctx.unsupported(node, f"an output of shape {list(out)} for indices in {list(pooled)}")
    descriptor = Descriptor.of(
        "ep_unpool_desc",
        size=ctx.dtype(x).size,
        count=math.prod(dims),
        total=math.prod(out),
        pooled=(1,) * (INDEX_RANK - len(dims)) + pooled,
        ys=(0,) * (INDEX_RANK - len(dims)) + View.of(out).strides,
    )
    inputs = (required_operand(node, 0, ctx), required_operand(node, 1, ctx))
    return ctx.call(MAX_UNPOOL, node, ctx.outputs(node), inputs, descriptor)
