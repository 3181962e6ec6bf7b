"""The gate for WebAssembly modules, on modules written byte by byte."""

from __future__ import annotations

import pytest

from packager.build.wasm_check import MAGIC, check_module, code_and_data_bytes, imports
from packager.errors import BuildError


def section(kind: int, body: bytes) -> bytes:
    return bytes([kind, len(body)]) + body


def text(name: str) -> bytes:
    return bytes([len(name)]) + name.encode()


def module(*entries: tuple[str, str, bytes]) -> bytes:
    body = bytes([len(entries)]) + b"".join(text(a) + text(b) + kind for a, b, kind in entries)
    return MAGIC + section(2, body)


FUNCTION, TABLE, MEMORY, GLOBAL = b"\0\0", b"\1\x70\1\1\2", b"\2\0\1", b"\3\x7f\1"


def test_imports_of_every_kind_are_read() -> None:
    data = module(("a", "f", FUNCTION), ("a", "t", TABLE), ("b", "m", MEMORY), ("b", "g", GLOBAL), ("c", "h", FUNCTION))
    assert list(imports(data)) == [("a", "f"), ("a", "t"), ("b", "m"), ("b", "g"), ("c", "h")]


def test_a_module_that_imports_only_wasi_passes() -> None:
    check_module("m.wasm", module(("wasi_snapshot_preview1", "fd_write", FUNCTION)))


def test_every_foreign_import_is_named() -> None:
    data = module(("env", "sin", FUNCTION), ("wasi_snapshot_preview1", "fd_write", FUNCTION), ("env", "memory", MEMORY))
    with pytest.raises(BuildError, match=r"env\.sin, env\.memory"):
        check_module("m.wasm", data)


@pytest.mark.parametrize("data", [b"", b"\x7fELF", MAGIC[:4], MAGIC + b"\2", MAGIC + b"\2\x7f", MAGIC + b"\2\1\5"])
def test_what_is_not_a_whole_module_is_refused(data: bytes) -> None:
    with pytest.raises(BuildError) as error:
        check_module("m.wasm", data)
    assert error.value.problems[0].code == "EP0520"


def test_code_and_data_are_measured() -> None:
    assert code_and_data_bytes(MAGIC + section(10, bytes(5)) + section(0, b"x") + section(11, bytes(7))) == (5, 7)
