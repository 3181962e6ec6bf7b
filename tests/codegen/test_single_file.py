"""A model as one ``.c`` and one ``.h`` that need nothing else."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

from codegen_c.c_model import emit, serial
from codegen_c.embed import EmbedStyle
from packager.build.single_file import single_file
from packager.build.toolchain import zig_command
from packager.program import Program
from tests.codegen.test_sanitizers import digits_program, reference, some_digit
from tests.support import ISAS
from tests.support.harness import WARNINGS, best_isa, open_library

COMPILERS = {"gcc": ["gcc"], "zig": [*zig_command(), "cc", "-Wno-pass-failed", "-fno-sanitize=undefined"]}


def write_single(program: Program, directory: Path) -> str:
    """The two files of ``program`` and nothing else; returns their stem."""
    files = emit(serial(program), embed=EmbedStyle.ARRAY)
    name = program.name
    sources = [files[path].decode() for path in (f"src/{name}.c", f"src/{name}_weights.c")]
    for path, data in single_file(name, files[f"include/{name}.h"].decode(), sources).items():
        (directory / Path(path).name).write_bytes(data)
    return name


@pytest.mark.parametrize("isa", ["scalar", best_isa()])
@pytest.mark.parametrize("compiler", sorted(COMPILERS))
def test_the_two_files_compile_alone_without_a_warning_and_compute(compiler: str, isa: str, tmp_path: Path) -> None:
    program = digits_program(isa, threads=3)
    name = write_single(program, tmp_path)
    flags = ["-std=c99", "-O1", "-shared", "-fPIC", "-fno-strict-aliasing", *WARNINGS]
    flags += [flag.replace("x86-64-", "x86_64_") if compiler == "zig" else flag for flag in ISAS[isa][1]]
    command = [*COMPILERS[compiler], *flags, "-o", "model.so", f"{name}.c"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:3000]
    x = some_digit(program)
    output = open_library(tmp_path / "model.so", name).run({program.inputs[0].name: x})
    np.testing.assert_allclose(output[program.outputs[0].name], reference(x), rtol=1e-4, atol=1e-5)


def test_they_include_each_other_and_two_standard_headers_only(tmp_path: Path) -> None:
    name = write_single(digits_program("scalar", threads=1), tmp_path)
    for suffix, expected in ((".h", {"<stddef.h>", "<stdint.h>"}), (".c", {f'"{name}.h"'})):
        text = (tmp_path / f"{name}{suffix}").read_text()
        assert set(re.findall(r"^\s*#\s*include\s+(\S+)", text, re.MULTILINE)) == expected
        assert text.count("SPDX-License-Identifier") == 1


def test_the_header_is_valid_cpp(tmp_path: Path) -> None:
    name = write_single(digits_program("scalar", threads=1), tmp_path)
    (tmp_path / "use.cpp").write_text(f'#include "{name}.h"\n#include "{name}.h"\n')
    command = ["g++", "-std=c++98", "-Wall", "-Wextra", "-Werror", "-pedantic", "-fsyntax-only", "use.cpp"]
    subprocess.run(command, cwd=tmp_path, check=True)
