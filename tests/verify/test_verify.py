"""Inputs, references and the whole comparison on small models."""

from __future__ import annotations

import errno
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from packager.errors import VerifyError
from packager.verify.compare import verify_outputs
from packager.verify.feeds import Array, feeds_for, input_ports, load_feeds, random_feeds
from packager.verify.reference import Reference, reference_outputs
from packager.verify.verify import verify


def model(*, custom: bool = False) -> onnx.ModelProto:
    """y = x @ w + b, z = table[k]."""
    weight = np.arange(6, dtype=np.float32).reshape(2, 3)
    nodes = [
        helper.make_node("Gemm", ["x/0:a", "w", "b"], ["y"]),
        helper.make_node("Gather", ["table", "k"], ["z"]),
    ]
    if custom:
        nodes[0].domain = "com.acme"
    graph = helper.make_graph(
        nodes,
        "small",
        [
            helper.make_tensor_value_info("x/0:a", TensorProto.FLOAT, [1, 2]),
            helper.make_tensor_value_info("k", TensorProto.INT64, [4]),
            helper.make_tensor_value_info("w", TensorProto.FLOAT, [2, 3]),
        ],
        [
            helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 3]),
            helper.make_tensor_value_info("z", TensorProto.FLOAT, [4, 2]),
        ],
        [
            numpy_helper.from_array(weight, "w"),
            numpy_helper.from_array(np.ones(3, np.float32), "b"),
            numpy_helper.from_array(np.arange(6, dtype=np.float32).reshape(3, 2), "table"),
        ],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.acme", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


FEEDS: dict[str, Array] = {"x/0:a": np.array([[1, 2]], np.float32), "k": np.array([0, 2, 1, 1])}


def compute(feeds: Mapping[str, Array]) -> dict[str, Array]:
    weight = np.arange(6, dtype=np.float32).reshape(2, 3)
    table = np.arange(6, dtype=np.float32).reshape(3, 2)
    return {"y": np.asarray(np.matmul(feeds["x/0:a"], weight) + np.float32(1), np.float32), "z": table[feeds["k"]]}


def save_npz(path: Path, arrays: Mapping[str, Array]) -> None:
    np.savez(path, allow_pickle=False, **arrays)


def test_constants_listed_as_inputs_are_no_inputs() -> None:
    assert [(port.name, port.dtype, port.dims, port.bytes) for port in input_ports(model())] == [
        ("x/0:a", "float32", (1, 2), 8),
        ("k", "int64", (4,), 32),
    ]


def test_random_inputs_depend_on_the_seed_alone() -> None:
    first, again, other = (random_feeds(model(), 2, seed) for seed in (1, 1, 2))
    assert all(np.array_equal(a[name], b[name]) for a, b in zip(first, again, strict=True) for name in a)
    assert not np.array_equal(first[0]["x/0:a"], other[0]["x/0:a"])
    assert not np.array_equal(first[0]["x/0:a"], first[1]["x/0:a"])


def test_random_samples_are_drawn_when_they_are_asked_for() -> None:
    endless = random_feeds(model(), sys.maxsize)
    assert len(endless) == sys.maxsize
    assert all(np.array_equal(endless[3][name], random_feeds(model(), 4)[3][name]) for name in FEEDS)
    assert [len(feeds) for feeds in endless[1:3]] == [2, 2]


def test_random_indices_are_valid() -> None:
    drawn = np.concatenate([feeds["k"] for feeds in random_feeds(model(), 50)])
    assert set(drawn.tolist()) == {0, 1, 2}


@pytest.mark.parametrize(
    ("dtype", "low", "high"),
    [
        (TensorProto.FLOAT16, -1, 1),
        (TensorProto.UINT8, 0, 255),
        (TensorProto.INT8, -128, 127),
        (TensorProto.INT32, -8, 8),
        (TensorProto.UINT16, 0, 8),
        (TensorProto.BOOL, 0, 1),
    ],
)
def test_random_values_are_sensible_for_their_type(dtype: int, low: int, high: int) -> None:
    value = helper.make_tensor_value_info("x", dtype, [1000])
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "g", [value], [])
    drawn = random_feeds(helper.make_model(graph), 1)[0]["x"]
    assert drawn.dtype == helper.tensor_dtype_to_np_dtype(dtype)
    assert low <= int(np.floor(drawn.min())) < int(np.ceil(drawn.max())) <= high


def test_inputs_are_read_from_npz_directories_and_directories_of_both(tmp_path: Path) -> None:
    save_npz(tmp_path / "one.npz", {"in:x/0:a": FEEDS["x/0:a"], "k": FEEDS["k"], "out:y": np.ones(3)})
    (tmp_path / "set").mkdir()
    np.save(tmp_path / "set" / "x_0_a.npy", FEEDS["x/0:a"])
    np.save(tmp_path / "set" / "input_1.npy", FEEDS["k"])
    np.save(tmp_path / "set" / "expected_0.npy", np.ones(3))
    ports = input_ports(model())
    for path, count in ((tmp_path / "one.npz", 1), (tmp_path / "set", 1), (tmp_path, 2)):
        samples = load_feeds(path, ports)
        assert len(samples) == count
        for feeds in samples:
            assert feeds.keys() == FEEDS.keys()
            assert all(np.array_equal(feeds[name], FEEDS[name]) for name in FEEDS)


