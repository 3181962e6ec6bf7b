"""Running the compiler: objects through the cache, archives, programs."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from packager.build.cache import Cache, key_of, user_cache
from packager.build.cpu_flags import narrow_cpu, unknown_cpu
from packager.build.runtime_files import dependencies
from packager.build.toolchain import Toolchain
from packager.build.units import Unit
from packager.errors import BudgetError, BuildError, Problem
from packager.progress import Progress

JOBS = 2
"""Compilers at once; a model is one large unit, so more would only cost memory."""

_SHOWN_LINES = 8
_OF_PROFILE = frozenset({"EP0503", "EP0508"})
"""Codes of problems that every source has, in words of the profile."""
_NO_ROOM = re.compile(r"No space left on device|NoSpaceLeft|Disk quota exceeded")
_OVERFLOW = re.compile(r"section '?([^' ]+)'? will not fit in region '?(\w+)'?: overflowed by (\d+) bytes")


@dataclass(frozen=True)
class Compiled:
    """An object file, its key in the cache and, from gcc, what it says about stack frames."""

    name: str
    key: str
    path: Path
    data: bytes
    stack_usage: str


@dataclass(frozen=True)
class Compiler:
    """A toolchain at work in ``directory``, the bundle; sources are named relative to it, so no file depends on it.

    ``scratch`` is for objects and for zig's cache of this build, which nothing else would bound.  ``profile`` says
    where the target's CPU is written.
    """

    toolchain: Toolchain
    directory: Path
    scratch: Path
    cache: Cache
    profile: str = ""

    @property
    def _tells_stack(self) -> bool:
        """Whether frame sizes come in a file of their own; clang's are in the object."""
        return self.toolchain.kind == "gcc"

    def compile(self, units: Sequence[Unit], files: Mapping[str, bytes]) -> dict[str, Compiled]:
        """The objects of ``units`` by source; BuildError names every source the compiler refuses."""
        with ThreadPoolExecutor(max_workers=JOBS) as pool:
            outcomes = list(pool.map(lambda unit: self._object(unit, files), units))
        self.cache.trim()
        problems = [outcome for outcome in outcomes if isinstance(outcome, Problem)]
        if problems:
            of_profile = [problem for problem in problems if problem.code in _OF_PROFILE]
            raise BuildError(list(dict.fromkeys(of_profile or problems)))  # one problem, not one of every source
        made = (outcome for outcome in outcomes if isinstance(outcome, Compiled))
        return {unit.source: compiled for unit, compiled in zip(units, made, strict=True)}

    def archive(self, library: Path, objects: Sequence[Compiled]) -> None:
        """A static library with an index and no dates or owners."""
        library.parent.mkdir(parents=True, exist_ok=True)
        library.unlink(missing_ok=True)
        paths = [str(compiled.path) for compiled in objects]
        result = self._run([*self.toolchain.ar, "rcsD", str(library), *paths])
        if result.returncode != 0 or not library.is_file():
            raise BuildError(self._problem("EP0507", _failure("archiver", "library", result), library.name, result))

    def link(self, program: Path, objects: Sequence[Compiled], inputs: Sequence[str], keys: Sequence[str]) -> bytes:
        """Link ``objects`` and other ``inputs``, libraries and linker scripts, to ``program``; its bytes.

        ``keys`` stand for the contents of the inputs: with the same objects and keys the program comes from the cache.
        """
        program.parent.mkdir(parents=True, exist_ok=True)
        key = self._link_key(objects, keys)
        linked = self.cache.get(key)
        if linked is not None:
            program.write_bytes(linked)
            return linked
        paths = [str(compiled.path) for compiled in objects]
        command = [*self.toolchain.cc, *paths, *inputs, *self.toolchain.link_flags, "-o", str(program)]
        result = self._run(command)
        if result.returncode == 0 and program.is_file():
            linked = program.read_bytes()
            self.cache.put(key, linked)
            return linked
        overflow = _OVERFLOW.search(result.stderr)
        if overflow is not None:
            section, region, over = overflow.groups()
            what = f"the program does not fit: {section} is {int(over):,} bytes too large for the board's {region}"
            raise BudgetError(Problem("EP0403", what, program.name, "use a smaller model or a board with more memory"))
        raise BuildError(self._problem("EP0507", _failure("linker", "program", result), program.name, result))

    def _object(self, unit: Unit, files: Mapping[str, bytes]) -> Compiled | Problem:
        path = self.scratch / unit.object_name
        usage_path = path.with_suffix(".su")
        key = self._key(unit, files)
        data = self.cache.get(key)
        usage = self.cache.get(f"{key}.su") if self._tells_stack else b""
        if data is not None and usage is not None:
            path.write_bytes(data)
            return Compiled(unit.object_name, key, path, data, usage.decode())
        result = self._run([*self.toolchain.cc, *unit.flags, "-c", unit.source, "-o", str(path)])
        if result.returncode != 0 or not path.is_file():
            cpu = unknown_cpu(result.stderr, self.profile) or narrow_cpu(result.stderr, self.profile)
            return cpu or self._problem("EP0506", _failure("compiler", "object", result), unit.source, result)
        data = path.read_bytes()
        usage = usage_path.read_bytes() if usage_path.is_file() else b""
        self.cache.put(key, data)
        if self._tells_stack:
            self.cache.put(f"{key}.su", usage)
        return Compiled(unit.object_name, key, path, data, usage.decode())

    def _key(self, unit: Unit, files: Mapping[str, bytes]) -> str:
        needed = dependencies(unit.source, files)
        contents = (part for path in needed for part in (path, files[path]))
        compiler = (self.toolchain.identity, self.toolchain.native_cpu, *self.toolchain.cc)
        return key_of([*compiler, *unit.flags, "\0", unit.source, *contents])

    def _link_key(self, objects: Sequence[Compiled], keys: Sequence[str]) -> str:
        compiler = (self.toolchain.identity, *self.toolchain.cc, *self.toolchain.link_flags)
        return key_of(["link", *compiler, "\0", *(compiled.key for compiled in objects), "\0", *keys])

    def _run(self, command: Sequence[str]) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "LC_ALL": "C", "SOURCE_DATE_EPOCH": "0"}
        if self.toolchain.kind == "zig":
            environment["ZIG_LOCAL_CACHE_DIR"] = str(self.scratch / "zig")
            environment["ZIG_GLOBAL_CACHE_DIR"] = str(_zig_cache() or self.scratch / "zig")
        try:
            return subprocess.run(
                command,
                cwd=self.directory,
                env=environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                check=False,
            )
        except OSError as error:
            what = f"the compiler cannot be started: {error.strerror or error}"
            raise BuildError(Problem("EP0502", what, command[0])) from error

    def _problem(self, code: str, what: str, where: str, result: subprocess.CompletedProcess[str]) -> Problem:
        """A failed command, with the first lines of what it said."""
        lines = [line for line in result.stderr.splitlines() if line.strip()][:_SHOWN_LINES]
        hint = f"compiler: {self.toolchain.identity}"
        if _NO_ROOM.search(result.stderr):
            hint = f"free some space in {tempfile.gettempdir()}, or set TMPDIR to a directory that has some"
        return Problem(code, "\n      ".join([what, *lines]), where, hint)


