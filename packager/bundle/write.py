"""Writing bundles so that nothing half-written is ever seen: built beside, renamed."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import secrets
import shutil
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from packager.bundle.bundle import Bundle, describe_file
from packager.bundle.manifest import FILE_NAME, Manifest
from packager.errors import BundleError, Problem

HASHING_THREADS = 2
_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})


@contextlib.contextmanager
def staging(destination: Path) -> Iterator[Path]:
    """A new directory beside ``destination`` to build in; it is gone at the end unless :func:`publish` moved it.

    BundleError at once when ``destination`` exists and is neither a bundle nor empty, and when writing fails (disk
    full, no permission).
    """
    destination = _place(destination)
    _check_replaceable(destination)
    directory = _beside(destination)
    with _write_errors(destination):
        directory.parent.mkdir(parents=True, exist_ok=True)
        directory.mkdir()
    try:
        with _write_errors(destination, _NO_ROOM):
            yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def publish(directory: Path, destination: Path, manifest: Manifest) -> Bundle:
    """Make the staged ``directory`` the bundle at ``destination``, replacing a bundle that is there.

    All files in it are listed in the manifest with their sizes and hashes.
    """
    shown, destination = destination.absolute(), _place(destination)
    with _write_errors(destination):
        files = sorted(path for path in directory.rglob("*") if path.is_file())
        with ThreadPoolExecutor(HASHING_THREADS) as pool:
            described = tuple(pool.map(lambda file: describe_file(file, directory), files))
        complete = replace(manifest, files=described)
        (directory / FILE_NAME).write_text(complete.to_json(), "utf-8", newline="\n")
        _sync(directory / FILE_NAME)  # the rest may be on its way to the disk: the manifest has its hashes
        _sync(directory)
        _check_replaceable(destination)
        _swap(directory, destination)
        _sync(destination.parent)
    return Bundle(shown, complete)


def write_bundle(destination: Path, files: Mapping[str, bytes | Path], manifest: Manifest) -> Bundle:
    """A bundle of ``files`` (contents, or files to copy with their mode) at ``destination``."""
    with staging(destination) as directory:
        for name, source in files.items():
            to = directory / name
            to.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(source, Path):
                shutil.copy(source, to)
            else:
                to.write_bytes(source)
        return publish(directory, destination, manifest)


def _place(destination: Path) -> Path:
    """Where files go: behind a link to a directory, which stays what it is."""
    return destination.resolve() if destination.is_dir() else destination.absolute()


def _check_replaceable(destination: Path) -> None:
    if not destination.exists() and not destination.is_symlink():
        return
    hint = "choose another output directory with -o"
    if not destination.is_dir():
        raise BundleError(Problem("EP0604", "the output exists and is not a directory", str(destination), hint))
    if any(destination.iterdir()) and not _is_bundle(destination):
        what = "the output directory holds something other than a bundle; it is left as it is"
        raise BundleError(Problem("EP0604", what, str(destination), hint))


def _is_bundle(directory: Path) -> bool:
    """Whether the manifest is one of ours, of any schema: other tools call their files so too."""
    try:
        data = json.loads((directory / FILE_NAME).read_text("utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(data, dict) and {"schema", "edgepack", "model_sha256"} <= data.keys()


def _beside(destination: Path) -> Path:
    return destination.with_name(f".{destination.name}.{secrets.token_hex(4)}.tmp")


def _swap(directory: Path, destination: Path) -> None:
    """Rename into place; what was there is moved aside first, and back again when the rename fails."""
    if not destination.exists():
        directory.rename(destination)
        return
    aside = _beside(destination)
    destination.rename(aside)
    try:
        directory.rename(destination)
    except OSError:
        aside.rename(destination)
        raise
    shutil.rmtree(aside, ignore_errors=True)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextlib.contextmanager
def _write_errors(destination: Path, only: frozenset[int] | None = None) -> Iterator[None]:
    """Turn failures to write (with ``only``: those error numbers) into BundleError."""
    try:
        yield
    except OSError as error:
        if only is not None and error.errno not in only:
            raise
        what = f"the bundle cannot be written: {error.strerror or error}"
        hint = "free some space, there and for temporary files (TMPDIR), or choose another output directory with -o"
        raise BundleError(Problem("EP0605", what, str(destination), hint)) from error
