"""Streaming states: graph outputs that are graph inputs of the next inference."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence

import onnx_ir as ir

from packager.errors import ModelError, Problem
from packager.lower.context import LoweringContext
from packager.ops.views import View, copy
from packager.program import Buffer, KernelCall, Operand, Port, State

_HINT = "`edgepack inspect MODEL` lists inputs and outputs; write `--state OUTPUT:INPUT`"


def check_states(model: ir.Model, states: Mapping[str, str]) -> None:
    """ModelError, naming both ends, for every pair that does not fit or does not exist."""
    problems = list(_problems(model, states))
    if problems:
        raise ModelError(problems)


def _problems(model: ir.Model, states: Mapping[str, str]) -> Iterator[Problem]:
    inputs = {value.name: value for value in model.graph.inputs if value.name not in model.graph.initializers}
    outputs = {value.name: value for value in model.graph.outputs}
    for output, target in states.items():
        where = f"state '{output}' -> '{target}'"
        made, taken = outputs.get(output), inputs.get(target)
        if made is None:
            yield Problem("EP0214", f"the model has no output '{output}'", where, _HINT)
        if taken is None:
            yield Problem("EP0214", f"the model has no input '{target}'", where, _HINT)
        if list(states.values()).count(target) > 1:
            yield Problem("EP0214", f"more than one output feeds '{target}'", where, _HINT)
        if made is not None and taken is not None and _type(made) != _type(taken):
            what = f"output '{output}' is {_type(made)}, input '{target}' is {_type(taken)}"
            yield Problem("EP0214", what, where, "a state keeps its type and shape")
    if outputs and outputs.keys() <= states.keys():
        yield Problem("EP0214", "all outputs are states: nothing is left to compute", hint=_HINT)


def _type(value: ir.Value) -> str:
    dtype = value.dtype.name.lower() if value.dtype is not None else "unknown"
    return f"{dtype} {list(map(str, value.shape)) if value.shape is not None else '[?]'}".replace("'", "")


def carry_states(
    ctx: LoweringContext, model: ir.Model, states: Mapping[str, str], outputs: Sequence[Port]
) -> tuple[list[KernelCall], tuple[State, ...], tuple[Port, ...]]:
    """The calls that end an inference: every state input takes its output's value.

    What is read from a state's own memory at that time, by an output of the model or by another state, is copied
    first.  Returns the calls, the states and ``outputs`` with such operands replaced.
    """
    if not states:
        return [], (), tuple(outputs)
    values = {value.name: value for value in (*model.graph.inputs, *model.graph.outputs)}
    targets = {name: ctx.buffer(values[target]) for name, target in states.items()}
    kept = {ctx.root(target) for target in targets.values()}
    before: list[KernelCall] = []

    def safe(name: str, operand: Operand) -> Operand:
        if not isinstance(operand, Buffer) or ctx.root(operand) not in kept:
            return operand
        saved = ctx.temporary(operand.shape, operand.dtype)
        before.extend(_copy(ctx, f"{name}, before it changes", saved, operand))
        return saved

    ports = tuple(dataclasses.replace(port, operand=safe(port.name, port.operand)) for port in outputs)
    sources = {name: safe(name, _operand(ctx, values[name])) for name in states}
    updates = [
        call
        for name, source in sources.items()
        for call in _copy(ctx, f"{name} -> {states[name]}", targets[name], source)
    ]
    made = tuple(State(name, states[name], target) for name, target in targets.items())
    return [*before, *updates], made, ports


def _operand(ctx: LoweringContext, value: ir.Value) -> Operand:
    found = ctx.operand(value)
    assert found is not None
    return found


def _copy(ctx: LoweringContext, title: str, target: Buffer, source: Operand) -> list[KernelCall]:
    node = ir.Node("edgepack", "State", [], name=title)
    view = View.of((math.prod(target.shape),))
    return copy(ctx, node, (target, view), (source, view))
