"""new."""

from __future__ import annotations

from pathlib import Path

import pytest

from packager.config.load import load_board, load_target
from tests.cli.conftest import Edgepack


def test_a_new_target_loads_and_is_like_its_base(edgepack: Edgepack) -> None:
    assert edgepack("new", "target", "camera", "--from", "rpi5").code == 0
    assert load_target("camera").cpu == load_target("rpi5").cpu
    assert "camera" in edgepack("targets").out


def test_a_new_board_names_the_target_of_its_base(edgepack: Edgepack) -> None:
    assert edgepack("new", "board", "lab").code == 0
    assert load_board("lab").target == load_board("generic-ssh-linux").target


def test_a_file_that_exists_is_left_alone(edgepack: Edgepack) -> None:
    Path("targets").mkdir()
    Path("targets/camera.yaml").write_text("mine")
    ran = edgepack("new", "target", "camera")
    assert ran.code == 1
    assert "EP0312" in ran.err
    assert Path("targets/camera.yaml").read_text() == "mine"


@pytest.mark.parametrize("name", ["no spaces", "../x", ".hidden", ""])
def test_a_name_no_profile_may_have_writes_nothing(edgepack: Edgepack, name: str) -> None:
    assert edgepack("new", "target", name).code == 1
    assert [path for path in Path().rglob("*") if path.is_file()] == []
