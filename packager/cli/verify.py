"""``edgepack verify``: does the built program compute what the model says?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from packager.cli import arguments, summary
from packager.cli.console import JsonFlag, emit_json, print_table, progress
from packager.cli.places import bundle_of, transport_for

if TYPE_CHECKING:
    from packager.bundle.bundle import Bundle
    from packager.verify.verify import VerifyReport

_RANDOM = "random:"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(verify)


def verify(
    path: arguments.EitherArgument,
    *,
    inputs: Annotated[
        str, typer.Option("--inputs", "-i", metavar="DIR|FILE|random:N", help="Samples: .npy or .npz files, or random.")
    ] = "random:1",
    device: arguments.DeviceOption = None,
    accept_new_host_key: arguments.AcceptKeyOption = False,
    rtol: Annotated[
        float, typer.Option("--rtol", metavar="X", min=1e-9, help="Allowed error relative to each value.")
    ] = 1e-4,
    atol: Annotated[
        float, typer.Option("--atol", metavar="X", min=1e-9, help="Allowed error relative to the largest value.")
    ] = 1e-5,
    seed: Annotated[int, typer.Option("--seed", metavar="N", min=0, help="Which random samples.")] = 0,
    target: arguments.TargetOption = None,
    board: arguments.BoardOption = None,
    dim: arguments.DimsOption = None,
    json: JsonFlag = False,
) -> None:
    """Run a model here, emulated or on a device and compare it with the reference implementation.

    Exit code 1 when an output is outside the tolerance.
    """
    from packager import pipeline
    from packager.verify.verify import Tolerance

    dims, count = arguments.parse_dims(dim), _count(inputs)
    with (
        progress(quiet=json) as report,
        bundle_of(path, report, target=target, board=board, dims=dims, device=device) as bundle,
        transport_for(device, report, accept_new_host_key=accept_new_host_key) as (transport, _),
    ):
        result = pipeline.verify(
            bundle,
            None if count else _load(inputs, bundle),
            count=count or 1,
            seed=seed,
            tolerance=Tolerance(rtol, atol),
            transport=transport,
            progress=report,
        )
        where = (transport or pipeline.transport_of(bundle)).name
    if json:
        emit_json(
            {"kind": "verify", "model": bundle.name, "target": bundle.target_name, "device": where, **result.to_json()}
        )
    else:
        _print(result, bundle, where)
    if not result.passed:
        raise typer.Exit(1)


def _count(inputs: str) -> int:
    """N of ``random:N``; 0 when ``inputs`` is a path."""
    from packager.verify.feeds import MOST_RANDOM, is_count

    if not inputs.startswith(_RANDOM):
        return 0
    count = inputs.removeprefix(_RANDOM)
    if not is_count(count):
        what = f"'{inputs}': write random:5 for five random samples; up to {MOST_RANDOM:,} are drawn"
        raise typer.BadParameter(what, param_hint="--inputs")
    return int(count)


def _load(inputs: str, bundle: Bundle) -> list[dict[str, arguments.Array]]:
    from packager.verify.verify import load_feeds

    return load_feeds(Path(inputs), bundle.manifest.inputs)


def _print(result: VerifyReport, bundle: Bundle, where: str) -> None:
    rows = [
        (
            output.name,
            f"{output.max_abs:.3g}",
            f"{output.max_rel:.3g}",
            str(output.max_ulp),
            f"{output.cosine:.9f}",
            "-" if output.top1 is None else f"{output.top1:.0%}",
            "ok" if output.passed else output.fault or f"{output.excess:.3g}x the tolerance",
        )
        for output in result.outputs
    ]
    headings = ("output", "max abs", "max rel", "ULP", "cosine", "top-1", "result")
    print_table(headings, rows, right=("max abs", "max rel", "ULP", "cosine", "top-1"), shorten=("output",))
    samples = f"{result.samples} sample{'s' if result.samples != 1 else ''}"
    verdict = "agrees" if result.passed else "DISAGREES"
    summary.print_line(
        f"{bundle.name} for {bundle.target_name}, run on {where}, {verdict} with {result.reference}, on {samples} "
        f"(rtol {result.tolerance.rtol:g}, atol {result.tolerance.atol:g} of the output's range)"
    )
