"""Bare-metal programs in a whole-machine emulator, with semihosting for files and exit codes."""

from __future__ import annotations

import contextlib
import shlex
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from packager.deploy.local import LocalWorkspace
from packager.deploy.transport import Completed


@dataclass(frozen=True)
class MachineWorkspace(LocalWorkspace):
    """``command`` is the emulator's, ``{program}`` in it the image; arguments reach the program by semihosting."""

    def run(self, argv: Sequence[str], *, timeout: float | None = None) -> Completed:
        """Boot the image ``argv[0]`` with ``argv[1:]`` as its arguments; its exit code ends the emulator."""
        command = [part.replace("{program}", argv[0]) for part in self.command]
        return self._run([*command, "-append", shlex.join(argv[1:])], argv[0], timeout)


@dataclass(frozen=True)
class MachineTransport:
    """An emulated board; its time is instructions, never latency."""

    board: str
    command: tuple[str, ...]

    @property
    def name(self) -> str:
        """The board and its emulator."""
        return f"{self.board} in {self.command[0]}"

    @property
    def emulated(self) -> bool:
        """Always."""
        return True

    @contextlib.contextmanager
    def workspace(self) -> Iterator[MachineWorkspace]:
        """A temporary directory, which semihosting opens files in."""
        root = Path(tempfile.mkdtemp(prefix="edgepack-"))
        try:
            yield MachineWorkspace(root, self.command, self.name)
        finally:
            shutil.rmtree(root, ignore_errors=True)

    @contextlib.contextmanager
    def exclusive(self, seconds: float) -> Iterator[None]:
        """No lock: counted instructions do not disturb each other."""
        yield
