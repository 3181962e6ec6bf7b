"""The ``edgepack`` command: options common to all commands, errors and exit codes.

Exit codes: 0 done, 1 something the user can act on, 2 wrong usage, 70 a bug, 130 interrupted.
"""

from __future__ import annotations

import contextlib
import errno
import io
import sys
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from packager import __version__
from packager.cli import bench, build, deploy, doctor, inspect, new, ops, profiles, run, verify
from packager.deploy.signals import interrupt_once
from packager.errors import BudgetError, BundleError, EdgepackError, Problem

EXIT_PROBLEM = 1
EXIT_BUG = 70
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


class _Commands(TyperGroup):
    """The commands; ``--help`` is shown as the flag it is."""

    def get_command(self, ctx: typer.Context, cmd_name: str) -> Any:  # type: ignore[override]  # typer's click is private
        command = super().get_command(ctx, cmd_name)
        option = command.get_help_option(ctx) if command is not None else None
        if option is not None:
            option.metavar = ""
        return command


app = typer.Typer(
    name="edgepack",
    cls=_Commands,
    help="ONNX model in, measured latency on the edge device out.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for group in (build, verify, run, bench, deploy, inspect, ops, profiles, new, doctor):
    group.register(app)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"edgepack {__version__}")
        raise typer.Exit


@app.callback()
def common(
    _version: Annotated[
        bool,
        typer.Option(
            "--version", metavar="", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
    _traceback: Annotated[
        bool,
        typer.Option("--traceback", metavar="", help="Show where in the code an error was raised; accepted anywhere."),
    ] = False,
) -> None:
    """ONNX model in, measured latency on the edge device out."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; always ends by SystemExit."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    traceback = "--traceback" in given
    if traceback:
        given = ["--traceback", *(word for word in given if word != "--traceback")]
    _print_any_name()
    try:
        with interrupt_once(), _exhaustion_explained():
            app(args=given, prog_name="edgepack")
    except EdgepackError as error:
        _show(error, as_json="--json" in given)
        if traceback:
            raise
        raise SystemExit(EXIT_PROBLEM) from None
    except Exception as error:
        if traceback:
            raise
        _show_bug(error)
        raise SystemExit(EXIT_BUG) from None


def _show(error: EdgepackError, *, as_json: bool) -> None:
    from packager.cli import console

    if as_json:
        from packager.report.document import document

        console.emit_json(document("error", problems=error.problems))
    for problem in error.problems:
        console.show_problem(problem)


def _show_bug(error: Exception) -> None:
    from packager.cli import console

    what = f"internal error: {type(error).__name__}: {error}".rstrip(": ")
    hint = "this is a bug in edgepack; run again with --traceback and report what it prints"
    console.show_problem(Problem("EP9999", what, hint=hint))


@contextlib.contextmanager
def _exhaustion_explained() -> Iterator[None]:
    """A full disk or memory is no bug, wherever it shows."""
    try:
        yield
    except MemoryError as error:
        what = f"this machine has too little memory for it: {error}".rstrip(": ")
        raise BudgetError(Problem("EP0404", what, hint="close other programs, or build on a larger machine")) from error
    except OSError as error:
        if error.errno not in _FULL and "temporary directory" not in str(error):
            raise
        hint = "free some space, or set TMPDIR to a directory that has some"
        raise BundleError(Problem("EP0605", error.strerror or str(error), error.filename or "", hint)) from error


def _print_any_name() -> None:
    """Escape what the terminal's encoding lacks instead of failing: files are called whatever they are called."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
