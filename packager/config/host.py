"""The machine this process runs on, as values for the ``native`` and ``auto`` entries of a target."""

from __future__ import annotations

import functools
import os
import platform
import sys
from collections.abc import Mapping
from pathlib import Path

NATIVE = "native"
AUTO = "auto"

_CPU_FEATURES = {  # our name: what Linux calls it in /proc/cpuinfo, any of them
    "fma": {"fma"},
    "f16c": {"f16c"},
    "vnni": {"avx512_vnni", "avx_vnni"},
    "bf16": {"avx512_bf16", "bf16"},
    "fp16": {"avx512_fp16", "asimdhp"},
    "dotprod": {"asimddp"},
    "i8mm": {"i8mm"},
}
_AVX512 = {"avx512f", "avx512vl", "avx512bw", "avx512dq", "avx512cd"}
_AVX2 = {"avx2", "fma"}


@functools.cache
def cpu_flags() -> frozenset[str]:
    """The CPU's feature flags as Linux lists them; empty where there is no ``/proc/cpuinfo``."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return frozenset()
    for line in text.splitlines():
        key, _, value = line.partition(":")
        if key.strip() in {"flags", "Features"}:
            return frozenset(value.split())
    return frozenset()


def isa_names(machine: str, flags: frozenset[str]) -> tuple[str, ...]:
    """Rows of ``isa.yaml`` that a machine (``platform.machine()``) with these flags has; else the scalar one."""
    if machine in {"x86_64", "AMD64"}:
        if flags >= _AVX512:
            return ("avx512",)
        return ("avx2",) if flags >= _AVX2 else ("sse2",)
    if machine in {"aarch64", "arm64"}:
        return ("neon",)
    if machine.startswith("armv7") and "neon" in flags:
        return ("neon-armv7",)
    return ("rvf",) if machine == "riscv64" else ("scalar",)


def feature_names(flags: frozenset[str]) -> tuple[str, ...]:
    """Our names of the features among ``flags``."""
    return tuple(sorted(name for name, spellings in _CPU_FEATURES.items() if spellings & flags))


def triple(machine: str, system: str) -> str:
    """A static musl triple on Linux, else ``native``: the toolchain's own default."""
    if system == "linux":
        linux = {
            "x86_64": "x86_64-linux-musl",
            "aarch64": "aarch64-linux-musl",
            "armv7l": "arm-linux-musleabihf",
            "riscv64": "riscv64-linux-musl",
        }
        return linux.get(machine, NATIVE)
    return NATIVE


def architecture() -> str:
    """This machine's as triples write it: ``x86_64``, ``aarch64``, ``arm`` ..."""
    machine = platform.machine()
    return {"armv7l": "arm", "armv8l": "arm", "AMD64": "x86_64", "arm64": "aarch64"}.get(machine, machine)


def cpu_count() -> int:
    """CPUs this process may use."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def resolve_native(data: Mapping[str, object]) -> dict[str, object]:
    """``data`` of a target with ``isa: [native]`` and ``threads: auto`` replaced by this machine's values.

    With a native instruction set, ``triple: native`` becomes the triple of a static program for this machine.

    The compiler splits 512-bit vectors in two on CPUs that once lowered their clock for them, so AVX-512 asks for
    full width.
    """
    made = dict(data)
    machine = platform.machine()
    if made.get("threads") == AUTO:
        made["threads"] = cpu_count()
    if made.get("isa") in ((NATIVE,), [NATIVE]):
        flags = cpu_flags()
        if made.get("triple") == NATIVE:
            made["triple"] = triple(machine, sys.platform)
        made["isa"] = isa_names(machine, flags)
        made.setdefault("features", feature_names(flags))
        cflags = made.get("cflags", ())
        if made["isa"] == ("avx512",) and isinstance(cflags, tuple):
            made["cflags"] = (*cflags, "-mprefer-vector-width=512")
    return made
