"""Element-wise operators, alone or fused: one map over broadcast operands.

What each operator computes is in ``emit_arithmetic`` and ``emit_activation``; here its operands are laid out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import onnx_ir as ir

import packager.ops.emit_activation as activations
import packager.ops.emit_arithmetic as arithmetic
from packager.lower.context import LoweringContext
from packager.lower.registry import LayoutRule, lowering
from packager.ops.broadcast import MAX_INPUTS, MAX_RANK, Broadcaster, merge, widen
from packager.ops.expression import Element, ExpressionBuilder, Term, emitter_of, emitters
from packager.program import Buffer, DType, Expression, Kernel, KernelCall, Operand

MAP_F32 = Kernel("ep_map_f32", "ep_map.h", splits=True, variadic=True)
MAP_ANY = Kernel("ep_map_any", "ep_map.h", splits=True, variadic=True)

EMITTING_MODULES = (arithmetic, activations)
"""Importing them registers the operators."""


@dataclass(frozen=True)
class Body:
    """One element's computation: nodes in order, the values read from memory, literals, the value written."""

    nodes: tuple[ir.Node, ...]
    operands: tuple[ir.Value, ...]
    literals: Mapping[ir.Value, npt.NDArray[np.generic]]
    result: ir.Value
    dtypes: Mapping[ir.Value, DType]

    @property
    def is_vector(self) -> bool:
        """Whether all values are float32, or truth values that are neither read nor written."""
        ends = [self.dtypes[value] for value in (*self.operands, self.result)]
        inside = [self.dtypes[output] for node in self.nodes for output in node.outputs]
        return all(dtype is DType.FLOAT32 for dtype in ends) and set(inside) <= {DType.FLOAT32, DType.BOOL}

    def expression(self, *, vector: bool) -> Expression:
        """The C of it."""
        builder = ExpressionBuilder(vector)
        terms: dict[ir.Value, Term] = {value: builder.operand(self.dtypes[value]) for value in self.operands}
        for value, array in self.literals.items():
            terms[value] = builder.literal(_item(array), self.dtypes[value])
        for node in self.nodes:
            emit = emitter_of(node.op_type)
            assert emit is not None, f"{node.op_type} is not element-wise"
            output = node.outputs[0]
            arguments = [terms[value] for value in read_by(node)]
            terms[output] = emit(Element(builder, node, arguments, self.dtypes[output]))
        return builder.finish(terms[self.result], self.dtypes[self.result])


@lowering(*emitters(), layout=LayoutRule.FOLLOW)
def elementwise(node: ir.Node, ctx: LoweringContext) -> Iterable[KernelCall]:
    """``y[i] = f(a[i], b[i], ...)`` with ONNX (numpy) broadcasting."""
    return map_calls(node, _body(node, (node,), read_by(node), ctx, result=node.outputs[0], outer={}), ctx, {})


@lowering("FusedElementwise", domain="edgepack", layout=LayoutRule.FOLLOW)
def fused_elementwise(node: ir.Node, ctx: LoweringContext) -> Iterable[KernelCall]:
    """The graph in attribute ``body``: its inputs are the node's, its one output is the node's."""
    graph = node.attributes["body"].as_graph()
    inner = {mine: theirs for mine, theirs in zip(graph.inputs, node.inputs, strict=True) if theirs is not None}
    used = [*graph.inputs, *graph.initializers.values()]
    body = _body(node, tuple(graph), used, ctx, result=graph.outputs[0], outer=inner)
    return map_calls(node, body, ctx, inner)


def read_by(node: ir.Node) -> list[ir.Value]:
    """The inputs that matter: those present, without CastLike's second, which only lends its type."""
    present = [value for value in node.inputs if value is not None]
    return present[:1] if node.op_type == "CastLike" else present


def map_calls(node: ir.Node, body: Body, ctx: LoweringContext, outer: Mapping[ir.Value, ir.Value]) -> list[KernelCall]:
    """The map that computes ``body``, after the copies of operands it needs; ``outer`` says what body inputs stand for.

    ``ep_map_f32`` where everything is float32 and contiguous, else ``ep_map_any``.
    """
    output = ctx.buffer(node.outputs[0])
    if 0 in output.shape:
        return []
    broadcaster = Broadcaster(node, output, ctx)
    inputs = [broadcaster.value(outer.get(value, value)) for value in body.operands]
    operands = [operand.operand for operand in inputs]
    space = merge(
        output.format.extents(output.shape),
        output.format.strides(output.shape),
        [operand.strides for operand in inputs],
    )
    space, operands = widen(space, operands, ctx)
    if len(space.extents) > MAX_RANK or len(inputs) > MAX_INPUTS:
        form = f"{len(inputs)} inputs over {len(space.extents)} axes"
        raise ctx.unsupported(node, form, f"at most {MAX_INPUTS} inputs and {MAX_RANK} axes that do not merge")
    vector = body.is_vector and space.is_vectorisable
    sizes = None if vector else [operand.dtype.size for operand in operands]
    call = ctx.call(
        MAP_F32 if vector else MAP_ANY,
        node,
        [output],
        operands,
        space.descriptor(1 if vector else output.dtype.size, sizes),
        expression=body.expression(vector=vector),
        extent=space.range,
        in_place=[(0, index) for index, operand in enumerate(operands) if _may_share(output, operand)],
    )
    return [*broadcaster.copies, call]


def _may_share(output: Buffer, operand: Operand) -> bool:
    """Whether element i of both lies in the same bytes, so that each is read before it is overwritten."""
    return (
        isinstance(operand, Buffer)
        and (operand.shape, operand.format) == (output.shape, output.format)
        and operand.dtype.size == output.dtype.size
    )


def _body(
    node: ir.Node,
    nodes: tuple[ir.Node, ...],
    used: Sequence[ir.Value],
    ctx: LoweringContext,
    *,
    result: ir.Value,
    outer: Mapping[ir.Value, ir.Value],
) -> Body:
    """Sort the values that ``nodes`` read into operands (once each) and one-element constants."""
    operands: list[ir.Value] = []
    literals: dict[ir.Value, npt.NDArray[np.generic]] = {}
    for value in dict.fromkeys(used):
        array = ctx.array(outer.get(value, value))
        if array is not None and array.size == 1:
            literals[value] = array
        else:
            operands.append(value)
    if not operands:
        raise ctx.unsupported(node, "all inputs are constants", "the frontend folds such nodes: this is a bug")
    dtypes = {value: ctx.dtype(outer.get(value, value)) for value in (*operands, *literals)}
    dtypes |= {output: ctx.dtype(output) for inner in nodes for output in inner.outputs if output is not result}
    dtypes[result] = ctx.dtype(node.outputs[0])
    return Body(nodes, tuple(operands), literals, result, dtypes)


def _item(array: npt.NDArray[np.generic]) -> float | int | bool:
    element = array.reshape(-1)[0]
    return float(element) if array.dtype.name == "bfloat16" else element.item()
