"""The gate behind the planner: replay both programs and compare what every call reads.

Shares no code with the planner.  The program as lowered is replayed with storage of its own for every root buffer;
the planned one with the planned addresses in one arena.  Each write leaves its author's number on the bytes; every
read must find the same authors, at the same place of their tensors, in both.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from packager.program import Buffer, KernelCall, Program

_SHOWN = 10


class PlanError(Exception):
    """A plan that would compute something else: a bug of edgepack, not something a user can act on."""


def check_plan(original: Program, planned: Program) -> None:
    """PlanError, listing the faults, when ``planned`` is not ``original`` with its buffers safely placed."""
    faults = list(plan_faults(original, planned))
    if faults:
        more = [f"and {len(faults) - _SHOWN} more"] if len(faults) > _SHOWN else []
        raise PlanError("the memory plan is wrong: " + "; ".join(faults[:_SHOWN] + more))


def plan_faults(original: Program, planned: Program) -> Iterator[str]:
    """Everything wrong with ``planned``, one line each."""
    addresses, faults = _planned_addresses(planned)
    yield from faults
    numbers = _match_calls(original, planned)
    if numbers is None:
        yield "the planned calls are not the lowered calls"
    if faults or numbers is None:
        return
    home, buffers = _separate_addresses(original), planned.buffer_map()
    expected = _expectations(original, home)
    arena = _Memory((addresses[buffer.name], buffer.stored_bytes) for buffer in planned.buffers)
    _write_ports(arena, planned, addresses)
    for call, number in zip(planned.body, numbers, strict=True):
        yield from _overlap_faults(call, addresses, home)
        for reading in expected[number]:
            if not arena.holds(addresses[reading.buffer], reading):
                yield f"{_title(call)} does not find the values of '{reading.buffer}' it should"
        _write_outputs(arena, call, number, addresses, buffers)
    for reading in expected[len(original.body)]:
        if not arena.holds(addresses[reading.buffer], reading):
            yield f"output '{reading.buffer}' is not there at the end"
    yield from _state_faults(planned, addresses)


@dataclass(frozen=True)
class _Reading:
    """Bytes ``begin`` to ``end`` of ``buffer``: ``author`` wrote them, to a buffer that starts ``base`` from it."""

    buffer: str
    begin: int
    end: int
    author: int
    base: int


class _Memory:
    """Authors of bytes, for addresses known beforehand: cells between neighbouring ends are written as one."""

    def __init__(self, spans: Iterable[tuple[int, int]]) -> None:
        cuts = {cut for begin, size in spans for cut in (begin, begin + size)}
        self._cuts = np.array(sorted(cuts | {0}), dtype=np.int64)
        self._authors = np.full(len(self._cuts), -1, dtype=np.int64)
        self._bases = np.zeros(len(self._cuts), dtype=np.int64)

    def _cells(self, begin: int, end: int) -> slice:
        return slice(
            int(np.searchsorted(self._cuts, begin, "right")) - 1, int(np.searchsorted(self._cuts, end, "left"))
        )

    def write(self, begin: int, size: int, author: int) -> None:
        if size:
            cells = self._cells(begin, begin + size)
            self._authors[cells] = author
            self._bases[cells] = begin

    def read(self, name: str, begin: int, size: int) -> Iterator[_Reading]:
        """Runs of equal authorship among the bytes that have been written."""
        if not size:
            return
        at = self._cells(begin, begin + size)
        authors, bases = self._authors[at], self._bases[at]
        changes = np.flatnonzero((np.diff(authors) != 0) | (np.diff(bases) != 0)) + 1
        firsts = [0, *changes.tolist()]
        for first, last in zip(firsts, [*firsts[1:], len(authors)], strict=True):
            if authors[first] != -1:
                start, end = self._cuts[at.start + first], self._cuts[at.start + last]
                yield _Reading(
                    name, int(start) - begin, int(end) - begin, int(authors[first]), int(bases[first]) - begin
                )

    def holds(self, address: int, reading: _Reading) -> bool:
        cells = self._cells(address + reading.begin, address + reading.end)
        right_author = self._authors[cells] == reading.author
        return bool(np.all(right_author & (self._bases[cells] == address + reading.base)))


def _planned_addresses(planned: Program) -> tuple[dict[str, int], list[str]]:
    buffers = planned.buffer_map()
    faults, addresses = [], {}
    for buffer in planned.buffers:
        if buffer.offset is None:
            faults.append(f"'{buffer.name}' has no offset")
            continue
        addresses[buffer.name] = buffer.offset
        if buffer.offset < 0 or buffer.offset + buffer.stored_bytes > planned.arena_bytes:
            faults.append(f"'{buffer.name}' leaves the arena")
        if buffer.alias is None and buffer.offset % planned.arena_align:
            faults.append(f"'{buffer.name}' is not aligned")
        if buffer.alias is not None:
            base = buffers.get(buffer.alias[0])
            if base is None or base.offset is None or base.offset + buffer.alias[1] != buffer.offset:
                faults.append(f"view '{buffer.name}' is not where '{buffer.alias[0]}' is")
    strangers = (buffer for buffer in _operands(planned) if buffers.get(buffer.name) != buffer)
    faults.extend(f"'{buffer.name}' differs between a call and the program" for buffer in strangers)
    return addresses, faults


def _state_faults(planned: Program, addresses: Mapping[str, int]) -> Iterator[str]:
    """States persist: they lie at the start of the arena, where only they and their views are."""
    states = {state.buffer.name for state in planned.states}
    buffers = planned.buffer_map()
    for buffer in planned.buffers:
        root = buffer
        while root.alias is not None:
            root = buffers[root.alias[0]]
        begin, end = addresses[buffer.name], addresses[buffer.name] + buffer.stored_bytes
        if root.name in states and end > planned.state_bytes:
            yield f"state '{buffer.name}' is not among the states"
        if root.name not in states and begin < planned.state_bytes and end > begin:
            yield f"'{buffer.name}' lies where states persist"


def _operands(program: Program) -> Iterator[Buffer]:
    for call in program.body:
        yield from _buffers((*call.outputs, *call.inputs, call.scratch))
    yield from _buffers(port.operand for port in (*program.inputs, *program.outputs))
    yield from (state.buffer for state in program.states)


def _buffers(operands: Iterable[object]) -> Iterator[Buffer]:
    return (operand for operand in operands if isinstance(operand, Buffer))


def _match_calls(original: Program, planned: Program) -> list[int] | None:
    """For every planned call its number in the original; None when they are not the same calls."""
    numbers: dict[tuple[object, ...], list[int]] = {}
    for number, call in enumerate(original.body):
        numbers.setdefault(_identity(call), []).append(number)
    if Counter(map(_identity, original.body)) != Counter(map(_identity, planned.body)):
        return None
    return [numbers[_identity(call)].pop(0) for call in planned.body]


def _identity(call: KernelCall) -> tuple[object, ...]:
    operands = (*call.outputs, None, *call.inputs, None, call.scratch)
    names = tuple(None if operand is None else operand.name for operand in operands)
    return names, replace(call, outputs=(), inputs=(), scratch=None)


def _separate_addresses(program: Program) -> dict[str, int]:
    """Addresses where every root buffer has storage of its own."""
    buffers, addresses, top = program.buffer_map(), dict[str, int](), 0
    for buffer in program.buffers:
        if buffer.alias is None:
            addresses[buffer.name] = top
            top += buffer.stored_bytes + 1  # one apart: neighbours do not touch

    def locate(name: str) -> int:
        if name not in addresses:
            alias = buffers[name].alias
            assert alias is not None
            addresses[name] = locate(alias[0]) + alias[1]
        return addresses[name]

    for buffer in program.buffers:
        locate(buffer.name)
    return addresses


def _expectations(program: Program, home: dict[str, int]) -> list[list[_Reading]]:
    """What each call reads, and last what the outputs hold.

    A write onto bytes that were written before (the border of a halo, an update in place) counts as a read of them.
    """
    memory = _Memory((home[buffer.name], buffer.stored_bytes) for buffer in program.buffers)
    _write_ports(memory, program, home)
    buffers = program.buffer_map()

    def read(operands: Iterable[object]) -> list[_Reading]:
        names = dict.fromkeys(operand.name for operand in _buffers(operands))
        return [reading for name in names for reading in memory.read(name, home[name], buffers[name].stored_bytes)]

    expected = []
    for number, call in enumerate(program.body):
        expected.append(read((*call.inputs, *call.outputs)))
        _write_outputs(memory, call, number, home, buffers)
    expected.append(read([*(port.operand for port in program.outputs), *(state.buffer for state in program.states)]))
    return expected


def _write_ports(memory: _Memory, program: Program, addresses: dict[str, int]) -> None:
    given = [*(port.operand for port in program.inputs), *(state.buffer for state in program.states)]
    for number, operand in enumerate(given):
        if isinstance(operand, Buffer):
            memory.write(addresses[operand.name], operand.stored_bytes, -2 - number)


def _write_outputs(
    memory: _Memory, call: KernelCall, number: int, addresses: dict[str, int], buffers: Mapping[str, Buffer]
) -> None:
    for buffer in _buffers((call.scratch, *call.outputs)):
        memory.write(addresses[buffer.name], buffers[buffer.name].stored_bytes, number)


def _overlap_faults(call: KernelCall, addresses: dict[str, int], home: dict[str, int]) -> Iterator[str]:
    """What the call writes may share bytes only with what the contract names, or what shared them before planning."""

    def meet(a: Buffer, b: Buffer, where: dict[str, int]) -> bool:
        return (
            where[a.name] < where[b.name] + b.stored_bytes
            and where[b.name] < where[a.name] + a.stored_bytes
            and min(a.stored_bytes, b.stored_bytes) > 0
        )

    inputs = [(number, given) for number, given in enumerate(call.inputs) if isinstance(given, Buffer)]
    for o, target in enumerate(_buffers((*call.outputs, call.scratch))):
        others = [*inputs, *((-1, earlier) for earlier in call.outputs[:o])]
        for i, other in others:
            if not meet(target, other, addresses) or meet(target, other, home):
                continue
            same_place = addresses[target.name] == addresses[other.name] and target.format == other.format
            if not (same_place and (o, i) in call.in_place):
                yield f"{_title(call)} writes '{target.name}' over '{other.name}'"


def _title(call: KernelCall) -> str:
    return call.source or call.kernel.name
