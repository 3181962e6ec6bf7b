"""Programs on a device over SSH: nothing is assumed there but sh and the utilities busybox has."""

from __future__ import annotations

import contextlib
import getpass
import secrets
import shlex
import socket
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import paramiko

from packager.config.device import Device
from packager.deploy.ssh_connect import connect, endpoint
from packager.deploy.transport import Completed, check_ok, shell_command
from packager.errors import DeviceError, Problem
from packager.progress import Progress, silent

PIECE = 256 * 1024
"""Bytes per write: a lost connection shows within one piece."""

MARGIN = 60.0
"""Seconds a lock outlives the time its owner asked for."""


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
            self._written(self.shell(f": > {quoted}"), path, data)
            for start in range(0, len(data), PIECE):
                self._written(self.shell(f"cat >> {quoted}", data=data[start : start + PIECE]), path, data)
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
                self._written(Completed(1, b"", str(error).encode()), path, data)

    def read(self, path: str) -> bytes:
        """The contents of a file."""
        done = self.shell(f"cat {shlex.quote(path)}")
        if done.exit_code != 0:
            raise DeviceError(Problem("EP0709", f"cannot read {path}: {done.error_text}", self.where))
        return done.stdout

    def _written(self, done: Completed, path: str, data: bytes) -> None:
        """Raise what a failed write means: out of space when the file system has less room than the file needs."""
        if done.exit_code == 0:
            return
        parent = shlex.quote(path.rpartition("/")[0])
        fields = self.shell(f"df -Pk {parent} | tail -n 1").stdout.split()
        free = int(fields[3]) * 1024 if len(fields) > 3 and fields[3].isdigit() else None
        full = b"No space" in done.stderr or (free is not None and free < len(data))
        if full:
            problem = Problem(
                "EP0708",
                f"no space left on the device: {len(data):,} bytes to write, {free or 0:,} free",
                f"{self.where}:{path}",
                "free some space there, or set workdir in devices.yaml to another file system",
            )
        else:
            problem = Problem("EP0708", f"cannot write: {done.error_text or 'refused'}", f"{self.where}:{path}")
        raise DeviceError(problem)

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
        hint = "what was written there is removed at the next connection"
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

    def put(self, name: str, data: bytes | Path, *, executable: bool = False) -> None:
        """See :class:`~packager.deploy.transport.Workspace`."""
        content = data if isinstance(data, bytes) else data.read_bytes()
        final = f"{self.root}/{name}"
        partial = f"{self.root}/.partial-{secrets.token_hex(4)}"
        self.session.write(partial, content)
        mode = "700" if executable else "600"
        folder = shlex.quote(final.rpartition("/")[0])
        script = f"mkdir -p {folder} && chmod {mode} {shlex.quote(partial)} && "
        script += f"test $(wc -c < {shlex.quote(partial)}) -eq {len(content)} && "
        done = self.session.shell(f"{script}mv {shlex.quote(partial)} {shlex.quote(final)}")
        check_ok(done, f"placing {name}", self.session.where)

    def get(self, name: str) -> bytes:
        """See :class:`~packager.deploy.transport.Workspace`."""
        return self.session.read(f"{self.root}/{name}")

    def run(self, argv: Sequence[str], *, timeout: float | None = None) -> Completed:
        """See :class:`~packager.deploy.transport.Workspace`; the process is ended when this side goes away."""
        command = shell_command(argv, self.session.device.launcher)
        return self.shell(f"echo $$ > .pid; exec {command}", timeout=timeout)

    def shell(self, script: str, *, timeout: float | None = None) -> Completed:
        """See :class:`~packager.deploy.transport.Workspace`."""
        return self.session.shell(f"cd {shlex.quote(self.root)} && {script}", timeout=timeout)


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
        root = self._make_root()
        try:
            yield SshWorkspace(self.session, root)
        finally:
            self._remove(root)

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

    def _make_root(self) -> str:
        root = f"{self.workdir()}/run-{secrets.token_hex(8)}"
        done = self.session.shell(f"umask 077; mkdir {shlex.quote(root)}")
        if done.exit_code != 0:
            raise DeviceError(Problem("EP0713", f"cannot make a directory: {done.error_text}", self.session.where))
        return root

    def _remove(self, root: str) -> None:
        quoted = shlex.quote(root)
        script = f"test -f {quoted}/.pid && kill -9 $(cat {quoted}/.pid) 2>/dev/null; rm -rf {quoted}"
        try:
            self.session.shell(script, timeout=30)
        except DeviceError:
            self._remove_anew(script)

    def _remove_anew(self, script: str) -> None:
        """The connection is gone: one more, only to clean up; a device that is gone cannot be cleaned."""
        device = self.session.device
        with contextlib.suppress(DeviceError):
            client = connect(device)
            try:
                SshSession(client, device, self.session.where).shell(script, timeout=30)
            finally:
                client.close()

    @contextlib.contextmanager
    def exclusive(self, seconds: float) -> Iterator[None]:
        """A directory is the lock (mkdir is atomic everywhere); it says whose it is and when it ends."""
        lock = shlex.quote(f"{self.workdir()}/lock")
        token = secrets.token_hex(8)
        owner = shlex.quote(f"{getpass.getuser()}@{socket.gethostname()}")
        fill = f"echo {token} > {lock}/token; echo {owner} > {lock}/owner; "
        fill += f"echo $(( $(date +%s) + {int(seconds + MARGIN)} )) > {lock}/expires"
        take = f"umask 077; mkdir {lock} 2>/dev/null && {{ {fill}; }}"
        if self.session.shell(take).exit_code != 0:
            self._break_expired(lock)
            if self.session.shell(take).exit_code != 0:
                raise self._busy(lock)
        try:
            yield
        finally:
            with contextlib.suppress(DeviceError):
                self.session.shell(f'test "$(cat {lock}/token 2>/dev/null)" = {token} && rm -rf {lock}', timeout=30)

    def _break_expired(self, lock: str) -> None:
        expired = f'e=$(cat {lock}/expires 2>/dev/null); test -n "$e" && test $(date +%s) -gt $e'
        script = f"{expired} && cat {lock}/owner && rm -rf {lock}"
        done = self.session.shell(script)
        if done.exit_code == 0:
            self.progress(f"removed an expired lock of {done.stdout.decode(errors='replace').strip()}")

    def _busy(self, lock: str) -> DeviceError:
        done = self.session.shell(f"cat {lock}/owner; echo $(( $(cat {lock}/expires) - $(date +%s) ))")
        lines = done.stdout.decode(errors="replace").split("\n")
        owner, left = (lines[0], lines[1]) if len(lines) > 1 else ("somebody", "?")
        return DeviceError(
            Problem(
                "EP0710",
                f"the device is busy: {owner} is benchmarking there",
                self.session.where,
                f"wait until it has ended; the lock expires in {left} s at the latest",
            )
        )


@contextlib.contextmanager
def open_ssh(
    device: Device, *, accept_new_host_key: bool = False, progress: Progress = silent
) -> Iterator[SshTransport]:
    """A transport over a new connection, closed at the end."""
    where = endpoint(device).text
    progress(f"connecting to {where}")
    client = connect(device, accept_new_host_key=accept_new_host_key)
    try:
        yield SshTransport(SshSession(client, device, where), progress)
    finally:
        client.close()
