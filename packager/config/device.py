"""``Device``: one machine a person can reach.

Devices are personal: ``~/.config/edgepack/devices.yaml``, never the project.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from pydantic import Field, WithJsonSchema

from packager.config.board import Board
from packager.config.schema import Command, Strict
from packager.errors import ConfigError, Problem

DEFAULT_WORKDIR = "~/.cache/edgepack"

Seconds = Annotated[float, Field(gt=0, strict=False, allow_inf_nan=False)]
PathText = Annotated[Path, Field(strict=False), WithJsonSchema({"type": "string"})]

_SPEC = re.compile(r"(?:(?P<user>[^@\s]+)@)?(?P<host>\[[0-9A-Fa-f:.]+(?:%\w+)?\]|[^@:\s\[\]]+)(?::(?P<port>\d+))?")


class DeviceSettings(Strict):
    """How to reach and use a device over SSH: an entry of devices.yaml.

    ``user``, ``port`` and ``identity_file`` that are None come from ``~/.ssh/config``, then from SSH's defaults.
    Timeouts are in seconds: to connect, for one command, and for silence while data should flow.
    """

    host: str = Field(min_length=1, description="host name, address, or a Host of ~/.ssh/config")
    user: str | None = None
    port: int | None = Field(default=None, ge=1, le=65535)
    identity_file: PathText | None = Field(default=None, description="private key")
    known_hosts: PathText | None = Field(default=None, description="instead of ~/.ssh/known_hosts")
    launcher: Command = Field(default=(), description="command put before every program on the device")
    workdir: str = Field(default=DEFAULT_WORKDIR, description="directory on the device for private working files")
    board: str | None = Field(default=None, description="the board profile of this device")
    connect_timeout: Seconds = 10.0
    command_timeout: Seconds = 600.0
    idle_timeout: Seconds = 60.0


class Device(DeviceSettings):
    """A device with a name: the key of its entry, or the ``user@host`` it was given as."""

    name: str = Field(min_length=1)

    @classmethod
    def parse(cls, spec: str) -> Device:
        """A device from ``[user@]host[:port]``, IPv6 addresses in brackets; ConfigError (EP0311) when it is none."""
        match = _SPEC.fullmatch(spec)
        port = int(match["port"]) if match and match["port"] else None
        if match is None or match["host"].startswith("-") or (port is not None and not 1 <= port <= 65535):
            raise ConfigError(
                Problem("EP0311", f"'{spec}' is not a device", hint="write user@host[:port], or a name of devices.yaml")
            )
        return cls(name=spec, host=match["host"].strip("[]"), user=match["user"], port=port)

    def on_board(self, board: Board) -> Device:
        """This device with what it leaves open filled in from ``board``."""
        if board.ssh is None:
            return self.model_copy(update={"board": board.name})
        given = self.model_fields_set
        update: dict[str, object] = {"board": board.name}
        if self.user is None:
            update["user"] = board.ssh.user
        if self.port is None and board.ssh.port != 22:
            update["port"] = board.ssh.port
        if "launcher" not in given:
            update["launcher"] = board.ssh.launcher
        if "workdir" not in given:
            update["workdir"] = board.ssh.workdir
        return self.model_copy(update=update)


class DevicesFile(Strict):
    """The whole of devices.yaml."""

    schema_version: Annotated[int, Field(ge=1, le=1)] = Field(alias="schema")
    devices: dict[str, DeviceSettings] = Field(default_factory=dict)

    def named(self) -> Mapping[str, Device]:
        """Devices by name; ``~`` in paths of this machine is expanded."""
        return {name: _device(name, entry) for name, entry in self.devices.items()}


def _device(name: str, entry: DeviceSettings) -> Device:
    values = entry.model_dump(exclude_unset=True)
    for key in ("identity_file", "known_hosts"):
        if values.get(key) is not None:
            values[key] = values[key].expanduser()
    return Device(name=name, **values)
