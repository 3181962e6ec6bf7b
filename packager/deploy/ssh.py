"""Programs on a device over SSH: nothing is assumed there but sh and the utilities busybox has."""

from __future__ import annotations

import contextlib
import secrets
import shlex
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

import paramiko

from packager.config.device import Device
from packager.deploy.signals import interrupt_once, uninterrupted
from packager.deploy.ssh_connect import connect, endpoint
from packager.deploy.ssh_lock import locked
from packager.deploy.transport import Completed, check_ok, shell_command
from packager.errors import DeviceError, Problem
from packager.progress import Progress, silent

PIECE = 256 * 1024
"""Bytes per write: a lost connection shows within one piece."""

_CLEANING = 30.0
"""Seconds that cleaning up may take."""

_REMOVE = """
for turn in 1 2 3 4 5; do
  test -d {root} || break
  touch {root}/.end 2> /dev/null
  p=$(cat {root}/.pid 2> /dev/null)
  if test -n "$p"; then kill -9 "-$p" 2> /dev/null || kill -9 "$p" 2> /dev/null; fi
  rm -rf {root} 2> /dev/null || sleep 1
done
true
"""
"""Ends what runs in a directory, then removes it; again while what is just ending still writes there."""


def removal(root: str) -> str:
    """The script that removes the directory of a workspace and whatever runs in it."""
    return _REMOVE.format(root=shlex.quote(root))


def _quoted_home(path: str) -> str:
    """``path`` quoted for sh, a leading ``~/`` left to the device's shell."""
    return f"~/{shlex.quote(path[2:])}" if path.startswith("~/") else shlex.quote(path)


