"""A real OpenSSH server on 127.0.0.1 with a temporary configuration; programs there need a launcher."""

from __future__ import annotations

import contextlib
import getpass
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from packager.config.device import Device

SSHD = "/usr/sbin/sshd"


@dataclass
class Server:
    """A running sshd; ``device`` reaches it, ``workdir`` is where programs are put."""

    root: Path
    port: int
    process: subprocess.Popen[bytes]
    device: Device

    @property
    def workdir(self) -> Path:
        return self.root / "work"

    def cut(self) -> None:
        """End every connection as a lost network would."""
        sessions = _children(self.process.pid)
        for pid in [child for session in sessions for child in _children(session)] + sessions:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def left_behind(self) -> list[str]:
        """What a finished run left in the workdir."""
        return sorted(entry.name for entry in self.workdir.iterdir()) if self.workdir.exists() else []


def _children(pid: int) -> list[int]:
    done = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True, check=False)
    return [int(line) for line in done.stdout.split()]


def _free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def _keygen(path: Path) -> None:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)], check=True)


def start_server(root: Path, *extra: str) -> Server:
    """Start sshd with ``extra`` configuration lines and wait until it listens."""
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)
    root.chmod(0o700)
    for name in ("host_key", "user_key"):
        _keygen(root / name)
    shutil.copy(root / "user_key.pub", root / "authorized_keys")
    (root / "authorized_keys").chmod(0o600)
    port = _free_port()
    lines = [
        f"Port {port}",
        "ListenAddress 127.0.0.1",
        f"HostKey {root}/host_key",
        f"AuthorizedKeysFile {root}/authorized_keys",
        "PasswordAuthentication no",
        "UsePAM no",
        f"PidFile {root}/sshd.pid",
        *extra,
    ]
    (root / "sshd_config").write_text("\n".join([*lines, ""]))
    log = (root / "sshd.log").open("wb")
    process = subprocess.Popen([SSHD, "-D", "-e", "-f", str(root / "sshd_config")], stdout=log, stderr=log)
    deadline = time.monotonic() + 10
    while process.poll() is None and time.monotonic() < deadline:
        with socket.socket() as sock:
            if sock.connect_ex(("127.0.0.1", port)) == 0:
                break
        time.sleep(0.02)
    else:
        raise AssertionError((root / "sshd.log").read_text())
    key = (root / "host_key.pub").read_text().split()
    (root / "known_hosts").write_text(f"[127.0.0.1]:{port} {key[0]} {key[1]}\n")
    device = Device(
        name="bench-pi",
        host="127.0.0.1",
        port=port,
        user=getpass.getuser(),
        identity_file=root / "user_key",
        known_hosts=root / "known_hosts",
        workdir=str(root / "work"),
        connect_timeout=5.0,
        command_timeout=30.0,
        idle_timeout=10.0,
    )
    return Server(root, port, process, device)


StartServer = Callable[..., Server]


@pytest.fixture
def start_sshd() -> Iterator[StartServer]:
    """Start servers that end with the test.

    They live below the home directory: sshd's StrictModes refuses keys below a directory others may write to, as /tmp.
    """
    started: list[Server] = []

    def start(*extra: str) -> Server:
        root = Path(tempfile.mkdtemp(prefix=".edgepack-sshd-", dir=Path.home()))
        started.append(start_server(root, *extra))
        return started[-1]

    yield start
    for server in started:
        server.process.terminate()
        server.process.wait(timeout=10)
        shutil.rmtree(server.root)


@pytest.fixture
def sshd(start_sshd: StartServer) -> Server:
    """A server with SFTP."""
    return start_sshd("Subsystem sftp internal-sftp")
