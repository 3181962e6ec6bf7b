"""MatMul."""

from __future__ import annotations

import math
from collections.abc import Iterable

import onnx_ir as ir

from packager.lower.context import LoweringContext
from packager.lower.registry import lowering
from packager.ops.arguments import input_at, required, required_operand
from packager.ops.products import Matrix, Product, activation_fields, product_calls
from packager.program import KernelCall


@lowering("MatMul")
def matmul(node: ir.Node, ctx: LoweringContext) -> Iterable[KernelCall]:
    """``y[..., M, N] = A[..., M, K] @ B[..., K, N]`` as numpy.matmul; ONNX MatMul-13.

    A third input, left by the fusion passes, is a bias that is broadcast to (M, N).
    """
    a_dims, b_dims = (ctx.shape(required(node, index, ctx)) for index in (0, 1))
    if not a_dims or not b_dims:
        raise ctx.unsupported(node, "scalar operands are not allowed")
    a_dims = (1, *a_dims) if len(a_dims) == 1 else a_dims
    b_dims = (*b_dims, 1) if len(b_dims) == 1 else b_dims
    (m, k), (b_k, n) = a_dims[-2:], b_dims[-2:]
    if k != b_k:
        raise ctx.unsupported(node, f"the inner dimensions {k} and {b_k} differ")
    batch = _broadcast(a_dims[:-2], b_dims[:-2], node, ctx)
    product = Product(
        m,
        n,
        k,
        batch,
        Matrix(required_operand(node, 0, ctx), k, 1, _steps(a_dims[:-2], m * k, len(batch))),
        Matrix(required_operand(node, 1, ctx), n, 1, _steps(b_dims[:-2], k * n, len(batch))),
        ctx.operand(input_at(node, 2)),
        _bias_steps(node, m, n, ctx),
        activation=activation_fields(node),
    )
    return product_calls(product, ctx.buffer(node.outputs[0]), node, ctx)


def _broadcast(a: tuple[int, ...], b: tuple[int, ...], node: ir.Node, ctx: LoweringContext) -> tuple[int, ...]:
    """The batch dimensions of the result."""
    rank = max(len(a), len(b))
    a, b = (1,) * (rank - len(a)) + a, (1,) * (rank - len(b)) + b
    if any(x != y and 1 not in (x, y) for x, y in zip(a, b, strict=True)):
        raise ctx.unsupported(node, f"the batches {a} and {b} cannot be broadcast")
    return tuple(y if x == 1 else x for x, y in zip(a, b, strict=True))


def _steps(dims: tuple[int, ...], matrix: int, rank: int) -> tuple[int, ...]:
    """Element steps of the batch axes, 0 where the operand is repeated."""
    steps = [0 if extent == 1 else math.prod(dims[axis + 1 :]) * matrix for axis, extent in enumerate(dims)]
    return (0,) * (rank - len(dims)) + tuple(steps)


def _bias_steps(node: ir.Node, m: int, n: int, ctx: LoweringContext) -> tuple[int, int]:
    """Steps of the fused bias to the next row and column."""
    value = input_at(node, 2)
    if value is None:
        return (0, 0)
    dims = ctx.shape(value)
    rows, columns = (1, 1, *dims)[-2:]
    if math.prod(dims[:-2]) != 1 or rows not in (1, m) or columns not in (1, n):
        raise ctx.unsupported(node, f"a bias of shape {dims} cannot be broadcast to ({m}, {n})")
    return (0 if rows == 1 else columns, 0 if columns == 1 else 1)
