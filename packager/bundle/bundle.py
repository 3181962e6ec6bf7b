"""``Bundle``: a directory with everything built from one model for one target, described by its manifest."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from packager.bundle.manifest import FILE_NAME, FileInfo, Manifest
from packager.bundle.tensors import pack, unpack
from packager.errors import BundleError, Problem

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from packager.config.target import Target

_CHUNK = 1 << 20
_AGAIN = "build it again"


@dataclass(frozen=True)
class Bundle:
    """A bundle on disk; the files were as the manifest says when it was opened."""

    directory: Path
    manifest: Manifest

    @classmethod
    def open(cls, path: Path | str, *, check_files: bool = True) -> Bundle:
        """The bundle at ``path``.

        BundleError when there is none, its schema is not this version's, or (with ``check_files``) files are missing
        or not what the manifest says; all such files are named.
        """
        directory = Path(path)
        file = directory / FILE_NAME
        try:
            text = file.read_text("utf-8")
        except (FileNotFoundError, NotADirectoryError):
            what = "there is no such directory" if not directory.exists() else f"it has no {FILE_NAME}"
            hint = "`edgepack build MODEL --target T` makes a bundle"
            raise BundleError(Problem("EP0601", f"not a bundle: {what}", str(directory), hint)) from None
        except (OSError, UnicodeDecodeError) as error:
            raise BundleError(Problem("EP0602", f"{FILE_NAME} cannot be read: {error}", str(directory))) from None
        bundle = cls(directory, Manifest.from_json(text, str(file)))
        if check_files:
            bundle._check_files()
        return bundle

    def __repr__(self) -> str:
        return f"<Bundle {self.name} for {self.target_name} at {self.directory}>"

    @property
    def name(self) -> str:
        """The model's name, a C identifier."""
        return self.manifest.name

    @property
    def target_name(self) -> str:
        """The target it was built for."""
        return self.manifest.target

    def target(self) -> Target:
        """The target profile it was built with, from the manifest; BundleError when that is no profile."""
        from pydantic import ValidationError

        from packager.config.target import Target

        try:
            return Target.model_validate(self.manifest.profile)
        except ValidationError as error:
            what = f"{FILE_NAME} is damaged: its profile is no target profile ({error.error_count()} faults)"
            raise BundleError(Problem("EP0602", what, str(self.directory), "build the bundle again")) from None

    def program(self, kind: str) -> Path:
        """The program ``run`` or ``bench``; BundleError when the bundle has none."""
        try:
            return self.directory / self.manifest.programs[kind]
        except KeyError:
            raise BundleError(Problem("EP0606", f"the bundle has no {kind} program", str(self.directory))) from None

    def run(
        self, feeds: Mapping[str, npt.NDArray[np.generic]], runner: Callable[[Bundle, bytes], bytes]
    ) -> dict[str, npt.NDArray[np.generic]]:
        """One inference: outputs by name.

        ``runner`` executes the ``run`` program where it belongs: it gets the raw inputs in graph order and returns the
        raw outputs.  VerifyError when ``feeds`` do not fit the inputs.
        """
        return unpack(self.manifest.outputs, runner(self, pack(self.manifest.inputs, feeds)))

    def _check_files(self) -> None:
        listed = {info.path for info in self.manifest.files}
        problems = [
            Problem("EP0602", f"'{path}' is a program that the manifest has no hash of", str(self.directory), _AGAIN)
            for path in self.manifest.programs.values()
            if path not in listed
        ]
        for info in self.manifest.files:
            fault = _fault(self.directory / info.path, info)
            if fault:
                problems.append(Problem("EP0602", f"'{info.path}' {fault}", str(self.directory), _AGAIN))
        if problems:
            raise BundleError(problems)


def describe_file(file: Path, root: Path) -> FileInfo:
    """The manifest row of ``file`` below ``root``."""
    return FileInfo(file.relative_to(root).as_posix(), file.stat().st_size, sha256_of(file))


def sha256_of(file: Path) -> str:
    """The hexadecimal SHA-256 of a file's contents."""
    digest = hashlib.sha256()
    with file.open("rb") as stream:
        while chunk := stream.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def _fault(file: Path, info: FileInfo) -> str:
    try:
        size = file.stat().st_size
        if size != info.bytes:
            return f"has {size:,} bytes, the manifest says {info.bytes:,}"
        return "" if sha256_of(file) == info.sha256 else "was changed after the build (its sha256 differs)"
    except FileNotFoundError:
        return "is missing"
    except OSError as error:
        return f"cannot be read: {error.strerror}"
