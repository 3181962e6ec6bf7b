"""The part of ``runtime_c`` that a model and its programs use, copied into the bundle unchanged."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from packager import resources
from packager.config.target import Target
from packager.errors import BuildError, Problem

PREFIX = "runtime"
INCLUDES = ("include", f"{PREFIX}/include", f"{PREFIX}/src", f"{PREFIX}/port")
"""Include directories of a bundle."""

_COMMON = ("ep_text", "ep_sha256", "ep_stats", "ep_session", "ep_cpu")
_SELF_TEST = ("ep_selftest",)
_BENCH = ("ep_bench_options", "ep_bench", "ep_bench_report")
_NAMED = re.compile(rb'^[ \t]*(?:#[ \t]*(?:include|embed)|\.incbin)[ \t]+"([^"]+)"', re.MULTILINE)


def common_sources() -> tuple[str, ...]:
    """Sources of both programs, compiled for the architecture's base."""
    return tuple(f"{PREFIX}/src/{name}.c" for name in _COMMON)


def bench_sources() -> tuple[str, ...]:
    """Sources of the bench program alone, without its main file."""
    return tuple(f"{PREFIX}/src/{name}.c" for name in _BENCH)


def self_test_sources() -> tuple[str, ...]:
    """Sources of the self-test program alone, without its main file and its cases."""
    return tuple(f"{PREFIX}/src/{name}.c" for name in _SELF_TEST)


def self_test_cases(sources: Iterable[str]) -> str | None:
    """The generated file with the cases of a self-test, if there is one."""
    return next((path for path in sources if path.startswith("test/") and path.endswith("_selftest.c")), None)


def main_source(program: str) -> str:
    """The main file of ``run``, ``bench`` or ``selftest``."""
    return f"{PREFIX}/src/ep_{program}_main.c"


def built_for_source() -> str:
    """The file that names the extensions a model needs, compiled with the model's flags."""
    return f"{PREFIX}/src/ep_built_for.c"


def parallel_source(target: Target) -> str:
    """What stands behind ``ep_parallel``; part of the library."""
    return f"{PREFIX}/src/{'ep_pool_posix' if target.threads > 1 else 'ep_parallel_serial'}.c"


def status_source() -> str:
    """The texts of status codes; part of the library."""
    return f"{PREFIX}/src/ep_status.c"


def port_sources(target: Target) -> tuple[str, ...]:
    """The port of the programs to the target's platform."""
    if not target.is_freestanding:
        return (f"{PREFIX}/src/ep_port_posix.c",)
    if target.architecture in {"arm", "thumb"}:
        return (f"{PREFIX}/port/startup.c", f"{PREFIX}/port/ep_port_semihosting.c")
    raise BuildError(
        Problem(
            "EP0504",
            f"there is no start-up code for bare-metal {target.architecture}",
            f"target {target.name}",
            "`edgepack targets` lists what can be built",
        )
    )


def linker_script() -> bytes:
    """The shipped linker script of bare-metal Arm programs, without its MEMORY block."""
    return (resources.directory("runtime_c") / "ports" / "cortex-m" / "link.ld").read_bytes()


def runtime_files(sources: Mapping[str, bytes], target: Target) -> dict[str, bytes]:
    """Every runtime file that ``sources`` and the programs include or consist of, by its path in the bundle."""
    programs = [
        *common_sources(),
        *bench_sources(),
        main_source("run"),
        main_source("bench"),
        built_for_source(),
        parallel_source(target),
        status_source(),
        *port_sources(target),
    ]
    if self_test_cases(sources) is not None:
        programs += [main_source("selftest"), *self_test_sources()]
    found: dict[str, bytes] = {path: _origin(path).read_bytes() for path in programs}
    queue = [*sources.items(), *found.items()]
    while queue:
        includer, text = queue.pop()
        for path in _named_files(includer, text):
            if path not in found and path not in sources and path.startswith(PREFIX) and _origin(path).is_file():
                found[path] = _origin(path).read_bytes()
                queue.append((path, found[path]))
    return dict(sorted(found.items()))


def dependencies(source: str, files: Mapping[str, bytes]) -> tuple[str, ...]:
    """``source`` and every file of the bundle it includes or embeds, directly or not, sorted."""
    found = {source}
    queue = [source]
    while queue:
        includer = queue.pop()
        for path in _named_files(includer, files[includer]):
            if path in files and path not in found:
                found.add(path)
                queue.append(path)
    return tuple(sorted(found))


def _named_files(includer: str, text: bytes) -> Iterable[str]:
    """The paths in the bundle that the quoted names in a C or assembler file may mean."""
    if not includer.endswith((".c", ".h", ".S")):
        return
    for match in _NAMED.finditer(text):
        name = match[1].decode("utf-8", "replace")
        for base in (posixpath.dirname(includer), *INCLUDES, ""):
            yield posixpath.normpath(posixpath.join(base, name))


def _origin(path: str) -> Path:
    """The shipped file behind a path in the bundle."""
    inner = path.removeprefix(f"{PREFIX}/")
    if inner.startswith("port/"):
        inner = f"ports/cortex-m/{inner.removeprefix('port/')}"
    return resources.directory("runtime_c") / inner
