"""Charts as SVG text: the arena over time, points on logarithmic axes, a histogram.

Drawn for their full width; on a narrower screen they scroll, so that text keeps its size.  Colours come from the page's
CSS classes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from packager.config.sizes import format_size
from packager.report.units import format_time

WIDTH = 960
LEFT = 84
RIGHT = 40
TOP = 16
CHART_HEIGHT = 320
ACROSS = WIDTH - LEFT - RIGHT
"""The width of the drawing area between its margins."""
BINS = 40
COLOURS = 6
_STEP_NAME = 22  # characters
_STEP_LABELS = 44  # as many rotated labels as there is room for
_LETTER = 7.0  # pixels of an average one
_LINE = 14.0


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
    """A point of :func:`roofline`; ``weight`` from 0 to 1 is its area."""

    label: str
    x: float
    y: float
    weight: float


def arena(rectangles: Sequence[Rectangle], *, names: Sequence[str], size: int, lower_bound: int, peak_step: int) -> str:
    """Memory over time: steps, called ``names``, to the right, addresses upwards.

    The lower bound is a dashed line, the peak step a shaded column.
    """
    if not rectangles or size == 0:
        return ""
    across, up = ACROSS / max(len(names), 1), CHART_HEIGHT / size
    bottom = TOP + CHART_HEIGHT
    left = LEFT + peak_step * across
    parts = [f'<rect class="peak" x="{left:.2f}" y="{TOP}" width="{across:.2f}" height="{CHART_HEIGHT}"/>']
    for quarter in range(5):
        y = bottom - CHART_HEIGHT * quarter / 4
        parts.append(_grid(LEFT, y, LEFT + ACROSS, y) + _tick(format_size(size * quarter // 4), LEFT - 6, y + 4, "end"))
    parts += [_tensor(index, rectangle, across, up) for index, rectangle in enumerate(rectangles)]
    line = bottom - lower_bound * up
    parts.append(f'<line class="bound" x1="{LEFT}" x2="{LEFT + ACROSS}" y1="{line:.2f}" y2="{line:.2f}"/>')
    parts += _step_names(names, across, bottom)
    below = bottom + 36 + _STEP_NAME * _LETTER * 0.75
    bound = f"lower bound, {format_size(lower_bound)}"
    parts.append(f'<line class="bound" x1="{LEFT}" x2="{LEFT + 30}" y1="{below - 4:.1f}" y2="{below - 4:.1f}"/>')
    parts.append(_tick(bound, LEFT + 38, below, "start"))
    parts.append(f'<rect class="peak" x="{LEFT + 260}" y="{below - 12:.1f}" width="30" height="14"/>')
    parts.append(_tick(f"step of the peak: {_short(names[peak_step], 60)}", LEFT + 298, below, "start"))
    return _svg(below + 10, "".join(parts))


def _tensor(index: int, rectangle: Rectangle, across: float, up: float) -> str:
    """The rectangle of a tensor, its name in it where there is room."""
    left, width = LEFT + rectangle.first * across, (rectangle.last - rectangle.first + 1) * across
    height = rectangle.size * up
    top = max(float(TOP), TOP + CHART_HEIGHT - rectangle.offset * up - height)
    life = f"steps {rectangle.first} to {rectangle.last}"
    detail = f"{rectangle.label}: {rectangle.size:,} bytes at {rectangle.offset:,}, {life}"
    drawn = (
        f'<rect class="tensor t{index % COLOURS}" x="{left:.2f}" y="{top:.2f}" width="{width:.2f}" '
        f'height="{height:.2f}">{_title(detail)}</rect>'
    )
    letters = int((width - 6) / _LETTER)
    if height < _LINE or letters < 4:
        return drawn
    name = escape(_short(rectangle.label, letters))
    return f'{drawn}<text class="inside" x="{left + 4:.1f}" y="{top + height / 2 + 4:.1f}">{name}</text>'


def _step_names(names: Sequence[str], across: float, bottom: float) -> list[str]:
    """Slanted names below the axis, evenly left out where there are too many."""
    every = -(-len(names) // _STEP_LABELS)
    parts = []
    for step in range(0, len(names), every):
        x, y = LEFT + (step + 0.5) * across, bottom + 14
        name = escape(_short(names[step], _STEP_NAME))
        parts.append(
            f'<text class="amount" text-anchor="end" transform="translate({x:.1f} {y:.1f}) rotate(-50)">{name}</text>'
        )
    return parts


def roofline(points: Sequence[Point], *, across: str, up: str) -> str:
    """Points on logarithmic axes titled ``across`` and ``up``, grid lines at powers of ten, below two roofs.

    The roofs are what the points themselves reached: the largest ``y``, and the largest ``y / x``.
    """
    if not points:
        return ""
    peak, slope = max(point.y for point in points), max(point.y / point.x for point in points)
    x_axis = _Axis.around([point.x for point in points] + [peak / slope], LEFT, LEFT + ACROSS)
    y_axis = _Axis.around([point.y for point in points], TOP + CHART_HEIGHT, TOP)
    bottom = TOP + CHART_HEIGHT
    parts = []
    for power in x_axis.powers():
        x = x_axis.at(10.0**power)
        parts.append(_grid(x, TOP, x, bottom) + _tick(f"{10.0**power:g}", x, bottom + 16, "middle"))
    for power in y_axis.powers():
        y = y_axis.at(10.0**power)
        parts.append(_grid(LEFT, y, LEFT + ACROSS, y) + _tick(f"{10.0**power:g}", LEFT - 6, y + 4, "end"))
    parts += _roofs(x_axis, y_axis, peak, slope)
    for point in points:
        radius = 3 + 12 * math.sqrt(point.weight)
        parts.append(
            f'<circle class="point" cx="{x_axis.at(point.x):.1f}" cy="{y_axis.at(point.y):.1f}" r="{radius:.1f}">'
            f"{_title(point.label)}</circle>"
        )
    middle = LEFT + ACROSS / 2
    parts.append(f'<text x="{middle:.0f}" y="{bottom + 36}" text-anchor="middle">{escape(across)}</text>')
    centre = f"translate(16 {TOP + CHART_HEIGHT / 2:.0f}) rotate(-90)"
    parts.append(f'<text transform="{centre}" text-anchor="middle">{escape(up)}</text>')
    return _svg(bottom + 46, "".join(parts))


@dataclass(frozen=True)
class _Axis:
    """A logarithmic axis: ten to the power ``low`` is drawn at ``start``, to the power ``high`` at ``end``."""

    low: int
    high: int
    start: float
    end: float

    @classmethod
    def around(cls, values: Sequence[float], start: float, end: float) -> _Axis:
        """Whole decades around positive ``values``, at least one."""
        low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
        return cls(low, max(high, low + 1), start, end)

    def at(self, value: float) -> float:
        """Where ``value`` is drawn."""
        return self.start + (self.end - self.start) * (math.log10(value) - self.low) / (self.high - self.low)

    def powers(self) -> range:
        """Where grid lines are."""
        return range(self.low, self.high + 1)


def _roofs(x_axis: _Axis, y_axis: _Axis, peak: float, slope: float) -> list[str]:
    """The flat roof from its ridge to the right, the slanted one from the axes up to the ridge."""
    ridge, right = peak / slope, 10.0**x_axis.high
    begin = max(10.0**x_axis.low, 10.0**y_axis.low / slope)
    flat, x = y_axis.at(peak), x_axis.at(ridge)
    lines = [
        f'<line class="roof" x1="{x:.1f}" x2="{x_axis.at(right):.1f}" y1="{flat:.1f}" y2="{flat:.1f}"/>',
        f'<line class="roof" x1="{x_axis.at(begin):.1f}" x2="{x:.1f}" y1="{y_axis.at(begin * slope):.1f}" '
        f'y2="{flat:.1f}"/>',
    ]
    middle = math.sqrt(begin * ridge)
    speed = f"fastest step seen: {peak:.3g} GMAC/s"
    moved = f"most moved by a step: {slope:.3g} GB/s"
    return [
        *lines,
        _tick(speed, LEFT + ACROSS, flat - 6, "end"),
        _tick(moved, x_axis.at(middle) - 8, y_axis.at(middle * slope) - 4, "end")
        if x_axis.at(middle) - LEFT > len(moved) * _LETTER
        else _tick(moved, x_axis.at(middle) + 10, y_axis.at(middle * slope) + 14, "start"),
    ]


def histogram(samples: Sequence[int], *, unit: str) -> str:
    """How often which time was measured, up to the 99th percentile; a last bar of its own counts the rest."""
    if len(samples) < 2:
        return ""
    ordered = sorted(samples)
    low, high = ordered[0], ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))]
    span = max(high - low, 1)
    counts = [0] * BINS
    beyond = sum(sample > high for sample in samples)
    for sample in samples:
        if sample <= high:
            counts[min(BINS - 1, (sample - low) * BINS // span)] += 1
    height, step, most = CHART_HEIGHT / 2, ACROSS / (BINS + 2), max(*counts, beyond)
    bottom = TOP + height
    bins = [
        (index, count, f"from {low + span * index // BINS:,} {unit}: {count}") for index, count in enumerate(counts)
    ]
    bins.append((BINS + 1, beyond, f"above {high:,} {unit}: {beyond}"))
    parts = [_grid(LEFT, bottom, LEFT + ACROSS, bottom), _tick(f"{most} runs", LEFT - 6, TOP + 10, "end")]
    for index, count, detail in bins:
        tall = height * count / most
        kind = "bar rest" if index > BINS else "bar"
        parts.append(
            f'<rect class="{kind}" x="{LEFT + index * step + 1:.1f}" y="{bottom - tall:.1f}" width="{step - 2:.1f}" '
            f'height="{tall:.1f}">{_title(detail)}</rect>'
        )
    ticks = [(low, "start", 0.0), ((low + high) // 2, "middle", BINS / 2), (high, "end", float(BINS))]
    parts += [_tick(format_time(time, unit), LEFT + at * step, bottom + 16, anchor) for time, anchor, at in ticks]
    parts.append(_tick(f"beyond: {beyond}", LEFT + ACROSS + RIGHT, bottom + 32, "end"))
    return _svg(bottom + 40, "".join(parts))


def _svg(height: float, body: str) -> str:
    size = f'width="{WIDTH}" height="{height:g}" viewBox="0 0 {WIDTH} {height:g}"'
    return f'<div class="chart"><svg {size} role="img" xmlns="http://www.w3.org/2000/svg">{body}</svg></div>'


def _title(text: str) -> str:
    return f"<title>{escape(text)}</title>"


def _grid(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line class="grid" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def _tick(text: str, x: float, y: float, anchor: str) -> str:
    return f'<text class="amount" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _short(label: str, letters: int) -> str:
    """``label`` with its middle left out where it is longer than ``letters``."""
    if len(label) <= letters:
        return label
    tail = (letters - 1) // 2
    return f"{label[: letters - 1 - tail]}\u2026{label[len(label) - tail :] if tail else ''}"
