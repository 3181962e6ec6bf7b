"""The one interface through which programs run somewhere: here, in an emulator, on a device."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from packager.errors import DeviceError, Problem

_NOT_STARTED, _NOT_FOUND = 126, 127
"""Exit codes of sh for a command that cannot be started, and for one that is not installed."""

_FOREIGN = (b"Exec format error", b"Invalid ELF image")
"""What sh and qemu say to a program for another architecture."""


@dataclass(frozen=True)
class Completed:
    """How a program ended: exit code (negative: a signal) and what it wrote."""

    exit_code: int
    stdout: bytes
    stderr: bytes

    @property
    def error_text(self) -> str:
        """The last lines of stderr, for messages."""
        return self.stderr.decode("utf-8", "replace").strip()[-800:]


class Workspace(Protocol):
    """A private directory where the programs run; it is gone when its context ends, however that happens."""

    @property
    def launcher(self) -> tuple[str, ...]:
        """The command before every program, such as an emulator's; empty where programs run directly."""

    def put(self, name: str, data: bytes | Path, *, executable: bool = False) -> None:
        """Write a file atomically: under a temporary name first, renamed when complete.

        Raises DeviceError when there is no space or the device disappears.
        """

    def get(self, name: str) -> bytes:
        """The contents of a file; DeviceError when there is none."""

    def run(self, argv: Sequence[str], *, timeout: float | None = None) -> Completed:
        """Run the program ``argv[0]`` of this workspace (through the launcher, if any) in this directory.

        DeviceError on timeout (seconds) or when the device disappears; a failing program is a result, not an error.
        """

    def shell(self, script: str, *, timeout: float | None = None) -> Completed:
        """Run a POSIX sh script on the machine itself, never through the launcher."""

    def at_end(self, script: str) -> AbstractContextManager[None]:
        """Run an sh script when the context ends, however that happens; signals wait for it."""


class Transport(Protocol):
    """A place programs can run."""

    @property
    def name(self) -> str:
        """What reports call it."""

    @property
    def emulated(self) -> bool:
        """Whether time measured there says nothing about a device."""

    def workspace(self) -> AbstractContextManager[Workspace]:
        """A new private directory."""

    def exclusive(self, seconds: float) -> AbstractContextManager[None]:
        """Keep other benchmarks away for at most ``seconds``; DeviceError when one is running."""


def check_ok(done: Completed, what: str, where: str, launcher: Sequence[str] = ()) -> Completed:
    """``done`` when it exited with 0, else DeviceError EP0720 with the program's last words."""
    if done.exit_code == 0:
        return done
    foreign = any(words in done.stderr for words in _FOREIGN)
    if foreign or done.exit_code == _NOT_STARTED or (launcher and done.exit_code == _NOT_FOUND):
        raise wrong_architecture(what, where, done, launcher)
    ended = f"signal {-done.exit_code}" if done.exit_code < 0 else f"exit code {done.exit_code}"
    hint = "memory or the launcher may be short there; `edgepack verify` runs the same model without a device"
    text = f"{what} failed with {ended}: {done.error_text or 'no message'}"
    raise DeviceError(Problem("EP0720", text, where, hint if done.exit_code < 0 or not done.error_text else ""))


def wrong_architecture(what: str, where: str, done: Completed, launcher: Sequence[str]) -> DeviceError:
    """The error for a program the machine cannot run at all, behind ``launcher`` if there is one."""
    through = f" through {launcher[0]}" if launcher else ""
    if launcher and done.exit_code == _NOT_FOUND:
        hint = f"install {launcher[0]} there, or correct the launcher"
    elif launcher:
        hint = f"build for an architecture that {launcher[0]} runs (`edgepack targets`), or correct the launcher"
    else:
        hint = "build for the device's own architecture (`edgepack targets`), or name a launcher such as qemu-aarch64"
    reason = done.error_text or "wrong architecture"
    return DeviceError(Problem("EP0705", f"{what} cannot run on {where}{through}: {reason}", hint=hint))


def shell_command(argv: Sequence[str], launcher: Sequence[str]) -> str:
    """``argv`` as a quoted sh command; ``argv[0]`` is a file of the current directory, behind the launcher."""
    return shlex.join([*launcher, f"./{argv[0]}", *argv[1:]])


def upload(workspace: Workspace, files: Mapping[str, bytes | Path], *, executables: Sequence[str]) -> None:
    """Put all ``files``; those named in ``executables`` may run."""
    for name, data in files.items():
        workspace.put(name, data, executable=name in executables)
