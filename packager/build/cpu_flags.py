"""The target's CPU in the words of each compiler; profiles use zig's spelling."""

from __future__ import annotations

import platform

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
