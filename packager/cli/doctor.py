"""``edgepack doctor``: which toolchains, emulators, targets and devices work here, and how to get the missing ones."""

from __future__ import annotations

import typer

from packager.cli.console import JsonFlag, emit_json, print_table, stdout


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(doctor)


def doctor(*, json: JsonFlag = False) -> None:
    """Say which toolchains, emulators and targets work here, and how to get what is missing.

    Exit code 1 when something is missing that every build needs.
    """
    from packager.cli.checks import all_checks
    from packager.report.document import document

    checks = all_checks()
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
