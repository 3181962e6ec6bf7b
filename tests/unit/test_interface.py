"""The Python interface: what it shows and takes."""

from __future__ import annotations

from pathlib import Path

import edgepack

DIGITS = Path(__file__).parents[2] / "examples" / "digits" / "digits.onnx"


def test_only_public_names_are_listed() -> None:
    assert dir(edgepack) == sorted(edgepack.__all__)


def test_threads_are_those_asked_for(tmp_path: Path) -> None:
    bundle = edgepack.build(DIGITS, out=tmp_path / "one", threads=1)
    assert bundle.target().threads == 1