def test_inputs_that_do_not_fit_name_their_file(tmp_path: Path) -> None:
    save_npz(tmp_path / "bad.npz", {"x/0:a": np.ones((2, 2), np.float32), "kk": FEEDS["k"]})
    with pytest.raises(VerifyError) as caught:
        load_feeds(tmp_path, input_ports(model()))
    text = str(caught.value)
    assert "input 'x/0:a' has shape [2, 2]" in text
    assert "no input 'kk'" in text
    assert "did you mean 'k'?" in text
    assert "bad.npz" in text


def test_nan_inputs_are_refused() -> None:
    feeds = {**FEEDS, "x/0:a": np.array([[np.nan, 1]], np.float32)}
    with pytest.raises(VerifyError, match="input 'x/0:a' holds NaN"):
        verify(model(), compute, [feeds])


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 half a zip", b"no zip at all"])
def test_damaged_archives_are_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.npz").write_bytes(content)
    with pytest.raises(VerifyError, match="EP0802"):
        load_feeds(tmp_path / "x.npz", input_ports(model()))


def test_pickled_arrays_are_never_loaded(tmp_path: Path) -> None:
    np.save(tmp_path / "input_0.npy", np.array([{"a": 1}], dtype=object))
    with pytest.raises(VerifyError, match="EP0802"):
        load_feeds(tmp_path, input_ports(model()))


@pytest.mark.parametrize(
    "asked", ["random:0", "random:", "random:-1", "random:x", "random:1000001", f"random:{'9' * 5000}", "/nowhere"]
)
def test_inputs_that_are_none_are_refused(asked: str, tmp_path: Path) -> None:
    with pytest.raises(VerifyError, match="EP0802"):
        feeds_for(model(), asked)
    with pytest.raises(VerifyError, match="there are no inputs"):
        feeds_for(model(), str(tmp_path))


def test_a_directory_that_may_not_be_read_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path) -> Iterator[Path]:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(Path, "iterdir", refuse)  # root may read everything
    with pytest.raises(VerifyError, match=r"EP0802.*Permission denied"):
        load_feeds(tmp_path, input_ports(model()))


def test_a_directory_is_looked_into_two_levels_deep(tmp_path: Path) -> None:
    """Deeper there is no sample, but perhaps a whole disk, or a link back to where it began."""
    save_npz(tmp_path / "one.npz", FEEDS)
    (tmp_path / "again").symlink_to(tmp_path)
    assert len(load_feeds(tmp_path, input_ports(model()))) == 1


def test_both_references_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    with_runtime = Reference(model())
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    without = Reference(model())
    assert without.name.startswith("onnx.reference")
    assert with_runtime.name.startswith("onnxruntime") or "onnxruntime" not in sys.modules
    for name, value in with_runtime.run(FEEDS).items():
        assert verify_outputs({name: value}, without.run(FEEDS)).passed


def test_a_model_no_reference_can_run_is_an_error() -> None:
    with pytest.raises(VerifyError, match="EP0804"):
        reference_outputs(model(custom=True), FEEDS)


def test_inputs_the_reference_rejects_are_an_error() -> None:
    with pytest.raises(VerifyError, match="cannot run the model on these inputs"):
        reference_outputs(model(), {**FEEDS, "k": np.array([0, 99, 0, 0])})


def test_a_correct_program_passes() -> None:
    seen: list[str] = []

    def progress(message: str, fraction: float | None = None) -> None:
        seen.append(message)

    report = verify(model(), compute, random_feeds(model(), 3), progress=progress)
    assert report.passed
    assert report.samples == 3
    assert report.reference
    assert seen[-1] == "verifying sample 3 of 3"


def test_a_wrong_program_fails_on_the_output_that_is_wrong() -> None:
    def wrong(feeds: Mapping[str, Array]) -> dict[str, Array]:
        return {**compute(feeds), "z": np.zeros((4, 2), np.float32)}

    report = verify(model(), wrong, [FEEDS])
    assert [row.passed for row in report.outputs] == [True, False]


def test_samples_are_checked_before_anything_runs() -> None:
    with pytest.raises(VerifyError, match="no samples"):
        verify(model(), compute, [])
    with pytest.raises(VerifyError, match="input 'k' is not given"):
        verify(model(), compute, [{"x/0:a": FEEDS["x/0:a"]}])


def test_a_second_opinion_is_asked_only_on_disagreement(monkeypatch: pytest.MonkeyPatch) -> None:
    """A network that amplifies rounding: the reference's two ways differ by 0.1."""
    asked = []

    def second_opinion(self: Reference, feeds: Mapping[str, Array]) -> dict[str, Array]:
        asked.append(feeds)
        return {**compute(feeds), "y": np.asarray(np.add(compute(feeds)["y"], np.float32(0.1)), np.float32)}

    def noisy(feeds: Mapping[str, Array]) -> dict[str, Array]:
        return {**compute(feeds), "y": np.asarray(np.subtract(compute(feeds)["y"], np.float32(0.05)), np.float32)}

    monkeypatch.setattr(Reference, "second_opinion", second_opinion)
    assert verify(model(), compute, [FEEDS]).passed
    assert not asked
    assert verify(model(), noisy, [FEEDS]).passed
    assert asked == [FEEDS]


def test_the_second_opinion_is_the_optimised_reference() -> None:
    pytest.importorskip("onnxruntime")
    second = Reference(model()).second_opinion(FEEDS)
    assert second is not None
    assert verify_outputs(reference_outputs(model(), FEEDS), second).passed
