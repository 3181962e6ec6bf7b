"""Which bytes every call touches and how long they must be kept.

Steps: 0 is the start (graph inputs are there), call ``k`` of the body runs at step ``k + 1``, and the step after the
last call is the end (graph outputs are still there).  States are there from the start to the end.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from packager.program import Buffer, KernelCall, Operand, Port, Program

START = 0


@dataclass(frozen=True)
class Span:
    """Bytes ``begin`` (inclusive) to ``end`` (exclusive) of the root buffer ``root``, the one that owns the storage."""

    root: str
    begin: int
    end: int

    def overlaps(self, other: Span) -> bool:
        """Whether the two share a byte."""
        return self.root == other.root and self.begin < other.end and other.begin < self.end


@dataclass(frozen=True)
class Access:
    """What one call touches; ``scratch`` is among ``writes`` too."""

    reads: tuple[Span, ...]
    writes: tuple[Span, ...]

    @property
    def spans(self) -> tuple[Span, ...]:
        """Everything touched."""
        return self.reads + self.writes


class Storage:
    """The buffers of a program with their views followed to the roots.

    Calls hold copies of buffers that may be older than the program's table, so everything is looked up by name.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.buffers = program.buffer_map()
        self._spans: dict[str, Span] = {}
        self.access = tuple(self._access(call) for call in program.body)
        self.states = self.buffer_spans(state.buffer for state in program.states)
        self.inputs = (*self._ports(program.inputs), *self.states)
        self.outputs = (*self._ports(program.outputs), *self.states)

    def span(self, buffer: Buffer) -> Span:
        """The bytes ``buffer`` occupies; ValueError when a view leaves its root or aliases run in a circle."""
        if buffer.name not in self._spans:
            self._spans[buffer.name] = self._follow(buffer.name)
        return self._spans[buffer.name]

    def size(self, root: str) -> int:
        """Bytes the root buffer occupies."""
        return self.buffers[root].stored_bytes

    def roots(self) -> tuple[str, ...]:
        """Root buffers that a call or a port touches, in order of first appearance."""
        spans = [*self.inputs, *(span for access in self.access for span in access.spans), *self.outputs]
        return tuple(dict.fromkeys(span.root for span in spans))

    def buffer_spans(self, operands: Iterable[Operand | None]) -> tuple[Span, ...]:
        """Spans of those operands that are buffers."""
        return tuple(self.span(operand) for operand in operands if isinstance(operand, Buffer))

    def _access(self, call: KernelCall) -> Access:
        scratch = (call.scratch,) if call.scratch is not None else ()
        return Access(self.buffer_spans(call.inputs), self.buffer_spans((*call.outputs, *scratch)))

    def _ports(self, ports: Sequence[Port]) -> tuple[Span, ...]:
        return self.buffer_spans(port.operand for port in ports)

    def _follow(self, name: str) -> Span:
        begin, at, seen = 0, name, {name}
        while (alias := self.buffers[at].alias) is not None:
            at, begin = alias[0], begin + alias[1]
            if at in seen:
                raise ValueError(f"buffer '{name}' is a view of itself")
            seen.add(at)
        end = begin + self.buffers[name].stored_bytes
        if begin < 0 or end > self.buffers[at].stored_bytes:
            raise ValueError(f"view '{name}' (bytes {begin} to {end}) leaves its root '{at}'")
        return Span(at, begin, end)


@dataclass(frozen=True)
class Occupancy:
    """Bytes ``begin`` to ``end`` of a root (or of a group of roots), in use from step ``first`` to step ``last``."""

    begin: int
    end: int
    first: int
    last: int


def dependencies(storage: Storage) -> tuple[int, ...]:
    """For every call the set of calls that must run before it, as a bit mask over call numbers.

    A call depends on every earlier call that wrote bytes it touches, or read bytes it writes.
    """
    writers: defaultdict[str, list[tuple[Span, int]]] = defaultdict(list)
    readers: defaultdict[str, list[tuple[Span, int]]] = defaultdict(list)
    masks = []
    for number, access in enumerate(storage.access):
        mask = 0
        for span in access.spans:
            for earlier, writer in writers[span.root]:
                if span.overlaps(earlier):
                    mask |= 1 << writer
        for span in access.writes:
            for earlier, reader in readers[span.root]:
                if span.overlaps(earlier):
                    mask |= 1 << reader
        for span in access.reads:
            readers[span.root].append((span, number))
        for span in access.writes:
            writers[span.root].append((span, number))
        masks.append(mask & ~(1 << number))
    return tuple(masks)


def occupancies(storage: Storage, order: Sequence[int]) -> dict[str, tuple[Occupancy, ...]]:
    """For every root, its bytes cut where views begin and end, each piece with the steps it is in use.

    ``order`` is the sequence in which the calls of ``storage.program`` run.
    """
    touched: defaultdict[str, list[tuple[Span, int]]] = defaultdict(list)
    for span in storage.inputs:
        touched[span.root].append((span, START))
    for position, number in enumerate(order):
        for span in storage.access[number].spans:
            touched[span.root].append((span, position + 1))
    for span in storage.outputs:
        touched[span.root].append((span, len(order) + 1))
    return {root: _pieces(events) for root, events in touched.items()}


def _pieces(events: Sequence[tuple[Span, int]]) -> tuple[Occupancy, ...]:
    cuts = sorted({cut for span, _ in events for cut in (span.begin, span.end)})
    pieces = []
    for begin, end in itertools.pairwise(cuts):
        steps = [step for span, step in events if span.begin <= begin and end <= span.end]
        if steps:
            pieces.append(Occupancy(begin, end, min(steps), max(steps)))
    return tuple(pieces)
