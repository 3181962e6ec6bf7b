"""Build files with which a bundle becomes a library in somebody else's project: Make, CMake, packages of frameworks."""

from __future__ import annotations

import json
from collections.abc import Sequence

from codegen_c.c_header import API_VERSION
from codegen_c.embed import EmbedStyle
from codegen_c.vectors import WIDE_VECTORS
from codegen_c.weights import WeightBlob, weight_files
from packager.program import Program

FLAGS = "-O3 -ffp-contract=fast -fno-math-errno -fno-strict-aliasing -ffunction-sections -fdata-sections"
"""What the model is compiled with there; the processor is the project's to name."""

EXPORTS = ("zephyr", "platformio", "esp-idf")
"""Frameworks for which a bundle can be a package."""

_CPU_HELP = "flags that select the processor the model was generated for, such as -march=x86-64-v3 or -mcpu=cortex-m7"


def firmware_files(prefix: str, blob: WeightBlob, align: int, style: EmbedStyle, program: Program) -> dict[str, bytes]:
    """``Makefile``, ``CMakeLists.txt`` and, where the bundle's own weights need ``#embed``, an assembler file instead.

    gcc before 15 has no ``#embed``; every gcc and clang for ELF targets assembles ``.incbin``.
    """
    files: dict[str, bytes] = {}
    weights = f"src/{prefix}_weights.{'S' if style is EmbedStyle.INCBIN else 'c'}"
    binary = "" if style is EmbedStyle.ARRAY else f"weights/{blob.digest[:12]}.bin"
    if style is EmbedStyle.EMBED:
        weights = f"firmware/{prefix}_weights.S"
        assembler = weight_files(prefix, blob, align, EmbedStyle.INCBIN)[f"src/{prefix}_weights.S"]
        files[weights] = assembler
    support = [
        "runtime/src/ep_status.c",
        f"runtime/src/{'ep_pool_posix' if program.threads > 1 else 'ep_parallel_serial'}.c",
    ]
    cpu = WIDE_VECTORS[program.lanes][1] if program.lanes in WIDE_VECTORS else ""
    files["Makefile"] = _makefile(prefix, weights, binary, support, cpu).encode()
    files["CMakeLists.txt"] = _cmake(prefix, weights, binary, support, cpu).encode()
    return files


def _makefile(prefix: str, weights: str, binary: str, support: list[str], cpu: str) -> str:
    sources = [f"src/{prefix}.c", weights, *support]
    objects = [f"$(BUILD)/{source.rpartition('/')[2].rpartition('.')[0]}.o" for source in sources]
    lines = [
        f"# Makes $(BUILD)/lib{prefix}.a of the sources in this bundle.",
        f"# EDGEPACK_CPU_FLAGS: {_CPU_HELP}",
        "AR ?= ar",
        "BUILD ?= build",
        f"EDGEPACK_CPU_FLAGS ?= {cpu}".rstrip(),
        f"override CFLAGS += $(EDGEPACK_CPU_FLAGS) {FLAGS}",
        "override CPPFLAGS += -Iinclude -Iruntime/include",
        "",
        f"OBJECTS := {' '.join(objects)}",
        "",
        f"$(BUILD)/lib{prefix}.a: $(OBJECTS)",
        "\t$(AR) rcs $@ $(OBJECTS)",
        "",
    ]
    for source, made in zip(sources, objects, strict=True):
        needs = f"{source} {binary}".rstrip() if source == weights else source
        lines += [f"{made}: {needs}", "\t@mkdir -p $(BUILD)"]
        include = " -I." if source.endswith(".S") else ""
        lines += [f"\t$(CC) $(CPPFLAGS){include} $(CFLAGS) -c -o $@ {source}", ""]
    return "\n".join([*lines, "clean:", "\trm -rf $(BUILD)", "", ".PHONY: clean", ""])


def _cmake(prefix: str, weights: str, binary: str, support: list[str], cpu: str) -> str:
    lines = [
        f"# A static library target `{prefix}`; use it with add_subdirectory() and target_link_libraries().",
        "# It is an ESP-IDF component and a Zephyr module as well; these know the processor themselves.",
        "cmake_minimum_required(VERSION 3.16)",
        "",
        "set(EDGEPACK_SOURCES",
        *(f"  {source}" for source in (f"src/{prefix}.c", weights, *support)),
        ")",
        "if(NOT DEFINED EDGEPACK_CPU_FLAGS)",
        f'  set(EDGEPACK_CPU_FLAGS "{cpu}" CACHE STRING "{_CPU_HELP}")',
        "endif()",
        'separate_arguments(EDGEPACK_FLAGS UNIX_COMMAND "${EDGEPACK_CPU_FLAGS} ' + FLAGS + '")',
        "",
        "if(ESP_PLATFORM)",
        "  idf_component_register(SRCS ${EDGEPACK_SOURCES} INCLUDE_DIRS include runtime/include)",
        "  target_compile_options(${COMPONENT_LIB} PRIVATE ${EDGEPACK_FLAGS})",
        "else()",
        f"  project({prefix} LANGUAGES C ASM)",
        f"  add_library({prefix} STATIC ${{EDGEPACK_SOURCES}})",
        f"  target_include_directories({prefix} PUBLIC include runtime/include)",
        f"  target_compile_options({prefix} PRIVATE ${{EDGEPACK_FLAGS}})",
        "  if(TARGET zephyr_interface)",
        f"    target_link_libraries({prefix} PRIVATE zephyr_interface)",
        "  endif()",
        "endif()",
    ]
    if weights.endswith(".S"):
        lines += [
            f"set_source_files_properties({weights} PROPERTIES",
            '  INCLUDE_DIRECTORIES "${CMAKE_CURRENT_SOURCE_DIR}"',
            f'  OBJECT_DEPENDS "${{CMAKE_CURRENT_SOURCE_DIR}}/{binary}")',
        ]
    if "runtime/src/ep_pool_posix.c" in support:
        lines += ["find_package(Threads REQUIRED)", f"target_link_libraries({prefix} PUBLIC Threads::Threads)"]
    return "\n".join([*lines, ""])


def export_files(prefix: str, exports: Sequence[str]) -> dict[str, bytes]:
    """The package descriptions of the frameworks in ``exports``; PlatformIO's takes the model as a single file."""
    version = f"{API_VERSION}.0.0"
    files: dict[str, str] = {}
    if "zephyr" in exports:
        files["zephyr/module.yml"] = f"name: {prefix}\nbuild:\n  cmake: .\n"
    if "esp-idf" in exports:
        files["idf_component.yml"] = f'version: "{version}"\ndescription: the network {prefix}, made by edgepack\n'
    if "platformio" in exports:
        package = {
            "name": prefix,
            "version": version,
            "description": f"the network {prefix}, made by edgepack",
            "build": {"srcDir": "single", "includeDir": "single", "flags": FLAGS.split()},
        }
        files["library.json"] = json.dumps(package, indent=2) + "\n"
    return {path: text.encode() for path, text in files.items()}
