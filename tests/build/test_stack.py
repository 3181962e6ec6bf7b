"""The stack bound: the deepest chain of frames, read out of real objects of gcc and zig."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from packager.build.objects import ElfObject, read_object
from packager.build.stack import HELPER_FRAME, stack_max
from packager.build.toolchain import zig_command

SOURCE = Path(__file__).parent / "data" / "deep.c"
FLAGS = ["-O1", "-ffunction-sections", "-fno-stack-protector", "-c", str(SOURCE)]
COMPILERS = {
    "gcc": (["gcc"], ["-fstack-usage"]),
    "x86_64": ([*zig_command(), "cc", "-target", "x86_64-linux-musl"], ["-fstack-size-section"]),
    "thumb": ([*zig_command(), "cc", "-target", "thumb-freestanding-eabihf"], ["-fstack-size-section"]),
    "riscv64": ([*zig_command(), "cc", "-target", "riscv64-linux-musl"], ["-fstack-size-section"]),
}


def compiled(name: str, tmp_path: Path, *defines: str) -> ElfObject:
    command, flags = COMPILERS[name]
    path = tmp_path / "deep.o"
    subprocess.run([*command, *FLAGS, *flags, *defines, "-o", path], check=True, cwd=tmp_path)
    usage = path.with_suffix(".su")
    return read_object("deep.o", path.read_bytes(), usage.read_text() if usage.exists() else "")


@pytest.mark.parametrize("name", COMPILERS)
def test_frames_add_up_along_the_deepest_chain(name: str, tmp_path: Path) -> None:
    """entry (64 bytes) calls middle (256), which calls leaf (1024); beside it wide (512) is not on that chain."""
    found = stack_max([compiled(name, tmp_path)])
    assert found is not None
    assert 64 + 256 + 1024 <= found < 64 + 256 + 1024 + 512


@pytest.mark.parametrize("name", COMPILERS)
def test_a_function_passed_on_counts_as_called(name: str, tmp_path: Path) -> None:
    item = compiled(name, tmp_path)
    assert any(callee.endswith("leaf") for callee in item.references["by_pointer"])


def test_recursion_has_no_bound(tmp_path: Path) -> None:
    assert stack_max([compiled("x86_64", tmp_path, "-DRECURSIVE")]) is None


def test_objects_without_frame_sizes_have_no_bound() -> None:
    assert stack_max([ElfObject("a.o", "EM_ARM", 32, True, 0, ())]) is None


def test_a_routine_outside_the_objects_gets_an_allowance() -> None:
    item = ElfObject("a.o", "EM_ARM", 32, True, 0, (), references={"f": {"memcpy"}}, frames={"f": 100})
    assert stack_max([item]) == 100 + HELPER_FRAME
