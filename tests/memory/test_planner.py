"""The planner on programs small enough to know the answer."""

from __future__ import annotations

import pytest

from packager.errors import BudgetError, ModelError
from packager.memory.planner import plan
from packager.memory.report import check_budget
from packager.program import Constant, DType, Format, Halo, KernelCall, Port, Program
from tests.memory.programs import ZERO_HALO, call, program, tensor

EVERY = ((0, 0),)


def offsets(planned: Program) -> dict[str, int]:
    return {buffer.name: buffer.offset for buffer in planned.buffers if buffer.offset is not None}


def test_a_chain_needs_two_neighbours_at_a_time() -> None:
    a, b, c, d = (tensor(name, 256) for name in "abcd")
    planned, report = plan(program([a], [d], [call([b], [a]), call([c], [b]), call([d], [c])]))
    assert report.arena_bytes == report.lower_bound == 2 * 1024
    assert planned.arena_bytes == report.arena_bytes


def test_an_in_place_chain_needs_one_tensor() -> None:
    a, b, c = (tensor(name, 256) for name in "abc")
    body = [call([b], [a], in_place=EVERY), call([c], [b], in_place=EVERY)]
    planned, report = plan(program([a], [c], body))
    assert report.arena_bytes == report.lower_bound == 1024
    assert report.in_place == 2
    assert set(offsets(planned).values()) == {0}


def test_an_input_that_is_read_again_is_not_overwritten() -> None:
    a, b, c = (tensor(name, 256) for name in "abc")
    body = [call([b], [a], in_place=EVERY), call([c], [b, a])]
    _, report = plan(program([a], [c], body))
    assert report.in_place == 0
    assert report.arena_bytes == 3 * 1024


def test_an_input_that_is_also_an_output_is_not_overwritten() -> None:
    a, b = tensor("a", 256), tensor("b", 256)
    _, report = plan(program([a], [b, a], [call([b], [a], in_place=EVERY)]))
    assert report.in_place == 0


def test_an_input_given_twice_must_be_allowed_both_times() -> None:
    a, b = tensor("a", 256), tensor("b", 256)
    once = program([a], [b], [call([b], [a, a], in_place=((0, 0),))])
    twice = program([a], [b], [call([b], [a, a], in_place=((0, 0), (0, 1)))])
    assert plan(once)[1].in_place == 0
    assert plan(twice)[1].in_place == 1


def test_formats_with_different_halos_are_never_in_place() -> None:
    a = tensor("a", 1, 4, 3, 3, fmt=Format(4, Halo(1, 1, 1, 1)))
    b = tensor("b", 1, 4, 3, 7, fmt=Format(4))
    assert a.stored_bytes == b.stored_bytes
    _, report = plan(program([a], [b], [call([b], [a], in_place=EVERY)]))
    assert report.in_place == 0


def test_views_share_storage_and_keep_it_alive() -> None:
    a, b, c, d = (tensor(name, 256) for name in "abcd")
    view = tensor("view", 16, 16, alias=("b", 0))
    planned, report = plan(program([a], [d], [call([b], [a]), call([c], [a]), call([d], [c, view])]))
    placed = offsets(planned)
    assert placed["view"] == placed["b"]
    assert report.lower_bound == 3 * 1024


def test_a_view_may_begin_inside_its_root() -> None:
    a, b = tensor("a", 256), tensor("b", 64)
    tail = tensor("tail", 64, alias=("a", 512))
    planned, _ = plan(program([a], [b], [call([b], [tail])]))
    placed = offsets(planned)
    assert placed["tail"] == placed["a"] + 512


def test_a_view_that_leaves_its_root_is_refused() -> None:
    a, b = tensor("a", 64), tensor("b", 64)
    outside = tensor("outside", 64, alias=("a", 4))
    with pytest.raises(ValueError, match="leaves its root"):
        plan(program([a], [b], [call([b], [outside])]))


def test_parts_written_into_a_concat_may_take_over_their_inputs() -> None:
    a, b = tensor("a", 256), tensor("b", 256)
    whole = tensor("whole", 512)
    left, right = tensor("left", 256, alias=("whole", 0)), tensor("right", 256, alias=("whole", 1024))
    x, y = tensor("x", 256), tensor("y", 512)
    body = [
        call([a], [x]),
        call([b], [x]),
        call([left], [a]),
        call([right], [b], in_place=EVERY),
        call([y], [whole]),
    ]
    _, report = plan(program([x], [y], body))
    assert report.arena_bytes == report.lower_bound


def test_branches_are_reordered_when_that_lowers_the_peak() -> None:
    x = tensor("x", 16)
    wide = [tensor(f"wide{k}", 1024) for k in range(3)]
    narrow = [tensor(f"narrow{k}", 16) for k in range(3)]
    y = tensor("y", 16)
    body = [call([w], [x]) for w in wide]
    body += [call([n], [w]) for n, w in zip(narrow, wide, strict=True)]
    body.append(call([y], [*narrow]))
    planned, report = plan(program([x], [y], body))
    assert report.reordered
    assert report.arena_bytes < 2 * 4096
    assert planned.body[-1].source == "Any 'y'"


def test_what_only_one_call_reads_is_made_just_before_it() -> None:
    """Eight weights, each made from a constant at the start, are never there together."""
    state = tensor("state0", 16)
    weights = [tensor(f"weight{k}", 1024) for k in range(8)]
    body = [call([weight], []) for weight in weights]
    for k, weight in enumerate(weights):
        following = tensor(f"state{k + 1}", 16)
        body.append(call([following], [state, weight]))
        state = following
    planned, report = plan(program([tensor("state0", 16)], [state], body))
    assert report.arena_bytes == 4096 + 2 * 64
    assert [step.outputs[0].name for step in planned.body[:4]] == ["weight0", "state1", "weight1", "state2"]


