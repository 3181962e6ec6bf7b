"""The thread pool under load, and under gcc's thread sanitizer."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from packager import resources

RUNTIME = resources.directory("runtime_c")


@pytest.mark.parametrize("sanitizer", ["thread", "address,undefined"])
def test_every_index_is_run_exactly_once_by_any_number_of_threads(sanitizer: str, tmp_path: Path) -> None:
    program = tmp_path / "pool_test"
    flags = f"-std=gnu11 -O1 -g -pthread -fsanitize={sanitizer} -fno-sanitize-recover=all".split()
    sources = [Path(__file__).parent / "pool_test.c", RUNTIME / "src" / "ep_pool_posix.c"]
    subprocess.run(["gcc", *flags, f"-I{RUNTIME / 'include'}", *sources, "-o", program], check=True)
    result = subprocess.run([program], capture_output=True, text=True, timeout=120, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
