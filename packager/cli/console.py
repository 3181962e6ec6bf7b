"""What commands print with: tables and text on stdout, progress and problems on stderr."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Literal, TextIO

import typer

from packager.errors import Problem
from packager.progress import Progress, silent

if TYPE_CHECKING:
    from rich.console import Console

JsonFlag = Annotated[bool, typer.Option("--json", metavar="", help="Print one JSON document instead of text.")]

WIDTH_OF_FILES = 160
"""Columns of a table when the output is no terminal: lines are for grep, not for a screen."""
NARROWEST = 10
"""Columns that a name or a text keeps on the narrowest screen."""
_GAP = 2
SECONDS_BEFORE_A_LINE = 3.0


def stdout() -> Console:
    """The console for results."""
    return _console(stderr=False)


def stderr() -> Console:
    """The console for progress, warnings and errors."""
    return _console(stderr=True)


def emit_json(document: Mapping[str, object]) -> None:
    """Print ``document`` as the command's whole standard output."""
    import json

    typer.echo(json.dumps(document, indent=2, allow_nan=False))


def show_problem(problem: Problem) -> None:
    """Print an error in its three lines; no wrapping, so that paths can be clicked and grepped."""
    from rich.text import Text

    text = Text(str(problem))
    text.stylize("bold red", 0, text.plain.index(":"))
    text.highlight_regex(r"(?m)^  (-->|hint:)", "bold blue")
    stderr().print(text, soft_wrap=True)


def show_warning(message: str) -> None:
    """Print what was assumed."""
    from rich.text import Text

    stderr().print(Text.assemble(("warning", "bold yellow"), ": ", message), soft_wrap=True)


def print_table(
    headings: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    right: Sequence[str] = (),
    shorten: Sequence[str] = (),
) -> None:
    """Print rows of plain text under headings.

    Columns named in ``right`` hold numbers, which never wrap.  Where a screen is too narrow, names in the columns
    ``shorten`` lose their middle and other text wraps; in a file names are kept whole.
    """
    from rich import box
    from rich.table import Table
    from rich.text import Text

    cells = [list(row) for row in rows]
    console = stdout()
    names = [heading for heading in shorten if heading not in right]
    others = [heading for heading in headings if heading not in right and heading not in names]
    widths = {
        heading: max(len(heading), *(len(row[column]) for row in cells), 0) if cells else len(heading)
        for column, heading in enumerate(headings)
    }
    for group in (names if _is_screen(sys.stdout) else [], others):
        _narrow(widths, group, console.width - _GAP * (len(headings) - 1))
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    for heading in headings:
        justify: Literal["left", "right"] = "right" if heading in right else "left"
        table.add_column(
            heading, overflow="fold", justify=justify, width=widths[heading], no_wrap=heading not in others
        )
    for row in cells:
        shown = (
            shortened(cell, widths[heading]) if heading in names else cell
            for heading, cell in zip(headings, row, strict=True)
        )
        table.add_row(*map(Text, shown))
    total = sum(widths.values()) + _GAP * (len(headings) - 1)
    wide = _console(stderr=False, width=max(console.width, total))
    wide.print()
    wide.print(table)
    wide.print()


def shortened(text: str, width: int) -> str:
    """``text`` with its middle left out where it is longer than ``width``: both ends of a node's name tell it apart."""
    if len(text) <= width:
        return text
    tail = (width - 1) * 3 // 5
    return f"{text[: max(width - 1 - tail, 0)]}\u2026{text[len(text) - tail :]}"


def _narrow(widths: dict[str, int], columns: Sequence[str], room: int) -> None:
    """Take from the widest of ``columns``, none below :data:`NARROWEST` or its heading, until all fit into ``room``."""
    while sum(widths.values()) > room:
        wide = [column for column in columns if widths[column] > max(NARROWEST, len(column))]
        if not wide:
            return
        widths[max(wide, key=widths.__getitem__)] -= 1


@contextlib.contextmanager
def progress(*, quiet: bool = False) -> Iterator[Progress]:
    """A progress callback that draws a bar on a terminal, elsewhere prints what takes long."""
    console = stderr()
    if quiet:
        yield silent
    elif console.is_terminal:
        with _bar(console) as report:
            yield report
    else:
        with _LinePrinter() as report:
            yield report


@contextlib.contextmanager
def _bar(console: Console) -> Iterator[Progress]:
    from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars

    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(bar_width=24), TimeElapsedColumn())
    with Bars(*columns, console=console, transient=True) as bars:
        task = bars.add_task("starting", total=None)

        def report(message: str, fraction: float | None = None) -> None:
            total = None if fraction is None else 1.0
            bars.update(task, description=message, total=total, completed=fraction or 0.0)

        yield report


class _LinePrinter:
    """Progress for logs: what takes more than a few seconds is printed, once; the rest is not."""

    def __init__(self) -> None:
        self._message = ""
        self._timer: threading.Timer | None = None

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def __call__(self, message: str, fraction: float | None = None) -> None:  # noqa: ARG002  # the protocol's signature
        if message == self._message:
            return
        self.__exit__()
        self._message = message
        self._timer = threading.Timer(SECONDS_BEFORE_A_LINE, lambda: print(message, file=sys.stderr, flush=True))
        self._timer.daemon = True
        self._timer.start()


def _is_screen(stream: TextIO) -> bool:
    """Whether lines have a width that somebody sees."""
    return stream.isatty() or "COLUMNS" in os.environ


def _console(*, stderr: bool, width: int | None = None) -> Console:
    from rich.console import Console

    if width is None and not _is_screen(sys.stderr if stderr else sys.stdout):
        width = WIDTH_OF_FILES
    return Console(stderr=stderr, width=width, highlight=False)
