"""From a static, optimised ONNX graph to a :class:`~packager.program.Program` without addresses."""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil
from collections.abc import Mapping
from types import MappingProxyType

import onnx_ir as ir

import packager.ops
from packager.config.isa import Isa
from packager.errors import EdgepackError, ModelError, Problem
from packager.lower.context import LoweringContext, describe
from packager.lower.parallel import mark_parallel
from packager.lower.registry import Lowering, registry
from packager.lower.states import carry_states, check_states
from packager.ops.halo import ZERO_HALO, zero_halo_descriptor
from packager.program import Buffer, Constant, KernelCall, Operand, Port, Program

NO_STATES: Mapping[str, str] = MappingProxyType({})


def supported(domain: str, op_type: str) -> bool:
    """Whether an operator has a lowering."""
    return (domain, op_type) in lowerings()


def lower(
    model: ir.Model,
    *,
    name: str,
    isa: Isa,
    threads: int = 1,
    sha256: str = "",
    states: Mapping[str, str] = NO_STATES,
) -> Program:
    """Lower every node in graph order.

    ``states`` maps graph outputs to the graph inputs they are at the next inference; neither is a port then.
    Raises ModelError with all nodes that cannot be lowered, not only the first, or all states that do not fit.
    """
    check_states(model, states)
    ctx = LoweringContext(isa, threads=threads)
    table = lowerings()
    body: list[KernelCall] = []
    problems: list[Problem] = []
    fed = {*model.graph.initializers, *states.values()}
    ports = [(value, ctx.operand(value)) for value in model.graph.inputs if value.name not in fed]
    for node in model.graph:
        row = table.get((node.domain if node.domain != "ai.onnx" else "", node.op_type))
        if row is None:
            problems.append(_no_lowering(node))
            continue
        try:
            body.extend(_lower_node(node, row, ctx))
        except EdgepackError as error:
            problems.extend(error.problems)
    if problems:
        raise ModelError(problems)
    results = [_port(value, ctx.operand(value), ctx) for value in model.graph.outputs if value.name not in states]
    updates, kept, outputs = carry_states(ctx, model, states, results)
    body += updates
    final = mark_parallel([_with_final_buffers(call, ctx) for call in body], lanes=isa.lanes, threads=threads)
    held = [*(operand for _, operand in ports), *(port.operand for port in outputs), *(state.buffer for state in kept)]
    used = _used_buffers(final, ctx, held)
    return Program(
        name=name,
        inputs=tuple(_port(value, operand, ctx) for value, operand in ports),
        outputs=outputs,
        buffers=tuple(used),
        constants=_used_constants(final, outputs),
        body=tuple(final),
        lanes=isa.lanes,
        threads=threads if any(call.parallel for call in final) else 1,
        model_sha256=sha256,
        arena_align=max(16, 4 * isa.lanes),
        states=kept,
    )


def lowerings() -> dict[tuple[str, str], Lowering]:
    """Every lowering by (domain, op_type); imports all of ``packager.ops``."""
    for module in pkgutil.iter_modules(packager.ops.__path__):
        importlib.import_module(f"packager.ops.{module.name}")
    return dict(registry())


def _lower_node(node: ir.Node, row: Lowering, ctx: LoweringContext) -> list[KernelCall]:
    made = row.function(node, ctx)
    calls = [made] if isinstance(made, KernelCall) else list(made)
    return [step for call in calls for step in (call, *_halo_calls(call, node, ctx))]


def _halo_calls(call: KernelCall, node: ir.Node, ctx: LoweringContext) -> list[KernelCall]:
    return [
        ctx.call(ZERO_HALO, node, [buffer], [], zero_halo_descriptor(buffer))
        for buffer in call.outputs
        if buffer.format.halo
    ]


def _no_lowering(node: ir.Node) -> Problem:
    domain = f" (domain {node.domain})" if node.domain else ""
    return Problem(
        "EP0203",
        f"operator {node.op_type}{domain} has no lowering and no function body",
        f"node {describe(node)}",
        "`edgepack ops` lists what is supported; a model-local function would be inlined",
    )


def _port(value: ir.Value, operand: Operand | None, ctx: LoweringContext) -> Port:
    if isinstance(operand, Buffer):
        operand = ctx.buffers[operand.name]
    assert operand is not None
    return Port(value.name or "", ctx.dtype(value), ctx.shape(value), operand)


def _with_final_buffers(call: KernelCall, ctx: LoweringContext) -> KernelCall:
    """Buffers may have become views of others after the call was made (Concat without a copy)."""

    def final(operand: Operand | None) -> Operand | None:
        return ctx.buffers[operand.name] if isinstance(operand, Buffer) else operand

    return dataclasses.replace(
        call,
        outputs=tuple(ctx.buffers[buffer.name] for buffer in call.outputs),
        inputs=tuple(final(operand) for operand in call.inputs),
        scratch=ctx.buffers[call.scratch.name] if call.scratch is not None else None,
    )


def _used_buffers(body: list[KernelCall], ctx: LoweringContext, held: list[Operand | None]) -> list[Buffer]:
    """Buffers some call, port or state touches, and the ones they are views of, in the order they were made."""
    operands = [operand for call in body for operand in (*call.outputs, *call.inputs, call.scratch)]
    names = {operand.name for operand in [*operands, *held] if isinstance(operand, Buffer)}
    for name in list(names):
        buffer = ctx.buffers[name]
        while buffer.alias is not None:
            names.add(buffer.alias[0])
            buffer = ctx.buffers[buffer.alias[0]]
    return [buffer for name, buffer in ctx.buffers.items() if name in names]


def _used_constants(body: list[KernelCall], outputs: tuple[Port, ...]) -> tuple[Constant, ...]:
    """Constants in the order of their first use, each once."""
    operands: list[Operand | None] = [operand for call in body for operand in call.inputs]
    operands += [port.operand for port in outputs]
    return tuple(dict.fromkeys(operand for operand in operands if isinstance(operand, Constant)))
