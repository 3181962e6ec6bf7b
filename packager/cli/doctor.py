"""``edgepack doctor``: which toolchains, emulators, targets and devices work here, and how to get the missing ones."""

from __future__ import annotations

from typing import Annotated

import typer

from packager.cli.console import JsonFlag, emit_json, print_table, progress, stdout


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(doctor)


def doctor(
    *,
    devices: Annotated[
        bool, typer.Option("--devices/--no-devices", metavar="", help="Also connect to the devices of devices.yaml.")
    ] = True,
    json: JsonFlag = False,
) -> None:
    """Say which toolchains, emulators, targets and devices work here, and how to get what is missing.

    Exit code 1 when something is missing that every build needs.
    """
    from packager.cli.checks import all_checks, device_checks
    from packager.report.document import document

    with progress(quiet=json) as report:
        report("asking programs for their versions")
        checks = all_checks() + (device_checks(report) if devices else ())
    failed = [check for check in checks if check.needed and check.status != "ok"]
    if json:
        emit_json(document("doctor", ok=not failed, checks=checks))
    else:
        rows = [(check.group, check.name, check.status, check.detail) for check in checks]
        print_table(("group", "name", "status", "detail"), rows)
        lacking = [check for check in checks if check.status != "ok" and check.fix]
        if lacking:
            stdout().print("To get what is missing:")
            print_table(("name", "for", "how"), [(check.name, check.group, check.fix) for check in lacking])
    if failed:
        raise typer.Exit(1)
