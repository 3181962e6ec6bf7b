"""The Reduce operators."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import onnx_ir as ir

from packager.lower.context import LoweringContext
from packager.lower.registry import lowering
from packager.ops.arguments import axes_input, required, required_operand
from packager.program import Descriptor, DType, Kernel, KernelCall

FLOAT = Kernel("ep_reduce_f32", "ep_reduce.h", splits=True)
PLAIN = {
    dtype: Kernel(f"ep_reduce_{suffix}", "ep_reduce_plain.h", splits=True)
    for dtype, suffix in {
        DType.FLOAT64: "f64",
        DType.INT64: "i64",
        DType.UINT64: "u64",
        DType.INT32: "i32",
        DType.UINT32: "u32",
        DType.INT8: "i8",
        DType.UINT8: "u8",
        DType.BOOL: "u8",
    }.items()
}

LOG_SUM_EXP_F64 = Kernel("ep_reduce_log_sum_exp_f64", "ep_reduce_plain.h", splits=True)

OPERATIONS = {
    "ReduceSum": "EP_REDUCE_SUM",
    "ReduceMean": "EP_REDUCE_MEAN",
    "ReduceMax": "EP_REDUCE_MAX",
    "ReduceMin": "EP_REDUCE_MIN",
    "ReduceProd": "EP_REDUCE_PROD",
    "ReduceL1": "EP_REDUCE_L1",
    "ReduceL2": "EP_REDUCE_L2",
    "ReduceLogSum": "EP_REDUCE_LOG_SUM",
    "ReduceLogSumExp": "EP_REDUCE_LOG_SUM_EXP",
    "ReduceSumSquare": "EP_REDUCE_SUM_SQUARE",
}

REDUCE_AXES = 4  # EP_REDUCE_AXES
_SMALL = (DType.INT8, DType.UINT8, DType.BOOL)


@dataclass(frozen=True)
class Walk:
    """How a reduction walks its input: (extent, step) of the kept and reduced axes around one innermost run."""

    keep: tuple[tuple[int, int], ...]
    reduce: tuple[tuple[int, int], ...]
    columns: int
    row: int

    @classmethod
    def over(cls, dims: tuple[int, ...], axes: set[int]) -> Walk:
        """Neighbouring axes that are all kept or all reduced are joined; axes of extent 1 vanish."""
        runs: list[tuple[bool, int]] = []
        sized = ((axis in axes, extent) for axis, extent in enumerate(dims) if extent != 1)
        for reduced, group in itertools.groupby(sized, key=lambda entry: entry[0]):
            runs.append((reduced, math.prod(extent for _, extent in group)))
        innermost = runs.pop() if runs else (True, 1)
        steps = [math.prod((extent for _, extent in runs[at + 1 :]), start=innermost[1]) for at in range(len(runs))]
        placed = [(reduced, (extent, step)) for (reduced, extent), step in zip(runs, steps, strict=True)]
        return cls(
            tuple(run for reduced, run in placed if not reduced),
            tuple(run for reduced, run in placed if reduced),
            1 if innermost[0] else innermost[1],
            innermost[1] if innermost[0] else 1,
        )


@lowering(*OPERATIONS)
def reduce(node: ir.Node, ctx: LoweringContext) -> list[KernelCall]:
    """One value for all values along ``axes``; ONNX Reduce*-18 and newer.

    No axes means all, or with ``noop_with_empty_axes`` none: each value is then reduced by itself.
    """
    value = required(node, 0, ctx)
    dims, dtype = ctx.shape(value), ctx.dtype(value)
    kernel = _kernel(node.op_type, dtype)
    if kernel is None:
        raise ctx.unsupported(node, f"no kernel for {dtype.label}")
    axes = axes_input(node, 1, len(dims), ctx)
    if not axes:
        axes = () if node.attributes.get_int("noop_with_empty_axes", 0) else tuple(range(len(dims)))
    output = ctx.buffer(node.outputs[0])
    if math.prod(output.shape) == 0:
        return []
    walk = Walk.over(dims, set(axes))
    if max(len(walk.keep), len(walk.reduce)) > REDUCE_AXES:
        raise ctx.unsupported(node, f"more than {REDUCE_AXES} separate groups of axes", "transpose the input first")
    descriptor = Descriptor.of(
        "ep_reduce_desc",
        op=OPERATIONS[node.op_type],
        keep=_column(walk.keep, 0),
        keep_step=_column(walk.keep, 1),
        reduce=_column(walk.reduce, 0),
        reduce_step=_column(walk.reduce, 1),
        columns=walk.columns,
        row=walk.row,
        repeat=math.prod(extent for extent, _ in walk.reduce),
    )
    inputs = [required_operand(node, 0, ctx)]
    return [ctx.call(kernel, node, [output], inputs, descriptor, extent=math.prod(e for e, _ in walk.keep))]


def _kernel(op_type: str, dtype: DType) -> Kernel | None:
    """The kernel for a type: the small ones have Max and Min, integers no logarithms."""
    if dtype is DType.FLOAT32:
        return FLOAT
    if dtype is DType.FLOAT64:
        return LOG_SUM_EXP_F64 if op_type == "ReduceLogSumExp" else PLAIN[dtype]
    if op_type.startswith("ReduceLog") or (dtype in _SMALL and op_type not in ("ReduceMax", "ReduceMin")):
        return None
    return PLAIN.get(dtype)


def _column(runs: tuple[tuple[int, int], ...], which: int) -> tuple[int, ...]:
    """Extents (0) or steps (1) of ``runs``, right-aligned in the kernel's axes."""
    fill = (1, 0)[which]
    return (fill,) * (REDUCE_AXES - len(runs)) + tuple(run[which] for run in runs)