def test_the_given_order_is_kept_when_no_other_needs_less() -> None:
    x, a, b, y = tensor("x", 64), tensor("a", 64), tensor("b", 64), tensor("y", 64)
    body = [call([a], [x]), call([b], [x]), call([y], [a, b])]
    planned, report = plan(program([x], [y], body))
    assert not report.reordered
    assert [step.source for step in planned.body] == [step.source for step in body]


def test_the_border_is_zeroed_between_producer_and_reader_in_any_order() -> None:
    x, y = tensor("x", 16), tensor("y", 16)
    padded = tensor("padded", 1, 4, 4, 4, fmt=Format(4, Halo(1, 1, 1, 1)))
    other = tensor("other", 512)
    body = [
        call([padded], [x]),
        KernelCall(ZERO_HALO, (padded,), ()),
        call([other], [x]),
        call([y], [padded, other]),
    ]
    planned, _ = plan(program([x], [y], body, lanes=4))
    names = [(step.kernel.name, step.outputs[0].name) for step in planned.body]
    assert names.index(("ep_any", "padded")) < names.index(("ep_zero_halo", "padded")) < names.index(("ep_any", "y"))


def test_scratch_lives_for_one_call() -> None:
    x, a, y = tensor("x", 256), tensor("a", 256), tensor("y", 256)
    body = [call([a], [x], scratch=tensor("s1", 1024)), call([y], [a], scratch=tensor("s2", 1024))]
    planned, report = plan(program([x], [y], body))
    assert report.lower_bound == 2 * 1024 + 4096
    assert report.arena_bytes == report.lower_bound
    assert {"s1", "s2"} <= set(offsets(planned))


@pytest.mark.parametrize(("lanes", "align"), [(1, 16), (4, 16), (8, 32), (16, 64)])
def test_offsets_suit_the_widest_load(lanes: int, align: int) -> None:
    x, a, y = tensor("x", 3), tensor("a", 3), tensor("y", 3)
    planned, _ = plan(program([x], [y], [call([a], [x]), call([y], [a, x])], lanes=lanes))
    assert planned.arena_align == align
    assert all(offset % align == 0 for offset in offsets(planned).values())


def test_the_lower_bound_counts_neither_lanes_nor_halo() -> None:
    x = tensor("x", 1, 3, 4, 4)
    blocked = tensor("blocked", 1, 3, 4, 4, fmt=Format(16, Halo(1, 1, 1, 1)))
    y = tensor("y", 1, 3, 4, 4)
    _, report = plan(program([x], [y], [call([blocked], [x]), call([y], [blocked])], lanes=16))
    assert report.lower_bound == 2 * x.logical_bytes
    assert report.arena_bytes > report.lower_bound


def test_the_report_names_the_peak() -> None:
    x, big, y = tensor("x", 16), tensor("big", 1024), tensor("y", 512)
    _, report = plan(program([x], [y], [call([big], [x]), call([y], [big])]))
    assert report.peak_source == "Any 'y'"
    assert report.peak_step == 2
    assert report.peak_tensors == ("big", "y")
    assert {placement.name for placement in report.placements} == {"x", "big", "y"}


def test_outputs_that_are_inputs_or_constants_need_no_call() -> None:
    x = tensor("x", 16)
    constant = Constant("c", DType.FLOAT32, (1,), bytes(4))
    subject = program([x], [x], [])
    port = Port("c", constant.dtype, constant.dims, constant)
    subject = Program("net", subject.inputs, (*subject.outputs, port), subject.buffers, (constant,), ())
    planned, report = plan(subject)
    assert report.arena_bytes == 64
    assert planned.outputs[1].operand is constant


def test_buffers_nothing_touches_are_dropped() -> None:
    x, y, unused = tensor("x", 16), tensor("y", 16), tensor("unused", 4096)
    subject = program([x], [y], [call([y], [x])])
    subject = Program("net", subject.inputs, subject.outputs, (*subject.buffers, unused), (), subject.body)
    planned, _ = plan(subject)
    assert "unused" not in offsets(planned)


def test_empty_tensors_need_no_room() -> None:
    x, empty, y = tensor("x", 16), tensor("empty", 0, 4), tensor("y", 16)
    planned, report = plan(program([x], [y], [call([empty], [x]), call([y], [empty, x])]))
    assert "empty" in offsets(planned)
    assert report.arena_bytes == 2 * 64


def test_a_budget_error_says_by_how_much_and_what_sets_the_peak() -> None:
    x, big, y = tensor("x", 16), tensor("big", 1024), tensor("y", 512)
    _, report = plan(program([x], [y], [call([big], [x]), call([y], [big])]))
    check_budget(report, None, "toy")
    check_budget(report, report.arena_bytes, "toy")
    with pytest.raises(BudgetError) as caught:
        check_budget(report, 5000, "toy")
    message = str(caught.value)
    assert "EP0401" in message
    assert f"{report.arena_bytes - 5000:,} more than the 5,000 bytes" in message
    assert "Any 'y', where 'big' (4,096 bytes), 'y' (2,048 bytes) are live" in message


def test_impossible_sizes_are_refused() -> None:
    x, y = tensor("x", 1), tensor("y", 1)
    with pytest.raises(BudgetError, match=r"EP0402.*\n.*tensor 'huge', shape \[1099511627776\]"):
        plan(program([x], [y], [call([tensor("huge", 1 << 40)], [x]), call([y], [x])]))
    with pytest.raises(ModelError, match=r"EP0213.*\n.*tensor 'less', shape \[2, -3\]"):
        plan(program([x], [y], [call([tensor("less", 2, -3)], [x]), call([y], [x])]))
