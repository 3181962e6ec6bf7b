"""Give every buffer of a program its place in the arena."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

from packager.errors import BudgetError, ModelError, Problem
from packager.memory.check import check_plan
from packager.memory.inplace import Group, join_in_place
from packager.memory.lifetimes import Storage, occupancies
from packager.memory.offsets import Rectangle, place, tallest_column
from packager.memory.order import search_order
from packager.memory.report import MemoryReport, Placement
from packager.program import Buffer, KernelCall, Operand, Port, Program
from packager.progress import Progress, silent

_LARGEST = 1 << 40
_SHAPES_HINT = "check the model's shapes: `edgepack inspect MODEL`"


def plan(program: Program, *, progress: Progress = silent) -> tuple[Program, MemoryReport]:
    """``program`` with its calls in the best order found and an offset for every buffer, checked, and what it costs.

    Buffers nothing touches are dropped.  Arena offsets are multiples of ``max(16, 4 * lanes)``, which becomes the
    arena's alignment.
    Raises BudgetError for tensors no machine can hold and ModelError for negative extents.
    """
    progress("planning memory")
    align = max(16, 4 * program.lanes)
    _check_sizes(program)
    storage = Storage(program)
    given = tuple(range(len(program.body)))
    found = search_order(storage, align)
    best = _layout(storage, given, align)
    if found != given:
        other = _layout(storage, found, align)
        best = other if other.arena_bytes < best.arena_bytes else best
    planned = _apply(storage, best, align)
    check_plan(program, planned)
    return planned, _report(storage, best)


def _check_sizes(program: Program) -> None:
    """Refuse what no machine can hold; models that say so by mistake get here with all their shapes inferred."""
    problems: list[Problem] = []
    for buffer in program.buffers:
        where = f"tensor '{buffer.name}', shape {list(buffer.shape)}"
        if any(extent < 0 for extent in buffer.shape):
            what = "a dimension is negative: a window or slice exceeds its input"
            raise ModelError(
                Problem("EP0213", what, where, "give the model a larger input: a larger --dim, or export it so")
            )
        if buffer.stored_bytes > _LARGEST:
            problems.append(Problem("EP0402", f"a tensor needs {buffer.stored_bytes:,} bytes", where, _SHAPES_HINT))
    if problems:
        raise BudgetError(problems)


@dataclass(frozen=True)
class _Layout:
    order: tuple[int, ...]
    groups: tuple[Group, ...]
    offsets: tuple[int, ...]
    arena_bytes: int
    state_bytes: int

    def root_offsets(self) -> dict[str, int]:
        return {
            root: offset + displacement
            for group, offset in zip(self.groups, self.offsets, strict=True)
            for root, displacement in group.members.items()
        }


def _layout(storage: Storage, order: Sequence[int], align: int) -> _Layout:
    """States lie one after another at the start of the arena, everything else shares what follows."""
    groups = join_in_place(storage, order, occupancies(storage, order), align)
    states = {span.root for span in storage.states}
    kept = [group for group in groups if states & group.members.keys()]
    others = [group for group in groups if not states & group.members.keys()]
    sizes = [rectangle.size for rectangle in _rectangles(kept, align)]
    first = sum(sizes)
    rectangles = _rectangles(others, align)
    offsets = [first + offset for offset in place(rectangles)]
    ends = (offset + rectangle.size for offset, rectangle in zip(offsets, rectangles, strict=True))
    places = (*itertools.accumulate(sizes[:-1], initial=0), *offsets) if kept else tuple(offsets)
    return _Layout(tuple(order), (*kept, *others), places, max(ends, default=first), first)


def _rectangles(groups: Sequence[Group], align: int) -> list[Rectangle]:
    return [
        Rectangle(next(iter(group.members)), -(-group.size // align) * align, group.first, group.last)
        for group in groups
    ]


def _apply(storage: Storage, layout: _Layout, align: int) -> Program:
    offsets = layout.root_offsets()
    roots = set(offsets)
    placed: dict[str, Buffer] = {}
    for buffer in storage.program.buffers:
        span = storage.span(buffer)
        if span.root in roots:
            placed[buffer.name] = replace(storage.buffers[buffer.name], offset=offsets[span.root] + span.begin)

    def operand(old: Operand | None) -> Operand | None:
        return placed[old.name] if isinstance(old, Buffer) else old

    def port(old: Port) -> Port:
        return replace(old, operand=placed[old.operand.name]) if isinstance(old.operand, Buffer) else old

    def call(old: KernelCall) -> KernelCall:
        return replace(
            old,
            outputs=tuple(placed[output.name] for output in old.outputs),
            inputs=tuple(operand(given) for given in old.inputs),
            scratch=placed[old.scratch.name] if old.scratch is not None else None,
        )

    program = storage.program
    return replace(
        program,
        inputs=tuple(port(old) for old in program.inputs),
        outputs=tuple(port(old) for old in program.outputs),
        buffers=tuple(placed.values()),
        body=tuple(call(program.body[number]) for number in layout.order),
        arena_bytes=layout.arena_bytes,
        arena_align=align,
        states=tuple(replace(state, buffer=placed[state.buffer.name]) for state in program.states),
        state_bytes=layout.state_bytes,
    )


def _report(storage: Storage, layout: _Layout) -> MemoryReport:
    offsets = layout.root_offsets()
    pieces = occupancies(storage, layout.order)
    placements = tuple(
        Placement(
            root,
            min((piece.first for piece in pieces[root]), default=0),
            max((piece.last for piece in pieces[root]), default=0),
            offsets[root],
            storage.size(root),
            storage.buffers[root].logical_bytes,
        )
        for root in pieces
    )
    step, live = _peak(placements, layout, len(layout.order) + 2)
    sizes = {placement.name: placement.logical_bytes for placement in placements}
    names = sorted(live, key=lambda name: (-sizes[name], name))
    running = 0 < step <= len(layout.order)
    return MemoryReport(
        arena_bytes=layout.arena_bytes,
        lower_bound=sum(sizes[name] for name in live),
        stored_bound=tallest_column(_rectangles(layout.groups, 1)),
        steps=len(layout.order),
        peak_step=step,
        peak_source=storage.program.body[layout.order[step - 1]].source if running else "",
        peak_tensors=tuple(names),
        placements=placements,
        reordered=layout.order != tuple(range(len(layout.order))),
        in_place=sum(len(group.members) - 1 for group in layout.groups),
    )


def _peak(placements: Sequence[Placement], layout: _Layout, steps: int) -> tuple[int, list[str]]:
    """The step whose live tensors have the most logical bytes, and their names; what shares memory counts once."""
    group_of = {root: number for number, group in enumerate(layout.groups) for root in group.members}
    largest, peak_step, peak_names = -1, 0, list[str]()
    ordered = sorted(placements, key=lambda placement: (-placement.bytes, placement.name))
    by_step: list[list[Placement]] = [[] for _ in range(steps)]
    for placement in ordered:
        for step in range(placement.first, placement.last + 1):
            by_step[step].append(placement)
    for step, live in enumerate(by_step):
        counted: list[Placement] = []
        for one in live:
            shared = (other for other in counted if group_of[other.name] == group_of[one.name])
            if not any(one.offset < o.offset + o.bytes and o.offset < one.offset + one.bytes for o in shared):
                counted.append(one)
        total = sum(placement.logical_bytes for placement in counted)
        if total > largest:
            largest, peak_step, peak_names = total, step, [placement.name for placement in counted]
    return peak_step, peak_names