class SshSession:
    """One connection; commands and files, each with the device's timeouts."""

    def __init__(self, client: paramiko.SSHClient, device: Device, where: str) -> None:
        self.client = client
        self.device = device
        self.where = where
        self._sftp: paramiko.SFTPClient | None = None
        self._sftp_refused = False
        self._left_behind: list[str] = []

    def shell(self, script: str, *, data: bytes | None = None, timeout: float | None = None) -> Completed:
        """Run an sh script, ``data`` on its standard input."""
        limit = timeout or self.device.command_timeout
        with self._alive():
            transport = self.client.get_transport()
            if transport is None or not transport.is_active():
                raise self._lost()
            channel = transport.open_session(timeout=self.device.connect_timeout)
            channel.settimeout(self.device.idle_timeout)
            channel.exec_command(f"exec sh -c {shlex.quote(script)}")
            try:
                if data is not None:
                    channel.sendall(data)
                    channel.shutdown_write()
                return self._collect(channel, limit)
            finally:
                channel.close()

    def _collect(self, channel: paramiko.Channel, limit: float) -> Completed:
        out, err = bytearray(), bytearray()
        deadline = time.monotonic() + limit
        while True:
            # what was received before the end is still there after it: look for data last
            ended = (channel.exit_status_ready() and channel.eof_received) or channel.closed or not self._active()
            if channel.recv_ready():
                out += channel.recv(PIECE)
            elif channel.recv_stderr_ready():
                err += channel.recv_stderr(PIECE)
            elif ended:
                break
            elif time.monotonic() > deadline:
                hint = "command_timeout in devices.yaml sets how long a command may take"
                raise DeviceError(Problem("EP0706", f"the command did not end within {limit:g} s", self.where, hint))
            else:
                channel.status_event.wait(0.01)
        status = channel.recv_exit_status() if channel.exit_status_ready() else -1
        if status == -1 and not self._active():
            raise self._lost()
        return Completed(status, bytes(out), bytes(err))

    def write(self, path: str, data: bytes) -> None:
        """Write a file by SFTP, or through ``cat`` where there is no SFTP server; ``path`` is absolute."""
        sftp = self._open_sftp()
        if sftp is None:
            quoted = shlex.quote(path)
            self.check_written(self.shell(f": > {quoted}"), path, len(data))
            for start in range(0, len(data), PIECE):
                done = self.shell(f"cat >> {quoted}", data=data[start : start + PIECE])
                self.check_written(done, path, len(data))
            return
        with self._alive():
            try:
                with sftp.open(path, "wb") as file:
                    for start in range(0, len(data), PIECE):
                        file.write(data[start : start + PIECE])
            except (TimeoutError, EOFError, paramiko.SSHException):
                raise
            except OSError as error:
                if not self._active():
                    raise self._lost() from None
                self.check_written(Completed(1, b"", str(error).encode()), path, len(data))

    def read(self, path: str) -> bytes:
        """The contents of a file."""
        done = self.shell(f"cat {shlex.quote(path)}")
        if done.exit_code != 0:
            raise DeviceError(Problem("EP0709", f"cannot read {path}: {done.error_text}", self.where))
        return done.stdout

    def check_written(self, done: Completed, path: str, size: int) -> None:
        """Raise what a failed write means: out of space when the file system has less room than ``size`` bytes."""
        if done.exit_code == 0:
            return
        parent = shlex.quote(path.rpartition("/")[0])
        fields = self.shell(f"df -Pk {parent} | tail -n 1").stdout.split()
        free = int(fields[3]) * 1024 if len(fields) > 3 and fields[3].isdigit() else None
        full = b"No space" in done.stderr or (free is not None and free < size)
        if full:
            problem = Problem(
                "EP0708",
                f"no space left on the device: {size:,} bytes to write, {free or 0:,} free",
                f"{self.where}:{path}",
                "free some space there, or set workdir in devices.yaml to another file system",
            )
        else:
            problem = Problem("EP0708", f"cannot write: {done.error_text or 'refused'}", f"{self.where}:{path}")
        raise DeviceError(problem)

    @contextlib.contextmanager
    def leaving_nothing(self, cleanup: str) -> Iterator[None]:
        """Run the sh script ``cleanup`` at the end, however that comes; it must do no harm where nothing was made.

        It is kept until it has run: what an interrupt within a context's own end leaves is removed by :meth:`clean_up`.
        """
        kept = len(self._left_behind)
        self._left_behind.append(cleanup)
        try:
            yield
        finally:
            self.clean_up(kept)

    def clean_up(self, keep: int = 0) -> None:
        """Run what is to be run at the end, the last first, until ``keep`` are left; signals wait.

        All of it runs over a new connection when this one is lost; a device that is gone cannot be cleaned.
        """
        with uninterrupted():
            while len(self._left_behind) > keep:
                try:
                    self.shell(self._left_behind[-1], timeout=_CLEANING)
                except DeviceError:
                    self._clean_up_anew()
                    return
                self._left_behind.pop()

    def _clean_up_anew(self) -> None:
        script = "\n".join(reversed(self._left_behind))
        self._left_behind.clear()
        with contextlib.suppress(DeviceError):
            client = connect(self.device)
            try:
                SshSession(client, self.device, self.where).shell(script, timeout=_CLEANING)
            finally:
                client.close()

    def _open_sftp(self) -> paramiko.SFTPClient | None:
        if self._sftp is None and not self._sftp_refused:
            try:
                self._sftp = self.client.open_sftp()
                channel = self._sftp.get_channel()
                if channel is not None:
                    channel.settimeout(self.device.idle_timeout)
            except (paramiko.SSHException, EOFError):
                if not self._active():
                    raise self._lost() from None
                self._sftp_refused = True
        return self._sftp

    def _active(self) -> bool:
        transport = self.client.get_transport()
        return transport is not None and transport.is_active()

    def _lost(self) -> DeviceError:
        hint = "its files there were removed over a new connection if there was one; else a run after a day does that"
        return DeviceError(Problem("EP0707", "the connection to the device was lost", self.where, hint))

    @contextlib.contextmanager
    def _alive(self) -> Iterator[None]:
        try:
            yield
        except TimeoutError:
            hint = "idle_timeout in devices.yaml sets how long silence is waited out"
            problem = Problem("EP0706", f"the device was silent for {self.device.idle_timeout:g} s", self.where, hint)
            raise DeviceError(problem) from None
        except (EOFError, paramiko.SSHException, OSError):
            raise self._lost() from None


