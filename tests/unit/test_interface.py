"""The Python interface: what it shows and takes."""

from __future__ import annotations

from pathlib import Path

import pytest

import edgepack

DIGITS = Path(__file__).parents[2] / "examples" / "digits" / "digits.onnx"


def test_only_public_names_are_listed() -> None:
    assert dir(edgepack) == sorted(edgepack.__all__)


def test_threads_are_those_asked_for(tmp_path: Path) -> None:
    bundle = edgepack.build(DIGITS, out=tmp_path / "one", threads=1)
    assert bundle.target().threads == 1


@pytest.mark.parametrize("name", ["../../out", "ep"])
def test_a_name_that_is_no_prefix_is_refused_before_anything_is_written(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here" / "below").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "here" / "below")
    with pytest.raises(edgepack.ConfigError, match="EP0304"):
        edgepack.build(DIGITS, name=name)
    assert [path.name for path in tmp_path.rglob("*")] == ["here", "below"]


def test_the_c_of_a_model_called_like_the_runtime_compiles(tmp_path: Path) -> None:
    (tmp_path / "EP.onnx").write_bytes(DIGITS.read_bytes())
    bundle = edgepack.build(tmp_path / "EP.onnx", out=tmp_path / "out", threads=1)
    assert (bundle.directory / "include" / "model_ep.h").is_file()
