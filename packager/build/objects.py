"""Reading object files: sections, symbols, who calls whom."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from elftools.elf.elffile import ELFFile
    from elftools.elf.sections import Symbol

MAGIC = b"\x7fELF"
_ALLOC, _WRITE, _EXEC = 0x2, 0x1, 0x4
_UNDEFINED = "SHN_UNDEF"


@dataclass(frozen=True)
class Section:
    """A section that occupies memory."""

    name: str
    size: int
    is_writable: bool
    is_executable: bool
    has_data: bool


@dataclass
class ElfObject:
    """What the gates ask of one relocatable file.

    ``references`` maps each function to the names its code refers to; ``frames`` has the stack of each function, where
    the compiler wrote it down.  Local functions are named ``<file>:<function>``, so that files do not mix.
    """

    name: str
    machine: str
    bits: int
    little_endian: bool
    flags: int
    sections: tuple[Section, ...]
    defined: dict[str, str] = field(default_factory=dict)
    undefined: set[str] = field(default_factory=set)
    variables: dict[str, Section] = field(default_factory=dict)
    references: dict[str, set[str]] = field(default_factory=dict)
    frames: dict[str, int] = field(default_factory=dict)


def open_elf(data: bytes) -> ELFFile:
    """The file ``data`` as pyelftools sees it."""
    from elftools.elf.elffile import ELFFile

    return ELFFile(io.BytesIO(data))


def read_object(name: str, data: bytes, stack_usage: str = "") -> ElfObject:
    """Read the object file ``data``; ``stack_usage`` is the text of gcc's ``.su`` file, if there is one."""
    elf = open_elf(data)
    result = ElfObject(
        name=name,
        machine=str(elf["e_machine"]),
        bits=int(elf.elfclass),
        little_endian=bool(elf.little_endian),
        flags=int(elf["e_flags"]),
        sections=tuple(_sections(elf)),
    )
    names = _symbol_names(elf, result)
    functions = _functions(elf, result, names)
    _read_references(elf, result, names, functions)
    if stack_usage:
        result.frames = dict(_gcc_frames(stack_usage, set(functions.values()), name))
    else:
        result.frames = dict(_clang_frames(elf, functions))
    return result


def _sections(elf: ELFFile) -> Iterator[Section]:
    for section in elf.iter_sections():
        flags = int(section["sh_flags"])
        if flags & _ALLOC and section["sh_size"]:
            yield Section(
                section.name,
                int(section["sh_size"]),
                bool(flags & _WRITE),
                bool(flags & _EXEC),
                section["sh_type"] != "SHT_NOBITS",
            )


def _symbols(elf: ELFFile) -> list[Symbol]:
    from elftools.elf.sections import SymbolTableSection

    table = elf.get_section_by_name(".symtab")
    return list(table.iter_symbols()) if isinstance(table, SymbolTableSection) else []


def _symbol_names(elf: ELFFile, result: ElfObject) -> dict[int, str]:
    """Symbol index to name, and the object's defined and undefined symbols on the way."""
    names: dict[int, str] = {}
    for index, symbol in enumerate(_symbols(elf)):
        is_local = symbol["st_info"]["bind"] == "STB_LOCAL"
        names[index] = f"{result.name}:{symbol.name}" if is_local and symbol.name else symbol.name
        if not symbol.name or symbol["st_info"]["type"] in {"STT_FILE", "STT_SECTION"}:
            continue
        if symbol["st_shndx"] == _UNDEFINED:
            result.undefined.add(symbol.name)
            continue
        if not is_local:
            result.defined[symbol.name] = symbol["st_info"]["type"]
        if symbol["st_info"]["type"] == "STT_OBJECT" and isinstance(symbol["st_shndx"], int):
            section = elf.get_section(symbol["st_shndx"])
            flags = int(section["sh_flags"])
            result.variables[symbol.name] = Section(
                section.name, int(symbol["st_size"]), bool(flags & _WRITE), False, section["sh_type"] != "SHT_NOBITS"
            )
    return names


def _functions(elf: ELFFile, result: ElfObject, names: Mapping[int, str]) -> dict[int, str]:
    """Section index to the function in it: every function has its own (``-ffunction-sections``)."""
    functions: dict[int, str] = {}
    for index, symbol in enumerate(_symbols(elf)):
        if symbol["st_info"]["type"] == "STT_FUNC" and isinstance(symbol["st_shndx"], int):
            functions[symbol["st_shndx"]] = names[index]
    for index, section in enumerate(elf.iter_sections()):  # a local function may have lost its symbol to the section's
        if index not in functions and section.name.startswith(".text.") and section["sh_size"]:
            functions[index] = f"{result.name}:{section.name.removeprefix('.text.')}"
    return functions


def _read_references(elf: ELFFile, result: ElfObject, names: Mapping[int, str], functions: Mapping[int, str]) -> None:
    for function in functions.values():
        result.references.setdefault(function, set())
    from elftools.elf.relocation import RelocationSection

    symbols = _symbols(elf)
    for section in elf.iter_sections():
        if not isinstance(section, RelocationSection) or section["sh_info"] not in functions:
            continue
        caller = functions[section["sh_info"]]
        for relocation in section.iter_relocations():
            index = relocation["r_info_sym"]
            symbol = symbols[index]
            target = names[index]
            if symbol["st_info"]["type"] == "STT_SECTION" or symbol["st_shndx"] in functions:
                target = functions.get(symbol["st_shndx"], "")
            if target and target != caller:
                result.references[caller].add(target)


def _clang_frames(elf: ELFFile, functions: Mapping[int, str]) -> Iterator[tuple[str, int]]:
    """``-fstack-size-section``: one ``.stack_sizes`` per code section, an address and a ULEB128 for each function."""
    for section in elf.iter_sections():
        if section.name != ".stack_sizes":
            continue
        data, address_bytes = section.data(), elf.elfclass // 8
        name = functions.get(section["sh_link"])
        if name is not None and len(data) > address_bytes:
            yield name, _uleb128(data[address_bytes:])


def _uleb128(data: bytes) -> int:
    value = 0
    for index, byte in enumerate(data):
        value |= (byte & 0x7F) << (7 * index)
        if not byte & 0x80:
            break
    return value


def _gcc_frames(text: str, functions: set[str], file: str) -> Iterator[tuple[str, int]]:
    """``-fstack-usage``: lines of ``src/x.c:12:5:name <tab> bytes <tab> kind``."""
    for match in re.finditer(r"^.*:\d+:\d+:(\S+)\t(\d+)\t", text, re.MULTILINE):
        local = f"{file}:{match[1]}"
        yield (local if local in functions else match[1]), int(match[2])