@dataclass(frozen=True)
class SshWorkspace:
    """A private directory (mode 0700, random name) under the device's workdir."""

    session: SshSession
    root: str

    @property
    def launcher(self) -> tuple[str, ...]:
        """See :class:`~packager.deploy.transport.Workspace`."""
        return self.session.device.launcher

    def put(self, name: str, data: bytes | Path, *, executable: bool = False) -> None:
        """See :class:`~packager.deploy.transport.Workspace`."""
        content = data if isinstance(data, bytes) else data.read_bytes()
        final = f"{self.root}/{name}"
        partial = f"{self.root}/.partial-{secrets.token_hex(4)}"
        self.session.write(partial, content)
        mode = "700" if executable else "600"
        # nothing here may make the workspace again: what cleans up may have removed it meanwhile
        script = f"cd {shlex.quote(self.root)} && mkdir -p ./{shlex.quote(name.rpartition('/')[0])} && "
        script += f"chmod {mode} {shlex.quote(partial)} && "
        script += f"test $(wc -c < {shlex.quote(partial)}) -eq {len(content)} && "
        done = self.session.shell(f"{script}mv {shlex.quote(partial)} {shlex.quote(final)}")
        check_ok(done, f"placing {name}", self.session.where)

    def get(self, name: str) -> bytes:
        """See :class:`~packager.deploy.transport.Workspace`."""
        return self.session.read(f"{self.root}/{name}")

    def run(self, argv: Sequence[str], *, timeout: float | None = None) -> Completed:
        """See :class:`~packager.deploy.transport.Workspace`; the process is ended when this side goes away."""
        command = shell_command(argv, self.launcher)
        return self.shell(f"echo $$ > .pid && test ! -e .end && exec {command}", timeout=timeout)

    def shell(self, script: str, *, timeout: float | None = None) -> Completed:
        """See :class:`~packager.deploy.transport.Workspace`."""
        return self.session.shell(f"cd {shlex.quote(self.root)} && {script}", timeout=timeout)

    def at_end(self, script: str) -> AbstractContextManager[None]:
        """See :class:`~packager.deploy.transport.Workspace`; over a new connection when this one is lost."""
        return self.session.leaving_nothing(script)


class SshTransport:
    """A device reached over SSH."""

    def __init__(self, session: SshSession, progress: Progress = silent) -> None:
        self.session = session
        self.progress = progress

    @property
    def name(self) -> str:
        """The device's name and address."""
        device = self.session.device
        return self.session.where if device.name in self.session.where else f"{device.name} ({self.session.where})"

    @property
    def emulated(self) -> bool:
        """True when the device's launcher is an emulator."""
        return any("qemu" in part for part in self.session.device.launcher[:1])

    @contextlib.contextmanager
    def workspace(self) -> Iterator[SshWorkspace]:
        """A new directory; it and whatever still runs in it are removed at the end, also after an interrupt."""
        root = f"{self.workdir()}/run-{secrets.token_hex(8)}"
        with self.session.leaving_nothing(removal(root)):
            with uninterrupted():
                done = self.session.shell(f"umask 077; mkdir {shlex.quote(root)}")
            self.session.check_written(done, root, 1)
            yield SshWorkspace(self.session, root)

    def workdir(self) -> str:
        """The absolute path of the device's workdir, made if it does not exist; left-overs of lost runs go."""
        base = _quoted_home(self.session.device.workdir)
        script = (
            f"umask 077; mkdir -p {base} && cd {base} && pwd && "
            'for d in run-*; do test -d "$d" && test -z "$(find "$d" -prune -mmin -1440)" && rm -rf "$d"; done; true'
        )
        done = self.session.shell(script)
        if done.exit_code != 0 or not done.stdout.strip():
            hint = "set workdir in devices.yaml to a directory you may write to"
            what = f"the workdir {self.session.device.workdir} cannot be used: {done.error_text}"
            raise DeviceError(Problem("EP0713", what, self.session.where, hint))
        return done.stdout.decode("utf-8", "surrogateescape").splitlines()[0]

    @contextlib.contextmanager
    def exclusive(self, seconds: float) -> Iterator[None]:
        """See :class:`~packager.deploy.transport.Transport`."""
        with locked(self.session, self.workdir(), seconds, self.progress):
            yield


@contextlib.contextmanager
def open_ssh(
    device: Device, *, accept_new_host_key: bool = False, progress: Progress = silent
) -> Iterator[SshTransport]:
    """A transport over a new connection, closed at the end."""
    where = endpoint(device).text
    progress(f"connecting to {where}")
    with interrupt_once():
        client = connect(device, accept_new_host_key=accept_new_host_key)
        session = SshSession(client, device, where)
        try:
            yield SshTransport(session, progress)
        finally:
            session.clean_up()
            client.close()
