"""Gather and Scatter operators: constant indices, indices that are data, indices outside."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx.helper as oh
import pytest

from packager.errors import ModelError
from tests.ops.agreement import ISAS, assert_agrees, compiled, counting, kernels, network, numbers
from tests.support import node_model, run_model
from tests.support.harness import KernelStatusError

X = numbers(2, 5, 3, 4)
E_INDEX = 5


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("indices", [[[0, -1], [2, 2]], 3, [1, 2, 3], [4, 2, 0], [0, 1, 3]])
def test_gather_by_constants(indices: Any, isa: str) -> None:
    assert_agrees(node_model("Gather", {"x": X}, constants={"i": np.array(indices)}, axis=1), {"x": X}, isa)


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_gather_by_data(dtype: type[Any], isa: str) -> None:
    feeds = {"x": X, "i": np.array([[0, -1], [-5, 4]], dtype)}
    assert_agrees(node_model("Gather", feeds, axis=1), feeds, isa)


def test_gather_of_neighbours_is_a_view() -> None:
    x = {"x": counting(6, 8)}
    model = network(
        [
            oh.make_node("Exp", ["x"], ["e"]),
            oh.make_node("Gather", ["e", "i"], ["g"], axis=0),
            oh.make_node("MatMul", ["g", "w"], ["y"]),
        ],
        {"x": x["x"] / 48},
        {"y": (2, 3)},
        i=np.array([2, 3]),
        w=numbers(8, 3),
    )
    assert not {"ep_copy_nd", "ep_table_copy", "ep_gather"} & set(kernels(compiled(model)))
    assert_agrees(model, {"x": x["x"] / 48}, "avx2")


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize(("axis", "dims"), [(0, (2, 3, 2, 4)), (1, (2, 7, 2, 4)), (-1, (1, 5, 3, 9))])
def test_gather_elements(axis: int, dims: tuple[int, ...], isa: str) -> None:
    extent = X.shape[axis]
    feeds = {"x": X, "i": np.random.default_rng(0).integers(-extent, extent, dims)}
    assert_agrees(node_model("GatherElements", feeds, axis=axis), feeds, isa)


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize(("batch", "dims"), [(0, (3, 2)), (1, (2, 6, 2)), (2, (2, 5, 1, 1))])
def test_gather_nd(batch: int, dims: tuple[int, ...], isa: str) -> None:
    feeds = {"x": X, "i": np.random.default_rng(0).integers(-2, 2, dims)}
    assert_agrees(node_model("GatherND", feeds, batch_dims=batch), feeds, isa)


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("reduction", ["none", "add", "mul", "min", "max"])
@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.int8])
def test_scatter_elements_combines_in_order(reduction: str, dtype: type[Any], isa: str) -> None:
    indices = np.array([[0, 1, 2, -1], [1, 0, 0, 2]])
    feeds = {"x": numbers(3, 4, dtype=dtype), "i": indices, "u": numbers(2, 4, seed=1, dtype=dtype)}
    model = node_model("ScatterElements", feeds, axis=0, reduction=reduction, opset=18)
    if reduction != "none" and dtype is np.int8:
        _expect_scattered(model, feeds, reduction, isa)
    else:
        assert_agrees(model, feeds, isa)


def _expect_scattered(model: Any, feeds: dict[str, Any], reduction: str, isa: str) -> None:
    """numpy's own unbuffered operators: integers wrap."""
    want = feeds["x"].copy()
    combine = {"add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum}[reduction]
    rows = feeds["i"] % 3
    columns = np.broadcast_to(np.arange(4), rows.shape)
    combine.at(want, (rows, columns), feeds["u"])
    np.testing.assert_array_equal(run_model(model, feeds, isa=isa)["y"], want)


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("reduction", ["none", "add", "mul", "min", "max"])
def test_scatter_nd_replaces_or_combines_slices(reduction: str, isa: str) -> None:
    indices = np.array([[0, 1], [1, -1], [0, 0]])
    feeds = {"x": X, "i": indices, "u": numbers(3, 3, 4, seed=1)}
    assert_agrees(node_model("ScatterND", feeds, reduction=reduction, opset=18), feeds, isa)


def test_scatter_writes_over_data_that_nobody_else_reads() -> None:
    model = network(
        [
            oh.make_node("Exp", ["x"], ["e"]),
            oh.make_node("ScatterND", ["e", "i", "u"], ["s"]),
            oh.make_node("Neg", ["s"], ["y"]),
        ],
        {"x": X, "u": numbers(1, 3, 4)},
        {"y": X.shape},
        i=np.array([[0, 2]]),
    )
    (scatter,) = [call for call in compiled(model).body if call.kernel.name == "ep_scatter_nd"]
    given = scatter.inputs[0]
    assert given is not None
    assert getattr(given, "offset", None) == scatter.outputs[0].offset
    assert_agrees(model, {"x": X, "u": numbers(1, 3, 4)}, "avx2")


@pytest.mark.parametrize(
    ("op_type", "others"),
    [
        ("Gather", {}),
        ("GatherElements", {}),
        ("GatherND", {}),
        ("ScatterElements", {"u": numbers(1, 1)}),
        ("ScatterND", {"u": numbers(1)}),
    ],
)
@pytest.mark.parametrize("bad", [4, -5, 2**40])
def test_an_index_outside_ends_the_run_with_its_own_status(op_type: str, others: dict[str, Any], bad: int) -> None:
    indices = np.array([[0, bad]] if op_type in ("GatherND", "ScatterND") else [[bad]])
    feeds = {"x": numbers(4, 4), "i": indices, **others}
    flags = ("-O1", "-fsanitize=undefined", "-fno-sanitize-recover=all")
    with pytest.raises(KernelStatusError) as stopped:
        run_model(node_model(op_type, feeds), feeds, flags=flags)
    assert stopped.value.status == E_INDEX


def test_a_constant_index_outside_is_refused_when_building() -> None:
    with pytest.raises(ModelError, match="index 5"):
        compiled(node_model("Gather", {"x": X}, constants={"i": np.array([5])}, axis=1))
