"""Benchmarks on a device that are cut short: the device is as clean afterwards as before."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.deploy.conftest import Server

pytestmark = [pytest.mark.sshd, pytest.mark.qemu]

# a test run in the background of a shell ignores Ctrl-C, and its children would
COMMAND = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
COMMAND += "from packager.cli.main import main; main()"


def start_bench(bundle: Path, device: str) -> subprocess.Popen[str]:
    """A benchmark that takes longer than the test."""
    words = ["bench", str(bundle), "--device", device, "--seconds", "60", "--json"]
    return subprocess.Popen(
        [sys.executable, "-c", COMMAND, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def wait_for(pattern: str, server: Server, process: subprocess.Popen[str]) -> None:
    """Return when a file of this name is in the device's workdir."""
    deadline = time.monotonic() + 60
    while not list(server.workdir.glob(pattern)):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline, f"no {pattern}"
        time.sleep(0.001)


def is_clean(server: Server) -> bool:
    """Whether nothing is left on the device, neither a file nor a process."""
    running = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            running += [process.name] * str((process / "cwd").readlink()).startswith(str(server.workdir))
    return server.left_behind() == [] and not running


@pytest.mark.parametrize(
    ("moment", "number"),
    [
        ("lock", signal.SIGINT),
        ("run-*", signal.SIGTERM),
        ("run-*/.partial-*", signal.SIGINT),
        ("run-*/.pid", signal.SIGHUP),
    ],
)
def test_a_signal_at_any_moment_leaves_the_device_clean(
    device_bundle: Path, pi: str, sshd: Server, moment: str, number: signal.Signals
) -> None:
    process = start_bench(device_bundle, pi)
    wait_for(moment, sshd, process)
    process.send_signal(number)
    process.communicate(timeout=60)
    assert process.returncode == 130
    assert is_clean(sshd)


def test_more_signals_do_not_cut_the_cleaning_short(device_bundle: Path, pi: str, sshd: Server) -> None:
    process = start_bench(device_bundle, pi)
    wait_for("run-*/.pid", sshd, process)
    for number in (signal.SIGINT, signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        process.send_signal(number)
        time.sleep(0.02)
    process.communicate(timeout=60)
    assert process.returncode == 130
    assert is_clean(sshd)


def test_a_lost_connection_is_said_and_lock_and_directory_are_removed_over_a_new_one(
    device_bundle: Path, pi: str, sshd: Server
) -> None:
    process = start_bench(device_bundle, pi)
    wait_for("run-*/.pid", sshd, process)
    sshd.cut()
    out, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "EP0707" in out
    assert err.count("error[") == 1
    assert is_clean(sshd)
