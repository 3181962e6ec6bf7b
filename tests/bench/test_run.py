"""Measuring through any transport: a program that prints what a bench program does, and ones that do not."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from packager.bench.report import BenchReport
from packager.bench.run import BenchOptions, bench, parse_cpus
from packager.deploy.local import LocalTransport
from packager.errors import DeviceError

RESULT = {
    "schema": 1,
    "model": "digits",
    "machine": "x86_64",
    "unit": "ns",
    "threads": 1,
    "runs": 3,
    "warmup_runs": 2,
    "warmup_stable": True,
    "outputs_repeat": True,
    "min": 900,
    "median": 1000,
    "mean": 1010,
    "p90": 1100,
    "p99": 1190,
    "max": 1200,
    "stdev": 50,
    "peak_rss_bytes": 4096,
    "arena_bytes": 1024,
    "weights_bytes": 2048,
    "pinned": False,
    "layers": [{"source": "conv1", "kernel": "ep_conv2d_f32", "macs": 400, "min": 5, "median": 7}],
    "samples": [900, 1000, 1200],
}


def program(tmp_path: Path, *, result: str = json.dumps(RESULT), hashing: str = "sha256sum") -> Path:
    """A script with the command line of a bench program; the first argument not of it is what it printed."""
    path = tmp_path / "stand-in"
    path.write_text(
        "#!/bin/sh\n"
        'case "$1" in\n'
        "--arch) echo x86_64 ;;\n"
        f"--sha256) shift; {hashing} \"$@\" | sed 's/  */ /' ;;\n"
        f"*) echo \"$*\" > outputs.bin; cat <<'END'\n{result}\nEND\n;;\n"
        "esac\n"
    )
    return path


def measure(path: Path, options: BenchOptions | None = None) -> tuple[BenchReport, bytes]:
    """The report, and the outputs that were checked."""
    seen: list[bytes] = []

    def check(outputs: bytes) -> tuple[bool, float]:
        seen.append(outputs)
        return True, 0.5

    report = bench(
        path, LocalTransport(), target="here", macs=2000, inputs=b"abc", check_outputs=check, options=options
    )
    return report, seen[0]


def test_what_the_program_prints_becomes_the_report(tmp_path: Path) -> None:
    report, _ = measure(program(tmp_path))
    assert (report.model, report.target, report.device) == ("digits", "here", "this machine")
    assert (report.minimum, report.median, report.p99, report.maximum) == (900, 1000, 1190, 1200)
    assert report.median_ms == pytest.approx(1e-3)
    assert report.gmacs_per_second == pytest.approx(2.0)
    assert (report.outputs_match, report.output_max_error) == (True, 0.5)
    assert [layer.source for layer in report.layers] == ["conv1"]


def test_the_json_has_every_field_and_its_schemas_version(tmp_path: Path) -> None:
    document = json.loads(json.dumps(measure(program(tmp_path))[0].to_json()))
    assert document["schema"] == 1
    assert set(document) == {"schema", *(field.name for field in dataclasses.fields(BenchReport))}
    assert document["layers"] == [
        {"source": "conv1", "kernel": "ep_conv2d_f32", "macs": 400, "minimum": 5, "median": 7}
    ]
    assert document["samples"] == [900, 1000, 1200]
    assert document["before"]["kernel"]


def test_options_reach_the_program(tmp_path: Path) -> None:
    options = BenchOptions(runs=5, warmup=0, threads=2, cpus="0-1", per_layer=True, samples=True)
    report, words = measure(program(tmp_path), options)
    files = "--input inputs.bin --output outputs.bin"
    wanted = f"--json --runs 5 --warmup 0 --threads 2 --cpu 0-1 --per-layer --samples {files}"
    assert words.decode().strip() == wanted
    assert "the processors 0-1 were not granted" in report.warnings
    assert measure(program(tmp_path), BenchOptions(seconds=0.5))[1].startswith(b"--json --seconds 0.500 --input")


def test_unsettled_times_and_changing_outputs_are_said(tmp_path: Path) -> None:
    result = json.dumps({**RESULT, "warmup_stable": False, "outputs_repeat": False})
    warnings = measure(program(tmp_path, result=result))[0].warnings
    assert any("had not settled" in line for line in warnings)
    assert any("other outputs than the first" in line for line in warnings)


@pytest.mark.parametrize(
    ("fault", "code"),
    [({"result": "nonsense"}, "EP0715"), ({"hashing": "echo 0000"}, "EP0714"), ({"hashing": "exit 3;"}, "EP0720")],
)
def test_a_program_that_misbehaves_is_one_clear_error(tmp_path: Path, fault: dict[str, str], code: str) -> None:
    with pytest.raises(DeviceError) as error:
        measure(program(tmp_path, **fault))
    assert [problem.code for problem in error.value.problems] == [code]


def test_a_program_for_another_machine_is_told_from_one_that_fails(tmp_path: Path) -> None:
    image = tmp_path / "image"
    image.write_bytes(b"\x7fELF" + bytes(100))
    with pytest.raises(DeviceError, match="cannot run on this machine: Exec format error") as error:
        measure(image)
    assert error.value.problems[0].code == "EP0705"
    assert "name a launcher" in error.value.problems[0].hint


def test_a_list_of_processors_is_numbers_and_ranges() -> None:
    assert parse_cpus("0-3,6") == (0, 1, 2, 3, 6)
    assert parse_cpus("3") == (3,)


@pytest.mark.parametrize("text", ["", "x", "1,", "-1", "3-1", "0-64", "1 2", "0x1", "99999"])
def test_what_is_no_list_of_processors_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"processors|ends before"):
        parse_cpus(text)
