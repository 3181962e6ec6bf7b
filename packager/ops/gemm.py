"""Gemm."""

from __future__ import annotations

from collections.abc import Iterable

import onnx_ir as ir

from packager.lower.context import LoweringContext
from packager.lower.registry import lowering
from packager.ops.arguments import input_at, required, required_operand
from packager.ops.products import Matrix, Product, activation_fields, product_calls
from packager.program import KernelCall


@lowering("Gemm")
def gemm(node: ir.Node, ctx: LoweringContext) -> Iterable[KernelCall]:
    """``y[M, N] = alpha * A' @ B' + beta * C``, C broadcast to (M, N); ONNX Gemm-13."""
    a_dims, b_dims = (ctx.shape(required(node, index, ctx)) for index in (0, 1))
    a_trans, b_trans = (bool(node.attributes.get_int(name, 0)) for name in ("transA", "transB"))
    m, k = reversed(a_dims) if a_trans else a_dims
    n = b_dims[0] if b_trans else b_dims[1]
    c_steps = _c_steps(node, m, n, ctx)
    product = Product(
        m,
        n,
        k,
        (),
        Matrix(required_operand(node, 0, ctx), *((1, m) if a_trans else (k, 1))),
        Matrix(required_operand(node, 1, ctx), *((1, k) if b_trans else (n, 1))),
        ctx.operand(input_at(node, 2)),
        c_steps,
        node.attributes.get_float("alpha", 1.0),
        node.attributes.get_float("beta", 1.0),
        activation_fields(node),
    )
    return product_calls(product, ctx.buffer(node.outputs[0]), node, ctx)


def _c_steps(node: ir.Node, m: int, n: int, ctx: LoweringContext) -> tuple[int, int]:
    """Steps of C to the next row and column; ModelError when C would widen the result."""
    value = input_at(node, 2)
    if value is None:
        return (0, 0)
    dims = ctx.shape(value)
    rows, columns = (1, 1, *dims)[-2:]
    if len(dims) > 2 or rows not in (1, m) or columns not in (1, n):
        raise ctx.unsupported(
            node,
            f"C of shape {dims} cannot be broadcast to ({m}, {n})",
            "Gemm broadcasts C to A' * B', never the result",
        )
    return (0 if rows == 1 else columns, 0 if columns == 1 else 1)
