"""``edgepack bench``: measured latency."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from packager.cli import arguments, summary
from packager.cli.console import JsonFlag, emit_json, print_table, progress
from packager.cli.places import bundle_of, transport_for

if TYPE_CHECKING:
    from packager.bench.conditions import Conditions
    from packager.bench.report import BenchReport
    from packager.bundle.bundle import Bundle


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(bench)


def _checked_cpus(text: str | None) -> str | None:
    from packager.bench.run import parse_cpus

    if text is not None:
        try:
            parse_cpus(text)
        except ValueError as error:
            raise typer.BadParameter(str(error)) from None
    return text


def bench(
    path: arguments.EitherArgument,
    *,
    target: arguments.TargetOption = None,
    device: arguments.DeviceOption = None,
    board: arguments.BoardOption = None,
    dim: arguments.DimsOption = None,
    seconds: Annotated[
        float, typer.Option("--seconds", metavar="S", min=0.01, max=3600, help="How long to measure.")
    ] = 2.0,
    runs: Annotated[
        int | None, typer.Option("--runs", metavar="N", min=1, help="How many runs, instead of --seconds.")
    ] = None,
    warmup: Annotated[
        int | None,
        typer.Option("--warmup", metavar="N", min=0, help="Runs before measuring. Default: until times are stable."),
    ] = None,
    threads: arguments.ThreadsOption = None,
    cpu: Annotated[
        str | None,
        typer.Option("--cpu", metavar="LIST", callback=_checked_cpus, help="Processors to use, such as 3 or 0-3."),
    ] = None,
    per_layer: Annotated[bool, typer.Option("--per-layer", metavar="", help="Measure each layer too.")] = False,
    samples: Annotated[bool, typer.Option("--samples", metavar="", help="Keep every time measured.")] = False,
    check: Annotated[
        bool,
        typer.Option("--check/--no-check", metavar="", help="Compare the outputs on the device with the reference."),
    ] = True,
    accept_new_host_key: arguments.AcceptKeyOption = False,
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write a report to open in a browser.")
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Measure a model here, in an emulator or on a device: upload, warm up, run, check the outputs, clean up.

    Exit code 1 when the outputs do not match the reference.
    """
    from packager import pipeline
    from packager.bench.run import BenchOptions

    dims = arguments.parse_dims(dim)
    with (
        progress(quiet=json) as report,
        bundle_of(path, report, target=target, board=board, dims=dims, threads=threads, device=device) as bundle,
        transport_for(device, report, accept_new_host_key=accept_new_host_key) as (transport, place),
    ):
        options = BenchOptions(
            seconds=seconds,
            runs=runs,
            warmup=warmup,
            threads=threads,
            cpus=cpu,
            per_layer=per_layer,
            samples=samples or html is not None,
            governor=place.clock.governor if place else None,
            thermal=place.thermal if place else None,
        )
        result = pipeline.bench(bundle, transport=transport, options=options, check=check, progress=report)
        if html is not None:
            _write_html(html, bundle, result)
    if json:
        emit_json({"kind": "bench", **result.to_json()})
    else:
        _print(result, html)
    if result.outputs_match is False:
        raise typer.Exit(1)


def _write_html(file: Path, bundle: Bundle, result: BenchReport) -> None:
    from packager.errors import BundleError, Problem
    from packager.report.page import page

    try:
        partial = file.with_name(f".{file.name}.partial")
        partial.write_text(page(bundle, result), "utf-8")
        partial.replace(file)
    except OSError as error:
        what, hint = f"cannot write the report: {error.strerror}", "name a file in a directory that you may write to"
        raise BundleError(Problem("EP0605", what, str(file), hint)) from None


def _print(result: BenchReport, html: Path | None) -> None:
    unit = "" if result.unit == "ns" else f", in {result.unit}"
    summary.print_line(f"{result.model} for {result.target} on {result.device} ({result.machine}){unit}")
    if result.unit == "ns":
        headings = ("min", "median", "mean", "p90", "p99", "max", "stdev", "runs")
        times = (result.minimum, result.median, result.mean, result.p90, result.p99, result.maximum, result.stdev)
        print_table(headings, [(*(_time(time, result) for time in times), str(result.runs))], right=headings)
    summary.print_facts(_facts(result))
    if result.layers:
        _print_layers(result)
    summary.show_warnings(result.warnings)
    if html is not None:
        summary.print_line(f"report: {summary.shell_quoted(html)}")


def _facts(result: BenchReport) -> list[tuple[str, str]]:
    from packager.config.sizes import format_size

    emulated = " (emulated: not the speed of any device)" if result.emulated else ""
    speed = _speed(result.macs, result.median, result)
    spread = f", {result.minimum:,} to {result.maximum:,}" if result.minimum != result.maximum else ""
    checks = {None: "not checked", True: "match the reference", False: "DO NOT match the reference"}
    error = f", largest error {result.output_max_error:.3g}" if result.output_max_error is not None else ""
    return [
        (result.unit, f"{result.median:,} for one inference{spread}" if result.unit != "ns" else ""),
        ("speed", f"{speed} {_speed_unit(result)}{emulated}"),
        ("threads", str(result.threads) + (", pinned" if result.pinned else "")),
        (
            "memory",
            f"{format_size(result.peak_rss_bytes)} resident at most, of it {format_size(result.arena_bytes)} arena",
        ),
        ("outputs", checks[result.outputs_match] + error),
        ("before", _conditions(result.before) if result.unit == "ns" else ""),
        ("after", _conditions(result.after) if result.unit == "ns" else ""),
        ("governor", "performance during the run, then restored" if result.governor_set else ""),
    ]


def _conditions(conditions: Conditions) -> str:
    parts = [
        (conditions.frequency_mhz, "{:g} MHz"),
        (conditions.temperature_c, "{:g} \u00b0C"),
        (conditions.load, "load {:g}"),
    ]
    told = [form.format(value) for value, form in parts if value is not None]
    return ", ".join([*told, *(f"governor {name}" for name in conditions.governors)])


def _time(amount: int, result: BenchReport) -> str:
    """A time with its unit, or a bare count of what an emulator counts."""
    from packager.report.units import format_count, format_time

    return format_time(amount, "ns") if result.unit == "ns" else format_count(amount)


def _speed(macs: int, amount: int, result: BenchReport) -> str:
    """Arithmetic a nanosecond, or counted instructions for each piece of arithmetic."""
    if not macs or not amount:
        return "-"
    return f"{macs / amount:.3g}" if result.unit == "ns" else f"{amount / macs:.3g}"


def _speed_unit(result: BenchReport) -> str:
    return "GMAC/s" if result.unit == "ns" else f"{result.unit}/MAC"


def _print_layers(result: BenchReport) -> None:
    from packager.report.units import format_count

    total = sum(layer.median for layer in result.layers) or 1
    rows = [
        (
            layer.source or "-",
            layer.kernel,
            format_count(layer.macs) if layer.macs else "-",
            _time(layer.median, result),
            f"{layer.median / total:.1%}",
            _speed(layer.macs, layer.median, result),
        )
        for layer in result.layers
    ]
    median, speed = ("median", "GMAC/s") if result.unit == "ns" else ("count", "per MAC")
    headings = ("layer", "kernel", "MACs", median, "share", speed)
    print_table(headings, rows, right=headings[2:], shorten=headings[:2])
