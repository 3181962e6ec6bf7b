"""A bundle's build files make its library with the project's own compiler, whatever made the bundle's."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest
import yaml

import edgepack
from codegen_c.c_model import emit
from codegen_c.embed import EmbedStyle
from codegen_c.firmware import EXPORTS, export_files
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


def test_make_knows_the_flags_the_vectors_need(tmp_path: Path) -> None:
    directory = bundle(tmp_path, EmbedStyle.EMBED)
    name = model_name(directory)
    subprocess.run(["make", "-s", "CC=gcc"], cwd=directory, check=True)
    np.testing.assert_allclose(run_with(directory / f"build/lib{name}.a", directory, name), (X @ WEIGHTS)[0], rtol=1e-6)


def test_flags_without_the_vectors_are_refused_by_the_source(tmp_path: Path) -> None:
    directory = bundle(tmp_path, EmbedStyle.EMBED)
    command = ["make", "-s", "CC=gcc", "EDGEPACK_CPU_FLAGS=-march=x86-64"]
    result = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
    assert result.returncode != 0
    assert "compile with -march=x86-64-v3" in result.stderr


def test_a_compiler_without_embed_is_told_about_the_assembler_file(tmp_path: Path) -> None:
    directory = bundle(tmp_path, EmbedStyle.EMBED)
    name = model_name(directory)
    command = ["gcc", "-Iinclude", "-Iruntime/include", "-c", f"src/{name}_weights.c"]
    result = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
    assert result.returncode != 0
    assert f"firmware/{name}_weights.S" in result.stderr


@pytest.mark.cmake
def test_a_project_gives_the_processors_flags_before_adding_the_bundle(tmp_path: Path) -> None:
    directory = bundle(tmp_path / "bundle", EmbedStyle.EMBED)
    project = tmp_path / "project"
    project.mkdir()
    lines = [
        "cmake_minimum_required(VERSION 3.16)",
        "project(firmware C)",
        f'set(EDGEPACK_CPU_FLAGS "{CPU}")',
        f"add_subdirectory({directory} bundle)",
    ]
    (project / "CMakeLists.txt").write_text("\n".join(lines))
    for command in (["cmake", "-S", ".", "-B", "out", "-DCMAKE_C_COMPILER=gcc"], ["cmake", "--build", "out"]):
        subprocess.run(command, cwd=project, check=True, capture_output=True)


@pytest.mark.cmake
def test_cmake_builds_the_library(tmp_path: Path) -> None:
    directory = bundle(tmp_path / "bundle", EmbedStyle.EMBED)
    name = model_name(directory)
    out = str(tmp_path / "out")
    options = [f"-DEDGEPACK_CPU_FLAGS={CPU}", "-DCMAKE_C_COMPILER=gcc"]
    for command in (["cmake", "-S", str(directory), "-B", out, *options], ["cmake", "--build", out]):
        subprocess.run(command, check=True, capture_output=True)
    np.testing.assert_allclose(run_with(tmp_path / f"out/lib{name}.a", directory, name), (X @ WEIGHTS)[0], rtol=1e-6)


FRAMEWORKS = {
    "zephyr": """
add_library(zephyr_interface INTERFACE)
target_compile_options(zephyr_interface INTERFACE -march=x86-64-v3)
add_subdirectory("${BUNDLE}" network)
""",
    "esp-idf": """
set(ESP_PLATFORM 1)
include("${STAND_IN}")
add_subdirectory("${BUNDLE}" network)
""",
}
"""Projects that offer what these frameworks offer a package; they know the processor, the bundle is told nothing."""


@pytest.mark.cmake
@pytest.mark.parametrize("framework", sorted(FRAMEWORKS))
def test_the_bundle_is_a_part_of_a_frameworks_build(framework: str, tmp_path: Path) -> None:
    directory = bundle(tmp_path / "bundle", EmbedStyle.EMBED)
    project = tmp_path / "project"
    project.mkdir()
    head = "cmake_minimum_required(VERSION 3.16)\nproject(app LANGUAGES C ASM)\n"
    (project / "CMakeLists.txt").write_text(head + FRAMEWORKS[framework])
    stand_in = Path(__file__).parent / "data" / "idf_stand_in.cmake"
    options = [f"-DBUNDLE={directory}", f"-DSTAND_IN={stand_in}", "-DCMAKE_C_COMPILER=gcc"]
    out = str(tmp_path / "out")
    for command in (["cmake", "-S", str(project), "-B", out, *options], ["cmake", "--build", out]):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    (library,) = (tmp_path / "out/network").glob("lib*.a")
    np.testing.assert_allclose(run_with(library, directory, model_name(directory)), (X @ WEIGHTS)[0], rtol=1e-6)


def test_package_files_are_written_on_request_only() -> None:
    assert export_files("net", ()) == {}
    assert set(export_files("net", EXPORTS)) == {"zephyr/module.yml", "library.json", "idf_component.yml"}
    assert set(export_files("net", ("zephyr",))) == {"zephyr/module.yml"}


def test_package_files_are_well_formed() -> None:
    files = export_files("net", EXPORTS)
    assert yaml.safe_load(files["zephyr/module.yml"]) == {"name": "net", "build": {"cmake": "."}}
    assert yaml.safe_load(files["idf_component.yml"])["version"] == "1.0.0"
    library = json.loads(files["library.json"])
    assert (library["name"], library["build"]["srcDir"]) == ("net", "single")


def test_a_platformio_package_holds_the_single_file_it_names(tmp_path: Path) -> None:
    model = node_model("MatMul", {"x": X}, constants={"w": WEIGHTS})
    made = edgepack.build(model, "host", out=tmp_path / "out", name="product", exports=["platformio"])
    listed = {info.path for info in made.manifest.files}
    assert {"library.json", "single/product.c", "single/product.h"} <= listed
    assert "zephyr/module.yml" not in listed
