"""``report.html``: one file that opens from disk without a network."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from packager.bench.report import BenchReport
from packager.bundle.bundle import Bundle
from packager.bundle.manifest import Manifest
from packager.config.sizes import format_size
from packager.report.bars import CSS as BARS_CSS
from packager.report.bars import Bar, bars
from packager.report.footprint import flash_bytes, ram_bytes
from packager.report.svg import Point, Rectangle, arena, histogram, roofline
from packager.report.units import format_count, format_time

MOST_BARS = 60
"""Rows of a bar chart; the smallest beyond are added up in one."""

_CSS = """
:root { color-scheme: light dark; --ink: #1c2733; --soft: #5d6b7a; --line: #d8dee6; --page: #fff; --bar: #2f7fd1; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e3e9f0; --soft: #98a6b5; --line: #36424f; --page: #14191f; --bar: #5aa2ea; }
}
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--page); max-width: 62rem;
  margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; margin-bottom: 0; } h2 { font-size: 1.1rem; margin-top: 2.2rem; }
p.sub, .note { color: var(--soft); margin-top: .2rem; }
dl { display: grid; grid-template-columns: repeat(auto-fill, minmax(11rem, 1fr)); gap: .8rem 1.2rem; }
dt { color: var(--soft); font-size: .85rem; } dd { margin: 0; font-size: 1.15rem; font-variant-numeric: tabular-nums; }
table { border-collapse: collapse; } td, th { text-align: left; padding: .15rem 1.2rem .15rem 0;
  border-bottom: 1px solid var(--line); font-variant-numeric: tabular-nums; }
