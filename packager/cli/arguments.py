"""Arguments that several commands have, and how their text is read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from packager.config.board import Board
    from packager.config.target import Target

    Array = npt.NDArray[np.generic]

ModelArgument = Annotated[Path, typer.Argument(help="An ONNX file.", metavar="MODEL", show_default=False)]
EitherArgument = Annotated[
    Path, typer.Argument(help="A bundle directory, or an ONNX file.", metavar="BUNDLE|MODEL", show_default=False)
]
TargetOption = Annotated[
    str | None,
    typer.Option(
        "--target",
        "-t",
        metavar="NAME",
        help="Target profile: a name or a .yaml file. Default: the board's, else host.",
    ),
]
BoardOption = Annotated[str | None, typer.Option("--board", "-b", metavar="NAME", help="Board profile it will run on.")]
DimsOption = Annotated[
    list[str] | None,
    typer.Option("--dim", metavar="NAME=N", help="Value of a dynamic dimension; may be repeated."),
]
DeviceOption = Annotated[
    str | None,
    typer.Option(
        "--device", "-d", metavar="DEVICE", help="user@host[:port] or a name of devices.yaml. Default: this machine."
    ),
]
AcceptKeyOption = Annotated[
    bool,
    typer.Option(
        "--accept-new-host-key", metavar="", help="Trust a device that is seen for the first time and remember its key."
    ),
]
ThreadsOption = Annotated[
    int | None,
    typer.Option("--threads", metavar="N", min=1, max=256, help="Threads of one inference. Default: the target's."),
]


def parse_pairs(given: Sequence[str] | None, option: str) -> dict[str, str]:
    """``NAME=VALUE`` words as a dict; a usage error names the word that is none, or is given twice."""
    pairs: dict[str, str] = {}
    for word in given or ():
        name, equals, value = word.partition("=")
        if not equals or not name or not value:
            raise typer.BadParameter(f"'{word}' is not NAME=VALUE", param_hint=option)
        if name in pairs:
            raise typer.BadParameter(f"'{name}' is given twice", param_hint=option)
        pairs[name] = value
    return pairs


def parse_dims(given: Sequence[str] | None) -> dict[str, int]:
    """``--dim`` words; extents are positive integers."""
    dims: dict[str, int] = {}
    for name, value in parse_pairs(given, "--dim").items():
        if not value.isascii() or not value.isdecimal() or int(value) < 1:
            raise typer.BadParameter(f"'{name}={value}': a dimension is a positive integer", param_hint="--dim")
        dims[name] = int(value)
    return dims


def parse_states(given: Sequence[str] | None) -> dict[str, str]:
    """``--state`` words ``OUTPUT:INPUT``; names with colons are split at the middle one."""
    states: dict[str, str] = {}
    for word in given or ():
        parts = word.split(":")
        middle = len(parts) // 2
        output, target = ":".join(parts[:middle]), ":".join(parts[middle:])
        if len(parts) % 2 or not output or not target:
            raise typer.BadParameter(f"'{word}' is not OUTPUT:INPUT", param_hint="--state")
        if output in states:
            raise typer.BadParameter(f"'{output}' is given twice", param_hint="--state")
        states[output] = target
    return states


def resolve_target(target: str | None, board: str | None, threads: int | None = None) -> tuple[Target, Board | None]:
    """The profiles asked for; without a target the board's, without both the host."""
    from packager.config.load import load_board, load_target

    place = load_board(board) if board else None
    profile = load_target(target or (place.target if place else "host"))
    return (profile.with_threads(threads) if threads else profile), place


def is_bundle(path: Path) -> bool:
    """Whether ``BUNDLE|MODEL`` is a bundle: a directory, unless it holds a model and no manifest."""
    return path.is_dir() and ((path / "manifest.json").exists() or not any(path.glob("*.onnx")))
