"""Lines of C that a person can read: nothing wider than a screen, lists broken between their items."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from codegen_c.names import c_string

WIDTH = 110
"""Columns of a generated line; only a name may be longer."""

_CHUNK = 80


def filled(head: str, items: Sequence[str], tail: str, indent: int, separator: str = ",") -> list[str]:
    """``head`` + the items with separators + ``tail``: on one line where it fits, else with continuation lines.

    An item that is wider than a line, such as an array, is broken at its own commas.
    """
    items = [part for item in items for part in ([item] if len(item) <= WIDTH - indent else item.split(", "))]
    lines, line = list[str](), head
    for number, item in enumerate(items):
        text = item + (tail if number == len(items) - 1 else separator)
        glue = " " if number and line.strip() else ""
        if line.strip() and len(line) + len(glue) + len(text) > WIDTH:
            lines.append(line)
            line, glue = " " * indent, ""
        line += glue + text
    if not items:
        line += tail
    return [*lines, line]


def comment_lines(*paragraphs: str) -> list[str]:
    """A comment whose paragraphs begin on lines of their own; they must be safe inside a comment already."""
    lines = [line for text in paragraphs for line in textwrap.wrap(text, WIDTH - 6, subsequent_indent="  ") if line]
    return ["/* " + "\n * ".join(lines) + " */"]


def string_lines(text: str, indent: int) -> str:
    """``text`` as a string literal, or as several one below the other that the compiler joins."""
    chunks = [text[at : at + _CHUNK] for at in range(0, len(text), _CHUNK)] or [""]
    return f"\n{' ' * indent}".join(map(c_string, chunks))


def columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows of an array of structs, ``{a, b, c},``, with their fields one below the other as far as they are short."""
    short = 36
    fields = list(zip(*rows, strict=True))
    widths = [max((len(cell) for cell in field if len(cell) <= short), default=0) for field in fields]
    lines = []
    for row in rows:
        cells = [f"{cell}," for cell in row[:-1]]
        padded = [cell.ljust(width + 1) for cell, width in zip(cells, widths, strict=False)]
        lines.append("    {" + " ".join([*padded, row[-1]]) + "},")
    return lines
