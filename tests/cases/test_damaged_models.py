"""Damaged model files give one clear error, never a crash: whatever bytes arrive, only ModelError comes out."""

from __future__ import annotations

import contextlib
import random
from pathlib import Path

import numpy as np
import onnx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from packager.errors import EdgepackError, ModelError
from packager.frontend.load import load_model
from packager.lower.lower import supported

DATA = Path(__file__).parent / "data"
MODELS = sorted(path.name for path in DATA.iterdir())
SEEDS = st.integers(0, 2**32 - 1)
BOUNDED = settings(
    max_examples=120, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def read(name: str) -> bytes:
    return (DATA / name / "model.onnx").read_bytes()


def load(data: bytes, folder: Path) -> None:
    file = folder / "model.onnx"
    file.write_bytes(data)
    load_model(file, supported=supported)


@BOUNDED
@given(st.sampled_from(MODELS), st.floats(0, 1))
def test_truncated_files_are_refused_or_whole(tmp_path: Path, name: str, share: float) -> None:
    """A cut between two fields of the outermost message is a smaller model, that may still be a valid one."""
    data = read(name)
    with contextlib.suppress(ModelError):
        load(data[: int(share * len(data))], tmp_path)


@BOUNDED
@given(st.sampled_from(MODELS), SEEDS)
def test_files_with_wrong_bytes_are_refused_or_load(tmp_path: Path, name: str, seed: int) -> None:
    dice = random.Random(seed)
    data = bytearray(read(name))
    for _ in range(dice.choice([1, 1, 2, 4])):
        data[dice.randrange(len(data))] = dice.randrange(256)
    with contextlib.suppress(ModelError):
        load(bytes(data), tmp_path)


@pytest.mark.parametrize("data", [b"", b"\x00", b"not a model", b"\x08\x07", bytes(64), b"<html></html>" * 9])
def test_files_that_are_no_model_are_refused(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(ModelError, match=r"model\.onnx"):
        load(data, tmp_path)


EXTREMES = (-(2**63), -1, 0, 1, 2, 3, 7, 2**31, 2**62)
OPERATORS = (
    "Relu",
    "Conv",
    "Add",
    "Reshape",
    "Gather",
    "Concat",
    "Foo",
    "",
    "MatMul",
    "Resize",
    "Slice",
    "LSTM",
    "Pad",
)


def spoil(model: onnx.ModelProto, dice: random.Random) -> None:
    """Make one thing wrong that a file's checksum would not show: a name, an operand, an attribute, a shape, a type."""
    node = dice.choice(model.graph.node)
    names = [name for other in model.graph.node for name in (*other.input, *other.output)] + [""]
    attributes = [attribute for attribute in node.attribute if attribute.ints or attribute.type == attribute.INT]
    match dice.randrange(8):
        case 0 if node.input:
            node.input[dice.randrange(len(node.input))] = dice.choice(names)
        case 1 if node.input:
            del node.input[dice.randrange(len(node.input))]
        case 2:
            node.input.append(dice.choice(names))
        case 3 if node.output:
            node.output[dice.randrange(len(node.output))] = dice.choice(names)
        case 4 if attributes:
            attribute = dice.choice(attributes)
            if attribute.ints:
                attribute.ints[dice.randrange(len(attribute.ints))] = dice.choice(EXTREMES)
            else:
                attribute.i = dice.choice(EXTREMES)
        case 5:
            node.op_type = dice.choice(OPERATORS)
        case 6 if model.graph.initializer:
            tensor = dice.choice(model.graph.initializer)
            tensor.data_type = dice.randrange(24)
        case _ if model.graph.input:
            dice.choice(model.graph.input).type.tensor_type.elem_type = dice.randrange(24)


@BOUNDED
@given(st.sampled_from(MODELS), SEEDS)
def test_models_that_contradict_themselves_are_refused_or_load(name: str, seed: int) -> None:
    dice = random.Random(seed)
    model = onnx.load(DATA / name / "model.onnx", load_external_data=False)
    for _ in range(dice.choice([1, 1, 2, 3])):
        spoil(model, dice)
    with contextlib.suppress(EdgepackError):
        load_model(model, supported=supported)


def one_node(
    op_type: str, outputs: int, *initializers: onnx.TensorProto, num_outputs: int | None = None
) -> onnx.ModelProto:
    names = [f"y{number}" for number in range(outputs)]
    node = onnx.helper.make_node(op_type, ["x", *(tensor.name for tensor in initializers)], names)
    if num_outputs is not None:
        node.attribute.append(onnx.helper.make_attribute("num_outputs", num_outputs))
    graph = onnx.helper.make_graph(
        [node],
        "g",
        [onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [4])],
        [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in names],
        initializers,
    )
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 18)], ir_version=8)


def test_a_split_into_another_number_of_outputs_is_refused() -> None:
    """onnx's own shape inference would end the process."""
    with pytest.raises(ModelError, match="Split has num_outputs 1 and 4 outputs"):
        load_model(one_node("Split", 4, num_outputs=1), supported=supported)


def test_inputs_no_index_reaches_are_refused_at_once() -> None:
    model = one_node("Neg", 1)
    model.graph.input[0].type.CopyFrom(onnx.helper.make_tensor_type_proto(onnx.TensorProto.INT64, [2**40]))
    with pytest.raises(ModelError, match=r"EP0111.*input 'x' has 1,099,511,627,776 elements"):
        load_model(model, supported=supported)


def test_other_tensors_no_index_reaches_are_refused_before_tables_are_made_for_them() -> None:
    scales = onnx.numpy_helper.from_array(np.array([1e12], np.float32), "scales")
    model = one_node("Resize", 1, scales)
    model.graph.node[0].input[:] = ["x", "", "scales"]
    with pytest.raises(ModelError, match=r"EP0111.*'y0' \(output of Resize\) \[39\d{11}\]"):
        load_model(model, supported=supported)


@pytest.mark.parametrize(
    ("data_type", "dims", "message"),
    [
        (onnx.TensorProto.FLOAT, [5], r"holds 4 values, its shape \[5\] needs 5"),
        (onnx.TensorProto.FLOAT, [-4], "has a negative dimension"),
        (onnx.TensorProto.INT64, [4], "holds 0 values"),
        (onnx.TensorProto.COMPLEX64, [4], "has element type COMPLEX64"),
        (99, [4], "has element type number 99"),
    ],
)
def test_tensors_that_do_not_hold_what_they_say_are_refused(data_type: int, dims: list[int], message: str) -> None:
    damaged = onnx.TensorProto(name="w", data_type=data_type, dims=dims, float_data=[1, 2, 3, 4])
    with pytest.raises(ModelError, match=f"EP0102.*tensor 'w' {message}"):
        load_model(one_node("Add", 1, damaged), supported=supported)


def test_a_model_in_memory_must_have_its_weights_with_it() -> None:
    model = onnx.load(DATA / "107-external-data-offset" / "model.onnx", load_external_data=False)
    with pytest.raises(ModelError, match=r"EP0105.*external data that is not loaded: "):
        load_model(model, supported=supported)
