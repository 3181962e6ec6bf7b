"""States of streaming models live in the arena from one inference to the next, and nothing else does there."""

from __future__ import annotations

import numpy as np
import onnx
import onnx.helper as oh
import pytest

from codegen_c.c_model import emit
from codegen_c.embed import EmbedStyle
from packager.errors import ModelError
from packager.memory.check import plan_faults
from tests.support import compile_program, load_program
from tests.support.streaming import STATES, Array, iterate, model_of, recurrent_model


def frames(count: int, size: int = 6) -> list[dict[str, Array]]:
    dice = np.random.default_rng(1)
    return [{"x": dice.uniform(-1, 1, (1, size)).astype(np.float32)} for _ in range(count)]


def assert_streams_like(model: onnx.ModelProto, states: dict[str, str], size: int = 6, isa: str = "scalar") -> None:
    network = load_program(compile_program(model, isa=isa, states=states), isa=isa)
    given = frames(5, size)
    for frame, expected in zip(given, iterate(model, states, given), strict=True):
        found = network.run(frame)
        assert found.keys() == expected.keys()
        for name, value in expected.items():
            np.testing.assert_allclose(found[name], value, rtol=1e-5, atol=1e-6, err_msg=name)


@pytest.mark.parametrize("isa", ["scalar", "sse"])
def test_frames_through_the_c_interface_equal_the_model_iterated_by_hand(isa: str) -> None:
    assert_streams_like(recurrent_model(), STATES, isa=isa)


def test_reset_begins_a_new_stream() -> None:
    network = load_program(compile_program(recurrent_model(), isa="scalar", states=STATES), isa="scalar")
    first, second = (network.run(frame) for frame in frames(2))
    assert [float(one["calls"][0]) for one in (first, second)] == [1, 2]
    network.reset()
    again = network.run(frames(1)[0])
    np.testing.assert_array_equal(again["y"], first["y"])
    assert again["calls"] == 1


def test_a_delay_line_takes_every_tap_before_any_of_them_changes() -> None:
    nodes = [
        oh.make_node("Identity", ["x"], ["a_out"]),
        oh.make_node("Identity", ["a_in"], ["b_out"]),
        oh.make_node("Reshape", ["b_in", "shape"], ["y"]),
        oh.make_node("Neg", ["a_in"], ["z"]),
    ]
    shape = onnx.numpy_helper.from_array(np.array([2, 3]), "shape")
    inputs = {"x": [1, 6], "a_in": [1, 6], "b_in": [1, 6]}
    outputs = {"y": [2, 3], "z": [1, 6], "a_out": [1, 6], "b_out": [1, 6]}
    model = model_of(nodes, inputs, outputs, [shape])
    assert_streams_like(model, {"a_out": "a_in", "b_out": "b_in"})
    assert_streams_like(model, {"b_out": "b_in", "a_out": "a_in"})


def test_two_states_that_swap_keep_both_values() -> None:
    nodes = [
        oh.make_node("Add", ["x", "a_in"], ["a_next"]),
        oh.make_node("Identity", ["b_in"], ["a_out"]),
        oh.make_node("Identity", ["a_next"], ["b_out"]),
        oh.make_node("Sub", ["a_in", "b_in"], ["y"]),
    ]
    inputs = {"x": [1, 6], "a_in": [1, 6], "b_in": [1, 6]}
    model = model_of(nodes, inputs, {"y": [1, 6], "a_out": [1, 6], "b_out": [1, 6]})
    assert_streams_like(model, {"a_out": "a_in", "b_out": "b_in"})


def test_a_recurrent_operator_carries_its_state() -> None:
    size = 4
    dice = np.random.default_rng(4)
    shapes = {"w": (1, 3 * size, size), "r": (1, 3 * size, size), "b": (1, 6 * size)}
    constants = [
        onnx.numpy_helper.from_array(dice.uniform(-1, 1, shape).astype(np.float32), name)
        for name, shape in shapes.items()
    ]
    axes = onnx.numpy_helper.from_array(np.array([0]), "axes")
    nodes = [
        oh.make_node("Unsqueeze", ["x", "axes"], ["sequence"]),
        oh.make_node("GRU", ["sequence", "w", "r", "b", "", "h_in"], ["all", "h_out"], hidden_size=size),
        oh.make_node("Relu", ["all"], ["y"]),
    ]
    model = model_of(
        nodes,
        {"x": [1, size], "h_in": [1, 1, size]},
        {"y": [1, 1, 1, size], "h_out": [1, 1, size]},
        [*constants, axes],
    )
    assert_streams_like(model, {"h_out": "h_in"}, size)


def test_states_lie_at_the_start_of_the_arena_and_nothing_else_does() -> None:
    program = compile_program(recurrent_model(), isa="scalar", states=STATES)
    states = {state.buffer.name: state.buffer for state in program.states}
    assert sorted(buffer.offset for buffer in states.values() if buffer.offset is not None) == [0, 32]
    assert program.state_bytes == 48  # 24 bytes, then 8, each at a multiple of 16
    others = [buffer for buffer in program.buffers if buffer.name not in states and buffer.alias is None]
    assert others
    assert all(buffer.offset is not None and buffer.offset >= program.state_bytes for buffer in others)


def test_the_plan_checker_sees_a_buffer_among_the_states() -> None:
    from dataclasses import replace

    program = compile_program(recurrent_model(), isa="scalar", states=STATES)
    wrong = replace(program, state_bytes=program.arena_bytes)
    assert any("where states persist" in fault for fault in plan_faults(program, wrong))
    wrong = replace(program, state_bytes=0)
    assert any("is not among the states" in fault for fault in plan_faults(program, wrong))


def test_the_interface_has_a_reset_only_where_there_is_something_to_reset() -> None:
    with_states = emit(compile_program(recurrent_model(), isa="scalar", states=STATES), embed=EmbedStyle.ARRAY)
    without = emit(compile_program(recurrent_model(), isa="scalar"), embed=EmbedStyle.ARRAY)
    header, plain = (files["include/network.h"].decode() for files in (with_states, without))
    assert "void network_reset(network_ctx *ctx);" in header
    assert "NETWORK_STATES_SIZE  48" in header
    assert "h_in(" not in header
    assert "h_out(" not in header
    assert "reset" not in plain
    assert "STATES" not in plain


@pytest.mark.parametrize(
    ("states", "message"),
    [
        ({"nope": "h_in"}, "the model has no output 'nope'"),
        ({"h_out": "nope"}, "the model has no input 'nope'"),
        ({"h_out": "count_in"}, "output 'h_out' is float [1, 6], input 'count_in' is int64 [1]"),
        ({"h_out": "h_in", "y": "h_in"}, "more than one output feeds 'h_in'"),
    ],
)
def test_states_that_do_not_fit_are_refused_by_name(states: dict[str, str], message: str) -> None:
    with pytest.raises(ModelError) as caught:
        compile_program(recurrent_model(), isa="scalar", states=states)
    assert message in str(caught.value)
    assert caught.value.problems[0].code == "EP0214"


def test_a_model_of_nothing_but_states_is_refused() -> None:
    nodes = [oh.make_node("Add", ["x", "h_in"], ["h_out"])]
    model = model_of(nodes, {"x": [1, 6], "h_in": [1, 6]}, {"h_out": [1, 6]})
    with pytest.raises(ModelError, match="all outputs are states"):
        compile_program(model, isa="scalar", states={"h_out": "h_in"})
