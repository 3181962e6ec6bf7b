"""FuseElementwise."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir
import pytest

from packager.passes.fuse_elementwise import BODY, MAX_INPUTS, MAX_STEPS, FuseElementwise
from tests.frontend.models import op_types, random
from tests.passes.support import apply, untouched


def text(body: str, result: str = "float[2, 3, 4] y", more: str = "") -> str:
    return f"g (float[2, 3, 4] x{more}) => ({result}) {{ {body} }}"


def body_of(node: ir.Node) -> list[str]:
    return [inner.op_type for inner in node.attributes[BODY].as_graph()]


def test_a_chain_is_one_loop() -> None:
    model = apply(FuseElementwise(), text("a = Mul (x, c) b = Add (a, c) y = Tanh (b)"), c=random(3, 1))
    assert op_types(model) == ["FusedElementwise"]
    assert body_of(model.graph[0]) == ["Mul", "Add", "Tanh"]
    assert len(model.graph[0].inputs) == 2
    assert model.graph[0].meta["edgepack.fused"] == "Add + Tanh"


def test_a_diamond_is_one_loop_that_reads_its_input_once() -> None:
    model = apply(FuseElementwise(), text("a = Exp (x) b = Neg (a) c = Abs (a) y = Add (b, c)"))
    assert op_types(model) == ["FusedElementwise"]
    assert len(model.graph[0].inputs) == 1


def test_numbers_stay_inside() -> None:
    model = apply(
        FuseElementwise(),
        text("a = Mul (x, c) y = Clip (a, lo, hi)"),
        c=np.array([[[0.5]]], np.float32),
        lo=np.array(-1, np.float32),
        hi=np.array(1, np.float32),
    )
    (node,) = model.graph
    graph = node.attributes[BODY].as_graph()
    assert [value.name for value in node.inputs if value is not None] == ["x"]
    assert [value.const_value.numpy().item() for value in graph.initializers.values()] == [0.5, -1, 1]  # type: ignore[union-attr]


def test_operands_may_be_broadcast() -> None:
    body = "m = ReduceMean <keepdims = 1> (x) a = Sub (x, m) b = Mul (a, a) y = Add (b, k)"
    model = apply(FuseElementwise(), text(body, more=", float[4] k"))
    assert op_types(model) == ["ReduceMean", "FusedElementwise"]


def test_truth_values_live_inside() -> None:
    body = "g = Greater (x, zero) n = Not (g) a = Exp (x) y = Where (n, a, x)"
    model = apply(FuseElementwise(), text(body), zero=np.array(0, np.float32))
    assert op_types(model) == ["FusedElementwise"]


def test_a_truth_value_from_memory_keeps_its_reader_outside() -> None:
    body = "a = Exp (x) b = Neg (a) w = Where (c, b, x) d = Abs (w) y = Sqrt (d)"
    model = apply(FuseElementwise(), text(body, more=", bool[2, 3, 4] c"))
    assert op_types(model) == ["FusedElementwise", "Where", "FusedElementwise"]


def test_a_truth_value_for_memory_is_computed_outside() -> None:
    body = "a = Exp (x) b = Neg (a) y = Less (b, x)"
    model = apply(FuseElementwise(), text(body, "bool[2, 3, 4] y"))
    assert op_types(model) == ["FusedElementwise", "Less"]


def test_a_value_with_a_reader_outside_is_not_computed_twice() -> None:
    body = "a = Exp (x) b = Neg (a) y = Abs (b) z = Softmax (a)"
    model = apply(FuseElementwise(), text(body, "float[2, 3, 4] y, float[2, 3, 4] z"))
    assert sorted(op_types(model)) == ["Exp", "FusedElementwise", "Softmax"]


def test_a_graph_output_is_computed_outside() -> None:
    body = "a = Exp (x) b = Neg (a) y = Abs (b)"
    model = apply(FuseElementwise(), text(body, "float[2, 3, 4] y, float[2, 3, 4] a"))
    assert op_types(model) == ["Exp", "FusedElementwise"]


def test_a_smaller_value_is_not_computed_again_and_again() -> None:
    body = "a = Exp (k) b = Neg (a) y = Add (x, b)"
    model = apply(FuseElementwise(), text(body, more=", float[4] k"))
    assert op_types(model) == ["FusedElementwise", "Add"]


@pytest.mark.parametrize("body", ["y = Exp (x)", "a = Softmax (x) b = Transpose <perm = [0, 1, 2]> (a) y = Neg (b)"])
def test_an_operator_alone_is_left_alone(body: str) -> None:
    untouched(FuseElementwise(), text(body))


def test_integers_are_left_alone() -> None:
    untouched(FuseElementwise(), "g (int64[4] x) => (int64[4] y) { a = Neg (x) y = Abs (a) }")


def test_a_loop_reads_a_bounded_number_of_tensors() -> None:
    names = [f"k{index}" for index in range(12)]
    steps, last = [], "x"
    for index, name in enumerate(names):
        target = "y" if name == names[-1] else f"t{index}"
        steps.append(f"{target} = Add ({last}, {name})")
        last = target
    model = apply(FuseElementwise(), text(" ".join(steps), more="".join(f", float[2, 3, 4] {name}" for name in names)))
    assert len(model.graph) > 1
    assert all(len(node.inputs) <= MAX_INPUTS for node in model.graph)


def test_a_loop_has_a_bounded_number_of_steps() -> None:
    count = MAX_STEPS + 20
    steps = " ".join(f"x{index + 1} = Sin (x{index})" for index in range(count))
    model = apply(FuseElementwise(), f"g (float[3] x0) => (float[3] x{count}) {{ {steps} }}")
    assert op_types(model) == ["FusedElementwise"] * 2
    assert max(len(body_of(node)) for node in model.graph) == MAX_STEPS
