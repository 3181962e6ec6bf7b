"""ArgMax and ArgMin."""

from __future__ import annotations

import onnx_ir as ir

from packager.lower.context import LoweringContext
from packager.lower.registry import lowering
from packager.ops.arguments import axis_attribute, required, required_operand
from packager.ops.softmax import around_axis
from packager.program import Descriptor, DType, Kernel, KernelCall

ARG = {
    dtype: Kernel(f"ep_arg_{suffix}", "ep_arg.h", splits=True)
    for dtype, suffix in {
        DType.FLOAT32: "f32",
        DType.FLOAT64: "f64",
        DType.INT64: "i64",
        DType.UINT64: "u64",
        DType.INT32: "i32",
        DType.UINT32: "u32",
        DType.INT16: "i16",
        DType.UINT16: "u16",
        DType.INT8: "i8",
        DType.UINT8: "u8",
    }.items()
}

_MAX_AXIS = 2**31 - 1  # the kernel keeps positions in 32 bits


@lowering("ArgMax", "ArgMin")
def arg(node: ir.Node, ctx: LoweringContext) -> list[KernelCall]:
    """The position of the largest (smallest) value along ``axis`` as int64; ONNX ArgMax-13, ArgMin-13.

    Of equal values the first counts, the last with ``select_last_index``.
    """
    value = required(node, 0, ctx)
    kernel = ARG.get(ctx.dtype(value))
    if kernel is None:
        raise ctx.unsupported(node, f"no kernel for {ctx.dtype(value).label}")
    dims = ctx.shape(value)
    outer, axis, inner = around_axis(dims, axis_attribute(node, len(dims), ctx))
    if outer * inner == 0:
        return []
    if not 0 < axis <= _MAX_AXIS:
        raise ctx.unsupported(node, f"an axis of {axis} values has no largest one")
    descriptor = Descriptor.of(
        "ep_arg_desc",
        outer=outer,
        axis=axis,
        inner=inner,
        smallest=int(node.op_type == "ArgMin"),
        last=node.attributes.get_int("select_last_index", 0),
    )
    outputs, inputs = [ctx.buffer(node.outputs[0])], [required_operand(node, 0, ctx)]
    return [ctx.call(kernel, node, outputs, inputs, descriptor, extent=outer)]
