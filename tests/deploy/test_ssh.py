"""Devices over SSH, against a real sshd: what works, and one clear error for each way it can fail."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from packager.config.device import Device
from packager.deploy.ssh import SshTransport, SshWorkspace, open_ssh
from packager.errors import DeviceError
from tests.deploy.conftest import Server, StartServer

pytestmark = pytest.mark.sshd

SCRIPT = b'#!/bin/sh\necho "hello $1"\n'


def code(error: pytest.ExceptionInfo[DeviceError]) -> str:
    assert len(error.value.problems) == 1
    return error.value.problems[0].code


def with_workspace(device: Device, use: Callable[[SshWorkspace], None]) -> None:
    with open_ssh(device) as transport, transport.workspace() as workspace:
        use(workspace)


def test_a_program_is_uploaded_run_and_removed(sshd: Server) -> None:
    data = bytes(range(256)) * 4000
    with open_ssh(sshd.device) as transport, transport.workspace() as workspace:
        workspace.put("hello", SCRIPT, executable=True)
        workspace.put("data/blob.bin", data)
        done = workspace.run(["hello", "it's me; $(id)"])
        assert done.exit_code == 0
        assert done.stdout == b"hello it's me; $(id)\n"
        assert workspace.get("data/blob.bin") == data
        [run] = sshd.left_behind()
        assert (sshd.workdir / run).stat().st_mode & 0o777 == 0o700
    assert sshd.left_behind() == []


def test_without_an_sftp_server_files_go_through_cat(start_sshd: StartServer) -> None:
    server = start_sshd()
    data = b"\x00\xff\r\n" * 200_000
    with open_ssh(server.device) as transport, transport.workspace() as workspace:
        workspace.put("blob.bin", data)
        assert workspace.get("blob.bin") == data
    assert server.left_behind() == []


def test_every_program_goes_through_the_launcher(sshd: Server) -> None:
    device = sshd.device.model_copy(update={"launcher": ("env", "WHO=launcher", "sh")})

    def use(workspace: SshWorkspace) -> None:
        workspace.put("who", b'echo "$WHO"\n', executable=True)
        assert workspace.run(["who"]).stdout == b"launcher\n"

    with_workspace(device, use)


def test_an_unknown_host_key_is_refused_with_its_fingerprint(sshd: Server) -> None:
    known_hosts = sshd.root / "known_hosts"
    known_hosts.unlink()
    with pytest.raises(DeviceError, match="SHA256:") as error, open_ssh(sshd.device):
        pass
    assert code(error) == "EP0703"
    assert not known_hosts.exists()


def test_an_unknown_host_key_is_remembered_when_accepted(sshd: Server) -> None:
    known_hosts = sshd.root / "known_hosts"
    written = known_hosts.read_text()
    known_hosts.unlink()
    with open_ssh(sshd.device, accept_new_host_key=True):
        pass
    assert known_hosts.read_text() == written


@pytest.mark.parametrize("damage", [b"[127.0.0.1]:2222 ssh-ed25519 AAAAC\n", b"\xff\xfe host\n"])
def test_a_damaged_line_of_known_hosts_is_named(sshd: Server, damage: bytes) -> None:
    known_hosts = sshd.root / "known_hosts"
    known_hosts.write_bytes(b"# mine\n" + known_hosts.read_bytes() + damage)
    with pytest.raises(DeviceError, match="damaged") as error, open_ssh(sshd.device):
        pass
    assert code(error) == "EP0702"
    assert error.value.problems[0].where == f"{known_hosts}:3"


@pytest.mark.parametrize("accept", [False, True])
def test_a_changed_host_key_is_always_refused(sshd: Server, accept: bool) -> None:
    other = sshd.root / "other_key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(other)], check=True)
    kind, key, *_ = (sshd.root / "other_key.pub").read_text().split()
    (sshd.root / "known_hosts").write_text(f"[127.0.0.1]:{sshd.port} {kind} {key}\n")
    with pytest.raises(DeviceError, match="has changed") as error, open_ssh(sshd.device, accept_new_host_key=accept):
        pass
    assert code(error) == "EP0704"


def test_a_refused_login_names_the_ways_to_give_a_key(sshd: Server) -> None:
    (sshd.root / "authorized_keys").write_text("")
    with pytest.raises(DeviceError, match="ssh-agent") as error, open_ssh(sshd.device):
        pass
    assert code(error) == "EP0711"


def test_a_missing_key_file_is_named(sshd: Server) -> None:
    device = sshd.device.model_copy(update={"identity_file": sshd.root / "nothing"})
    with pytest.raises(DeviceError, match="nothing does not exist") as error, open_ssh(device):
        pass
    assert code(error) == "EP0711"


def test_a_port_without_a_server_is_one_clear_error(sshd: Server) -> None:
    sshd.process.terminate()
    sshd.process.wait(timeout=10)
    with pytest.raises(DeviceError, match="refused") as error, open_ssh(sshd.device):
        pass
    assert code(error) == "EP0701"


def test_a_command_that_takes_too_long_is_ended(sshd: Server) -> None:
    with pytest.raises(DeviceError, match=r"within 0\.5 s") as error:
        with_workspace(sshd.device, lambda workspace: (workspace.shell("sleep 20", timeout=0.5), None)[1])
    assert code(error) == "EP0706"
    assert sshd.left_behind() == []


def test_the_program_does_not_outlive_an_interrupt(sshd: Server) -> None:
    def use(workspace: SshWorkspace) -> None:
        workspace.put("loop", b"#!/bin/sh\nwhile :; do sleep 0.05; echo tick > alive; done\n", executable=True)
        with pytest.raises(DeviceError):
            workspace.run(["loop"], timeout=0.5)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        with_workspace(sshd.device, use)
    assert sshd.left_behind() == []
    done = subprocess.run(["pgrep", "-f", str(sshd.workdir)], capture_output=True, check=False)
    assert done.stdout == b""


def test_a_connection_lost_during_a_run_is_said_and_the_device_cleaned(sshd: Server) -> None:
    def use(workspace: SshWorkspace) -> None:
        workspace.put("wait", b"#!/bin/sh\ntouch started\nsleep 30\n", executable=True)
        cutter = threading.Thread(target=cut_when_started, args=(sshd,))
        cutter.start()
        try:
            workspace.run(["wait"])
        finally:
            cutter.join()

    with pytest.raises(DeviceError, match="lost") as error:
        with_workspace(sshd.device, use)
    assert code(error) == "EP0707"
    assert sshd.left_behind() == []


def cut_when_started(server: Server) -> None:
    while not list(server.workdir.glob("run-*/started")):
        time.sleep(0.01)
    server.cut()


@pytest.mark.parametrize("subsystem", [("Subsystem sftp internal-sftp",), ()])
def test_a_connection_lost_during_an_upload_is_said_and_the_device_cleaned(
    start_sshd: StartServer, subsystem: tuple[str, ...]
) -> None:
    server = start_sshd(*subsystem)

    def cut_when_partial() -> None:
        while not any(path.stat().st_size for path in server.workdir.glob("run-*/.partial-*")):
            time.sleep(0.001)
        server.cut()

    def use(workspace: SshWorkspace) -> None:
        cutter = threading.Thread(target=cut_when_partial)
        cutter.start()
        try:
            workspace.put("big.bin", bytes(300_000_000))
        finally:
            cutter.join()

    with pytest.raises(DeviceError, match="lost") as error:
        with_workspace(server.device, use)
    assert code(error) == "EP0707"
    assert server.left_behind() == []


@pytest.mark.parametrize("subsystem", [("Subsystem sftp internal-sftp",), ()])
def test_a_full_file_system_is_told_from_other_failures(
    start_sshd: StartServer, tmp_path: Path, subsystem: tuple[str, ...]
) -> None:
    full = tmp_path / "small"
    full.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", full], check=False).returncode != 0:
        pytest.skip("mounting a small file system needs root")
    try:
        server = start_sshd(*subsystem)
        device = server.device.model_copy(update={"workdir": str(full / "work")})
        with pytest.raises(DeviceError, match="no space left") as error:
            with_workspace(device, lambda workspace: workspace.put("big.bin", bytes(3_000_000)))
        assert code(error) == "EP0708"
        assert list((full / "work").iterdir()) == []
    finally:
        subprocess.run(["umount", "-l", full], check=False)


def test_a_workdir_that_cannot_be_made_is_named(sshd: Server) -> None:
    (sshd.root / "file").write_text("")
    device = sshd.device.model_copy(update={"workdir": str(sshd.root / "file" / "work")})
    with pytest.raises(DeviceError, match="workdir") as error:
        with_workspace(device, lambda _: None)
    assert code(error) == "EP0713"


def test_two_benchmarks_exclude_each_other(sshd: Server) -> None:
    with open_ssh(sshd.device) as first, open_ssh(sshd.device) as second:
        with first.exclusive(60), pytest.raises(DeviceError, match=r"busy: .*@") as error, second.exclusive(60):
            pass
        assert code(error) == "EP0710"
        with second.exclusive(60):
            pass
    assert sshd.left_behind() == []


def test_an_expired_lock_is_broken_and_that_is_said(sshd: Server) -> None:
    lock = sshd.workdir / "lock"
    lock.mkdir(parents=True)
    (lock / "owner").write_text("somebody@elsewhere\n")
    (lock / "expires").write_text("1000\n")
    said: list[str] = []

    def progress(message: str, fraction: float | None = None) -> None:
        said.append(message)

    with open_ssh(sshd.device, progress=progress) as transport:
        assert isinstance(transport, SshTransport)
        with transport.exclusive(60):
            pass
    assert any("somebody@elsewhere" in line for line in said)


def test_hosts_and_users_of_the_ssh_configuration_are_used(
    sshd: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh/config").write_text(
        f"Host pi\n  HostName 127.0.0.1\n  Port {sshd.port}\n  User {sshd.device.user}\n"
        f"  IdentityFile {sshd.root}/user_key\n"
    )
    monkeypatch.setenv("HOME", str(tmp_path))
    device = Device(name="pi", host="pi", known_hosts=sshd.root / "known_hosts", workdir=str(sshd.workdir))
    with_workspace(device, lambda _: None)
