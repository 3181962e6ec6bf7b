"""Reading attributes and constant inputs of nodes, with the errors that belong to them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import onnx_ir as ir

from packager.lower.context import LoweringContext
from packager.program import Operand


def input_at(node: ir.Node, index: int) -> ir.Value | None:
    """Input ``index``, None when it was left out."""
    return node.inputs[index] if index < len(node.inputs) else None


def required(node: ir.Node, index: int, ctx: LoweringContext) -> ir.Value:
    """Input ``index``; ModelError when it was left out."""
    value = input_at(node, index)
    if value is None:
        raise ctx.unsupported(node, f"input {index} is missing")
    return value


def required_operand(node: ir.Node, index: int, ctx: LoweringContext) -> Operand:
    """The operand of input ``index``; ModelError when it was left out."""
    operand = ctx.operand(required(node, index, ctx))
    assert operand is not None
    return operand


def normalised_axis(axis: int, rank: int, node: ir.Node, ctx: LoweringContext) -> int:
    """``axis`` counted from the front; ModelError when it is outside [-rank, rank)."""
    if not -rank <= axis < max(rank, 1):
        raise ctx.unsupported(node, f"axis {axis} is outside a tensor of rank {rank}")
    return axis % rank if rank else 0


def axis_attribute(node: ir.Node, rank: int, ctx: LoweringContext, default: int = 0) -> int:
    """Attribute ``axis`` counted from the front."""
    return normalised_axis(node.attributes.get_int("axis", default), rank, node, ctx)


def constant_ints(node: ir.Node, index: int, name: str, ctx: LoweringContext) -> tuple[int, ...] | None:
    """The values of constant integer input ``index``; None when it was left out, ModelError when it is computed."""
    value = input_at(node, index)
    if value is None:
        return None
    return tuple(int(entry) for entry in _constant(node, value, name, ctx).reshape(-1))


def _constant(node: ir.Node, value: ir.Value, name: str, ctx: LoweringContext) -> npt.NDArray[np.generic]:
    array = ctx.array(value)
    if array is None:
        raise ctx.unsupported(
            node,
            f"input '{name}' is computed at run time, so the output's shape or layout would depend on data",
            "make it a constant when exporting the model",
        )
    return array


def axes_input(node: ir.Node, index: int, rank: int, ctx: LoweringContext) -> tuple[int, ...] | None:
    """Constant input ``axes`` counted from the front, None when it was left out; ModelError when one comes twice."""
    raw = constant_ints(node, index, "axes", ctx)
    if raw is None:
        return None
    axes = tuple(normalised_axis(axis, rank, node, ctx) for axis in raw)
    if len(set(axes)) != len(axes):
        raise ctx.unsupported(node, f"axes {raw} name one axis twice")
    return axes


def axes_attribute(node: ir.Node, rank: int, ctx: LoweringContext) -> tuple[int, ...]:
    """Attribute ``axes`` counted from the front, all axes when it was left out."""
    raw = node.attributes.get_ints("axes")
    return tuple(range(rank)) if raw is None else tuple(normalised_axis(axis, rank, node, ctx) for axis in raw)


def constant_floats(node: ir.Node, index: int, name: str, ctx: LoweringContext) -> tuple[float, ...] | None:
    """The values of constant real input ``index``; None when it was left out or is empty, ModelError when computed."""
    value = input_at(node, index)
    array = _constant(node, value, name, ctx) if value is not None else None
    return tuple(float(entry) for entry in array.reshape(-1)) if array is not None and array.size else None
