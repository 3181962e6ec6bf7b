"""The profiles in docs/targets.md are real ones."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from packager.config.board import Board
from packager.config.json_schema import json_schema
from packager.config.load import load_board, load_device, load_target
from packager.config.schema import Profile
from packager.config.target import Target

TEXT = (Path(__file__).parents[2] / "docs" / "targets.md").read_text("utf-8")
BLOCK = re.compile(r"```yaml\n# (\S+)\n(.*?)```", re.DOTALL)
HOME = "~/.config/edgepack/"


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Write every file of the page where it says; returns their names."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    names = []
    for name, body in BLOCK.findall(TEXT):
        file = tmp_path / name.replace(HOME, "config/edgepack/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(body)
        names.append(name)
    return names


def test_the_examples_load(written: list[str]) -> None:
    assert written == ["targets/camera.yaml", "boards/camera-v2.yaml", f"{HOME}devices.yaml"]
    camera = load_target("camera")
    assert (camera.threads, camera.budget.ram, camera.budget.flash) == (2, 64 << 20, load_target("rpi4").budget.flash)
    assert load_target(load_board("camera-v2").target) == camera
    assert load_device("rack-3").launcher == ("taskset", "-c", "3")
    assert load_device("desk").user == "pi"


@pytest.mark.parametrize("profile", [Target, Board])
def test_every_key_of_a_profile_is_in_a_table(profile: type[Profile]) -> None:
    keys = set(json_schema("target" if profile is Target else "board")["properties"])
    documented = {
        key.split(".")[0]
        for row in re.findall(r"^\| (`.*?) \|", TEXT, re.MULTILINE)
        for key in re.findall(r"`([\w.]+)`", row)
    }
    assert keys - documented == set()


def test_every_shipped_target_is_in_the_table() -> None:
    from packager import resources

    rows = set(re.findall(r"^\| `([\w-]+)` \|", TEXT, re.MULTILINE))
    assert {file.stem for file in resources.directory("targets").glob("*.yaml")} <= rows
