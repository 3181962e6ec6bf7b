"""A bundle's build files make its library with the project's own compiler, whatever made the bundle's."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from codegen_c.c_model import emit
from codegen_c.embed import EmbedStyle
from packager.build.compile import compile_bundle
from packager.build.runtime_files import common_sources, main_source, port_sources
from packager.config.load import load_target
from tests.support import compile_program, node_model

WEIGHTS = np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3)
X = np.array([[1, 2, 3, 4]], np.float32)
CPU = "-march=x86-64-v3"


def bundle(directory: Path, style: EmbedStyle) -> Path:
    """The sources of ``y = x @ WEIGHTS`` as a bundle has them."""
    model = node_model("MatMul", {"x": X}, constants={"w": WEIGHTS})
    model.graph.name = "product"
    program = compile_program(model, isa="avx2")
    target = load_target("x86_64-linux").model_copy(update={"threads": 1})
    compile_bundle(emit(program, embed=style), target, name=program.name, directory=directory)
    return directory


def run_with(library: Path, directory: Path, name: str) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    """Link the run program with gcc and call it."""
    target = load_target("x86_64-linux")
    sources = [*common_sources(), main_source("run"), *port_sources(target), "runtime/src/ep_built_for.c"]
    includes = ["-Iinclude", "-Iruntime/include", "-Iruntime/src"]
    defines = [f"-DEP_MODEL={name}_model", "-DEP_NO_THREADS"]
    command = ["gcc", "-std=gnu11", CPU, *includes, *defines, *sources, str(library), "-o", "by-gcc"]
    subprocess.run(command, cwd=directory, check=True)
    done = subprocess.run([directory / "by-gcc", "-", "-"], input=X.tobytes(), capture_output=True, check=True)
    return np.frombuffer(done.stdout, np.float32)


def model_name(directory: Path) -> str:
    (library,) = (directory / "lib").glob("lib*.a")
    return library.stem.removeprefix("lib")


@pytest.mark.parametrize("style", [EmbedStyle.EMBED, EmbedStyle.ARRAY])
def test_make_builds_the_library_with_gcc(style: EmbedStyle, tmp_path: Path) -> None:
    directory = bundle(tmp_path, style)
    name = model_name(directory)
    subprocess.run(["make", "-s", "CC=gcc", f"EDGEPACK_CPU_FLAGS={CPU}"], cwd=directory, check=True)
    np.testing.assert_allclose(run_with(directory / f"build/lib{name}.a", directory, name), (X @ WEIGHTS)[0], rtol=1e-6)


def test_make_without_the_processors_flags_is_refused_by_the_source(tmp_path: Path) -> None:
    directory = bundle(tmp_path, EmbedStyle.EMBED)
    result = subprocess.run(["make", "-s", "CC=gcc"], cwd=directory, capture_output=True, text=True, check=False)
    assert result.returncode != 0
    assert "specialised for 8 float lanes" in result.stderr


@pytest.mark.skipif(shutil.which("cmake") is None, reason="cmake is not installed")
def test_cmake_builds_the_library(tmp_path: Path) -> None:
    directory = bundle(tmp_path / "bundle", EmbedStyle.EMBED)
    name = model_name(directory)
    out = str(tmp_path / "out")
    options = [f"-DEDGEPACK_CPU_FLAGS={CPU}", "-DCMAKE_C_COMPILER=gcc"]
    for command in (["cmake", "-S", str(directory), "-B", out, *options], ["cmake", "--build", out]):
        subprocess.run(command, check=True, capture_output=True)
    np.testing.assert_allclose(run_with(tmp_path / f"out/lib{name}.a", directory, name), (X @ WEIGHTS)[0], rtol=1e-6)
