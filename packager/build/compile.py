"""The build stage: generated C and the runtime become a library and programs, checked against the profile."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from codegen_c.names import model_prefix
from packager.build import elf_check, wasm_check
from packager.build.artifact import Artifact, SectionSizes
from packager.build.cache import Cache
from packager.build.compiler import JOBS, Compiled, Compiler, announce_first_use, scratch_directory
from packager.build.link_script import board_for, script_for
from packager.build.objects import MAGIC as ELF_MAGIC
from packager.build.objects import ElfObject, read_object
from packager.build.runtime_files import PREFIX, parallel_source, runtime_files
from packager.build.stack import stack_max
from packager.build.toolchain import resolve
from packager.build.units import Unit, units_of
from packager.config.board import Board
from packager.config.load import key_position
from packager.config.target import Target
from packager.progress import Progress, silent

_STACK_FOR_PROGRAMS = 16 << 10  # what the run and bench programs use themselves
_LINK_SCRIPT = f"{PREFIX}/port/link.ld"
_STARTUP = f"{PREFIX}/port/startup.c"


def compile_bundle(
    sources: Mapping[str, bytes],
    target: Target,
    *,
    name: str,
    directory: Path,
    board: Board | None = None,
    progress: Progress = silent,
    cache: Cache | None = None,
) -> Artifact:
    """Write ``sources`` and the runtime files they use under ``directory``, and compile them for ``target``.

    ``name`` is the model's; ``board`` gives bare-metal programs their memory map (default: the first board known for
    the target).  Equal arguments give equal bytes wherever ``directory`` is.  Raises BuildError when the compiler is
    missing or fails or its output is not what the profile says, BudgetError when code and weights exceed the flash.
    """
    toolchain = resolve(target)
    prefix = model_prefix(name)
    files = {**runtime_files(sources, target), **sources}
    if target.is_freestanding:
        board = board_for(target, board)
        files |= {_STARTUP: board.startup.read_bytes()} if board.startup is not None else {}
    _write(directory, files)
    units = units_of(sources, target, toolchain, prefix)
    with scratch_directory() as scratch:
        compiler = Compiler(toolchain, directory, scratch, cache or Cache.default(), _cpu_is_said_in(target))
        progress("compiling")
        made = compiler.compile(units.all(), files)
        library_objects = _pick(made, (*units.model, *units.support))
        objects, sections = _check_library(library_objects, target, prefix, made)
        stack = stack_max(item for item in objects if item.name in {unit.object_name for unit in units.model})
        if board is not None and target.is_freestanding:
            _write(directory, {_LINK_SCRIPT: script_for(board, _round_up(_STACK_FOR_PROGRAMS + (stack or 0)))})
        library = directory / "lib" / f"lib{prefix}.a"
        compiler.archive(library, library_objects)
        programs = {
            "run": _pick(made, (*units.run, *units.programs)),
            "bench": _pick(made, (*units.bench, *units.programs)),
        }
        if units.self_test:
            programs["selftest"] = _pick(made, (*units.self_test, *units.programs))
        keys = [compiled.key for compiled in library_objects]
        paths = _link(compiler, programs, target, library, keys=keys, progress=progress)
    if stack is not None:
        _write(directory, {f"include/{prefix}_stack.h": _stack_header(prefix, stack)})
    if target.is_wasm:
        sections = _wasm_sections(paths["run"], sources)
        elf_check.check_budget(sections, target)
    return Artifact(
        directory=directory,
        library=library,
        run=paths["run"],
        bench=paths["bench"],
        self_test=paths.get("selftest"),
        sections=sections,
        stack_max=stack,
        compiler=toolchain.identity,
        flags=toolchain.model_flags,
    )


def _cpu_is_said_in(target: Target) -> str:
    """``file:line`` of the CPU in the profile; the profile's name when it is not on the search path."""
    return key_position("targets", target.name, "cpu") or f"target {target.name}: cpu"


def _round_up(stack_bytes: int) -> int:
    """To the alignment of an Arm stack."""
    return -(-stack_bytes // 8) * 8


def _write(directory: Path, files: Mapping[str, bytes]) -> None:
    for path, data in files.items():
        to = directory / path
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_bytes(data)


def _pick(made: Mapping[str, Compiled], units: Sequence[Unit]) -> list[Compiled]:
    return [made[unit.source] for unit in units]


def _check_library(
    compiled: Sequence[Compiled], target: Target, prefix: str, made: Mapping[str, Compiled]
) -> tuple[list[ElfObject], SectionSizes]:
    """The gate on the model's objects; nothing to see where they are not ELF (WebAssembly, other systems' formats)."""
    if not all(item.data.startswith(ELF_MAGIC) for item in compiled):
        return [], SectionSizes()
    objects = [read_object(item.name, item.data, item.stack_usage) for item in compiled]
    elf_check.check_objects(objects, target, threaded=made[parallel_source(target)].name)
    sections = elf_check.section_sizes(objects, f"{prefix}_weights")
    elf_check.check_budget(sections, target)
    return objects, sections


def _link(
    compiler: Compiler,
    programs: Mapping[str, Sequence[Compiled]],
    target: Target,
    library: Path,
    *,
    keys: Sequence[str],
    progress: Progress,
) -> dict[str, Path]:
    """The programs by name, each through its gate; ``keys`` stand for the contents of the library."""
    prefix = library.stem.removeprefix("lib")
    suffix = ".wasm" if target.is_wasm else ".elf" if target.is_freestanding else ""
    inputs = [str(library)]
    if target.is_freestanding:
        inputs += ["-T", _LINK_SCRIPT, "-Wl,-e,Reset_Handler"]
        keys = [*keys, (compiler.directory / _LINK_SCRIPT).read_text()]
    paths = {name: compiler.directory / "bin" / f"{prefix}-{name}{suffix}" for name in programs}

    def make(name: str) -> None:
        data = compiler.link(paths[name], programs[name], inputs, keys)
        _check_program(paths[name], data, target)

    marker = announce_first_use(compiler.toolchain, progress)
    with ThreadPoolExecutor(max_workers=JOBS if marker is None else 1) as pool:  # zig builds the C library once
        list(pool.map(make, programs))
    if marker is not None:
        with contextlib.suppress(OSError):
            marker.touch()
    return paths


def _check_program(path: Path, data: bytes, target: Target) -> None:
    if target.is_wasm:
        wasm_check.check_module(path.name, data)
    elif data.startswith(ELF_MAGIC):
        elf_check.check_program(path.name, data, target)
    path.chmod(0o755)


def _wasm_sections(program: Path, sources: Mapping[str, bytes]) -> SectionSizes:
    """A module has no library to look into: the program's code and data, of which the weights are known."""
    code, data = wasm_check.code_and_data_bytes(program.read_bytes())
    weights = sum(len(blob) for path, blob in sources.items() if path.startswith("weights/"))
    return SectionSizes(text=code, rodata=max(data - weights, 0), weights=weights)


def _stack_header(prefix: str, stack: int) -> bytes:
    """The stack bound as a macro; the generator cannot know it."""
    upper = prefix.upper()
    lines = [
        "/* SPDX-License-Identifier: Apache-2.0 */",
        "/** Stack of one inference in bytes, from the compiler's frame sizes and the call graph. */",
        f"#ifndef {upper}_STACK_H",
        f"#define {upper}_STACK_H",
        f"#define {upper}_STACK_MAX {stack}",
        "#endif",
        "",
    ]
    return "\n".join(lines).encode()
