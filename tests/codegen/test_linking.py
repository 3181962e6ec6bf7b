"""Models inside other programs: several at once, in threads, from C++, with hooks; and what objects may hold."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import numpy as np
import onnx
import onnx.helper as oh
import pytest
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import Symbol, SymbolTableSection

from codegen_c.c_model import emit
from codegen_c.embed import EmbedStyle
from packager.build.toolchain import zig_command
from packager.program import Program
from tests.codegen.test_sanitizers import digits_program
from tests.support import compile_program
from tests.support.harness import RUNTIME, WARNINGS
from tests.support.streaming import STATES, model_of, recurrent_model

DATA = Path(__file__).parent / "data"
INCLUDES = ["-Iinclude", f"-I{RUNTIME / 'include'}", f"-I{DATA}"]
SCALAR = ["-DEP_F32_LANES=1"]
MEMORY = re.compile(r"mem(cpy|set|move|cmp)$|_GLOBAL_OFFSET_TABLE_$")


def scaling_model(factor: float) -> onnx.ModelProto:
    """``y = factor * x`` by a matrix product and two transpositions: weights, and several steps."""
    matrix = onnx.numpy_helper.from_array(np.eye(16, dtype=np.float32) * np.float32(factor), "w")
    nodes = [
        oh.make_node("MatMul", ["x", "w"], ["h"]),
        oh.make_node("CumSum", ["h", "axis"], ["sums"]),
        oh.make_node("Sub", ["sums", "sums_before"], ["y"]),
    ]
    nodes.insert(2, oh.make_node("CumSum", ["h", "axis"], ["sums_before"], exclusive=1))
    axis = onnx.numpy_helper.from_array(np.array(1), "axis")
    return model_of(nodes, {"x": [4, 16]}, {"y": [4, 16]}, [matrix, axis])


def write(program: Program, directory: Path) -> list[str]:
    """The generated files below ``directory``; returns the C sources."""
    files = emit(program, embed=EmbedStyle.ARRAY)
    for path, data in files.items():
        (directory / path).parent.mkdir(parents=True, exist_ok=True)
        (directory / path).write_bytes(data)
    return [path for path in files if path.startswith("src/")]


def run(directory: Path, *command: str) -> str:
    """What the program ``a.out`` that ``command`` makes prints."""
    done = subprocess.run([*command, "-o", "a.out"], cwd=directory, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return subprocess.run([directory / "a.out"], capture_output=True, text=True, check=True, timeout=60).stdout


@pytest.fixture
def first(tmp_path: Path) -> list[str]:
    return write(compile_program(scaling_model(2), isa="scalar", name="first"), tmp_path)


@pytest.mark.parametrize("sanitizer", ["address,undefined", "thread"])
def test_two_models_share_an_arena_in_turn_and_run_at_once_in_arenas_of_their_own(
    sanitizer: str, first: list[str], tmp_path: Path
) -> None:
    second = write(compile_program(scaling_model(-1), isa="scalar", name="second"), tmp_path)
    flags = ["-std=gnu11", "-O1", "-g", f"-fsanitize={sanitizer}", "-fno-sanitize-recover=all", "-pthread", *SCALAR]
    printed = run(tmp_path, "gcc", *flags, *INCLUDES, *first, *second, str(DATA / "two_models.c"))
    assert printed.split("\n") == ["6", "-4", "10", "0 wrong", ""]


def test_a_cpp_program_calls_a_model(first: list[str], tmp_path: Path) -> None:
    for source in first:
        subprocess.run(["gcc", "-std=c99", *SCALAR, *INCLUDES, "-c", source], cwd=tmp_path, check=True)
    objects = [f"{Path(source).stem}.o" for source in first]
    warnings = ["-Wall", "-Wextra", "-Werror", "-pedantic", "-Wconversion", "-Wshadow"]
    printed = run(tmp_path, "g++", "-std=c++98", *warnings, *INCLUDES, str(DATA / "use.cpp"), *objects)
    assert printed == "2 4 16\n1111111\n3 float32\n"


def test_the_linker_drops_the_table_nobody_uses(first: list[str], tmp_path: Path) -> None:
    flags = ["-std=c99", *SCALAR, *INCLUDES, "-ffunction-sections", "-fdata-sections", "-Wl,--gc-sections"]
    (tmp_path / "app.c").write_text(
        '#include "first.h"\nstatic FIRST_ARENA(a);\n'
        "int main(void) { first_ctx c; return first_init(&c, a, sizeof a) == EP_OK ? (int)first_invoke(&c) : 1; }\n"
    )
    run(tmp_path, "gcc", *flags, *first, "app.c")
    names = {symbol.name for symbol in symbols_of(tmp_path / "a.out")}
    assert "first_invoke" in names
    assert not names & {"first_model", "table_step", "first_run", "steps"}


def test_an_integer_model_needs_neither_float_routines_nor_a_library(tmp_path: Path) -> None:
    nodes = [
        oh.make_node("Add", ["count_x", "count_w"], ["count_a"]),
        oh.make_node("Gather", ["count_a", "count_at"], ["count_g"], axis=1),
        oh.make_node("Max", ["count_g", "count_w"], ["count_y"]),
    ]
    weights = onnx.numpy_helper.from_array(np.arange(8, dtype=np.int64), "count_w")
    at = onnx.numpy_helper.from_array(np.arange(7, -1, -1, dtype=np.int64), "count_at")
    model = model_of(nodes, {"count_x": [2, 8]}, {"count_y": [2, 8]}, [weights, at])
    zig = [*zig_command(), "cc", "-target", "thumb-freestanding-eabi", "-mcpu=cortex_m0"]
    for source in write(compile_program(model, isa="scalar", name="integers"), tmp_path):
        flags = ["-std=c99", "-O2", "-fno-sanitize=undefined", "-fno-unwind-tables", "-fno-exceptions", *WARNINGS]
        command = [*zig, *flags, *INCLUDES, "-c", source, "-o", "one.o"]
        subprocess.run(command, cwd=tmp_path, check=True)
        undefined = {symbol.name for symbol in symbols_of(tmp_path / "one.o") if symbol["st_shndx"] == "SHN_UNDEF"}
        assert not {name for name in undefined if name and not name.startswith(("integers_", "__aeabi_mem", "mem"))}


def test_hooks_are_called_around_and_between_steps_and_sections_are_used(first: list[str], tmp_path: Path) -> None:
    program = compile_program(scaling_model(2), isa="scalar", name="first")
    command = ["gcc", "-std=c99", *WARNINGS, *SCALAR, *INCLUDES, "-include", str(DATA / "hooks.h")]
    steps = len(program.body)
    assert run(tmp_path, *command, *first, str(DATA / "hooks.c")) == f"{steps} {steps} {steps - 1} 0 1\n"
    with (tmp_path / "a.out").open("rb") as stream:
        names = {section.name for section in ELFFile(stream).iter_sections()}
    assert {".fast", ".flash", ".tightly_coupled"} <= names


@pytest.mark.parametrize("case", ["digits", "threads", "states"])
@pytest.mark.parametrize("compiler", ["gcc", "zig"])
def test_objects_hold_no_state_and_no_names_but_the_models_own(case: str, compiler: str, tmp_path: Path) -> None:
    if case == "states":
        program = compile_program(recurrent_model(), isa="sse", states=STATES, name="recurrent")
    else:
        program = digits_program("sse", threads=3 if case == "threads" else 1)
    command = ["gcc", "-fno-pic"] if compiler == "gcc" else [*zig_command(), "cc", "-fno-sanitize=undefined"]
    allowed = {"ep_parallel"} if program.threads > 1 else set()
    for source in write(program, tmp_path):
        flags = ["-std=c99", "-O2", "-ffunction-sections", "-fdata-sections", "-DEP_F32_LANES=4", *INCLUDES]
        subprocess.run([*command, *flags, "-c", source, "-o", "one.o"], cwd=tmp_path, check=True)
        check_object(tmp_path / "one.o", program.name, allowed)


def symbols_of(path: Path) -> list[Symbol]:
    """The symbol table of an ELF file."""
    with path.open("rb") as stream:
        table = ELFFile(stream).get_section_by_name(".symtab")
        assert isinstance(table, SymbolTableSection)
        return list(table.iter_symbols())


def check_object(path: Path, prefix: str, allowed: set[str]) -> None:
    """No writable data, no foreign symbol, all globals behind the prefix."""
    with path.open("rb") as stream:
        elf = ELFFile(stream)
        for section in elf.iter_sections():
            relocated = section.name.startswith(".data.rel.ro")  # written by the loader, read-only afterwards
            if section["sh_flags"] & 0x1 and section["sh_flags"] & 0x2 and not relocated:  # writable, allocated
                assert section["sh_size"] == 0, f"{section.name} is writable"
    for symbol in symbols_of(path):
        if symbol["st_info"]["bind"] != "STB_GLOBAL":
            continue
        own = symbol.name.startswith(f"{prefix}_")
        known = symbol["st_shndx"] == "SHN_UNDEF" and (MEMORY.match(symbol.name) or symbol.name in allowed)
        assert own or known, symbol.name


def test_generated_lines_fit_a_screen_and_name_the_layers(tmp_path: Path) -> None:
    program = digits_program("sse", threads=1)
    for source in write(program, tmp_path):
        assert max(len(line) for line in (tmp_path / source).read_text().splitlines()) <= 120
    text = (tmp_path / "src/digits.c").read_text()
    assert "/* clang-format off */" in text
    assert "Conv 'conv1' + Relu" in text
    assert "image[1, 1, 8, 8]" in text
