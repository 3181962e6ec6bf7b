"""Runs the command line in this process."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from packager.cli.main import main
from tests.deploy.conftest import Server, sshd, start_sshd

__all__ = ["edgepack", "sshd", "start_sshd"]  # the last two are fixtures of the SSH tests, used here too

DIGITS = Path(__file__).parents[2] / "examples" / "digits" / "digits.onnx"


@dataclass(frozen=True)
class Ran:
    """What a command printed and its exit code."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one document on stdout."""
        return json.loads(self.out)


Edgepack = Callable[..., Ran]


@pytest.fixture
def edgepack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Edgepack:
    """Run ``edgepack <arguments>`` in an empty directory with an empty configuration."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))

    def run(*arguments: object) -> Ran:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main([str(argument) for argument in arguments])
        printed = capsys.readouterr()
        code = ended.value.code
        return Ran(code if isinstance(code, int) else 0 if code is None else 1, printed.out, printed.err)

    return run


@pytest.fixture
def pi(edgepack: Edgepack, sshd: Server, tmp_path: Path) -> str:
    """The name of a device in devices.yaml that is the server."""
    file = tmp_path / "config" / "edgepack" / "devices.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(
        "schema: 1\n"
        "devices:\n"
        "  pi:\n"
        "    host: 127.0.0.1\n"
        f"    user: {sshd.device.user}\n"
        f"    port: {sshd.port}\n"
        f"    identity_file: {sshd.root}/user_key\n"
        f"    known_hosts: {sshd.root}/known_hosts\n"
        f"    workdir: {sshd.workdir}\n"
        "    launcher: qemu-aarch64\n"
        "    board: raspberry-pi-4b\n"
    )
    return "pi"


@pytest.fixture(scope="session")
def device_bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The digits model for a Raspberry Pi 4."""
    made = tmp_path_factory.mktemp("device") / "digits-rpi4"
    with pytest.raises(SystemExit) as ended:
        main(["build", str(DIGITS), "--target", "rpi4", "-o", str(made)])
    assert ended.value.code in (None, 0)
    return made
