"""The result of a benchmark: plain data with a versioned schema."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

from packager.bench.conditions import Conditions

SCHEMA = 1


@dataclass(frozen=True)
class Layer:
    """One step of the network: the ONNX nodes it came from, its kernel, time in the report's unit."""

    source: str
    kernel: str
    macs: int
    minimum: int
    median: int


@dataclass(frozen=True)
class BenchReport:
    """What was measured, where and under which conditions.

    ``unit`` is "ns", or "instructions" where an emulator counts them exactly; ``emulated`` marks times that say
    nothing about a device.  ``outputs_match`` is None when there was no reference to check against.
    """

    model: str
    target: str
    device: str
    machine: str
    emulated: bool
    unit: str
    threads: int
    runs: int
    warmup_runs: int
    minimum: int
    median: int
    mean: int
    p90: int
    p99: int
    maximum: int
    stdev: int
    peak_rss_bytes: int
    arena_bytes: int
    weights_bytes: int
    macs: int
    pinned: bool
    governor_set: bool
    before: Conditions
    after: Conditions
    outputs_match: bool | None = None
    output_max_error: float | None = None
    layers: tuple[Layer, ...] = ()
    samples: tuple[int, ...] = ()
    warnings: tuple[str, ...] = field(default=())

    @property
    def median_ms(self) -> float:
        """Median milliseconds; only meaningful when the unit is ns."""
        return self.median * 1e-6

    @property
    def gmacs_per_second(self) -> float | None:
        """Arithmetic speed at the median, None without a clock."""
        return self.macs / self.median if self.unit == "ns" and self.median else None

    def to_json(self) -> dict[str, object]:
        """The report with its schema version."""
        return {"schema": SCHEMA, **asdict(self)}


def bench_report(
    raw: Mapping[str, object],
    *,
    target: str,
    device: str,
    emulated: bool,
    macs: int,
    governor_set: bool,
    before: Conditions,
    after: Conditions,
    outputs_match: bool | None,
    output_max_error: float | None,
    warnings: tuple[str, ...],
) -> BenchReport:
    """The report from what the bench program printed (schema 1 of ``<name>-bench --json``)."""

    def number(key: str) -> int:
        value = raw[key]
        assert isinstance(value, int)
        return value

    layers = raw.get("layers", [])
    samples = raw.get("samples", [])
    assert isinstance(layers, list)
    assert isinstance(samples, list)
    return BenchReport(
        model=str(raw["model"]),
        target=target,
        device=device,
        machine=str(raw["machine"]),
        emulated=emulated,
        unit=str(raw["unit"]),
        threads=number("threads"),
        runs=number("runs"),
        warmup_runs=number("warmup_runs"),
        minimum=number("min"),
        median=number("median"),
        mean=number("mean"),
        p90=number("p90"),
        p99=number("p99"),
        maximum=number("max"),
        stdev=number("stdev"),
        peak_rss_bytes=number("peak_rss_bytes"),
        arena_bytes=number("arena_bytes"),
        weights_bytes=number("weights_bytes"),
        macs=macs,
        pinned=bool(raw["pinned"]),
        governor_set=governor_set,
        before=before,
        after=after,
        outputs_match=outputs_match,
        output_max_error=output_max_error,
        layers=tuple(Layer(row["source"], row["kernel"], row["macs"], row["min"], row["median"]) for row in layers),
        samples=tuple(samples),
        warnings=warnings,
    )
