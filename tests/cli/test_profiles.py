"""targets, boards, devices, schema, doctor."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from packager.config.load import available, load_target
from tests.cli.conftest import Edgepack


@pytest.mark.parametrize("kind", ["targets", "boards"])
def test_profiles_are_listed_as_table_and_as_json(edgepack: Edgepack, kind: str) -> None:
    names = [found.name for found in available(kind)]  # type: ignore[arg-type]  # a str to mypy
    text = edgepack(kind)
    assert all(name in text.out for name in names)
    rows = edgepack(kind, "--json").json[kind]
    assert [row["name"] for row in rows] == names
    assert all(row["schema"] == 1 and Path(row["file"]).is_file() for row in rows)


def test_one_target_is_shown_with_what_it_inherits(edgepack: Edgepack) -> None:
    shown = edgepack("targets", "rpi5", "--json").json["target"]
    assert shown["triple"] == load_target("rpi4").triple
    assert shown["budget"]["ram"] == 2 << 30
    assert "budget.ram" in edgepack("targets", "rpi5").out


def test_a_broken_profile_is_reported_and_the_others_are_listed(edgepack: Edgepack) -> None:
    Path("targets").mkdir()
    Path("targets/mine.yaml").write_text("schema: 1\nextends: rpi4\nthreds: 4\n")
    ran = edgepack("targets")
    assert ran.code == 1
    assert "rpi5" in ran.out
    assert "targets/mine.yaml:3" in ran.err
    assert "did you mean 'threads'?" in ran.err


def test_devices_are_listed_with_their_boards_defaults(edgepack: Edgepack) -> None:
    assert "no devices" in edgepack("devices").out
    file = Path("config/edgepack/devices.yaml")
    file.parent.mkdir(parents=True)
    file.write_text("schema: 1\ndevices:\n  desk: {host: 10.0.0.7, board: raspberry-pi-4b}\n")
    assert "pi@10.0.0.7" in edgepack("devices").out
    (desk,) = edgepack("devices", "--json").json["devices"]
    assert (desk["name"], desk["user"], desk["board"]) == ("desk", "pi", "raspberry-pi-4b")


@pytest.mark.parametrize("kind", ["target", "board", "devices"])
def test_the_json_schema_names_every_key_with_a_type(edgepack: Edgepack, kind: str) -> None:
    schema = edgepack("schema", kind).json
    assert schema["$schema"].endswith("2020-12/schema")
    assert schema["additionalProperties"] is False
    assert schema["properties"]["schema"]["const" if kind != "devices" else "maximum"] == 1


def test_the_target_schema_allows_what_files_may_say(edgepack: Edgepack) -> None:
    schema = edgepack("schema", "target").json
    text = json.dumps(schema)
    assert '"auto"' in text
    assert "MiB" in text
    assert {"required": ["schema", "extends"]} in schema["anyOf"]


def test_doctor_knows_what_is_here_and_how_to_get_what_is_not(
    edgepack: Edgepack, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    ran = edgepack("doctor", "--json")
    assert ran.code == 0, "zig comes with Python, so builds work without any program on PATH"
    checks = {(check["group"], check["name"]): check for check in ran.json["checks"]}
    assert checks["toolchain", "zig"]["status"] == "ok"
    assert checks["emulator", "qemu-aarch64"]["status"] == "missing"
    assert "qemu-user" in checks["emulator", "qemu-aarch64"]["fix"]
    assert checks["target", "rpi4"]["status"] == "ok"
    assert "which is missing" in checks["target", "rpi4"]["detail"]
    assert checks["target", "portable-c"]["status"] == "missing"


def test_doctor_prints_the_fixes_below_the_table(
    edgepack: Edgepack, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    lines = edgepack("doctor").out.splitlines()
    below = lines[lines.index("To get what is missing:") :]
    assert any("qemu-riscv64" in line for line in below)
