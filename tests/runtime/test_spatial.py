"""Data movement and pooling kernels against their formulas, under the sanitizers, on every vector width."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.harness import ISAS, RUNTIME, WARNINGS, best_isa

SOURCE = Path(__file__).with_name("spatial_test.c")
SANITIZERS = ["-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]


@pytest.mark.parametrize("isa", ["scalar", best_isa()])
def test_kernels_do_what_their_formulas_say(isa: str, tmp_path: Path) -> None:
    program = tmp_path / "spatial_test"
    flags = ["-std=c99", "-O1", "-fno-strict-aliasing", *WARNINGS, *SANITIZERS, *ISAS[isa][1]]
    subprocess.run(["gcc", *flags, f"-I{RUNTIME / 'include'}", "-o", str(program), str(SOURCE)], check=True)
    done = subprocess.run([str(program)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]


@pytest.mark.qemu
@pytest.mark.parametrize(("triple", "emulator"), [("aarch64-linux-musl", "qemu-aarch64")])
def test_kernels_do_the_same_on_arm_under_clang(triple: str, emulator: str, tmp_path: Path) -> None:
    program = tmp_path / "spatial_test"
    compiler = [sys.executable, "-m", "ziglang", "cc", "-target", triple, "-std=c99", "-O2", "-fno-strict-aliasing"]
    include = f"-I{RUNTIME / 'include'}"
    subprocess.run([*compiler, *WARNINGS, include, "-o", str(program), str(SOURCE)], check=True)
    done = subprocess.run([emulator, str(program)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
