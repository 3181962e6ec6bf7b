"""What works on this machine: toolchains, emulators, Python packages, targets and devices, each with how to get it."""

from __future__ import annotations

import functools
import importlib.metadata
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from packager.config import host
from packager.config.isa import isa_table
from packager.config.load import available, load_devices, load_target
from packager.config.target import Target
from packager.errors import ConfigError, EdgepackError
from packager.progress import Progress, silent

Status = Literal["ok", "missing", "broken"]

SECONDS_FOR_A_VERSION = 30


@dataclass(frozen=True)
class Check:
    """One thing that was looked for.  ``needed``: the main job fails without it; ``fix``: how to get it."""

    group: str
    name: str
    status: Status
    detail: str = ""
    fix: str = ""
    needed: bool = False


_PACKAGES = {  # distribution: (needed, extra that brings it)
    "onnx": (True, ""),
    "onnx-ir": (True, ""),
    "onnxscript": (True, ""),
    "numpy": (True, ""),
    "pyelftools": (True, ""),
    "paramiko": (True, ""),
    "ziglang": (True, ""),
    "onnxruntime": (False, "verify"),
    "wasmtime": (False, "wasm"),
}

_PROGRAMS = {  # program: (group, Debian package, Homebrew formula)
    "gcc": ("toolchain", "gcc", "gcc"),
    "clang": ("toolchain", "clang", "llvm"),
    "qemu-aarch64": ("emulator", "qemu-user", ""),
    "qemu-arm": ("emulator", "qemu-user", ""),
    "qemu-riscv64": ("emulator", "qemu-user", ""),
    "qemu-system-arm": ("emulator", "qemu-system-arm", "qemu"),
    "ssh": ("ssh", "openssh-client", "openssh"),
    "sshd": ("ssh", "openssh-server", ""),
}


def all_checks() -> tuple[Check, ...]:
    """Every check; programs are asked for their version in parallel."""
    packages = [functools.partial(_package, name) for name in _PACKAGES]
    programs = [functools.partial(_program, name) for name in _PROGRAMS]
    makers: list[Callable[[], Check]] = [_python, *packages, _zig, *programs, _keys]
    with ThreadPoolExecutor(max_workers=4) as pool:
        done = tuple(pool.map(lambda make: make(), makers))
    return done + tuple(_targets({check.name for check in done if check.status == "ok"}))


def _python() -> Check:
    return Check("python", "python", "ok", f"{platform.python_version()} on {platform.system()} {platform.machine()}")


def _package(name: str) -> Check:
    needed, extra = _PACKAGES[name]
    try:
        return Check("python", name, "ok", importlib.metadata.version(name), needed=needed)
    except importlib.metadata.PackageNotFoundError:
        wanted = f"edgepack[{extra}]" if extra else name
        return Check("python", name, "missing", fix=f"pip install '{wanted}'", needed=needed)


def _zig() -> Check:
    status, detail = _version([sys.executable, "-m", "ziglang", "version"])
    fix = "" if status == "ok" else "pip install --force-reinstall ziglang"
    return Check("toolchain", "zig", status, detail, fix, needed=True)


def _program(name: str) -> Check:
    group, debian, brew = _PROGRAMS[name]
    path = shutil.which(name) or shutil.which(name, path="/usr/sbin:/sbin")
    if path is None:
        return Check(group, name, "missing", fix=_how_to_install(debian, brew))
    status, detail = _version([path, "-V" if group == "ssh" else "--version"])
    if name == "sshd" and status == "broken":  # before OpenSSH 9.2 sshd had no version option
        status, detail = "ok", path
    return Check(group, name, status, detail)


def _version(command: list[str]) -> tuple[Status, str]:
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=SECONDS_FOR_A_VERSION,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return "broken", str(error)
    lines = (done.stdout + done.stderr).strip().splitlines()
    return ("ok" if done.returncode == 0 else "broken"), lines[0] if lines else ""


def _how_to_install(debian: str, brew: str) -> str:
    if sys.platform == "darwin":
        return f"brew install {brew}" if brew else "not available on macOS; use a Linux machine, container or device"
    if shutil.which("apt-get"):
        return f"sudo apt-get install {debian}"
    return f"install the package that Debian calls {debian}"


def _keys() -> Check:
    """Something to log in with: an agent or a private key."""
    agent = os.environ.get("SSH_AUTH_SOCK", "")
    keys = [key.stem for key in sorted((Path.home() / ".ssh").glob("id_*.pub"))]
    found = ([f"agent {agent}"] if agent else []) + keys
    fix = "" if found else "ssh-keygen -t ed25519 && ssh-copy-id user@device"
    return Check("ssh", "keys", "ok" if found else "missing", ", ".join(found), fix)


def device_checks(progress: Progress = silent) -> tuple[Check, ...]:
    """Whether each device of devices.yaml lets us in; all at once, since a silent one takes its whole timeout."""
    try:
        names = sorted(load_devices())
    except ConfigError as error:
        return tuple(Check("device", problem.where, "broken", problem.what, problem.hint) for problem in error.problems)
    if not names:
        return ()
    progress(f"connecting to {', '.join(names)}")
    with ThreadPoolExecutor(max_workers=8) as pool:
        return tuple(pool.map(_device, names))


def _device(name: str) -> Check:
    from packager import pipeline

    try:
        with pipeline.open_device(name) as (transport, device, board):
            detail = f"reached as {transport.name}" + (f", board {board.name}" if board else "")
            return Check("device", device.name, "ok", detail)
    except EdgepackError as error:
        return Check("device", name, "broken", error.problems[0].what, error.problems[0].hint)


def _targets(present: set[str]) -> Iterator[Check]:
    """Whether each target can be built here and how its programs run here."""
    for found in available("targets"):
        try:
            target = load_target(found.name)
        except ConfigError as error:
            yield Check("target", found.name, "broken", error.problems[0].what, f"correct {found.file}")
            continue
        compiler = target.toolchain.cc[0] if target.toolchain.cc else target.toolchain.name
        if compiler not in present and shutil.which(compiler) is None:
            yield Check("target", target.name, "missing", f"needs {compiler}", f"install {compiler}")
        else:
            yield Check("target", target.name, "ok", f"builds with {compiler}; {_how_it_runs(target, present)}")


def _how_it_runs(target: Target, present: set[str]) -> str:
    if target.is_freestanding:
        return "runs on its boards"
    if target.emulator_here:
        emulator = target.emulator_here[0]
        state = "" if emulator in present or shutil.which(emulator) else ", which is missing"
        return f"runs here under {emulator}{state}"
    if target.architecture != host.architecture():
        return "runs on its devices only"
    lanes = max(isa_table()[name].lanes for name in host.isa_names(platform.machine(), host.cpu_flags()))
    wanted = target.vector_isa()
    return "runs here" if wanted.lanes <= lanes else f"runs on its devices only: this CPU has no {wanted.name}"
