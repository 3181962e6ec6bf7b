"""The run and bench programs on this machine: the contract that deployment and reports rely on."""

from __future__ import annotations

import hashlib
import json
import math
import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from packager.build.artifact import Artifact
from tests.build.tiny import build_tiny, tiny_input, tiny_output


@pytest.fixture(scope="module")
def artifact(tmp_path_factory: pytest.TempPathFactory) -> Artifact:
    return build_tiny("x86_64-linux", tmp_path_factory.mktemp("bundle"))


@pytest.fixture
def inputs(tmp_path: Path) -> Path:
    path = tmp_path / "in.bin"
    path.write_bytes(tiny_input())
    return path


def call(program: Path, *arguments: object, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([program, *map(str, arguments)], input=stdin, capture_output=True, check=False, timeout=60)


def bench(artifact: Artifact, *arguments: object) -> Any:
    result = call(artifact.bench, "--json", *arguments)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def refusal(result: subprocess.CompletedProcess[bytes]) -> str:
    """The one line a program that fails writes."""
    assert result.returncode != 0
    text = result.stderr.decode()
    assert text.count("\n") == 1
    return text


def test_run_writes_the_outputs(artifact: Artifact, inputs: Path, tmp_path: Path) -> None:
    result = call(artifact.run, inputs, tmp_path / "out.bin")
    assert (result.returncode, result.stdout, result.stderr) == (0, b"", b"")
    assert (tmp_path / "out.bin").read_bytes() == tiny_output()


def test_run_works_in_a_pipe(artifact: Artifact) -> None:
    result = call(artifact.run, "-", "-", stdin=tiny_input())
    assert (result.returncode, result.stdout) == (0, tiny_output())


def test_run_reads_a_pipe_that_comes_in_pieces(artifact: Artifact) -> None:
    with subprocess.Popen([artifact.run, "-", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        for byte in tiny_input():
            process.stdin.write(bytes([byte]))
            process.stdin.flush()
        process.stdin.close()
        assert process.stdout is not None
        assert process.stdout.read() == tiny_output()


@pytest.mark.parametrize("data", [b"", tiny_input()[:-1], tiny_input() + b"\0"])
def test_run_refuses_inputs_of_another_size(artifact: Artifact, tmp_path: Path, data: bytes) -> None:
    (tmp_path / "in.bin").write_bytes(data)
    message = refusal(call(artifact.run, tmp_path / "in.bin", tmp_path / "out.bin"))
    assert "does not have the size of the inputs" in message
    assert not (tmp_path / "out.bin").exists()


def test_run_reports_what_the_model_refuses(artifact: Artifact, tmp_path: Path) -> None:
    (tmp_path / "in.bin").write_bytes(tiny_input(index=64))
    assert "index in the data is out of range" in refusal(call(artifact.run, tmp_path / "in.bin", tmp_path / "out.bin"))


def test_run_names_the_file_it_cannot_read_or_write(artifact: Artifact, inputs: Path, tmp_path: Path) -> None:
    assert "nowhere.bin" in refusal(call(artifact.run, tmp_path / "nowhere.bin", tmp_path / "out.bin"))
    assert "none/out.bin" in refusal(call(artifact.run, inputs, tmp_path / "none" / "out.bin"))


def test_run_notices_a_full_disk(artifact: Artifact, inputs: Path) -> None:
    assert "cannot write the outputs to /dev/full" in refusal(call(artifact.run, inputs, "/dev/full"))


def test_wrong_usage_has_exit_code_2(artifact: Artifact) -> None:
    assert call(artifact.run).returncode == 2
    assert call(artifact.run, "a", "b", "c").returncode == 2


def test_bench_statistics_are_those_of_its_samples(artifact: Artifact, inputs: Path) -> None:
    report = bench(artifact, "--input", inputs, "--runs", 37, "--samples", "--warmup", 3)
    samples = np.sort(np.array(report["samples"], np.float64))
    assert report["runs"] == len(samples) == 37
    assert report["warmup_runs"] == 3
    assert report["unit"] == "ns"
    assert (report["min"], report["max"]) == (samples[0], samples[-1])
    for name, percent in (("median", 50), ("p90", 90), ("p99", 99)):
        assert report[name] == samples[math.ceil(37 * percent / 100) - 1]
    assert report["mean"] == pytest.approx(samples.mean(), abs=1)
    assert report["stdev"] == pytest.approx(samples.std(), abs=2, rel=0.01)


def test_bench_writes_the_outputs_of_a_run_and_their_hash(artifact: Artifact, inputs: Path, tmp_path: Path) -> None:
    report = bench(artifact, "--input", inputs, "--output", tmp_path / "out.bin", "--runs", 5)
    assert (tmp_path / "out.bin").read_bytes() == tiny_output()
    assert report["output_sha256"] == hashlib.sha256(tiny_output()).hexdigest()
    assert report["outputs_repeat"] is True


def test_bench_describes_model_and_memory(artifact: Artifact) -> None:
    report = bench(artifact, "--runs", 1)
    assert (report["schema"], report["model"], report["model_sha256"]) == (1, "tiny", "0" * 64)
    assert (report["arena_bytes"], report["weights_bytes"]) == (768, 16)
    assert report["machine"] == "x86_64"
    assert 100_000 < report["peak_rss_bytes"] < 50_000_000


def test_peak_memory_is_the_programs_own_not_its_parents(artifact: Artifact) -> None:
    ballast = np.ones(60_000_000, np.uint8)  # this process is far larger than the program
    assert bench(artifact, "--runs", 1)["peak_rss_bytes"] < ballast.nbytes / 2


def test_bench_times_every_step(artifact: Artifact) -> None:
    report = bench(artifact, "--runs", 9, "--per-layer")
    assert [layer["source"] for layer in report["layers"]] == ["Mul 'scale'", 'Gather + Add "tail"']
    assert [layer["macs"] for layer in report["layers"]] == [64, 0]
    assert report["layer_runs"] == 9
    assert all(0 <= layer["min"] <= layer["median"] for layer in report["layers"])


def test_bench_warms_up_until_stable_and_keeps_to_its_time(artifact: Artifact) -> None:
    report = bench(artifact, "--seconds", "0.05")
    assert report["warmup_runs"] >= 10
    assert report["runs"] >= 3
    assert report["mean"] * report["runs"] < 0.5e9


def test_bench_pins_to_processors_and_says_so(artifact: Artifact) -> None:
    allowed = min(os.sched_getaffinity(0))
    report = bench(artifact, "--runs", 1, "--threads", 1, "--cpu", allowed)
    assert (report["cpus"], report["pinned"]) == ([allowed], True)
    assert bench(artifact, "--runs", 1, "--cpu", "1000-1002,1010")["pinned"] is False


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
def test_any_number_of_threads_gives_the_same_outputs(artifact: Artifact, inputs: Path, threads: int) -> None:
    report = bench(artifact, "--input", inputs, "--runs", 300, "--threads", threads)
    assert report["threads"] == threads
    assert report["output_sha256"] == hashlib.sha256(tiny_output()).hexdigest()
    assert report["outputs_repeat"] is True


@pytest.mark.parametrize(
    "arguments",
    [
        ["--runs"], ["--runs", "0"], ["--runs", "-3"], ["--runs", "3x"], ["--seconds", "0"], ["--seconds", "."],
        ["--seconds", "1.2345"], ["--warmup", "soon"], ["--threads", "0"], ["--cpu", ""], ["--cpu", "1-"],
        ["--cpu", "3-1"], ["--cpu", "0-64"], ["--cpu", "1,,2"], ["--nonsense"], ["--input"],
    ],
)  # fmt: skip
def test_wrong_options_are_named(artifact: Artifact, arguments: list[str]) -> None:
    result = call(artifact.bench, *arguments)
    assert result.returncode == 2
    assert arguments[0] in refusal(result)


def test_too_many_threads_are_an_error_not_a_crash(artifact: Artifact) -> None:
    assert "cannot set up the model" in refusal(call(artifact.bench, "--runs", 1, "--threads", 65))


@pytest.mark.parametrize("size", [0, 1, 55, 56, 63, 64, 65, 119, 120, 4096, 100_003])
def test_hashes_are_sha256(artifact: Artifact, tmp_path: Path, size: int) -> None:
    data = np.random.default_rng(size).bytes(size)
    path = tmp_path / "file with spaces"
    path.write_bytes(data)
    result = call(artifact.bench, "--sha256", path, path)
    assert result.stdout.decode() == f"{hashlib.sha256(data).hexdigest()}  {path}\n" * 2


def test_a_file_that_cannot_be_hashed_fails_but_the_others_are_printed(artifact: Artifact, tmp_path: Path) -> None:
    (tmp_path / "there").write_bytes(b"x")
    result = call(artifact.bench, "--sha256", tmp_path / "missing", tmp_path / "there")
    assert "missing" in refusal(result)
    assert result.stdout.startswith(hashlib.sha256(b"x").hexdigest().encode())


def test_the_architecture_and_its_extensions_are_printed(artifact: Artifact) -> None:
    assert call(artifact.bench, "--arch").stdout.split() == [b"x86_64", b"avx2", b"fma"]


@pytest.mark.qemu
def test_a_processor_without_an_extension_is_told_so_instead_of_crashing(artifact: Artifact, inputs: Path) -> None:
    old = ["qemu-x86_64", "-cpu", "Nehalem"]
    result = subprocess.run([*old, artifact.bench, "--arch"], capture_output=True, check=False)
    assert "lacks avx2" in refusal(result)
    assert result.stdout.split()[0] == b"x86_64"
    assert "lacks avx2" in refusal(subprocess.run([*old, artifact.run, inputs, "-"], capture_output=True, check=False))


def test_help_lists_every_option(artifact: Artifact) -> None:
    text = call(artifact.bench, "--help").stdout.decode()
    for option in "input output runs seconds warmup threads cpu per-layer samples json sha256 arch".split():
        assert f"--{option} " in text


def test_output_for_people_has_the_times(artifact: Artifact) -> None:
    text = call(artifact.bench, "--runs", 3, "--per-layer").stdout.decode()
    assert "tiny on x86_64" in text
    assert "median" in text
    assert "Mul 'scale'" in text
