"""Compilers: how a target profile becomes commands and flags."""

from __future__ import annotations

import functools
import importlib.util
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from codegen_c.embed import EmbedStyle
from packager.build.cpu_flags import cpu_flags, is_native
from packager.config import host
from packager.config.target import Target
from packager.errors import BuildError, Problem

WARNINGS = (
    "-Wall -Wextra -Wconversion -Wsign-conversion -Wshadow -Wcast-align -Wcast-qual -Wundef -Wvla -Wstrict-prototypes "
    "-Wmissing-prototypes -Wdouble-promotion -pedantic"
).split()

OPTIMIZATION = (
    # contraction makes fused multiply-adds; the rest is about what no kernel depends on
    "-O3 -g0 -ffp-contract=fast -fno-math-errno -fno-trapping-math -fno-strict-aliasing -ffunction-sections "
    "-fdata-sections -fomit-frame-pointer -fno-stack-protector -fno-unwind-tables -fno-asynchronous-unwind-tables"
).split()

BASELINE = "baseline"


@dataclass(frozen=True)
class Toolchain:
    """A compiler made ready for one target.

    ``kind`` is how it takes its flags.  ``identity`` changes whenever the compiler does, ``native_cpu`` whenever the
    processor does and the flags leave that to the compiler.  Models are compiled with ``model_flags``, programs with
    ``program_flags``: the architecture's base, so that a program can say what the processor lacks instead of crashing
    on it, and zig needs one C library for all processors of an architecture.
    """

    kind: str
    cc: tuple[str, ...]
    ar: tuple[str, ...]
    identity: str
    model_flags: tuple[str, ...]
    program_flags: tuple[str, ...]
    link_flags: tuple[str, ...]
    native_cpu: str = ""


def embed_style(target: Target) -> EmbedStyle:
    """How weights reach the object file with the target's compiler.

    gcc before 15 and clang before 19 have no ``#embed``; the assembler file needs ELF and the GNU syntax.
    """
    kind = target.toolchain.name
    if kind == "zig":
        return EmbedStyle.EMBED
    is_elf = target.triple != "native" or sys.platform.startswith("linux")
    return EmbedStyle.INCBIN if kind in {"gcc", "clang"} and is_elf and not target.is_wasm else EmbedStyle.ARRAY


def resolve(target: Target) -> Toolchain:
    """The toolchain of ``target``; BuildError when the compiler is not installed or cannot name the CPU."""
    kind = target.toolchain.name
    cc = target.toolchain.cc or _default_cc(target)
    identity = _identity(kind, cc)
    own = (*target.toolchain.cflags, *target.cflags)
    machine = cpu_flags(target, target.cpu)
    base = cpu_flags(target, BASELINE) if _has_baseline(target) else machine
    strict = ("-Werror",) if kind == "zig" else ()  # the one compiler whose warnings are known
    warnings = () if kind == "cc" else (*WARNINGS, *strict)
    common = (*_abi_flags(target), *OPTIMIZATION, *_dialect_flags(kind), *warnings)
    return Toolchain(
        kind=kind,
        cc=cc,
        ar=target.toolchain.ar or _default_ar(kind, cc),
        identity=identity,
        model_flags=("-std=c99", *machine, *common, *own),
        program_flags=("-std=gnu11", *base, *common, *own),
        native_cpu=" ".join(sorted(host.cpu_flags())) if target.cpu == host.NATIVE else "",
        link_flags=(*base, "-O3", *_link_flags(target), *target.toolchain.ldflags, *target.ldflags),
    )


def zig_command() -> tuple[str, ...]:
    """The zig of the ``ziglang`` wheel, without the Python that would start it; BuildError when it is not installed."""
    spec = importlib.util.find_spec("ziglang")
    if spec is None or spec.origin is None:
        raise BuildError(
            Problem("EP0501", "the compiler zig is not installed", "Python package ziglang", "pip install ziglang")
        )
    name = "zig.exe" if sys.platform == "win32" else "zig"
    return (str(Path(spec.origin).parent / name),)


def _default_cc(target: Target) -> tuple[str, ...]:
    kind = target.toolchain.name
    if kind == "zig":
        return (*zig_command(), "cc")
    if kind == "cc":
        return tuple(os.environ.get("CC", "cc").split())
    if kind == "gcc" and not is_native(target):
        return (f"{_gnu_triple(target.triple)}-gcc",)
    return (kind,)


def _default_ar(kind: str, cc: tuple[str, ...]) -> tuple[str, ...]:
    if kind == "zig":
        return (cc[0], "ar")
    cross = cc[0].removesuffix("-gcc")
    return (f"{cross}-ar",) if cross != cc[0] else ("ar",)


def _gnu_triple(triple: str) -> str:
    """``arm-linux-musleabihf`` as Debian's cross compilers are called: ``arm-linux-gnueabihf``."""
    if triple.startswith(("thumb-freestanding", "arm-freestanding")):
        return "arm-none-eabi"
    return triple.replace("musl", "gnu", 1)


def _has_baseline(target: Target) -> bool:
    """Bare-metal programs and their compiler support library must have the model's own float ABI and instructions."""
    return target.toolchain.name == "zig" and not target.is_freestanding and not target.is_wasm


def _abi_flags(target: Target) -> tuple[str, ...]:
    """Position independent where an application may want a shared library or an executable of that kind."""
    return () if target.is_freestanding or target.is_wasm else ("-fPIC",)


def _dialect_flags(kind: str) -> tuple[str, ...]:
    if kind == "zig":
        # loops that are too long to unroll are meant as a hint; zig would check undefined behaviour by default
        return ("-fno-sanitize=undefined", "-Wno-pass-failed", "-fstack-size-section")
    if kind == "clang":
        return ("-Wno-pass-failed", "-fstack-size-section")
    return ("-fstack-usage",) if kind == "gcc" else ()


def _link_flags(target: Target) -> tuple[str, ...]:
    kind = target.toolchain.name
    gnu_linker = kind != "cc" or sys.platform.startswith("linux")
    flags = ["-s"]
    if target.is_wasm:
        return ("-s", "-Wl,--gc-sections")
    if gnu_linker:
        flags += ["-Wl,--gc-sections", "-Wl,--build-id=none"]
    if target.linkage == "static" and not target.is_freestanding:
        flags.append("-static")
    if target.threads > 1:
        flags.append("-pthread")
    return tuple(flags)


@functools.cache
def _identity(kind: str, cc: tuple[str, ...]) -> str:
    """``zig 0.17.1``, or the first line of ``--version`` and the machine the compiler makes code for."""
    if kind == "zig":
        return f"zig {_first_line((cc[0], 'version'))}"
    return f"{_first_line((*cc, '--version'))} [{_first_line((*cc, '-dumpmachine'))}]"


def _first_line(command: tuple[str, ...]) -> str:
    if shutil.which(command[0]) is None:
        raise BuildError(
            Problem(
                "EP0501",
                f"the compiler '{command[0]}' is not installed",
                hint="install it, or set `toolchain: zig` in the target: it comes with edgepack",
            )
        )
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BuildError(Problem("EP0502", f"the compiler cannot be started: {error}", " ".join(command))) from error
    if result.returncode != 0:
        what = f"the compiler does not answer: {result.stderr.strip()[:200]}"
        raise BuildError(Problem("EP0502", what, " ".join(command)))
    return next(iter(result.stdout.splitlines()), "")