def _failure(tool: str, product: str, result: subprocess.CompletedProcess[str]) -> str:
    if result.returncode == 0:
        return f"the {tool} wrote no {product}, though it says that it succeeded"
    killed = f": killed by signal {-result.returncode}" if result.returncode < 0 else ""
    return f"the {tool} failed{killed}"


def announce_first_use(toolchain: Toolchain, progress: Progress) -> Path | None:
    """Say why the first link for a target takes long: zig builds the C library from source.

    Returns the marker to create once that has succeeded, None when it already was.  The marker lies in zig's own cache:
    who deletes one deletes the other.
    """
    if toolchain.kind != "zig":
        return None
    cache = _zig_cache()
    if cache is None:
        progress(
            "there is no directory for caches (HOME and XDG_CACHE_HOME): zig compiles its support libraries again; "
            "ZIG_GLOBAL_CACHE_DIR says where to keep them"
        )
        return None
    marker = cache / f"edgepack-{key_of([toolchain.identity, *toolchain.link_flags])[:16]}"
    if marker.exists():
        return None
    progress("first build for this target: zig compiles its support libraries from source, once; this takes a minute")
    return marker


def _zig_cache() -> Path | None:
    """Where zig keeps what it built for all builds, as zig itself would choose; None when it cannot write there."""
    own = os.environ.get("ZIG_GLOBAL_CACHE_DIR")
    base = user_cache()
    cache = Path(own) if own else base / "zig" if base else None
    if cache is None:
        return None
    try:
        cache.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return cache if os.access(cache, os.W_OK) else None


@contextlib.contextmanager
def scratch_directory() -> Iterator[Path]:
    """A directory for one build's objects; BuildError when none can be made."""
    try:
        made = tempfile.TemporaryDirectory(prefix="edgepack-", ignore_cleanup_errors=True)
    except OSError as error:
        what = f"no directory for temporary files can be made: {error.strerror or error}"
        hint = "free some space, or set TMPDIR to a directory that has some"
        raise BuildError(Problem("EP0509", what, error.filename or "", hint)) from None
    with made as name:
        yield Path(name)
