"""The lock on a device that is full, half made or damaged."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from packager.config.device import Device
from packager.deploy.ssh import open_ssh
from packager.errors import DeviceError
from tests.deploy.conftest import Server

pytestmark = pytest.mark.sshd


def take(device: Device) -> list[str]:
    """Take the lock and give it back; what was said meanwhile."""
    said: list[str] = []

    def progress(message: str, fraction: float | None = None) -> None:
        said.append(message)

    with open_ssh(device, progress=progress) as transport, transport.exclusive(60):
        pass
    return said


def half_made(server: Server, *, expires: str | None, age: float) -> Path:
    """A lock without an owner, ``age`` seconds old."""
    lock = server.workdir / "lock"
    lock.mkdir(parents=True)
    if expires is not None:
        (lock / "expires").write_text(expires)
    then = time.time() - age
    os.utime(lock, (then, then))
    return lock


def test_a_full_device_is_said_and_keeps_no_lock(sshd: Server, tmp_path: Path) -> None:
    full = tmp_path / "small"
    full.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", full], check=False).returncode != 0:
        pytest.skip("mounting a small file system needs root")
    try:
        workdir = full / "work"
        workdir.mkdir()
        subprocess.run(["dd", "if=/dev/zero", f"of={full}/filler"], check=False, capture_output=True)
        with pytest.raises(DeviceError, match="no space left") as error:
            take(sshd.device.model_copy(update={"workdir": str(workdir)}))
        assert [problem.code for problem in error.value.problems] == ["EP0708"]
        assert list(workdir.iterdir()) == []
        (full / "filler").unlink()
        take(sshd.device.model_copy(update={"workdir": str(workdir)}))
    finally:
        subprocess.run(["umount", "-l", full], check=False)


@pytest.mark.parametrize("expires", [None, "-1 soon\n"])
def test_a_half_made_lock_counts_for_a_short_time_only(sshd: Server, expires: str | None) -> None:
    lock = half_made(sshd, expires=expires, age=5)
    with pytest.raises(DeviceError, match="busy: somebody is benchmarking there") as error:
        take(sshd.device)
    assert "within three minutes" in error.value.problems[0].hint
    then = time.time() - 300
    os.utime(lock, (then, then))
    assert "removed an expired lock of somebody" in take(sshd.device)
    assert sshd.left_behind() == []


def test_who_has_the_lock_and_for_how_long_at_most_is_said(sshd: Server) -> None:
    lock = half_made(sshd, expires=f"{int(time.time()) + 90}\n", age=0)
    (lock / "owner").write_text("ann@bench\n")
    with pytest.raises(DeviceError, match="busy: ann@bench is benchmarking there") as error:
        take(sshd.device)
    assert any(f"expires in {left} s" in error.value.problems[0].hint for left in range(75, 91))
    assert sshd.left_behind() == ["lock"]


def test_a_lock_that_somebody_else_took_since_is_not_removed(sshd: Server) -> None:
    with open_ssh(sshd.device) as transport, transport.exclusive(60):
        (sshd.workdir / "lock" / "token").write_text("another\n")
    assert sshd.left_behind() == ["lock"]


def test_a_lost_connection_takes_the_lock_with_it(sshd: Server) -> None:
    with open_ssh(sshd.device) as transport, transport.exclusive(60):
        assert sshd.left_behind() == ["lock"]
        sshd.cut()
    assert sshd.left_behind() == []
