"""The gate for WebAssembly: a module of version 1 that imports nothing but WASI."""

from __future__ import annotations

from collections.abc import Iterator

from packager.errors import BuildError, Problem

MAGIC = b"\0asm\1\0\0\0"
WASI = "wasi_snapshot_preview1"

_CUSTOM, _IMPORT, _CODE, _DATA = 0, 2, 10, 11


class _Reader:
    """A cursor over the binary format."""

    def __init__(self, data: bytes, position: int = 0, end: int | None = None) -> None:
        self.data = data
        self.position = position
        self.end = len(data) if end is None else end

    def number(self) -> int:
        """An unsigned LEB128."""
        value, shift = 0, 0
        while True:
            if self.position >= self.end or shift > 63:
                raise ValueError("truncated")
            byte = self.data[self.position]
            self.position += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if not byte & 0x80:
                return value

    def skip(self, count: int) -> None:
        """Step over ``count`` bytes."""
        self.position += count
        if self.position > self.end:
            raise ValueError("truncated")

    def name(self) -> str:
        """A length and that many bytes of UTF-8."""
        length = self.number()
        begin = self.position
        self.skip(length)
        return self.data[begin : self.position].decode()


def sections(data: bytes) -> Iterator[tuple[int, int, int]]:
    """(id, first byte, byte after the last) of each section of a module; ValueError when it is damaged."""
    if not data.startswith(MAGIC):
        raise ValueError("it does not begin as a module of version 1")
    reader = _Reader(data, len(MAGIC))
    while reader.position < len(data):
        kind = reader.number()
        size = reader.number()
        begin = reader.position
        reader.skip(size)
        yield kind, begin, reader.position


def imports(data: bytes) -> Iterator[tuple[str, str]]:
    """(module, name) of everything a module imports."""
    for kind, begin, end in sections(data):
        if kind != _IMPORT:
            continue
        reader = _Reader(data, begin, end)
        for _ in range(reader.number()):
            yield reader.name(), reader.name()
            _skip_description(reader)


def code_and_data_bytes(data: bytes) -> tuple[int, int]:
    """The sizes of the code and of the data section."""
    sizes = {_CODE: 0, _DATA: 0}
    for kind, begin, end in sections(data):
        if kind in sizes:
            sizes[kind] += end - begin
    return sizes[_CODE], sizes[_DATA]


def check_module(name: str, data: bytes) -> None:
    """BuildError when ``data`` is not a module, or imports from elsewhere than WASI."""
    try:
        foreign = [f"{module}.{item}" for module, item in imports(data) if module != WASI]
    except (ValueError, UnicodeDecodeError) as error:
        raise BuildError(Problem("EP0520", f"the linker's output is not a WebAssembly module: {error}", name)) from None
    if foreign:
        what = f"the module imports what a WASI host does not have: {', '.join(foreign)}"
        raise BuildError(Problem("EP0521", what, name, f"programs may import from {WASI} only"))


def _skip_description(reader: _Reader) -> None:
    kind = reader.number()
    if kind in {0, 3}:  # a function's type; a global: value type, mutability
        reader.number()
        if kind == 3:
            reader.number()
        return
    if kind == 1:  # a table begins with the type of its elements
        reader.number()
    has_maximum = reader.number() & 1
    reader.number()
    if has_maximum:
        reader.number()
