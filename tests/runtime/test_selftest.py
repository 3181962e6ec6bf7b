"""The self-test program: stored cases on the device, PASS or FAIL by output and exit code."""

from __future__ import annotations

import subprocess
from pathlib import Path

from packager import resources
from tests.build.tiny import DATA

RUNTIME = resources.directory("runtime_c")
SOURCES = (
    "ep_selftest_main",
    "ep_selftest",
    "ep_session",
    "ep_text",
    "ep_status",
    "ep_port_posix",
    "ep_parallel_serial",
)
WEIGHTS = (
    "const unsigned char tiny_weights[16] __attribute__((aligned(64))) = {0,0,128,63, 0,0,0,64, 0,0,64,64, 0,0,128,64};"
)


def self_test(tmp_path: Path, *defines: str) -> subprocess.CompletedProcess[str]:
    (tmp_path / "weights.c").write_text(WEIGHTS)
    sources = [RUNTIME / "src" / f"{name}.c" for name in SOURCES]
    sources += [DATA / "tiny.c", DATA / "tiny_selftest.c", tmp_path / "weights.c"]
    includes = [f"-I{RUNTIME / 'include'}", f"-I{RUNTIME / 'src'}", f"-I{DATA}"]
    names = ["-DEP_MODEL=tiny_model", "-DEP_SELFTEST=tiny_selftest", "-DEP_NO_THREADS"]
    command = ["gcc", "-std=gnu11", *includes, *names, *defines, *map(str, sources), "-o", str(tmp_path / "selftest")]
    subprocess.run(command, check=True)
    return subprocess.run([tmp_path / "selftest"], capture_output=True, text=True, check=False)


def test_cases_within_their_tolerance_pass(tmp_path: Path) -> None:
    result = self_test(tmp_path)
    assert (result.returncode, result.stdout) == (0, "PASS tiny case 0\nPASS tiny case 1\n")


def test_a_wrong_element_is_named(tmp_path: Path) -> None:
    result = self_test(tmp_path, "-DFAULT=63")
    assert result.returncode == 1
    assert result.stdout == 'PASS tiny case 0\nFAIL tiny case 1: output "y", element 63\n'


def test_an_inference_that_fails_says_why(tmp_path: Path) -> None:
    result = self_test(tmp_path, "-DINDEX=64")
    assert result.returncode == 1
    assert "FAIL tiny case 1: an index in the data is out of range" in result.stdout
