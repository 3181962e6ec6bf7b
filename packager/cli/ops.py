"""``edgepack ops``: the operators that can be compiled."""

from __future__ import annotations

from typing import Annotated

import typer

from packager.cli.console import JsonFlag, emit_json, print_table, stdout


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(ops)


def ops(
    name: Annotated[
        str | None, typer.Argument(help="Only operators whose name contains this.", show_default=False)
    ] = None,
    *,
    json: JsonFlag = False,
) -> None:
    """List the ONNX operators that can be compiled.

    Operators that are not listed are still accepted when ONNX or the model defines them by a function of listed ones.
    """
    from packager.config.schema import did_you_mean
    from packager.errors import ModelError, Problem
    from packager.report.document import document
    from packager.report.operators import operators

    wanted = (name or "").lower()
    known = operators()
    rows = [row for row in known if wanted in row.name.lower()]
    if not rows:
        near = did_you_mean(name or "", [row.name for row in known])
        hint = near if near.startswith("did you mean") else "`edgepack ops` lists all"
        raise ModelError(Problem("EP0203", f"no operator that can be compiled has '{name}' in its name", hint=hint))
    if json:
        emit_json(document("ops", operators=rows))
        return
    print_table(
        ("operator", "domain", "layout", "what"), [(row.name, row.domain, row.layout, row.summary) for row in rows]
    )
    stdout().print(f"{len(rows)} operators; others are accepted when a function body of these defines them.")
