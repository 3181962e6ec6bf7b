"""A marker names a tool a test needs: without the tool the test is skipped here and fails in CI."""

from __future__ import annotations

import importlib.util
import os
import shutil

import pytest

_TOOLS = {
    "qemu": ("qemu-aarch64", "apt-get install qemu-user"),
    "qemu_system": ("qemu-system-arm", "apt-get install qemu-system-arm"),
    "cmake": ("cmake", "apt-get install cmake"),
    "sshd": ("/usr/sbin/sshd", "apt-get install openssh-server"),
}


def pytest_runtest_setup(item: pytest.Item) -> None:
    missing = [
        f"{tool} is not installed ({hint})"
        for marker, (tool, hint) in _TOOLS.items()
        if item.get_closest_marker(marker) is not None and shutil.which(tool) is None
    ]
    if item.get_closest_marker("wasm") is not None and importlib.util.find_spec("wasmtime") is None:
        missing.append("wasmtime is not installed (pip install edgepack[wasm])")
    if missing and os.environ.get("CI") == "true":
        pytest.fail("; ".join(missing))
    if missing:
        pytest.skip("; ".join(missing))
