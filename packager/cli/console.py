"""What commands print with: tables and text on stdout, progress and problems on stderr."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from packager.errors import Problem
from packager.progress import Progress, silent

if TYPE_CHECKING:
    from rich.console import Console

JsonFlag = Annotated[bool, typer.Option("--json", metavar="", help="Print one JSON document instead of text.")]

WIDTH_OF_FILES = 160
"""Columns of a table when the output is no terminal: lines are for grep, not for a screen."""
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


def print_table(headings: Sequence[str], rows: Iterable[Sequence[str]], *, right: Sequence[str] = ()) -> None:
    """Print rows of plain text under headings; columns named in ``right`` hold numbers."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in headings:
        table.add_column(heading, overflow="fold", justify="right" if heading in right else "left")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    stdout().print(table)


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


def _console(*, stderr: bool) -> Console:
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() or "COLUMNS" in os.environ else WIDTH_OF_FILES
    return Console(stderr=stderr, width=width, highlight=False)