.chart { overflow-x: auto; } svg text { font-size: 12px; fill: var(--ink); } svg .amount { fill: var(--soft); }
.bar { fill: var(--bar); } .rest { fill: #d18f2f; } .peak { fill: var(--line); }
.bound { stroke: #d1483a; stroke-dasharray: 6 4; }
.tensor { stroke: var(--page); stroke-width: .5; fill-opacity: .85; }
.t0 { fill: #2f7fd1; } .t1 { fill: #3aa387; } .t2 { fill: #d18f2f; } .t3 { fill: #8b6bd1; } .t4 { fill: #c45a86; }
.t5 { fill: #6f8f3a; } svg .inside { fill: #fff; pointer-events: none; } .roof { stroke: #d1483a; }
.grid { stroke: var(--line); }
.point { fill: var(--bar); fill-opacity: .55; stroke: var(--bar); }
.warning { border-left: 3px solid #d18f2f; padding-left: .7rem; }
@media print { .chart svg { width: 100%; height: auto; } * { print-color-adjust: exact; } }
"""


def page(bundle: Bundle, bench: BenchReport | None = None) -> str:
    """The report of ``bundle`` as HTML: what it costs, and with ``bench`` where the time goes."""
    manifest = bundle.manifest
    memory, build = (
        _read(bundle.directory / "report" / "memory.json"),
        _read(bundle.directory / "report" / "build.json"),
    )
    warnings = (*manifest.warnings, *(bench.warnings if bench else ()))
    steps: Sequence[Mapping[str, Any]] = build.get("steps", [])
    sections = [
        _facts(manifest, bench),
        "".join(f'<p class="warning">{escape(text)}</p>' for text in warnings),
        _times(bench, steps),
        _roofline(bench, steps),
        _memory(memory, steps),
        _weights(steps),
        _samples(bench),
        _conditions(bench),
        _list("Fused", manifest.fused),
    ]
    title = f"{manifest.name} on {bench.device if bench else manifest.target}"
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{_CSS}{BARS_CSS}</style></head><body>"
        f"<h1>{escape(manifest.name)}</h1>"
        f'<p class="sub">target {escape(manifest.target)}, edgepack {escape(manifest.edgepack)}, '
        f"model sha256 {escape(manifest.model_sha256[:12])}</p>{''.join(sections)}</body></html>\n"
    )


def _read(file: Path) -> Mapping[str, Any]:
    """A JSON report of the bundle; empty when it has none."""
    if not file.is_file():
        return {}
    data = json.loads(file.read_text("utf-8"))
    return data if isinstance(data, dict) else {}


def _facts(manifest: Manifest, bench: BenchReport | None) -> str:
    rows = [("multiply-accumulates", format_count(manifest.macs)), ("parameters", format_count(manifest.parameters))]
    rows += [("flash", format_size(flash_bytes(manifest))), ("RAM", format_size(ram_bytes(manifest)))]
    rows += [("stack at most", format_size(manifest.stack_max))] if manifest.stack_max else []
    rows += [
        ("weights", format_size(manifest.weights_bytes)),
        ("arena", format_size(manifest.arena_bytes)),
        ("arena, lower bound", format_size(manifest.arena_lower_bound)),
    ]
    if bench is not None:
        emulated = " (emulated)" if bench.emulated else ""
        rows += [
            (f"median{emulated}", format_time(bench.median, bench.unit)),
            (f"minimum{emulated}", format_time(bench.minimum, bench.unit)),
            (f"99th percentile{emulated}", format_time(bench.p99, bench.unit)),
            ("threads", str(bench.threads)),
        ]
    cells = "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in rows)
    return f"<dl>{cells}</dl>"


def _times(bench: BenchReport | None, steps: Sequence[Mapping[str, Any]]) -> str:
    """Time by layer where it was measured, else arithmetic by layer."""
    if bench is not None and bench.layers:
        total = sum(layer.median for layer in bench.layers) or 1
        rows = [
            Bar(
                layer.source or layer.kernel,
                layer.median,
                f"{format_time(layer.median, bench.unit)}  {layer.median / total:.0%}",
                f"{layer.source}: {layer.kernel}, {layer.macs:,} MACs",
            )
            for layer in bench.layers
        ]
        return f"<h2>Time by layer</h2>{_bars(rows, lambda value: format_time(round(value), bench.unit))}"
    rows = [
        Bar(str(step["source"]), step["macs"], format_count(step["macs"]), f"{step['source']}: {step['kernel']}")
        for step in steps
        if step["macs"]
    ]
    return f"<h2>Multiply-accumulates by layer</h2>{_bars(rows, format_count)}" if rows else ""


def _roofline(bench: BenchReport | None, steps: Sequence[Mapping[str, Any]]) -> str:
    """Speed of each layer over its arithmetic intensity; needs the layers measured and the steps they are."""
    if bench is None or bench.unit != "ns" or len(bench.layers) != len(steps):
        return ""
    total = sum(layer.median for layer in bench.layers) or 1
    points = []
    for layer, step in zip(bench.layers, steps, strict=True):
        moved = step["weights_bytes"] + step["input_bytes"] + step["output_bytes"]
        if layer.macs and layer.median and moved:
            intensity, speed = layer.macs / moved, layer.macs / layer.median
            label = (
                f"{layer.source}: {intensity:.3g} MAC/byte, {speed:.3g} GMAC/s, {layer.median / total:.1%} of the time"
            )
            points.append(Point(label, intensity, speed, layer.median / total))
    drawn = roofline(points, across="MACs for each byte moved", up="GMAC/s")
    note = (
        "Each circle is a layer, its area the share of the time. The lines are the best that layers of this model "
        "reached, not the machine's limits: one near the slanted one waits for memory, near the flat one computes."
    )
    return f'<h2>Roofline</h2><p class="note">{note}</p>{drawn}' if drawn else ""


def _memory(memory: Mapping[str, Any], steps: Sequence[Mapping[str, Any]]) -> str:
    if not memory.get("placements"):
        return ""
    rectangles = [
        Rectangle(row["name"], row["first"], row["last"], row["offset"], row["bytes"]) for row in memory["placements"]
    ]
    last = max(rectangle.last for rectangle in rectangles)  # where outputs are read
    names = ["start", *(str(step["source"]) for step in steps)][: last + 1]
    names += ["end" if step == last else f"step {step}" for step in range(len(names), last + 1)]
    drawn = arena(
        rectangles,
        names=names,
        size=memory["arena_bytes"],
        lower_bound=memory["lower_bound"],
        peak_step=memory["peak_step"],
    )
    note = (
        "Each rectangle is a tensor: how long it lives (left to right) and where it lies (bottom to top). "
        f"The lower bound is the largest set of tensors alive at once, at {memory['peak_source'] or 'the start'}."
    )
    return f'<h2>Memory over time</h2><p class="note">{escape(note)}</p>{drawn}'


def _weights(steps: Sequence[Mapping[str, Any]]) -> str:
    rows = [
        Bar(str(step["source"]), step["weights_bytes"], format_size(step["weights_bytes"]))
        for step in steps
        if step["weights_bytes"]
    ]
    return f"<h2>Weights by layer</h2>{_bars(rows, lambda value: format_size(round(value)))}" if rows else ""


def _samples(bench: BenchReport | None) -> str:
    drawn = histogram(bench.samples, unit=bench.unit) if bench else ""
    return f"<h2>Distribution</h2>{drawn}" if drawn else ""


def _conditions(bench: BenchReport | None) -> str:
    if bench is None:
        return ""
    names = {
        "frequency_mhz": "clock, MHz",
        "governors": "governor",
        "temperature_c": "temperature, \u00b0C",
        "load": "load",
        "throttled": "throttling flags",
        "kernel": "kernel",
    }
    rows = []
    for field, name in names.items():
        values = [getattr(bench.before, field), getattr(bench.after, field)]
        if any(value not in (None, ()) for value in values):
            cells = "".join(f"<td>{escape(_cell(value))}</td>" for value in values)
            rows.append(f"<tr><th>{escape(name)}</th>{cells}</tr>")
    note = f"{bench.runs} runs after {bench.warmup_runs} to warm up, on {bench.device} ({bench.machine})"
    table = f"<table><tr><th></th><th>before</th><th>after</th></tr>{''.join(rows)}</table>" if rows else ""
    return f'<h2>Conditions</h2><p class="note">{escape(note)}</p>{table}'


def _cell(value: object) -> str:
    if value is None:
        return "\u2013"
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _list(title: str, rows: Sequence[str]) -> str:
    items = "".join(f"<li>{escape(row)}</li>" for row in rows)
    return f"<h2>{escape(title)}</h2><ul>{items}</ul>" if rows else ""


def _bars(rows: Sequence[Bar], text: Any) -> str:
    """At most :data:`MOST_BARS` rows in network order; the smallest others become one."""
    if len(rows) <= MOST_BARS:
        return bars(rows)
    smallest = sorted(row.value for row in rows)[len(rows) - MOST_BARS]
    shown = [row for row in rows if row.value > smallest]
    rest = sum(row.value for row in rows if row.value <= smallest)
    return bars([*shown, Bar(f"{len(rows) - len(shown)} smaller", rest, text(rest))])
