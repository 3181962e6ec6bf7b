"""``edgepack build``: a model becomes a bundle."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from packager.cli import arguments, summary
from packager.cli.console import JsonFlag, emit_json, progress

if TYPE_CHECKING:
    from packager.config.target import Target
    from packager.pipeline import Built


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(build)


def build(
    model: arguments.ModelArgument,
    *,
    target: arguments.TargetOption = None,
    board: arguments.BoardOption = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="DIR", help="Where the bundle goes. Default: MODEL-TARGET here."),
    ] = None,
    dim: arguments.DimsOption = None,
    state: Annotated[
        list[str] | None,
        typer.Option(
            "--state",
            metavar="OUT:IN",
            help="An output that is an input of the next call, kept in the arena; may be repeated.",
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option("--name", metavar="NAME", help="Prefix of all C names. Default: from the model's file."),
    ] = None,
    optimize: Annotated[
        Literal["speed", "size", "ram"], typer.Option("--optimize", help="What to favour where it is a choice.")
    ] = "speed",
    threads: arguments.ThreadsOption = None,
    single_file: Annotated[
        bool, typer.Option("--single-file", metavar="", help="Also write the model as one .c and one .h, in single/.")
    ] = False,
    selftest: Annotated[
        bool, typer.Option("--selftest", metavar="", help="Also build a program that checks stored inputs and outputs.")
    ] = False,
    export: Annotated[
        list[str] | None,
        typer.Option("--export", metavar="FRAMEWORK", help="Package files: zephyr, platformio, esp-idf or all."),
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Compile an ONNX model into a self-contained bundle for a target."""
    from packager import pipeline

    _check_name(name)
    dims, states = arguments.parse_dims(dim), arguments.parse_states(state)
    profile, place = arguments.resolve_target(target, board, threads)
    with progress(quiet=json) as report:
        built = pipeline.build(
            model,
            profile,
            output,
            board=place,
            dims=dims,
            states=states,
            name=name,
            optimize=optimize,
            extras=pipeline.Extras(single_file, selftest, _exports(export)),
            progress=report,
        )
    if json:
        _print_json(built)
    else:
        _print_summary(built, profile)


def _check_name(name: str | None) -> None:
    """A name that would be changed is refused: the C code is written against it."""
    from codegen_c.names import model_prefix

    if name is not None and model_prefix(name) != name:
        what = f"'{name}' is no prefix of C names (lower case, no leading digit, no keyword): try {model_prefix(name)}"
        raise typer.BadParameter(what, param_hint="--name")


def _exports(given: Sequence[str] | None) -> tuple[str, ...]:
    from codegen_c.firmware import EXPORTS

    for name in given or ():
        if name not in {*EXPORTS, "all"}:
            raise typer.BadParameter(f"'{name}' is none of {', '.join(EXPORTS)}, all", param_hint="--export")
    return tuple(name for name in EXPORTS if given and (name in given or "all" in given))


def _print_json(built: Built) -> None:
    from packager.report.document import document

    emit_json(
        document("build", bundle=built.bundle.directory, manifest=built.bundle.manifest, memory=built.compiled.memory)
    )


def _print_summary(built: Built, target: Target) -> None:
    manifest = built.bundle.manifest
    program = built.compiled.program
    summary.print_line(f"{manifest.name} for {target.name}: {target.description}")
    steps = f"{len(program.body)} kernel calls, {program.threads} thread{'s' if program.threads > 1 else ''}"
    summary.print_facts([("steps", steps), *summary.bundle_facts(manifest, target), summary.fused_fact(manifest.fused)])
    summary.show_warnings(manifest.warnings)
    where = summary.shell_quoted(_short(built.bundle.directory))
    summary.print_line(f"bundle: {where}")
    summary.print_line(f"next:   edgepack verify {where}")


def _short(path: Path) -> Path:
    """Relative to the current directory when it is below it."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path
