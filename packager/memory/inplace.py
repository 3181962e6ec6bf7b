"""Let outputs take over the memory of inputs that die in the same call.

Roots that share memory form a group: one rectangle of the arena, each root at a fixed displacement in it.  Two roots
may be joined when, wherever their bytes meet, one is used only before the other; they may meet in a step only as the
(output, input) pair a kernel's contract allows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from packager.memory.lifetimes import Occupancy, Span, Storage
from packager.program import Buffer, KernelCall


@dataclass
class Group:
    """Roots placed together: ``members`` maps a root to its displacement, ``pieces`` are the bytes they use when."""

    size: int
    members: dict[str, int]
    pieces: list[Occupancy] = field(default_factory=list)

    @property
    def first(self) -> int:
        """The first step in which any member is in use."""
        return min((piece.first for piece in self.pieces), default=0)

    @property
    def last(self) -> int:
        """The last step in which any member is in use."""
        return max((piece.last for piece in self.pieces), default=0)


class _Join(NamedTuple):
    """A plan to put group ``other`` at ``shift`` bytes inside group ``into``."""

    into: Group
    other: Group
    shift: int


def may_share(storage: Storage, call: KernelCall) -> Iterator[tuple[str, str]]:
    """(root of the output, root of the input) for every pair the kernel's contract lets share memory."""
    for made, given in _allowed(storage, call):
        yield storage.span(made).root, storage.span(given).root


def join_in_place(
    storage: Storage, order: Sequence[int], roots: dict[str, tuple[Occupancy, ...]], align: int
) -> list[Group]:
    """Groups of all ``roots`` (their occupancies by name), with outputs joined to dying inputs where it is allowed."""
    groups = {root: Group(storage.size(root), {root: 0}, list(pieces)) for root, pieces in roots.items()}
    for position, number in enumerate(order):
        call = storage.program.body[number]
        for made, given in _allowed(storage, call):
            plan = _fit(groups, storage.span(made), storage.span(given), align)
            if plan is not None and _operands_agree(groups, storage, number, plan) and _disjoint(plan, position + 1):
                _merge(groups, plan)
    return list({id(group): group for group in groups.values()}.values())


def _allowed(storage: Storage, call: KernelCall) -> Iterator[tuple[Buffer, Buffer]]:
    for output, given in call.in_place:
        operand = call.inputs[given]
        if not isinstance(operand, Buffer):
            continue
        made, source = storage.buffers[call.outputs[output].name], storage.buffers[operand.name]
        same_form = made.format == source.format and (made.format.is_plain or made.shape == source.shape)
        if same_form and made.stored_bytes == source.stored_bytes and made.pool == source.pool:
            yield made, source


def _fit(groups: Mapping[str, Group], made: Span, given: Span, align: int) -> _Join | None:
    """How the two groups would lie so that ``made`` and ``given`` meet; None when one does not hold the other."""
    into, other = groups[given.root], groups[made.root]
    if into is other:
        return None
    shift = into.members[given.root] + given.begin - other.members[made.root] - made.begin
    if shift < 0 or shift + other.size > into.size:
        # the input's group must then fit inside the output's: a temporary that moves into a part of a Concat
        into, other, shift = other, into, -shift
    if shift < 0 or shift % align or shift + other.size > into.size:
        return None
    outlives = other.first < into.first or other.last > into.last
    if outlives and other.size < into.size:
        return None  # a small tensor would keep a large one alive
    return _Join(into, other, shift)


def _operands_agree(groups: dict[str, Group], storage: Storage, number: int, join: _Join) -> bool:
    """Within the call, what it writes may meet only what the contract allows (or what shared memory before)."""
    into, other, shift = join
    call = storage.program.body[number]
    permitted = _permitted(storage, call)

    def place(span: Span) -> tuple[int, int] | None:
        group = groups[span.root]
        if group is not into and group is not other:
            return None
        base = group.members[span.root] + (shift if group is other else 0)
        return base + span.begin, base + span.end

    for written in storage.access[number].writes:
        for span in storage.access[number].spans:
            here, there = place(written), place(span)
            if span.root == written.root or here is None or there is None:
                continue
            meet = here[0] < there[1] and there[0] < here[1]
            if meet and not (here == there and (written, span) in permitted):
                return False
    return True


def _permitted(storage: Storage, call: KernelCall) -> set[tuple[Span, Span]]:
    """(output, input) spans that may share memory; an input given twice must be allowed both times."""
    forbidden = {
        (storage.span(output), storage.span(given))
        for o, output in enumerate(call.outputs)
        for i, given in enumerate(call.inputs)
        if isinstance(given, Buffer) and (o, i) not in call.in_place
    }
    return {(storage.span(made), storage.span(given)) for made, given in _allowed(storage, call)} - forbidden


def _disjoint(join: _Join, step: int) -> bool:
    """Whether bytes both use are used by one only before the other; in ``step`` itself they may change hands."""
    into, other, shift = join
    for a in into.pieces:
        for b in other.pieces:
            if a.begin < b.end + shift and b.begin + shift < a.end:
                meet_once = (a.last == b.first == step) or (b.last == a.first == step)
                if not (a.last < b.first or b.last < a.first or meet_once):
                    return False
    return True


def _merge(groups: dict[str, Group], join: _Join) -> None:
    into, other, shift = join
    for root, displacement in other.members.items():
        into.members[root] = displacement + shift
        groups[root] = into
    into.pieces += [Occupancy(p.begin + shift, p.end + shift, p.first, p.last) for p in other.pieces]
