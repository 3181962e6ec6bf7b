"""The target's CPU in the words of each compiler; profiles use zig's spelling."""

from __future__ import annotations

import platform
import re

from packager.config.schema import did_you_mean
from packager.config.target import Target
from packager.errors import BuildError, Problem


def cpu_flags(target: Target, cpu: str) -> tuple[str, ...]:
    """Flags that select triple and CPU; ``cpu`` is as in a profile: ``cortex_a72``, ``native``, ``baseline``."""
    kind = target.toolchain.name
    if kind == "zig":
        named = [] if target.triple == "native" else ["-target", target.triple]
        return (*named, f"-mcpu={cpu}")
    triple = (f"--target={target.triple}",) if kind == "clang" and not is_native(target) else ()
    if _given_by_hand(target):
        return triple
    return (*triple, *_gnu_cpu(target, cpu))


def is_native(target: Target) -> bool:
    """Whether the build machine's own compiler makes code for the target."""
    return target.triple == "native" or target.architecture == platform.machine()


def _given_by_hand(target: Target) -> bool:
    own = (*target.toolchain.cflags, *target.cflags)
    return any(flag.startswith(("-march=", "-mcpu=")) for flag in own)


def _gnu_cpu(target: Target, cpu: str) -> tuple[str, ...]:
    """``-march`` on x86, ``-mcpu`` on Arm; nothing for a baseline, the compiler's own default."""
    if cpu.startswith("baseline"):
        return ()
    if any(sign in cpu for sign in "+-"):
        raise BuildError(
            Problem(
                "EP0503",
                f"cpu '{cpu}' has features that {target.toolchain.name} spells in its own way",
                f"target {target.name}",
                "give -mcpu=... or -march=... in toolchain: {cflags: [...]}",
            )
        )
    option = "-mcpu" if target.architecture in {"aarch64", "arm64", "arm", "thumb"} else "-march"
    return (f"{option}={cpu.replace('_', '-')}",)


_UNKNOWN_CPU = re.compile(
    r"unknown CPU: '([^']*)'|unknown target CPU '([^']*)'|bad value .([^' ]+?). for .-m(?:arch|cpu)="
)
_KNOWN_CPUS = (
    re.compile(r"available CPUs for architecture '[^']*':\n((?: \S+\n)+)"),
    re.compile(r"valid (?:arguments to .-m(?:arch|cpu)=. switch are|target CPU values are): ([^;\n]*)"),
)


def unknown_cpu(message: str, where: str) -> Problem | None:
    """The problem when a compiler's ``message`` says that it does not know the CPU; it lists those it knows."""
    found = _UNKNOWN_CPU.search(message)
    if found is None:
        return None
    cpu = next(name for name in found.groups() if name)
    lists = (known.search(message) for known in _KNOWN_CPUS)
    names = next((match[1].replace(",", " ").split() for match in lists if match), [])
    hint = did_you_mean(cpu.replace("-", "_"), names) if len(names) < 12 else _nearest(cpu, names)
    return Problem("EP0503", f"the compiler does not know the cpu '{cpu}'", where, hint)


_NARROW = re.compile(r"made for vectors of (\d+) floats")
_WIDE_ENOUGH = {"8": "x86_64_v3", "16": "x86_64_v4"}


def narrow_cpu(message: str, where: str) -> Problem | None:
    """The problem when the generated code found that the CPU lacks the vectors it was made for."""
    found = _NARROW.search(message)
    if found is None:
        return None
    what = f"the target's isa has vectors of {found[1]} floats, its cpu has none so wide"
    hint = f"set cpu to one that has them ({_WIDE_ENOUGH[found[1]]}, ...), or isa to what the cpu has"
    return Problem("EP0508", what, where, hint)


def _nearest(cpu: str, names: list[str]) -> str:
    """A hint that never lists dozens of names."""
    hint = did_you_mean(cpu, names)
    return hint if hint.startswith("did you mean") else "`zig targets` or the compiler's manual lists the names"
