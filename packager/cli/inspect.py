"""``edgepack inspect``: what a model or a bundle is made of."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from packager.cli import arguments, summary
from packager.cli.console import JsonFlag, emit_json, print_table, progress

if TYPE_CHECKING:
    from packager.frontend.summary import ModelSummary, Value
    from packager.pipeline import Compiled


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(inspect)


def inspect(
    path: arguments.EitherArgument,
    *,
    target: Annotated[
        str | None, typer.Option("--target", "-t", metavar="NAME", help="Also say what it costs on this target.")
    ] = None,
    dim: arguments.DimsOption = None,
    json: JsonFlag = False,
) -> None:
    """Show inputs, outputs, operators and sizes; with --target also arithmetic, memory and what is not supported."""
    if arguments.is_bundle(path):
        if target or dim:
            raise typer.BadParameter("a bundle is already built: --target and --dim are for models")
        _inspect_bundle(path, json=json)
    else:
        _inspect_model(path, target, arguments.parse_dims(dim), json=json)


def _inspect_bundle(path: Path, *, json: bool) -> None:
    from packager.bundle.bundle import Bundle
    from packager.report.document import document

    bundle = Bundle.open(path)
    manifest = bundle.manifest
    if json:
        emit_json(document("bundle", bundle=bundle.directory, manifest=manifest))
        return
    summary.print_line(f"{manifest.name} for {manifest.target}, made by edgepack {manifest.edgepack}")
    model = ("model", f"sha256 {manifest.model_sha256}")
    summary.print_facts([*summary.bundle_facts(manifest, bundle.target()), summary.fused_fact(manifest.fused), model])
    summary.show_warnings(manifest.warnings)


def _inspect_model(path: Path, target: str | None, dims: dict[str, int], *, json: bool) -> None:
    from packager.config.load import load_target
    from packager.frontend.summary import summarize
    from packager.lower.lower import supported
    from packager.pipeline import compile_model
    from packager.report.document import document

    profile = load_target(target) if target else None
    model = summarize(path, supported, dims)
    if not json:
        _print_model(model)
    compiled = None
    if profile is not None:
        with progress(quiet=json) as report:
            compiled = compile_model(path, profile, dims=dims, progress=report)
    if json:
        cost = _cost(compiled) if compiled else None
        emit_json(document("model", model=model, target=target, cost=cost))
    elif compiled is not None:
        _print_cost(compiled, target or "")


def _print_model(model: ModelSummary) -> None:
    from packager.report.units import format_count

    open_dims = " ".join(f"--dim {name}=N" for name in model.open_dims)
    summary.print_facts(
        [
            ("model", str(model.file)),
            ("producer", model.producer),
            ("opsets", ", ".join(f"{domain} {version}" for domain, version in model.opsets.items())),
            ("parameters", format_count(model.parameters)),
            ("inputs", _values(model.inputs)),
            ("outputs", _values(model.outputs)),
            ("to be given", open_dims),
        ]
    )
    words = {"lowering": "yes", "function": "by its function body", "none": "NO"}
    if model.folded:
        summary.print_line("operators left after folding constants:")
    maybe = "only where it folds away; give the dimensions to see"
    rows = [
        (
            row.name,
            row.domain,
            str(row.count),
            maybe if model.open_dims and row.name == "If" else words[row.support],
        )
        for row in model.operators
    ]
    print_table(("operator", "domain", "count", "supported"), rows, right=("count",))


def _print_cost(compiled: Compiled, target: str) -> None:
    from packager.config.sizes import format_size
    from packager.report.units import format_count

    memory = compiled.memory
    summary.print_line(f"on {target}:")
    summary.print_facts(
        [
            ("steps", f"{len(compiled.program.body)} kernel calls"),
            ("MACs", format_count(compiled.program.macs)),
            ("weights", format_size(_weights(compiled))),
            ("arena", f"{format_size(memory.arena_bytes)}, {memory.ratio:.2f}x its lower bound"),
            ("peak at", memory.peak_source),
            summary.fused_fact(compiled.fused),
        ]
    )
    summary.show_warnings(compiled.warnings)


def _cost(compiled: Compiled) -> dict[str, object]:
    from packager.report.layers import steps_of

    return {
        "macs": compiled.program.macs,
        "weights_bytes": _weights(compiled),
        "arena_bytes": compiled.memory.arena_bytes,
        "arena_lower_bound": compiled.memory.lower_bound,
        "peak_source": compiled.memory.peak_source,
        "fused": compiled.fused,
        "warnings": compiled.warnings,
        "steps": steps_of(compiled.program),
    }


def _weights(compiled: Compiled) -> int:
    return sum(len(constant.data) for constant in compiled.program.constants)


def _values(values: Iterable[Value]) -> str:
    return "\n".join(f"{value.name}: {value.dtype} [{', '.join(map(str, value.dims))}]" for value in values)
