"""Per-step figures of a Program: what each kernel call computes, reads and writes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from packager.program import Buffer, Constant, KernelCall, Program
from packager.report.document import Json, document


@dataclass(frozen=True)
class Step:
    """One kernel call: the ONNX nodes it came from, multiply-accumulates, bytes of weights and activations touched."""

    source: str
    kernel: str
    macs: int
    weights_bytes: int
    input_bytes: int
    output_bytes: int


def steps_of(program: Program) -> tuple[Step, ...]:
    """The calls of ``program`` in order.  A constant that several calls share counts for the first."""
    seen: set[str] = set()
    return tuple(_step(call, seen) for call in program.body)


def build_document(program: Program, facts: Mapping[str, object]) -> dict[str, Json]:
    """``report/build.json``: ``facts`` about the build and the steps of the program."""
    return document("build", model=program.name, macs=program.macs, **facts, steps=steps_of(program))


def _step(call: KernelCall, seen: set[str]) -> Step:
    constants = [operand for operand in call.inputs if isinstance(operand, Constant)]
    fresh = [constant for constant in constants if constant.name not in seen]
    seen.update(constant.name for constant in fresh)
    return Step(
        source=call.source,
        kernel=call.kernel.name,
        macs=call.macs,
        weights_bytes=sum(len(constant.data) for constant in fresh),
        input_bytes=sum(operand.logical_bytes for operand in call.inputs if isinstance(operand, Buffer)),
        output_bytes=sum(buffer.logical_bytes for buffer in call.outputs),
    )
