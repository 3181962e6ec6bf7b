"""From what was typed to a bundle, and to where it runs."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from packager.cli import arguments

if TYPE_CHECKING:
    from packager.bundle.bundle import Bundle
    from packager.config.board import Board
    from packager.deploy.transport import Transport
    from packager.progress import Progress


@contextlib.contextmanager
def bundle_of(
    path: Path,
    progress: Progress,
    *,
    target: str | None = None,
    board: str | None = None,
    dims: dict[str, int] | None = None,
    threads: int | None = None,
    device: str | None = None,
) -> Iterator[Bundle]:
    """The bundle at ``path``; a model there is built first, in a directory that is gone afterwards.

    A model is built for ``target``, else for that of the board named or of the device's board, else for the host.
    """
    from packager import pipeline
    from packager.bundle.bundle import Bundle
    from packager.errors import BundleError, Problem

    if arguments.is_bundle(path):
        if target or board or dims:
            raise typer.BadParameter("a bundle is already built: --target, --board and --dim are for models")
        yield Bundle.open(path)
        return
    if not path.exists():
        what = f"there is neither a bundle nor a model '{path}'"
        hint = "give an ONNX file, or a directory that `edgepack build` made"
        raise BundleError(Problem("EP0601", what, hint=hint))
    profile, place = arguments.resolve_target(target, board or _board_of(device), threads)
    with tempfile.TemporaryDirectory(prefix="edgepack-") as directory:
        out = Path(directory) / "bundle"
        yield pipeline.build(path, profile, out, board=place, dims=dims or {}, progress=progress).bundle


@contextlib.contextmanager
def transport_for(
    device: str | None, progress: Progress, *, accept_new_host_key: bool = False
) -> Iterator[tuple[Transport | None, Board | None]]:
    """The device's connection and board; None and None for this machine."""
    from packager import pipeline

    if device is None:
        yield None, None
        return
    with pipeline.open_device(device, accept_new_host_key=accept_new_host_key, progress=progress) as opened:
        transport, _, board = opened
        yield transport, board


def _board_of(device: str | None) -> str | None:
    if device is None:
        return None
    from packager.config.load import load_device

    return load_device(device).board
