"""``edgepack deploy``: put a bundle on a device to stay, list and remove what is there."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from packager.cli import arguments, summary
from packager.cli.console import JsonFlag, emit_json, print_table, progress

if TYPE_CHECKING:
    from packager.deploy.install import Installed
    from packager.deploy.ssh import SshTransport
    from packager.progress import Progress


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(deploy)


def deploy(
    bundle: Annotated[
        Path | None, typer.Argument(help="A bundle directory.", metavar="BUNDLE", show_default=False)
    ] = None,
    *,
    device: Annotated[
        str, typer.Option("--device", "-d", metavar="DEVICE", help="user@host[:port] or a name of devices.yaml.")
    ],
    keep: Annotated[
        bool, typer.Option("--keep", metavar="", help="Refuse to replace an older deployment of the same name.")
    ] = False,
    list_: Annotated[bool, typer.Option("--list", metavar="", help="List what is on the device.")] = False,
    remove: Annotated[
        str | None, typer.Option("--remove", metavar="NAME", help="Take a deployment off the device.")
    ] = None,
    accept_new_host_key: arguments.AcceptKeyOption = False,
    json: JsonFlag = False,
) -> None:
    """Put a bundle's programs on a device, atomically and verified by hash; or list, or remove what is there."""
    from packager import pipeline
    from packager.deploy.install import installed
    from packager.deploy.install import remove as take_off
    from packager.report.document import document

    if [bundle is not None, list_, remove is not None].count(True) != 1:
        raise typer.BadParameter("give a BUNDLE, or --list, or --remove NAME")
    placed = None
    with (
        progress(quiet=json) as report,
        pipeline.open_device(device, accept_new_host_key=accept_new_host_key, progress=report) as (
            transport,
            _,
            _board,
        ),
    ):
        if bundle is not None:
            placed = _install(bundle, transport, report, keep=keep)
        if remove is not None:
            take_off(remove, transport)
        present = installed(transport)
    if json:
        emit_json(document("deploy", device=device, placed=placed, removed=remove, installed=present))
    elif list_:
        _print(device, present)
    else:
        summary.print_line(f"{device}: {placed}" if placed else f"{device}: {remove} is removed")


def _install(path: Path, transport: SshTransport, report: Progress, *, keep: bool) -> str:
    from packager.bundle.bundle import Bundle
    from packager.deploy.install import install, installed
    from packager.errors import DeviceError, Problem

    bundle = Bundle.open(path)
    name = f"{bundle.name}-{bundle.target_name}"
    if keep and any(entry.name == name for entry in installed(transport)):
        raise DeviceError(
            Problem("EP0719", f"'{name}' is already on the device", transport.name, "leave --keep out to replace it")
        )
    return install(bundle.directory, transport, progress=report)


def _print(device: str, present: list[Installed]) -> None:
    from packager.config.sizes import format_size

    if not present:
        summary.print_line(f"{device}: nothing is deployed")
        return
    rows = [
        (entry.name, format_size(entry.bytes), "damaged" if entry.damaged else entry.model_sha256[:12])
        for entry in present
    ]
    print_table(("name", "size", "model"), rows, right=("size",))
