"""Data movement and pooling kernels against their formulas, under the sanitizers, on every vector width."""

from __future__ import annotations

import subprocess
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
