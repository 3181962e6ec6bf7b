"""``edgepack new``: a profile of one's own to start from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from packager.cli import summary


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(new)


def new(
    kind: Annotated[Literal["target", "board"], typer.Argument(help="What to make.", metavar="target|board")],
    name: Annotated[str, typer.Argument(help="Its name.", metavar="NAME", show_default=False)],
    *,
    extends: Annotated[
        str | None,
        typer.Option("--from", metavar="NAME", help="The profile to start from. Default: rpi4, generic-ssh-linux."),
    ] = None,
) -> None:
    """Write targets/NAME.yaml or boards/NAME.yaml here, ready to be edited."""
    from packager.config.load import load_board, load_target
    from packager.errors import ConfigError, Problem

    base: str
    if kind == "target":
        base = load_target(extends or "rpi4").name
        text = _TARGET.format(name=name, base=base)
    else:
        board = load_board(extends or "generic-ssh-linux")
        base = board.name
        text = _BOARD.format(name=name, base=base, target=board.target)
    file = Path(f"{kind}s") / f"{name}.yaml"
    try:
        file.parent.mkdir(exist_ok=True)
        with file.open("x", encoding="utf-8") as stream:
            stream.write(text)
    except FileExistsError:
        raise ConfigError(
            Problem("EP0312", "the file exists; it is left as it is", str(file), "take another name")
        ) from None
    except OSError as error:
        what, hint = f"the file cannot be written: {error.strerror}", "run this where you may write"
        raise ConfigError(Problem("EP0312", what, str(file), hint)) from None
    _check(kind, file)
    summary.print_line(
        f"{file} extends {base}; `edgepack {kind}s {name}` shows all it says, docs/targets.md all it can say"
    )


def _check(kind: str, file: Path) -> None:
    """What was written loads; otherwise it is taken back, and the error says why (the name)."""
    from packager.config.load import load_board, load_target
    from packager.errors import ConfigError

    try:
        (load_target if kind == "target" else load_board)(file)
    except ConfigError:
        file.unlink()
        raise


_TARGET = """\
# `edgepack schema target` prints a JSON Schema for editors.
schema: 1
name: {name}
description: {name}, like {base}
extends: {base}
# threads: 2
# budget: {{flash: 64MiB, ram: 32MiB}}
"""

_BOARD = """\
# `edgepack schema board` prints a JSON Schema for editors.
schema: 1
name: {name}
description: {name}, like {base}
extends: {base}
target: {target}
# ssh: {{user: root, port: 22, workdir: /var/tmp/edgepack}}
# clock: {{governor: performance}}
"""
