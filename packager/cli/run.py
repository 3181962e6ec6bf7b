"""``edgepack run``: one inference of a bundle."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from packager.cli import arguments, summary
from packager.cli.console import JsonFlag, emit_json, progress
from packager.cli.places import bundle_of, transport_for

if TYPE_CHECKING:
    from packager.cli.arguments import Array

MOST_VALUES = 20


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(run)


def run(
    path: arguments.EitherArgument,
    *,
    input_files: Annotated[
        list[str],
        typer.Option("--input", "-i", metavar="[NAME=]FILE", help="An input: npy, npz, png or wav; may be repeated."),
    ],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="DIR", help="Write each output to NAME.npy in here.")
    ] = None,
    device: arguments.DeviceOption = None,
    accept_new_host_key: arguments.AcceptKeyOption = False,
    target: arguments.TargetOption = None,
    dim: arguments.DimsOption = None,
    json: JsonFlag = False,
) -> None:
    """Run one inference here, in the target's emulator or on a device, and print or write the outputs."""
    from packager import pipeline
    from packager.cli.media import read_inputs
    from packager.report.document import document
    from packager.verify.feeds import check_finite

    files, dims = _files(input_files), arguments.parse_dims(dim)
    with (
        progress(quiet=json) as report,
        bundle_of(path, report, target=target, dims=dims, device=device) as opened,
        transport_for(device, report, accept_new_host_key=accept_new_host_key) as (transport, _),
    ):
        feeds = read_inputs(files, opened.manifest.inputs)
        summary.show_warnings(problem.what for problem in check_finite(feeds))
        outputs = pipeline.run(opened, feeds, transport=transport)
    written = _write(outputs, output) if output else {}
    if json:
        rows = [
            {
                "name": name,
                "dtype": array.dtype.name,
                "dims": array.shape,
                **({"file": written[name]} if written else {"values": array}),
            }
            for name, array in outputs.items()
        ]
        emit_json(document("run", model=opened.name, target=opened.target_name, outputs=rows))
    else:
        for name, array in outputs.items():
            summary.print_line(f"{name}: {_text(array, written.get(name))}")


def _files(given: list[str]) -> dict[str, Path]:
    """``--input`` words; one without a name stands under the empty name."""
    named = [word if "=" in word and not Path(word).exists() else f"={word}" for word in given]
    files: dict[str, Path] = {}
    for word in named:
        name, _, file = word.partition("=")
        if name in files:
            what = f"input '{name}' is given twice" if name else "only one file may come without NAME="
            raise typer.BadParameter(what, param_hint="--input")
        files[name] = Path(file)
    return files


def _write(outputs: Mapping[str, Array], directory: Path) -> dict[str, Path]:
    """Each output to its own file, complete or not at all; BundleError when the directory cannot be written."""
    import numpy as np

    from packager.errors import BundleError, Problem

    written: dict[str, Path] = {}
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for name, array in outputs.items():
            file = directory / f"{re.sub(r'[^A-Za-z0-9._-]', '_', name).lstrip('.') or 'output'}.npy"
            partial = file.with_suffix(".partial")
            with partial.open("wb") as stream:
                np.save(stream, array)
            partial.replace(file)
            written[name] = file
    except OSError as error:
        raise BundleError(Problem("EP0605", f"cannot write the outputs: {error.strerror}", str(directory))) from None
    return written


def _text(array: Array, file: Path | None) -> str:
    import numpy as np

    head = f"{array.dtype.name} {list(array.shape)}"
    if file is not None:
        return f"{head} -> {file}"
    values = np.array2string(array.reshape(-1), threshold=MOST_VALUES, precision=6, max_line_width=100)
    return f"{head}\n{values}"
