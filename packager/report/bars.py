"""Horizontal bars as HTML, which fits any width of the window."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

CSS = """
.row { display: grid; grid-template-columns: minmax(6rem, 22rem) 1fr; gap: 0 .8rem; align-items: center; }
.row .label { text-align: right; overflow-wrap: anywhere; font-size: .85rem; line-height: 1.25; }
.row .track { display: flex; align-items: center; gap: .4rem; padding-right: 8.5rem; }
.row .bar { height: .95rem; min-width: 1px; border-radius: 2px; background: var(--bar); flex: none; }
.row .amount { white-space: nowrap; font-size: .85rem; color: var(--soft); margin-right: -8.5rem; }
@media (max-width: 40rem) {
  .row { grid-template-columns: 1fr; margin-bottom: .35rem; } .row .label { text-align: left; }
}
"""


@dataclass(frozen=True)
class Bar:
    """A labelled amount; ``text`` is how it is written, ``detail`` shows while the pointer is over it."""

    label: str
    value: float
    text: str
    detail: str = ""


def bars(rows: Sequence[Bar]) -> str:
    """One bar a row, in the order given, scaled to the largest."""
    largest = max((row.value for row in rows), default=0) or 1
    return "".join(
        f'<div class="row" title="{escape(row.detail or row.label)}"><span class="label">{escape(row.label)}</span>'
        f'<span class="track"><span class="bar" style="width:{100 * row.value / largest:.2f}%"></span>'
        f'<span class="amount">{escape(row.text)}</span></span></div>'
        for row in rows
    )
