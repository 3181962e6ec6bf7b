"""``Board``: where code runs (``boards/<name>.yaml``)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, WithJsonSchema

from packager.config.schema import Command, Profile, Strict
from packager.config.sizes import Size

PathField = Annotated[Path, WithJsonSchema({"type": "string", "description": "a file, relative to this one"})]


class Ssh(Strict):
    """How boards of this kind are usually reached; a device's own entries win."""

    user: str | None = None
    port: int = Field(default=22, ge=1, le=65535)
    workdir: str = Field(default="~/.cache/edgepack", description="directory on the device for private working files")
    launcher: Command = Field(default=(), description="command put before every program there")


class Clock(Strict):
    """What to do about frequency scaling during a benchmark."""

    governor: str | None = Field(
        default=None, description="cpufreq governor for the run: set if permitted, then restored"
    )


class MemoryRegion(Strict):
    """One region of a microcontroller's memory map."""

    name: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    kind: Literal["flash", "ram"]
    origin: int = Field(ge=0)
    size: Size


class Emulator(Strict):
    """A program that stands in for the board; ``{program}`` in the command is the path of the binary."""

    kind: Literal["user", "system"] = Field(description="user: runs one Linux program; system: a whole machine")
    command: Command = Field(min_length=1)


class Board(Profile):
    """A board profile."""

    target: str = Field(description="the target profile code for this board is made with")
    ssh: Ssh | None = None
    emulator: Emulator | None = None
    clock: Clock = Clock()
    thermal: str | None = Field(default=None, description="file on the device that holds its temperature")
    memory: tuple[MemoryRegion, ...] = ()
    startup: PathField | None = None
    linker_script: PathField | None = None

    def region(self, kind: Literal["flash", "ram"]) -> MemoryRegion | None:
        """The first memory region of a kind."""
        return next((region for region in self.memory if region.kind == kind), None)
