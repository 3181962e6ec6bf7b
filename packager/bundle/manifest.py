"""``manifest.json``: what a bundle says about itself, in a versioned schema.

Equal models, profiles and versions give equal bytes: no date, no path of the build machine.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import PurePosixPath
from typing import Any

from packager.errors import BundleError, Problem
from packager.program import DType, Port, upper_bound

SCHEMA = 1
FILE_NAME = "manifest.json"


@dataclass(frozen=True)
class PortInfo:
    """A graph input or output: its ONNX name, numpy dtype, extents (upper bounds) and size in bytes."""

    name: str
    dtype: str
    dims: tuple[int, ...]
    bytes: int

    @classmethod
    def of(cls, port: Port) -> PortInfo:
        """The row of a program's port."""
        return cls(port.name, port.dtype.label, tuple(upper_bound(dim) for dim in port.dims), port.bytes)


@dataclass(frozen=True)
class FileInfo:
    """A file of the bundle; ``path`` is relative, with forward slashes."""

    path: str
    bytes: int
    sha256: str


@dataclass(frozen=True)
class Manifest:
    """Everything known about a built model.

    ``profile`` is the target profile as it was used, ``flags`` the compiler flags, ``sections`` the flash and RAM of
    the linked model by section, ``board`` the one it was linked for (bare metal only), ``programs`` maps run, bench
    and selftest to their files, ``states`` maps outputs of a streaming model to the inputs of
    its next call, ``stack_max`` bounds the stack of one inference (0 where the compiler does not tell).  ``files`` is
    filled in when the bundle is written.  Sizes are bytes.
    """

    name: str
    target: str
    edgepack: str
    model_sha256: str
    inputs: tuple[PortInfo, ...]
    outputs: tuple[PortInfo, ...]
    macs: int
    parameters: int
    arena_bytes: int
    arena_lower_bound: int
    weights_bytes: int
    stack_max: int = 0
    board: str = ""
    profile: Mapping[str, Any] = field(default_factory=dict)
    flags: tuple[str, ...] = ()
    sections: Mapping[str, int] = field(default_factory=dict)
    programs: Mapping[str, str] = field(default_factory=dict)
    states: Mapping[str, str] = field(default_factory=dict)
    fused: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    files: tuple[FileInfo, ...] = ()

    def to_json(self) -> str:
        """The text of ``manifest.json``."""
        return json.dumps({"schema": SCHEMA, **asdict(self)}, indent=2, sort_keys=True, ensure_ascii=False) + "\n"

    @classmethod
    def from_json(cls, text: str, where: str) -> Manifest:
        """The manifest that ``text`` holds; BundleError when it is damaged or of a schema this version cannot read."""
        try:
            data = json.loads(text)
        except ValueError as error:
            raise _damaged(f"it is not JSON ({error})", where) from None
        if not isinstance(data, dict) or not isinstance(data.get("schema"), int):
            raise _damaged("it has no schema number", where)
        schema = data.pop("schema")
        if schema != SCHEMA:
            raise BundleError(
                Problem(
                    "EP0603",
                    f"the bundle has manifest schema {schema}, this edgepack reads schema {SCHEMA}",
                    where,
                    "build it again with this edgepack" if schema < SCHEMA else "update edgepack",
                )
            )
        return _checked(data, where)


def _checked(data: dict[str, Any], where: str) -> Manifest:
    known = {one.name for one in fields(Manifest)}
    wrong = [f"lacks '{name}'" for name in sorted(known - data.keys())]
    wrong += [f"has an unknown field '{name}'" for name in sorted(data.keys() - known)]
    if wrong:
        raise _damaged(f"it {', '.join(wrong)}", where)
    try:
        manifest = Manifest(
            **{
                **data,
                "inputs": tuple(_port(row) for row in data["inputs"]),
                "outputs": tuple(_port(row) for row in data["outputs"]),
                "files": tuple(
                    FileInfo(str(row["path"]), int(row["bytes"]), str(row["sha256"])) for row in data["files"]
                ),
                **{name: tuple(map(str, data[name])) for name in ("flags", "fused", "warnings")},
                "profile": dict(data["profile"]),
                "sections": {str(name): int(size) for name, size in data["sections"].items()},
                **{name: {str(k): str(v) for k, v in data[name].items()} for name in ("programs", "states")},
                **{name: int(data[name]) for name in _NUMBERS},
                **{name: str(data[name]) for name in ("name", "target", "board", "edgepack", "model_sha256")},
            }
        )
    except (TypeError, ValueError, KeyError, AttributeError, OverflowError) as error:
        raise _damaged(f"a field has the wrong form ({error!r})", where) from None
    outside = [path for path in (*(f.path for f in manifest.files), *manifest.programs.values()) if not _inside(path)]
    if outside:
        raise _damaged(f"it names files outside the bundle: {', '.join(outside)}", where)
    return manifest


_NUMBERS = ("macs", "parameters", "arena_bytes", "arena_lower_bound", "weights_bytes", "stack_max")


def _port(row: Mapping[str, Any]) -> PortInfo:
    dtype = DType.of(row["dtype"])
    return PortInfo(str(row["name"]), dtype.label, tuple(int(dim) for dim in row["dims"]), int(row["bytes"]))


def _inside(path: str) -> bool:
    pure = PurePosixPath(path)
    return path != "" and not pure.is_absolute() and ".." not in pure.parts and "\\" not in path


def _damaged(what: str, where: str) -> BundleError:
    return BundleError(Problem("EP0602", f"{FILE_NAME} is damaged: {what}", where, "build the bundle again"))
