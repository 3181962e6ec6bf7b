"""A network of two steps, written by hand as the generator would (``data/tiny.c``), and what it should compute."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import numpy.typing as npt

from codegen_c.weights import WeightBlob, weight_files
from packager.build.artifact import Artifact
from packager.build.cache import Cache
from packager.build.compile import compile_bundle
from packager.build.toolchain import embed_style
from packager.config.load import load_target
from packager.config.target import Target

DATA = Path(__file__).parent / "data"
PATTERN = np.array([1, 2, 3, 4], np.float32)
X = np.arange(64, dtype=np.float32).reshape(2, 32)
INDEX = np.int64(3)


def tiny_sources(target: Target, pattern: npt.NDArray[np.float32] = PATTERN) -> dict[str, bytes]:
    """The sources of the network for ``target``'s compiler; ``pattern`` are its weights."""
    data = pattern.tobytes()
    blob = WeightBlob(data, {}, b"", hashlib.sha256(data).hexdigest())
    return {
        "include/tiny.h": (DATA / "tiny.h").read_bytes(),
        "src/tiny.c": (DATA / "tiny.c").read_bytes(),
        **weight_files("tiny", blob, 64, embed_style(target)),
    }


def tiny_input(index: int = int(INDEX)) -> bytes:
    """The input file of the run program."""
    return X.tobytes() + np.int64(index).tobytes()


def tiny_output(pattern: npt.NDArray[np.float32] = PATTERN) -> bytes:
    """The output file for :func:`tiny_input`."""
    scaled = X.ravel() * np.tile(pattern, 16)
    result: bytes = (scaled + scaled[int(INDEX)]).astype(np.float32).tobytes()
    return result


def build_tiny(target_name: str, directory: Path, *, cache: Cache | None = None) -> Artifact:
    """The network compiled for a shipped target."""
    target = load_target(target_name)
    return compile_bundle(tiny_sources(target), target, name="tiny", directory=directory, cache=cache)
