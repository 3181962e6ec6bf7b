"""Element-wise operators where ONNX's node tests do not go: shapes, formats, special values, fused chains."""

from __future__ import annotations

import functools
import math
import re

import numpy as np
import onnx
import onnx.helper as oh
import onnx_ir as ir
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from packager.errors import ModelError
from packager.frontend.load import load_model
from packager.lower.context import FORMAT_KEY
from packager.lower.lower import lower, supported
from packager.memory.planner import plan
from packager.ops.broadcast import GRAIN, MAX_INPUTS, MAX_RANK, NARROW
from packager.passes.fuse_elementwise import FuseElementwise
from packager.program import Format, Halo, KernelCall, Program
from tests.support.harness import ISAS, RUNTIME, Array, best_isa, compile_program, node_model, run_model, run_program

EVERY_ISA = [name for name in ISAS if ISAS[name][0].lanes <= ISAS[best_isa()][0].lanes]
BLOCKED_ISAS = [name for name in EVERY_ISA if ISAS[name][0].lanes > 1]


def chain(nodes: list[onnx.NodeProto], feeds: dict[str, Array], constants: dict[str, Array]) -> onnx.ModelProto:
    """A model of several nodes whose last one makes the output ``y``."""
    graph = oh.make_graph(
        nodes,
        "chain",
        [oh.make_tensor_value_info(n, oh.np_dtype_to_tensor_dtype(a.dtype), a.shape) for n, a in feeds.items()],
        [onnx.ValueInfoProto(name="y")],
        [onnx.numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    model = oh.make_model(graph, opset_imports=[oh.make_opsetid("", 21)], ir_version=10)
    return onnx.shape_inference.infer_shapes(model, data_prop=True)


def random(shape: tuple[int, ...], seed: int = 0) -> Array:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def number(value: float) -> Array:
    return np.array(value, np.float32)


def extents_of(call: KernelCall) -> tuple[int, ...]:
    """The extents in the call's ``ep_map_desc``."""
    assert call.descriptor is not None
    extents = dict(call.descriptor.fields)["extent"]
    assert isinstance(extents, tuple)
    return tuple(int(str(extent)) for extent in extents)


# -- shapes ---------------------------------------------------------------------------------------------------------


@st.composite
def broadcast_shapes(draw: st.DrawFn) -> tuple[tuple[int, ...], ...]:
    """Two or three shapes that broadcast, with ranks up to 5 and extents around the vector widths."""
    full = draw(st.lists(st.sampled_from([1, 2, 3, 4, 7, 8, 16, 17, 33]), min_size=0, max_size=4))
    shapes = []
    for _ in range(draw(st.integers(2, 3))):
        kept = [extent if draw(st.booleans()) else 1 for extent in full]
        shapes.append(tuple(kept[draw(st.integers(0, len(kept))) :]))
    return tuple(shapes)


@pytest.mark.parametrize("isa", ["scalar", best_isa()])
@settings(max_examples=15, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(shapes=broadcast_shapes())
def test_operands_of_any_shapes_broadcast_as_in_numpy(isa: str, shapes: tuple[tuple[int, ...], ...]) -> None:
    feeds = {f"x{index}": random(shape, index) for index, shape in enumerate(shapes)}
    results = run_model(node_model("Sum", feeds), feeds, isa=isa, flags=("-O0",))
    wanted = functools.reduce(np.add, feeds.values())
    np.testing.assert_allclose(results["y"], wanted, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("isa", ["scalar", best_isa()])
@pytest.mark.parametrize("count", [1, 3, 15, 16, 17, 63, 64, 65, 255, 256, 257, 1000])
def test_every_length_is_computed_to_its_last_element(isa: str, count: int) -> None:
    x = random((count,))
    results = run_model(node_model("Mul", {"x": x}, constants={"three": number(3.0)}), {"x": x}, isa=isa)
    np.testing.assert_array_equal(results["y"], x * 3)


def test_axes_that_every_operand_walks_alike_become_one() -> None:
    x = random((2, 3, 4, 5))
    program = compile_program(node_model("Add", {"a": x, "b": x}))
    assert extents_of(program.body[0]) == (120,)


@pytest.mark.parametrize("isa", ["scalar", best_isa()])
@pytest.mark.parametrize("rows", [56 * 56, 30, 97])
def test_short_rows_with_a_constant_for_each_column_are_joined(isa: str, rows: int) -> None:
    x, mean = random((1, rows, 3)), random((3,), 1)
    model = node_model("Sub", {"x": x}, constants={"mean": mean})
    (call,) = compile_program(model, isa=isa).body
    extents = extents_of(call)
    assert math.prod(extents) == rows * 3
    assert extents[-1] >= NARROW
    np.testing.assert_array_equal(run_model(model, {"x": x}, isa=isa)["y"], x - mean)


def test_more_axes_than_the_kernel_has_are_refused() -> None:
    shape = (2, 2) * 5
    alternating = (2, 1) * 5
    model = node_model("Add", {"a": np.zeros(shape, np.float32), "b": np.zeros(alternating, np.float32)})
    with pytest.raises(ModelError, match="axes that do not merge"):
        compile_program(model)


def test_a_number_becomes_part_of_the_expression() -> None:
    program = compile_program(node_model("Mul", {"x": random((4,))}, constants={"k": number(0.1)}))
    assert program.constants == ()
    expression = program.body[0].expression
    assert expression is not None
    assert expression.steps == ("x0 * ep_splat_f32v(0.1f)",)


def test_the_limits_of_the_kernel_are_known_to_the_compiler() -> None:
    header = (RUNTIME / "include" / "ep" / "ep_map.h").read_text()
    limits = dict(re.findall(r"#define EP_MAP_(\w+) (\d+)", header))
    assert (int(limits["RANK"]), int(limits["INPUTS"]), int(limits["GRAIN"])) == (MAX_RANK, MAX_INPUTS, GRAIN)


# -- in place -------------------------------------------------------------------------------------------------------


def test_the_output_may_take_the_place_of_an_input_of_the_same_shape_only() -> None:
    a, b = random((2, 3, 8)), random((3, 1))
    (call,) = compile_program(node_model("Add", {"a": a, "b": b})).body
    assert call.in_place == ((0, 0),)
    (call,) = compile_program(node_model("Greater", {"a": a, "b": b})).body
    assert call.in_place == ()


def test_a_chain_computed_in_place_gives_the_same_numbers() -> None:
    x, bias = random((5, 37)), random((37,), 1)
    nodes = [
        oh.make_node("Add", ["x", "bias"], ["a"]),
        oh.make_node("Tanh", ["a"], ["b"]),
        oh.make_node("Mul", ["b", "b"], ["c"]),
        oh.make_node("Relu", ["c"], ["y"]),
    ]
    results = run_model(chain(nodes, {"x": x}, {"bias": bias}), {"x": x}, isa=best_isa(), fuse=False)
    np.testing.assert_allclose(results["y"], np.tanh(x + bias) ** 2, rtol=1e-5, atol=1e-7)


# -- blocked formats ------------------------------------------------------------------------------------------------


def blocked_program(
    model: onnx.ModelProto, isa: str, *, inputs: dict[str, Format], inside: Format, fuse: bool
) -> Program:
    """The program whose results and named inputs are blocked; reorders stand where the graph begins and ends."""
    loaded = load_model(model, supported=supported).model
    if fuse:
        FuseElementwise()(loaded)
        assert [node.op_type for node in loaded.graph] == ["FusedElementwise"]
    graph = loaded.graph
    for node in graph:
        node.outputs[0].meta[FORMAT_KEY] = inside
    for value in list(graph.inputs):
        if value.name in inputs:
            node = reorder(value, inputs[value.name])
            for user, index in value.uses():
                if user is not node:
                    user.replace_input_with(index, node.outputs[0])
            graph.insert_before(graph[0], node)
    node = reorder(graph.outputs[0], Format())
    node.outputs[0].name, graph.outputs[0].name = "y", "y_blocked"
    graph.append(node)
    graph.outputs[0] = node.outputs[0]
    return plan(lower(loaded, name="network", isa=ISAS[isa][0]))[0]


def reorder(value: ir.Value, fmt: Format) -> ir.Node:
    node = ir.Node("edgepack", "Reorder", [value])
    node.outputs[0].name = f"{value.name}_reordered"
    node.outputs[0].shape, node.outputs[0].type = value.shape, value.type
    node.outputs[0].meta[FORMAT_KEY] = fmt
    return node


@pytest.mark.parametrize("isa", BLOCKED_ISAS)
@pytest.mark.parametrize("halo", [Halo(), Halo(1, 2, 1, 0)], ids=["no halo", "halo"])
@pytest.mark.parametrize("channels", [1, 5, 16, 35])
@pytest.mark.parametrize(("rank", "fuse"), [(3, False), (4, True)])
def test_blocked_tensors_meet_constants_of_every_broadcast_shape(
    isa: str, halo: Halo, channels: int, rank: int, fuse: bool
) -> None:
    lanes = ISAS[isa][0].lanes
    dims = (2, channels, 3, 6)[:rank]
    space = (1,) * (rank - 2)
    constants = {
        "bias": random((channels, *space), 1),
        "plane": random(dims[2:], 2),
        "image": random((2, 1, *space), 3),
        "full": random(dims, 4),
    }
    nodes = [
        oh.make_node("Add", ["x", "bias"], ["a"]),
        oh.make_node("Mul", ["a", "plane"], ["b"]),
        oh.make_node("Sub", ["b", "image"], ["c"]),
        oh.make_node("Add", ["c", "full"], ["y"]),
    ]
    x = random(dims)
    model = chain(nodes, {"x": x}, constants)
    program = blocked_program(
        model, isa, inputs={"x": Format(lanes, halo)}, inside=Format(lanes, Halo(bottom=1)), fuse=fuse
    )
    results = run_program(program, {"x": x}, isa=isa, flags=("-O1",))
    wanted = (x + constants["bias"]) * constants["plane"] - constants["image"] + constants["full"]
    np.testing.assert_allclose(results["y"], wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("shape", [(1, 1, 3, 5), (1, 20, 1, 1), (2, 32, 1, 1), (1, 20, 3, 5), (20, 1, 1), (3, 1)])
def test_blocked_tensors_meet_row_major_tensors_computed_at_run_time(shape: tuple[int, ...]) -> None:
    isa = best_isa()
    channels = 32 if 32 in shape else 20
    x, gate = random((2, channels, 3, 5)), random(shape, 1)
    model = node_model("Mul", {"x": x, "gate": gate})
    fmt = Format(ISAS[isa][0].lanes)
    program = blocked_program(model, isa, inputs={"x": fmt}, inside=fmt, fuse=False)
    results = run_program(program, {"x": x, "gate": gate}, isa=isa)
    np.testing.assert_array_equal(results["y"], x * gate)


@pytest.mark.parametrize("channels", [1, 20])
def test_a_blocked_gate_is_broadcast_over_the_plane(channels: int) -> None:
    isa = best_isa()
    x, gate = random((2, 20, 3, 5)), random((2, channels, 1, 1), 1)
    fmt = Format(ISAS[isa][0].lanes)
    model = node_model("Mul", {"x": x, "gate": gate})
    program = blocked_program(model, isa, inputs={"x": fmt, "gate": fmt}, inside=fmt, fuse=False)
    results = run_program(program, {"x": x, "gate": gate}, isa=isa)
    np.testing.assert_array_equal(results["y"], x * gate)


# -- fused chains ---------------------------------------------------------------------------------------------------


def fused_program(model: onnx.ModelProto, isa: str) -> Program:
    loaded = load_model(model, supported=supported).model
    FuseElementwise()(loaded)
    assert [node.op_type for node in loaded.graph] == ["FusedElementwise"]
    return plan(lower(loaded, name="network", isa=ISAS[isa][0]))[0]


@pytest.mark.parametrize("isa", EVERY_ISA)
def test_a_fused_chain_keeps_truth_values_in_lanes(isa: str) -> None:
    feeds = {"a": random((4, 19)), "b": random((19,), 1)}
    nodes = [
        oh.make_node("Greater", ["a", "b"], ["above"]),
        oh.make_node("IsNaN", ["a"], ["nan"]),
        oh.make_node("Or", ["above", "nan"], ["either"]),
        oh.make_node("Not", ["either"], ["neither"]),
        oh.make_node("Exp", ["a"], ["e"]),
        oh.make_node("Where", ["neither", "e", "b"], ["w"]),
        oh.make_node("Clip", ["w", "", "high"], ["y"]),
    ]
    program = fused_program(chain(nodes, feeds, {"high": number(1.5)}), isa)
    assert [call.kernel.name for call in program.body] == ["ep_map_f32"]
    results = run_program(program, feeds, isa=isa)
    a, b = feeds.values()
    wanted = np.minimum(np.where(~(a > b), np.exp(a), b), 1.5)
    np.testing.assert_allclose(results["y"], wanted, rtol=1e-6)


def test_a_fused_chain_passes_nan_on_where_onnx_does() -> None:
    x = np.array([math.nan, math.inf, -math.inf, 0.0, -0.0], np.float32)
    nodes = [
        oh.make_node("Relu", ["x"], ["r"]),
        oh.make_node("Max", ["r", "one"], ["m"]),
        oh.make_node("Clip", ["m", "one", "nine"], ["y"]),
    ]
    model = chain(nodes, {"x": x}, {"one": number(1), "nine": number(9)})
    results = run_program(fused_program(model, best_isa()), {"x": x}, isa=best_isa())
    np.testing.assert_array_equal(results["y"], np.array([math.nan, 9, 1, 1, 1], np.float32))
