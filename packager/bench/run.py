"""Measuring a built model where it will run."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from packager.bench.conditions import governor, read_conditions, warnings_of
from packager.bench.report import BenchReport, bench_report
from packager.deploy.signals import interrupt_once
from packager.deploy.transport import Transport, Workspace, check_ok, wrong_architecture
from packager.errors import DeviceError, Problem
from packager.progress import Progress, silent

CheckOutputs = Callable[[bytes], tuple[bool, float]]
"""Compares raw outputs with a reference: (within tolerance, largest absolute error)."""


MAX_CPUS = 64
"""Processors that the bench program can be kept to."""


def parse_cpus(text: str) -> tuple[int, ...]:
    """``0-3,6`` as (0, 1, 2, 3, 6); ValueError, in words, when it is no such list."""
    found: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"([0-9]{1,4})(?:-([0-9]{1,4}))?", part)
        if match is None:
            raise ValueError(f"'{text}' is no list of processors such as 3 or 0-3,6")
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first:
            raise ValueError(f"'{part}' ends before it begins")
        found += range(first, last + 1)
    if len(found) > MAX_CPUS:
        raise ValueError(f"'{text}' are {len(found)} processors, more than {MAX_CPUS}")
    return tuple(found)


@dataclass(frozen=True)
class BenchOptions:
    """How to measure; ``runs`` wins over ``seconds``; ``warmup`` None: until times are stable; ``cpus`` like 0-3."""

    seconds: float = 2.0
    runs: int | None = None
    warmup: int | None = None
    threads: int | None = None
    cpus: str | None = None
    per_layer: bool = False
    samples: bool = False
    governor: str | None = None
    thermal: str | None = None

    def arguments(self) -> list[str]:
        """The bench program's command line, files left out."""
        words = ["--json"]
        words += ["--runs", str(self.runs)] if self.runs else ["--seconds", f"{self.seconds:.3f}"]
        if self.warmup is not None:
            words += ["--warmup", str(self.warmup)]
        if self.threads is not None:
            words += ["--threads", str(self.threads)]
        if self.cpus:
            words += ["--cpu", self.cpus]
        return words + ["--per-layer"] * self.per_layer + ["--samples"] * self.samples


def bench(
    program: Path,
    transport: Transport,
    *,
    target: str,
    macs: int,
    inputs: bytes | None = None,
    check_outputs: CheckOutputs | None = None,
    options: BenchOptions | None = None,
    timeout: float | None = None,
    progress: Progress = silent,
) -> BenchReport:
    """Upload ``program`` (``<name>-bench``), warm up, measure, check its outputs, clean up.

    ``inputs`` are the raw inputs one after another, made-up values without them.  DeviceError when the device cannot be
    used, is busy, has another architecture or disappears; it is left clean in every case.
    """
    options = options or BenchOptions()
    limit = (timeout or 600.0) + 4 * options.seconds
    with interrupt_once(), transport.exclusive(limit), transport.workspace() as workspace:
        progress(f"uploading to {transport.name}")
        workspace.put("bench", program, executable=True)
        if inputs is not None:
            workspace.put("inputs.bin", inputs)
        _check_upload(workspace, transport.name, program, inputs)
        with governor(workspace, options.governor) as governor_set:
            before = read_conditions(workspace, options.thermal)
            progress(f"measuring on {transport.name}")
            words = options.arguments() + (["--input", "inputs.bin"] if inputs is not None else [])
            done = workspace.run(["bench", *words, "--output", "outputs.bin"], timeout=limit)
            raw = _result(check_ok(done, "the benchmark", transport.name, workspace.launcher).stdout, transport.name)
            after = read_conditions(workspace, options.thermal)
        match, error = check_outputs(workspace.get("outputs.bin")) if check_outputs else (None, None)
    return bench_report(
        raw,
        target=target,
        device=transport.name,
        emulated=transport.emulated,
        macs=macs,
        governor_set=governor_set,
        before=before,
        after=after,
        outputs_match=match,
        output_max_error=error,
        warnings=tuple(
            _warnings(raw, options, transport) + (warnings_of(before, after) if raw["unit"] == "ns" else [])
        ),
    )


def _check_upload(workspace: Workspace, where: str, program: Path, inputs: bytes | None) -> None:
    """The program runs there (so the architecture is right) and what arrived is what was sent, by its own hash."""
    machine = workspace.run(["bench", "--arch"])
    if machine.exit_code != 0:
        raise wrong_architecture("the benchmark", where, machine, workspace.launcher)
    expected = {"bench": hashlib.sha256(program.read_bytes()).hexdigest()}
    if inputs is not None:
        expected["inputs.bin"] = hashlib.sha256(inputs).hexdigest()
    done = check_ok(workspace.run(["bench", "--sha256", *expected]), "hashing the upload", where)
    rows = [line.split(None, 1) for line in done.stdout.decode("utf-8", "replace").splitlines()]
    arrived = {row[1]: row[0] for row in rows if len(row) == 2}
    damaged = [name for name, digest in expected.items() if arrived.get(name) != digest]
    if damaged:
        raise DeviceError(Problem("EP0714", f"{', '.join(damaged)} arrived damaged", where, "try again"))


def _result(stdout: bytes, where: str) -> Mapping[str, object]:
    try:
        raw = json.loads(stdout)
    except ValueError:
        raise DeviceError(Problem("EP0715", "the benchmark printed no result", where)) from None
    assert isinstance(raw, dict)
    return raw


def _warnings(raw: Mapping[str, object], options: BenchOptions, transport: Transport) -> list[str]:
    found: list[str] = []
    if transport.emulated:
        figures = "times" if raw["unit"] == "ns" else "counts"
        found.append(f"measured in an emulator: the {figures} say nothing about the device's speed")
    if not raw["warmup_stable"] and options.warmup is None and raw["unit"] == "ns":
        found.append("times had not settled when the warm-up ended")
    if options.cpus and not raw["pinned"]:
        found.append(f"the processors {options.cpus} were not granted")
    if not raw["outputs_repeat"]:
        found.append("the last run gave other outputs than the first")
    return found
