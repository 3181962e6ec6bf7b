"""The independent checker against an interpreter on real bytes, and the planner against both."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packager.memory.check import PlanError, check_plan, plan_faults
from packager.memory.offsets import Rectangle, place, tallest_column
from packager.memory.planner import plan
from packager.program import Buffer, Program
from tests.memory.programs import call, program, random_program, run_on_bytes, tensor

SEEDS = st.integers(0, 2**32 - 1)


def separate(subject: Program) -> tuple[dict[str, int], int]:
    """Addresses without any sharing but that of views."""
    buffers, top = subject.buffer_map(), 0
    addresses: dict[str, int] = {}
    for buffer in subject.buffers:
        if buffer.alias is None:
            addresses[buffer.name], top = top, top + buffer.stored_bytes
    for buffer in subject.buffers:
        at, name = 0, buffer.name
        while (alias := buffers[name].alias) is not None:
            name, at = alias[0], at + alias[1]
        addresses[buffer.name] = addresses[name] + at
    return addresses, top


def planned_addresses(planned: Program) -> dict[str, int]:
    return {buffer.name: buffer.offset for buffer in planned.buffers if buffer.offset is not None}


@settings(max_examples=150, deadline=None)
@given(SEEDS, st.integers(1, 25))
def test_a_planned_program_computes_what_the_lowered_one_does(seed: int, steps: int) -> None:
    subject = random_program(seed, steps)
    planned, report = plan(subject)
    assert run_on_bytes(planned, planned_addresses(planned), planned.arena_bytes) == run_on_bytes(
        subject, *separate(subject)
    )
    assert report.lower_bound <= report.arena_bytes


@settings(max_examples=150, deadline=None)
@given(SEEDS)
def test_a_plan_that_the_checker_passes_computes_the_same(seed: int) -> None:
    """Random damage: whenever it changes an output the checker must have said so."""
    subject = random_program(seed, 10)
    planned, _ = plan(subject)
    damaged = damage(planned, random.Random(seed))
    if next(plan_faults(subject, damaged), None) is None:
        assert run_on_bytes(damaged, planned_addresses(damaged), damaged.arena_bytes) == run_on_bytes(
            subject, *separate(subject)
        )


def damage(planned: Program, dice: random.Random) -> Program:
    """Move one root buffer (with its views) or swap two neighbouring calls."""
    if dice.random() < 0.3 and len(planned.body) > 1:
        at = dice.randrange(len(planned.body) - 1)
        body = list(planned.body)
        body[at], body[at + 1] = body[at + 1], body[at]
        return replace(planned, body=tuple(body))
    buffers = planned.buffer_map()
    victim = dice.choice([buffer for buffer in planned.buffers if buffer.alias is None])
    room = max(planned.arena_bytes - victim.stored_bytes, 0) // planned.arena_align
    moved = dice.randint(0, room) * planned.arena_align - (victim.offset or 0)

    def shift(buffer: Buffer) -> Buffer:
        root = buffer
        while root.alias is not None:
            root = buffers[root.alias[0]]
        return replace(buffer, offset=(buffer.offset or 0) + moved) if root.name == victim.name else buffer

    return with_buffers(planned, {buffer.name: shift(buffer) for buffer in planned.buffers})


def with_buffers(subject: Program, table: dict[str, Buffer]) -> Program:
    body = tuple(
        replace(
            step,
            outputs=tuple(table[output.name] for output in step.outputs),
            inputs=tuple(table[old.name] if isinstance(old, Buffer) else old for old in step.inputs),
            scratch=None if step.scratch is None else table[step.scratch.name],
        )
        for step in subject.body
    )
    inputs = tuple(replace(port, operand=table[port.operand.name]) for port in subject.inputs)
    outputs = tuple(replace(port, operand=table[port.operand.name]) for port in subject.outputs)
    return replace(subject, buffers=tuple(table.values()), body=body, inputs=inputs, outputs=outputs)


def chain() -> tuple[Program, Program]:
    a, b, c = tensor("a", 64), tensor("b", 64), tensor("c", 64)
    subject = program([a], [c], [call([b], [a]), call([c], [a, b])])
    return subject, plan(subject)[0]


@pytest.mark.parametrize("victim", ["a", "b"])
def test_overlapping_live_buffers_are_found(victim: str) -> None:
    subject, planned = chain()
    other = "b" if victim == "a" else "a"
    table = planned.buffer_map()
    moved = replace(table[victim], offset=table[other].offset)
    with pytest.raises(PlanError, match=f"writes 'b' over 'a'|does not find the values of '{other}'"):
        check_plan(subject, with_buffers(planned, {**table, victim: moved}))


def test_calls_in_the_wrong_order_are_found() -> None:
    subject, planned = chain()
    with pytest.raises(PlanError, match="does not find the values of 'b'"):
        check_plan(subject, replace(planned, body=planned.body[::-1]))


def test_lost_and_invented_calls_are_found() -> None:
    subject, planned = chain()
    with pytest.raises(PlanError, match="not the lowered calls"):
        check_plan(subject, replace(planned, body=planned.body[1:]))
    with pytest.raises(PlanError, match="not the lowered calls"):
        check_plan(subject, replace(planned, body=(*planned.body, planned.body[0])))


def test_an_output_overwritten_at_the_end_is_found() -> None:
    a, b, c = tensor("a", 64), tensor("b", 64), tensor("c", 64)
    subject = program([a], [b, c], [call([b], [a]), call([c], [a])])
    planned, _ = plan(subject)
    table = planned.buffer_map()
    spoilt = with_buffers(planned, {**table, "c": replace(table["c"], offset=table["b"].offset)})
    with pytest.raises(PlanError, match="output 'b' is not there at the end"):
        check_plan(subject, spoilt)


def test_missing_misaligned_and_outside_offsets_are_found() -> None:
    subject, planned = chain()
    table = planned.buffer_map()
    for offset, message in ((None, "no offset"), (8, "not aligned"), (1 << 20, "leaves the arena")):
        with pytest.raises(PlanError, match=message):
            check_plan(subject, with_buffers(planned, {**table, "a": replace(table["a"], offset=offset)}))


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 40), st.integers(0, 20), st.integers(0, 8)), max_size=25))
def test_placed_rectangles_never_overlap(rows: list[tuple[int, int, int]]) -> None:
    rectangles = [Rectangle(str(k), size, first, first + more) for k, (size, first, more) in enumerate(rows)]
    offsets = place(rectangles)
    for i, one in enumerate(rectangles):
        for k in range(i):
            if one.meets(rectangles[k]):
                assert offsets[i] + one.size <= offsets[k] or offsets[k] + rectangles[k].size <= offsets[i]
    height = max((offset + one.size for offset, one in zip(offsets, rectangles, strict=True)), default=0)
    assert height >= tallest_column(rectangles)


def test_plans_are_the_same_every_time() -> None:
    subject = random_program(7, 40)
    assert plan(subject) == plan(subject)
