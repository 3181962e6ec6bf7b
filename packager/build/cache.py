"""A bounded, content-addressed store of compiled objects, shared by all processes of a user."""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

DEFAULT_LIMIT = 2 << 30
"""Bytes kept by default: some twenty 100 MB models."""

_DIGEST_BYTES = 32
_KEEP = 0.75  # of the limit, after eviction: so that not every build evicts


def cache_directory() -> Path:
    """``$EDGEPACK_CACHE``, else ``edgepack`` in the user's cache directory (``$XDG_CACHE_HOME`` respected)."""
    own = os.environ.get("EDGEPACK_CACHE")
    if own:
        return Path(own)
    return (user_cache() or Path(os.devnull)) / "edgepack"  # nothing can be kept below a file


def user_cache() -> Path | None:
    """The directory for all programs' caches; None when the environment names none."""
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if base.is_absolute():
        return base
    if os.environ.get("HOME") == "":  # nobody means the root directory
        return None
    try:
        return Path.home() / ".cache"
    except RuntimeError:
        return None


def key_of(parts: Iterable[bytes | str]) -> str:
    """The sha256 of ``parts``, unambiguous about where one ends and the next begins."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()


@dataclass(frozen=True)
class Cache:
    """Values by key.  Each file begins with the sha256 of the rest, so a damaged one is a miss, never a wrong answer.

    A cache is a convenience: a directory that cannot be written (full disk, no permission) makes builds slower, not
    fail.
    """

    directory: Path
    limit: int = DEFAULT_LIMIT

    @classmethod
    def default(cls) -> Cache:
        """The user's cache."""
        return cls(cache_directory() / "objects")

    def get(self, key: str) -> bytes | None:
        """What was stored under ``key``; None when there is nothing, or nothing intact."""
        path = self._path(key)
        try:
            with path.open("rb", buffering=0) as file:
                digest = file.read(_DIGEST_BYTES)
                value = file.readall()
        except OSError:
            return None
        if hashlib.sha256(value).digest() != digest:
            with contextlib.suppress(OSError):
                path.unlink()
            return None
        with contextlib.suppress(OSError):
            os.utime(path)  # eviction goes by last use
        return value

    def put(self, key: str, value: bytes) -> None:
        """Store ``value``; another process sees all of it or nothing."""
        path = self._path(key)
        with contextlib.suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".new-")
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(hashlib.sha256(value).digest())
                    file.write(value)
                Path(temporary).replace(path)
            except BaseException:
                Path(temporary).unlink(missing_ok=True)
                raise

    def trim(self) -> None:
        """Beyond the limit, remove what was not used for longest until the rest is well below it.

        Looks at every file: once per build, after what was stored.
        """
        files = []
        for path in self.directory.glob("*/*"):
            with contextlib.suppress(OSError):
                status = path.stat()
                files.append((status.st_mtime_ns, status.st_size, path))
        total = sum(size for _, size, _ in files)
        if total <= self.limit:
            return
        for _, size, path in sorted(files):
            if total <= self.limit * _KEEP:
                return
            with contextlib.suppress(OSError):
                path.unlink()
            total -= size

    def _path(self, key: str) -> Path:
        return self.directory / key[:2] / key
