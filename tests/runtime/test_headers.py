"""Kernels are headers: each compiles on its own, all compile for every target without a warning, and none of their code
needs a library, keeps state or calls the mathematics library.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from packager import resources
from packager.build.elf_check import check_objects
from packager.build.objects import MAGIC, read_object
from packager.build.toolchain import WARNINGS, resolve
from packager.config.load import load_target
from packager.config.target import Target

RUNTIME = resources.directory("runtime_c")
HEADERS = sorted(p.name for p in (RUNTIME / "include" / "ep").glob("*.h") if not p.name.endswith(".inc.h"))
PUBLIC = ("ep_status.h", "ep_context.h", "ep_model.h", "ep_parallel.h", "ep_port.h", "ep_selftest.h", "ep_threads.h")
GCC = {"schema": 1, "name": "gcc", "description": "gcc", "triple": "native", "toolchain": "gcc"}
TARGETS = {
    "gcc scalar": Target.model_validate(
        {**GCC, "cpu": "baseline", "isa": ("scalar",), "cflags": ("-DEP_F32_LANES=1",)}
    ),
    "gcc sse2": Target.model_validate({**GCC, "cpu": "baseline", "isa": ("sse2",)}),
    "gcc avx2": Target.model_validate({**GCC, "cpu": "x86_64_v3", "isa": ("avx2",)}),
    "gcc avx512": Target.model_validate({**GCC, "cpu": "x86_64_v4", "isa": ("avx512",)}),
    **{
        name: load_target(name)
        for name in (
            "x86_64-linux", "x86_64-linux-avx512", "rpi4", "rpi3-armv7", "riscv64-linux", "cortex-m4f", "wasm32-wasi"
        )
    },
}  # fmt: skip

# always_inline functions are not emitted without a caller; as "used" ones they all are.  Nobody runs them: unoptimised.
EMIT_ALL = ("-Dalways_inline=used", "-O0", "-Werror", f"-I{RUNTIME / 'include'}")


def compile_text(text: str, command: list[str], tmp_path: Path) -> Path:
    source, output = tmp_path / "headers.c", tmp_path / "headers.o"
    source.write_text(text)
    result = subprocess.run([*command, "-c", source, "-o", output], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return output


@pytest.mark.parametrize("header", HEADERS)
def test_a_header_needs_no_other_before_it_and_may_be_included_twice(header: str, tmp_path: Path) -> None:
    text = f'#include "ep/{header}"\n#include "ep/{header}"\n'
    command = ["gcc", "-std=c99", "-fsyntax-only", "-Werror", *WARNINGS, f"-I{RUNTIME / 'include'}"]
    source = tmp_path / "one.c"
    source.write_text(text)
    result = subprocess.run([*command, source], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("header", PUBLIC)
def test_a_public_header_is_also_cxx98(header: str, tmp_path: Path) -> None:
    source = tmp_path / "one.cpp"
    source.write_text(f'#include "ep/{header}"\nint main() {{ return 0; }}\n')
    flags = "-std=c++98 -fsyntax-only -Wall -Wextra -Werror -pedantic -Wno-long-long".split()
    result = subprocess.run(
        ["g++", *flags, f"-I{RUNTIME / 'include'}", source], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("name", TARGETS)
def test_all_kernels_compile_cleanly_and_keep_to_themselves(name: str, tmp_path: Path) -> None:
    target = TARGETS[name]
    toolchain = resolve(target)
    text = "".join(f'#include "ep/{header}"\n' for header in HEADERS)
    output = compile_text(text, [*toolchain.cc, *toolchain.model_flags, *EMIT_ALL], tmp_path)
    data = output.read_bytes()
    if target.is_wasm:
        assert data.startswith(b"\0asm")
        return
    assert data.startswith(MAGIC)
    item = read_object("headers.o", data)
    check_objects([item], target)  # no malloc, libc, libm; no soft floats where there is an FPU
    assert len(item.references) > 300, "the functions were not emitted"
    writable = [symbol for symbol, section in item.variables.items() if section.is_writable]
    assert not writable, "kernels have no state"


def test_kernels_include_nothing_of_the_c_library() -> None:
    allowed = {b"<stddef.h>", b"<stdint.h>"}
    for path in sorted((RUNTIME / "include" / "ep").glob("*.h")):
        included = {line.split()[1] for line in path.read_bytes().splitlines() if line.startswith(b"#include <")}
        assert included <= allowed, path.name


def test_every_runtime_file_names_its_licence() -> None:
    for path in sorted(RUNTIME.rglob("*")):
        if path.suffix in {".c", ".h", ".ld"}:
            assert path.read_text().startswith("/* SPDX-License-Identifier: Apache-2.0 */\n"), path
