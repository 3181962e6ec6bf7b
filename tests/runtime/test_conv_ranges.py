"""Convolutions on exact buffers, whole and in pieces, under sanitizers and on every vector width."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.harness import ISAS, RUNTIME, WARNINGS

SOURCE = Path(__file__).parent / "conv_ranges.c"
ZIG = [sys.executable, "-m", "ziglang", "cc", "-target"]


@pytest.mark.parametrize("isa", ISAS)
def test_pieces_make_the_whole_and_nothing_else_is_touched(isa: str, tmp_path: Path) -> None:
    program = tmp_path / "conv_ranges"
    sanitizers = ["-O0", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    command = ["gcc", "-std=c99", *WARNINGS, *sanitizers, "-ffp-contract=fast", *ISAS[isa][1]]
    command += [f"-I{RUNTIME / 'include'}", str(SOURCE), "-o", str(program), "-lm"]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr[:4000]
    done = subprocess.run([program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr[:4000]


@pytest.mark.qemu
@pytest.mark.parametrize(
    ("triple", "emulator"), [("aarch64-linux-musl", "qemu-aarch64"), ("arm-linux-musleabihf", "qemu-arm")]
)
def test_arm_vectors_give_the_same(triple: str, emulator: str, tmp_path: Path) -> None:
    program = tmp_path / "conv_ranges"
    command = [*ZIG, triple, "-std=c99", *WARNINGS, "-O2", "-static", f"-I{RUNTIME / 'include'}"]
    command += [*(["-mcpu=cortex_a53"] if "arm-" in triple else []), str(SOURCE), "-o", str(program), "-lm"]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr[:4000]
    done = subprocess.run([emulator, program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr[:4000]
