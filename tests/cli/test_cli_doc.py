"""docs/cli.md names every command and every option, and no other."""

from __future__ import annotations

import re
from pathlib import Path

from typer.main import get_command

from packager.cli.main import app
from tests.cli.conftest import Edgepack

TEXT = (Path(__file__).parents[2] / "docs" / "cli.md").read_text("utf-8")
OF_ALL_COMMANDS = {"--help", "-h", "--version", "--traceback"}


def options() -> set[str]:
    """Every option of every command, in its long form, negative forms included."""
    found: set[str] = set()
    group = get_command(app)
    for command in group.commands.values():  # type: ignore[attr-defined]  # a group has commands
        for parameter in command.params:
            found.update(word for word in (*parameter.opts, *parameter.secondary_opts) if word.startswith("--"))
    return found


def test_every_command_has_a_place() -> None:
    headings = ", ".join(re.findall(r"^## (.*)$", TEXT, re.MULTILINE)).split(", ")
    assert set(headings) == set(get_command(app).commands)  # type: ignore[attr-defined]


def test_every_option_is_named_and_no_other() -> None:
    named = set(re.findall(r"--[a-z][a-z-]*", TEXT))
    missing = options() - named - {"--check", "--devices"}
    assert missing == set()
    assert named - options() - OF_ALL_COMMANDS == set()


def test_the_examples_are_accepted_by_the_parser(edgepack: Edgepack) -> None:
    """They fail because there is no such model, file or device, never because of how they are written."""
    lines = re.findall(r"^    edgepack (build|verify|run|bench|inspect)( .*)$", TEXT, re.MULTILINE)
    assert len(lines) >= 9
    for command, rest in lines:
        ran = edgepack(command, *rest.split())
        assert ran.code == 1, f"{command}{rest}: {ran.err}"
