"""Programs on this machine: directly, or behind an emulator such as qemu-user."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from packager.deploy.signals import uninterrupted
from packager.deploy.transport import Completed
from packager.errors import DeviceError, Problem


@dataclass(frozen=True)
class LocalWorkspace:
    """A temporary directory of this machine; ``command`` is put before every program."""

    root: Path
    command: tuple[str, ...] = ()
    name: str = "this machine"

    @property
    def launcher(self) -> tuple[str, ...]:
        """See :class:`~packager.deploy.transport.Workspace`."""
        return self.command

    def put(self, name: str, data: bytes | Path, *, executable: bool = False) -> None:
        """See :class:`~packager.deploy.transport.Workspace`."""
        final = self.root / name
        partial = final.with_name(f".{final.name}.partial")
        try:
            final.parent.mkdir(parents=True, exist_ok=True)
            partial.write_bytes(data if isinstance(data, bytes) else data.read_bytes())
            partial.chmod(0o700 if executable else 0o600)
            partial.replace(final)
        except OSError as error:
            partial.unlink(missing_ok=True)
            what = "no space left" if error.errno in (errno.ENOSPC, errno.EDQUOT) else str(error.strerror)
            raise DeviceError(Problem("EP0708", f"cannot write {name}: {what}", str(self.root))) from None

    def get(self, name: str) -> bytes:
        """See :class:`~packager.deploy.transport.Workspace`."""
        try:
            return (self.root / name).read_bytes()
        except OSError as error:
            raise DeviceError(Problem("EP0709", f"cannot read {name}: {error.strerror}", str(self.root))) from None

    def run(self, argv: Sequence[str], *, timeout: float | None = None) -> Completed:
        """See :class:`~packager.deploy.transport.Workspace`."""
        return self._run([*self.command, f"./{argv[0]}", *argv[1:]], argv[0], timeout)

    def shell(self, script: str, *, timeout: float | None = None) -> Completed:
        """See :class:`~packager.deploy.transport.Workspace`."""
        return self._run(["sh", "-c", script], "sh", timeout)

    @contextlib.contextmanager
    def at_end(self, script: str) -> Iterator[None]:
        """See :class:`~packager.deploy.transport.Workspace`."""
        try:
            yield
        finally:
            with uninterrupted():
                self.shell(script)

    def _run(self, command: list[str], what: str, timeout: float | None) -> Completed:
        try:
            done = subprocess.run(command, cwd=self.root, capture_output=True, timeout=timeout, check=False)
        except subprocess.TimeoutExpired:
            problem = Problem("EP0706", f"{what} did not end within {timeout:g} s", self.name)
            raise DeviceError(problem) from None
        except FileNotFoundError:
            hint = f"install {command[0]}, or name another in the target's run.emulator"
            raise DeviceError(Problem("EP0712", f"{command[0]} is not installed", self.name, hint)) from None
        except OSError as error:
            return Completed(126, b"", str(error.strerror).encode())
        return Completed(done.returncode, done.stdout, done.stderr)


@dataclass(frozen=True)
class LocalTransport:
    """This machine; with ``command`` (an emulator) time is not the device's."""

    command: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """``this machine``, or the emulator."""
        return f"{Path(self.command[0]).name} on this machine" if self.command else "this machine"

    @property
    def emulated(self) -> bool:
        """True behind an emulator."""
        return bool(self.command)

    @contextlib.contextmanager
    def workspace(self) -> Iterator[LocalWorkspace]:
        """A temporary directory."""
        root = Path(tempfile.mkdtemp(prefix="edgepack-"))
        try:
            yield LocalWorkspace(root, self.command, self.name)
        finally:
            shutil.rmtree(root, ignore_errors=True)

    @contextlib.contextmanager
    def exclusive(self, seconds: float) -> Iterator[None]:
        """A lock between benchmarks of this user; the system drops it when the process ends."""
        path = Path(tempfile.gettempdir()) / f"edgepack-{os.getuid()}.lock"
        with path.open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                problem = Problem("EP0710", "another benchmark is running", "this machine", "wait until it has ended")
                raise DeviceError(problem) from None
            yield
