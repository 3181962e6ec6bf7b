"""Charts as SVG text: horizontal bars, the arena over time, points on logarithmic axes, a histogram.

Colours come from the page's CSS classes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

WIDTH = 960
ROW = 22
LABEL = 360
AMOUNT = 120
MARGIN = 72
CHART_HEIGHT = 320
BINS = 40


@dataclass(frozen=True)
class Bar:
    """A labelled amount; ``text`` is how it is written, ``detail`` shows while the pointer is over it."""

    label: str
    value: float
    text: str
    detail: str = ""


@dataclass(frozen=True)
class Rectangle:
    """A tensor in the arena: steps ``first`` to ``last`` inclusive, bytes ``offset`` to ``offset + size``."""

    label: str
    first: int
    last: int
    offset: int
    size: int


@dataclass(frozen=True)
class Point:
    """A point of :func:`scatter`; ``weight`` from 0 to 1 is its area."""

    label: str
    x: float
    y: float
    weight: float


def bars(rows: Sequence[Bar]) -> str:
    """One bar a row, in the order given, scaled to the largest."""
    largest = max((row.value for row in rows), default=0) or 1
    room = WIDTH - LABEL - AMOUNT
    parts = []
    for index, row in enumerate(rows):
        y = index * ROW
        width = room * row.value / largest
        parts.append(
            f"<g>{_title(row.detail or row.label)}"
            f'<text class="label" x="{LABEL - 8}" y="{y + 15}" text-anchor="end">{escape(_short(row.label))}</text>'
            f'<rect class="bar" x="{LABEL}" y="{y + 3}" width="{width:.1f}" height="{ROW - 6}" rx="2"/>'
            f'<text class="amount" x="{LABEL + width + 6:.1f}" y="{y + 15}">{escape(row.text)}</text></g>'
        )
    return _svg(len(rows) * ROW, "".join(parts))


def arena(rectangles: Sequence[Rectangle], *, steps: int, size: int, lower_bound: int, peak_step: int) -> str:
    """Memory over time: steps to the right, addresses upwards.

    The lower bound is a dashed line, the peak step a shaded column.
    """
    if not rectangles or size == 0:
        return ""
    across, up = WIDTH / max(steps, 1), CHART_HEIGHT / size
    parts = [f'<rect class="peak" x="{peak_step * across:.2f}" y="0" width="{across:.2f}" height="{CHART_HEIGHT}"/>']
    for index, rectangle in enumerate(rectangles):
        left, width = rectangle.first * across, (rectangle.last - rectangle.first + 1) * across
        height = rectangle.size * up
        top = max(0.0, CHART_HEIGHT - rectangle.offset * up - height)
        life = f"steps {rectangle.first} to {rectangle.last}"
        detail = f"{rectangle.label}: {rectangle.size:,} bytes at {rectangle.offset:,}, {life}"
        parts.append(
            f'<rect class="tensor t{index % 6}" x="{left:.2f}" y="{top:.2f}" width="{width:.2f}" '
            f'height="{height:.2f}">{_title(detail)}</rect>'
        )
    line = CHART_HEIGHT - lower_bound * up
    parts.append(
        f'<line class="bound" x1="0" x2="{WIDTH}" y1="{line:.2f}" y2="{line:.2f}">'
        f"{_title(f'lower bound: {lower_bound:,} bytes')}</line>"
    )
    return _svg(CHART_HEIGHT, "".join(parts))


def scatter(points: Sequence[Point], *, across: str, up: str) -> str:
    """Points on two logarithmic axes whose titles are ``across`` and ``up``; grid lines at powers of ten."""
    if not points:
        return ""
    left, right = _decades([point.x for point in points])
    low, high = _decades([point.y for point in points])
    parts = []
    for power in range(left, right + 1):
        x = MARGIN + (WIDTH - MARGIN) * (power - left) / (right - left)
        parts.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="0" y2="{CHART_HEIGHT}"/>')
        parts.append(
            f'<text class="amount" x="{x:.1f}" y="{CHART_HEIGHT + 14}" text-anchor="middle">{10.0**power:g}</text>'
        )
    for power in range(low, high + 1):
        y = CHART_HEIGHT * (high - power) / (high - low)
        parts.append(f'<line class="grid" x1="{MARGIN}" x2="{WIDTH}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text class="amount" x="{MARGIN - 6}" y="{y + 4:.1f}" text-anchor="end">{10.0**power:g}</text>')
    for point in points:
        x = MARGIN + (WIDTH - MARGIN) * (math.log10(point.x) - left) / (right - left)
        y = CHART_HEIGHT * (high - math.log10(point.y)) / (high - low)
        radius = 3 + 12 * math.sqrt(point.weight)
        parts.append(f'<circle class="point" cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}">{_title(point.label)}</circle>')
    middle = (WIDTH + MARGIN) / 2
    parts.append(f'<text x="{middle:.0f}" y="{CHART_HEIGHT + 30}" text-anchor="middle">{escape(across)}</text>')
    parts.append(
        f'<text transform="translate(12 {CHART_HEIGHT / 2:.0f}) rotate(-90)" text-anchor="middle">{escape(up)}</text>'
    )
    return _svg(CHART_HEIGHT + 36, "".join(parts))


def _decades(values: Sequence[float]) -> tuple[int, int]:
    """The powers of ten around positive values, at least one decade apart."""
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return low, max(high, low + 1)


def histogram(samples: Sequence[int], *, unit: str) -> str:
    """How often which time was measured, up to the 99th percentile; the rest is counted in the last bin."""
    if len(samples) < 2:
        return ""
    ordered = sorted(samples)
    low, high = ordered[0], ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))]
    span = max(high - low, 1)
    counts = [0] * BINS
    for sample in samples:
        counts[min(BINS - 1, (sample - low) * BINS // span)] += 1
    height, step = CHART_HEIGHT / 2, WIDTH / BINS
    parts = []
    for index, count in enumerate(counts):
        tall = (height - 20) * count / max(counts)
        begin = low + span * index // BINS
        parts.append(
            f'<rect class="bar" x="{index * step + 1:.1f}" y="{height - 20 - tall:.1f}" width="{step - 2:.1f}" '
            f'height="{tall:.1f}">{_title(f"from {begin:,} {unit}: {count}")}</rect>'
        )
    parts.append(f'<text class="amount" x="0" y="{height - 4}">{low:,} {escape(unit)}</text>')
    parts.append(f'<text class="amount" x="{WIDTH}" y="{height - 4}" text-anchor="end">{high:,} {escape(unit)}</text>')
    return _svg(height, "".join(parts))


def _svg(height: float, body: str) -> str:
    return f'<svg viewBox="0 0 {WIDTH} {height:g}" role="img" xmlns="http://www.w3.org/2000/svg">{body}</svg>'


def _title(text: str) -> str:
    return f"<title>{escape(text)}</title>"


def _short(label: str) -> str:
    """``label`` cut in the middle to what fits beside the bars."""
    return label if len(label) <= 52 else f"{label[:24]}\u2026{label[-27:]}"
