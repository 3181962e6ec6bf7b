"""What is not a model, or not all of it, gives one clear error."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import onnx
import pytest

from packager.errors import ModelError
from packager.frontend.load import load_model
from tests.frontend.models import add_initializer, parse, random, run, save

MATMUL = "g (float[1, 40] x) => (float[1, 30] y) { y = MatMul(x, w) }"


def matmul() -> onnx.ModelProto:
    return add_initializer(parse(MATMUL), w=random(40, 30))


def external(tmp_path: Path, location: str, *, offset: int = 64) -> Path:
    """A MatMul whose weight is in an external file, ``offset`` bytes from its start."""
    model = matmul()
    tensor = model.graph.initializer[0]
    data = bytes(offset) + tensor.raw_data
    tensor.ClearField("raw_data")
    tensor.data_location = onnx.TensorProto.EXTERNAL
    for key, value in (("location", location), ("offset", str(offset)), ("length", str(len(data) - offset))):
        tensor.external_data.add(key=key, value=value)
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "weights.bin").write_bytes(data)
    (tmp_path / "outside.bin").write_bytes(data)
    return save(model, folder / "m.onnx")


def code(path: Path) -> tuple[str, str]:
    with pytest.raises(ModelError) as caught:
        load_model(path)
    assert len(caught.value.problems) == 1
    return caught.value.problems[0].code, str(caught.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    number, text = code(tmp_path / "nowhere.onnx")
    assert number == "EP0101"
    assert "nowhere.onnx" in text


def test_a_directory_without_a_model_is_refused(tmp_path: Path) -> None:
    number, text = code(tmp_path)
    assert number == "EP0101"
    assert "no .onnx file" in text


def test_a_directory_with_one_model_is_that_model(tmp_path: Path) -> None:
    save(matmul(), tmp_path / "only-one.onnx")
    assert load_model(tmp_path).name == "only_one"


def test_a_truncated_file_is_refused_at_every_length(tmp_path: Path) -> None:
    data = matmul().SerializeToString()
    for length in range(0, len(data), 97):
        path = tmp_path / "cut.onnx"
        path.write_bytes(data[:length])
        assert code(path)[0] in {"EP0102", "EP0107", "EP0103"}


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 a zip", b"<html>not found</html>", bytes(range(256))])
def test_a_file_of_another_kind_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.onnx"
    path.write_bytes(content)
    number, text = code(path)
    assert number == "EP0102"
    assert "not an ONNX model" in text


def test_a_tensor_with_too_few_bytes_is_refused(tmp_path: Path) -> None:
    model = matmul()
    model.graph.initializer[0].raw_data = model.graph.initializer[0].raw_data[:-4]
    number, text = code(save(model, tmp_path / "short.onnx"))
    assert number == "EP0102"
    assert "'w' holds 4796 bytes" in text


def test_names_that_are_not_utf8_are_refused(tmp_path: Path) -> None:
    data = parse("g (float[1] wxyz) => (float[1] y) { y = Relu(wxyz) }").SerializeToString()
    path = tmp_path / "bytes.onnx"
    path.write_bytes(data.replace(b"wxyz", b"w\xff\xfez"))
    assert code(path)[0] == "EP0102"


def test_mutated_files_give_an_error_or_a_model_but_never_a_crash(tmp_path: Path) -> None:
    data = bytearray(matmul().SerializeToString()[:160] + matmul().SerializeToString()[-60:])
    random_bytes = np.random.default_rng(7)
    for _ in range(200):
        mutated = bytearray(data)
        for position in random_bytes.integers(0, len(data), 3):
            mutated[position] = random_bytes.integers(256)
        path = tmp_path / "mutated.onnx"
        path.write_bytes(mutated)
        try:
            load_model(path)
        except ModelError as error:
            assert error.problems[0].code.startswith("EP0")  # noqa: PT017  either outcome is right


def test_external_data_is_read_at_its_offset(tmp_path: Path) -> None:
    path = external(tmp_path, "weights.bin")
    x = random(1, 40, seed=1)
    loaded = load_model(path)
    np.testing.assert_allclose(run(loaded.model, {"x": x})[0], x @ random(40, 30), rtol=1e-4, atol=1e-5)
    assert loaded.original.graph.initializer[0].HasField("raw_data")


def test_the_hash_covers_external_data(tmp_path: Path) -> None:
    path = external(tmp_path, "weights.bin")
    before = load_model(path).sha256
    weights = path.parent / "weights.bin"
    weights.write_bytes(weights.read_bytes()[:-1] + b"\x01")
    assert load_model(path).sha256 != before


def test_the_hash_of_a_plain_file_is_its_sha256(tmp_path: Path) -> None:
    path = save(matmul(), tmp_path / "m.onnx")
    assert load_model(path).sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize("location", ["../outside.bin", "/etc/hostname", "", "a/../../outside.bin"])
def test_external_data_outside_the_model_folder_is_refused(tmp_path: Path, location: str) -> None:
    number, text = code(external(tmp_path, location))
    assert number == "EP0106"
    assert f"'{location}'" in text


def test_a_link_that_leaves_the_model_folder_is_refused(tmp_path: Path) -> None:
    path = external(tmp_path, "link.bin")
    (path.parent / "link.bin").symlink_to(tmp_path / "outside.bin")
    number, text = code(path)
    assert number == "EP0106"
    assert "link.bin" in text


def test_missing_external_data_is_named(tmp_path: Path) -> None:
    number, text = code(external(tmp_path, "gone.bin"))
    assert number == "EP0105"
    assert "gone.bin" in text


def test_external_data_shorter_than_the_tensor_is_refused(tmp_path: Path) -> None:
    path = external(tmp_path, "weights.bin")
    (path.parent / "weights.bin").write_bytes(bytes(100))
    number, text = code(path)
    assert number == "EP0105"
    assert "100 bytes" in text


def test_neither_the_file_nor_the_object_is_changed(tmp_path: Path) -> None:
    model = parse("g (float[N, 4] x) => (float[N, 4] y) { y = Identity(x) }")
    before = model.SerializeToString()
    path = save(model, tmp_path / "m.onnx")
    load_model(model, dims={"N": 2})
    load_model(path, dims={"N": 2})
    assert model.SerializeToString() == before
    assert path.read_bytes() == before
