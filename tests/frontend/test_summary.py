"""The summary of a file that cannot be compiled is still a summary."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest

from packager.errors import ModelError
from packager.frontend.summary import ModelSummary, summarize

FLOAT = onnx.TensorProto.FLOAT


def summary_of(path: Path, model: onnx.ModelProto) -> ModelSummary:
    onnx.save(model, path)
    return summarize(path, lambda _, name: name in {"Relu", "If"})


def model_of(
    nodes: list[onnx.NodeProto],
    inputs: list[onnx.ValueInfoProto],
    outputs: list[onnx.ValueInfoProto],
    functions: tuple[onnx.FunctionProto, ...] = (),
) -> onnx.ModelProto:
    graph = onnx.helper.make_graph(nodes, "g", inputs, outputs)
    opsets = [onnx.helper.make_opsetid("", 18), onnx.helper.make_opsetid("com.acme", 1)]
    return onnx.helper.make_model(graph, opset_imports=opsets, functions=list(functions))


def tensor(name: str, *dims: int | str | None, dtype: int = FLOAT) -> onnx.ValueInfoProto:
    return onnx.helper.make_tensor_value_info(name, dtype, dims)


def test_how_operators_are_supported(tmp_path: Path) -> None:
    node = onnx.helper.make_node
    function = onnx.helper.make_function(
        "com.acme", "Twice", ["a"], ["b"], [node("Add", ["a", "a"], ["b"])], [onnx.helper.make_opsetid("", 18)]
    )
    nodes = [
        node("Relu", ["x"], ["t"]),
        node("Twice", ["t"], ["u"], domain="com.acme"),
        node("Softplus", ["u"], ["v"]),
        node("Foo", ["v"], ["y"], domain="com.acme"),
    ]
    found = summary_of(tmp_path / "m.onnx", model_of(nodes, [tensor("x", 2)], [tensor("y", 2)], (function,)))
    support = {row.name: row.support for row in found.operators}
    assert support == {"Relu": "lowering", "Twice": "function", "Softplus": "function", "Foo": "none", "Add": "none"}


def test_operators_of_branches_are_counted(tmp_path: Path) -> None:
    branch = onnx.helper.make_graph([onnx.helper.make_node("Relu", ["x"], ["b"])], "b", [], [tensor("b", 2)])
    choice = onnx.helper.make_node("If", ["c"], ["y"], then_branch=branch, else_branch=branch)
    inputs = [tensor("x", 2), tensor("c", dtype=onnx.TensorProto.BOOL)]
    found = summary_of(tmp_path / "m.onnx", model_of([choice], inputs, [tensor("y", 2)]))
    assert {row.name: row.count for row in found.operators} == {"Relu": 2, "If": 1}


def test_dimensions_to_be_given_are_named_as_the_flag_takes_them(tmp_path: Path) -> None:
    nodes = [onnx.helper.make_node("Relu", ["x"], ["y"])]
    found = summary_of(tmp_path / "m.onnx", model_of(nodes, [tensor("x", "batch", None, 3)], [tensor("y", "batch")]))
    assert found.open_dims == ("batch", "x:1")
    assert found.inputs[0].dims == ("batch", "?", 3)


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (onnx.helper.make_tensor_value_info("x", 96, [1]), "type 96"),
        (onnx.helper.make_tensor_sequence_value_info("x", FLOAT, [1]), "sequence"),
        (onnx.ValueInfoProto(name="x"), "unknown"),
    ],
    ids=["unknown element type", "sequence", "no type"],
)
def test_inputs_that_are_no_tensors_are_shown(tmp_path: Path, value: onnx.ValueInfoProto, dtype: str) -> None:
    nodes = [onnx.helper.make_node("Relu", ["x"], ["y"])]
    assert summary_of(tmp_path / "m.onnx", model_of(nodes, [value], [tensor("y", 1)])).inputs[0].dtype == dtype


def test_what_is_no_model_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "m.onnx").write_bytes(b"\x00" * 100)
    with pytest.raises(ModelError):
        summarize(tmp_path / "m.onnx", lambda _, __: True)


def branching(tmp_path: Path) -> Path:
    """Relu for a single row, an operator nobody has for more."""
    node, helper = onnx.helper.make_node, onnx.helper
    branches = {
        f"{name}_branch": helper.make_graph([node(op, ["x"], [name])], name, [], [tensor(name, "n", 4)])
        for name, op in (("then", "Relu"), ("else", "Det"))
    }
    nodes = [
        node("Shape", ["x"], ["rows"], end=1),
        node("Equal", ["rows", "one"], ["single"]),
        node("If", ["single"], ["y"], **branches),
    ]
    model = model_of(nodes, [tensor("x", "n", 4)], [tensor("y", "rows", 4)])
    model.graph.initializer.append(helper.make_tensor("one", onnx.TensorProto.INT64, [1], [1]))
    onnx.save(model, tmp_path / "if.onnx")
    return tmp_path / "if.onnx"


def test_dimensions_given_are_no_longer_asked_for_and_decide_branches(tmp_path: Path) -> None:
    file = branching(tmp_path)
    asked = summarize(file, lambda _, name: name == "Relu")
    assert asked.open_dims == ("n",)
    assert {row.name for row in asked.operators} == {"Shape", "Equal", "If", "Relu", "Det"}
    given = summarize(file, lambda _, name: name == "Relu", {"n": 1})
    assert given.open_dims == ()
    assert given.folded
    assert given.inputs[0].dims == given.outputs[0].dims == (1, 4)
    assert [(row.name, row.support) for row in given.operators] == [("Relu", "lowering")]


def test_a_dimension_the_model_does_not_have_is_named_as_it_was_typed(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"--dim m=3") as caught:
        summarize(branching(tmp_path), lambda *_: True, {"n": 1, "m": 3})
    (problem,) = caught.value.problems
    assert (problem.code, problem.hint) == ("EP0111", "the model's symbolic dimensions are: n")
