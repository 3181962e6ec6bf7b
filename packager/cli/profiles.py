"""``edgepack targets``, ``boards``, ``devices`` and ``schema``: what can be built for, and where it can run."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from packager.cli.console import JsonFlag, emit_json, print_table, show_problem, stdout

if TYPE_CHECKING:
    from typing import TypeVar

    from pydantic import BaseModel

    from packager.config.board import Board
    from packager.config.device import Device
    from packager.config.load import Found, Kind
    from packager.config.target import Target
    from packager.errors import Problem

    ProfileT = TypeVar("ProfileT", bound=BaseModel)

NameArgument = Annotated[str | None, typer.Argument(help="Show this one in full.", show_default=False)]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(targets)
    app.command()(boards)
    app.command()(devices)
    app.command()(schema)


def targets(name: NameArgument = None, *, json: JsonFlag = False) -> None:
    """List the target profiles: what code can be made."""
    from packager.config.load import load_target

    headings = ("name", "isa", "threads", "toolchain", "description")
    _list_profiles("targets", name, load_target, headings=headings, row=_target_row, json=json)


def boards(name: NameArgument = None, *, json: JsonFlag = False) -> None:
    """List the board profiles: where code runs."""
    from packager.config.load import load_board

    headings = ("name", "target", "reached by", "description")
    _list_profiles("boards", name, load_board, headings=headings, row=_board_row, json=json)


def devices(name: NameArgument = None, *, json: JsonFlag = False) -> None:
    """List your own devices, from devices.yaml in edgepack's configuration directory."""
    from rich.text import Text

    from packager.config.load import devices_file, load_device, load_devices
    from packager.report.document import document

    known = {each: load_device(each) for each in load_devices()}
    if name is not None:
        _show_one("device", load_device(name), json)
    elif json:
        emit_json(document("devices", file=devices_file(), devices=list(known.values())))
    elif known:
        headings = ("name", "address", "board", "launcher")
        print_table(headings, [_device_row(each) for each in known.values()], shorten=("address", "launcher"))
    else:
        text = (
            f"no devices: {devices_file()} does not exist or is empty; a device may also be given as user@host[:port]"
        )
        stdout().print(Text(text), soft_wrap=True)


def schema(
    of: Annotated[Literal["target", "board", "devices"], typer.Argument(help="Which kind of file.", metavar="KIND")],
) -> None:
    """Print the JSON Schema of a profile file (target, board or devices), for editors."""
    from packager.config.json_schema import json_schema

    emit_json(json_schema(of))


def _list_profiles(
    kind: Kind,
    name: str | None,
    load: Callable[[str], ProfileT],
    *,
    headings: tuple[str, ...],
    row: Callable[[ProfileT], tuple[str, ...]],
    json: bool,
) -> None:
    """One profile in full, or all; a broken one is reported and the others still listed."""
    from packager.config.load import available
    from packager.errors import ConfigError
    from packager.report.document import document

    if name is not None:
        _show_one(kind[:-1], load(name), json)
        return
    found: list[tuple[Found, ProfileT]] = []
    problems: list[Problem] = []
    for each in available(kind):
        try:
            found.append((each, load(each.name)))
        except ConfigError as error:
            problems.extend(error.problems)
    if json:
        rows = [{"file": each.file, **profile.model_dump(mode="json")} for each, profile in found]
        emit_json(document(kind, **{kind: rows}, problems=problems))
    else:
        print_table(headings, [row(profile) for _, profile in found])
    for problem in problems:
        show_problem(problem)
    if problems:
        raise typer.Exit(1)


def _show_one(kind: str, profile: BaseModel, json: bool) -> None:
    """All fields of a profile after inheritance and defaults."""
    from packager.report.document import document

    values = profile.model_dump(mode="json")
    if json:
        emit_json(document(kind, **{kind: values}))
    else:
        print_table(("field", "value"), _flat(values))


def _flat(values: dict[str, object], prefix: str = "") -> list[tuple[str, ...]]:
    """``a.b: c`` rows of nested values; what is not set is left out."""
    rows: list[tuple[str, ...]] = []
    for key, value in values.items():
        if isinstance(value, dict):
            rows += _flat(value, f"{prefix}{key}.")
        elif isinstance(value, list) and any(isinstance(item, dict) for item in value):
            rows += _flat({str(index): item for index, item in enumerate(value)}, f"{prefix}{key}.")
        elif isinstance(value, list):
            rows += [(prefix + key, " ".join(str(item) for item in value))] if value else []
        elif value is not None:
            rows.append((prefix + key, str(value)))
    return rows


def _target_row(target: Target) -> tuple[str, ...]:
    return (target.name, ", ".join(target.isa), str(target.threads), target.toolchain.name, target.description)


def _board_row(board: Board) -> tuple[str, ...]:
    reached = "ssh" if board.ssh else "emulator" if board.emulator else "-"
    return (board.name, board.target, reached, board.description)


def _device_row(device: Device) -> tuple[str, ...]:
    user = f"{device.user}@" if device.user else ""
    port = f":{device.port}" if device.port else ""
    return (
        device.name,
        f"{user}{device.host}{port}",
        device.board or "-",
        " ".join(device.launcher) or "-",
    )
