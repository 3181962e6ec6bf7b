"""Finding and reading profiles: ``load_target``, ``load_board``, ``load_device``.

A profile is found by name in ``./targets``, ``~/.config/edgepack/targets`` (``$XDG_CONFIG_HOME`` respected) and the
package, in this order; or given as a path.  ``boards`` likewise.  ``extends: rpi4`` starts from another profile; a file
that extends its own name extends the one it hides.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from packager import resources
from packager.config.board import Board
from packager.config.device import Device, DevicesFile
from packager.config.schema import SCHEMA_VERSION, did_you_mean, validate
from packager.config.target import Target
from packager.config.yaml_source import Document, KeyPath, Position, read_document
from packager.errors import ConfigError, Problem

Kind = Literal["targets", "boards"]


@dataclass(frozen=True)
class Found:
    """A profile on the search path."""

    name: str
    file: Path


def config_directory() -> Path:
    """A person's own edgepack directory."""
    base = os.environ.get("XDG_CONFIG_HOME", "")
    return (Path(base) if Path(base).is_absolute() else Path.home() / ".config") / "edgepack"


def search_path(kind: Kind) -> tuple[Path, ...]:
    """Directories that profiles are looked up in, first one wins."""
    return (Path.cwd() / kind, config_directory() / kind, resources.directory(kind))


def available(kind: Kind) -> tuple[Found, ...]:
    """Every profile that can be named, sorted; hidden ones left out."""
    found: dict[str, Found] = {}
    for directory in search_path(kind):
        for file in sorted(directory.glob("*.yaml")):
            found.setdefault(file.stem, Found(file.stem, file))
    return tuple(found[name] for name in sorted(found))


def load_target(name_or_path: str | Path) -> Target:
    """The target called ``name_or_path``, or in that file; ConfigError lists everything wrong with it."""
    return validate(Target, _read("targets", name_or_path))


def load_board(name_or_path: str | Path) -> Board:
    """The board called ``name_or_path``, or in that file; paths in it are made absolute."""
    document = _read("boards", name_or_path)
    return validate(Board, _with_absolute_paths(document, ("startup", "linker_script")))


def key_position(kind: Kind, name: str, key: str) -> str:
    """``file:line`` where the profile called ``name``, or one that it extends, says ``key``; empty when none does."""
    for file in _candidates(kind, name):
        document = _merged(kind, file, ())
        return str(document.position((key,))) if key in document.data else ""
    return ""


def devices_file() -> Path:
    """Where a person's devices are listed."""
    return config_directory() / "devices.yaml"


def load_devices() -> Mapping[str, Device]:
    """The devices of devices.yaml by name; empty when there is no such file."""
    file = devices_file()
    if not file.exists():
        return {}
    document = read_document(file)
    _check_schema(document)
    return validate(DevicesFile, document).named()


def load_device(spec: str) -> Device:
    """The device of devices.yaml called ``spec``, else ``[user@]host[:port]``; its board fills in the rest."""
    device = load_devices().get(spec) or Device.parse(spec)
    return device.on_board(load_board(device.board)) if device.board else device


def _read(kind: Kind, name_or_path: str | Path) -> Document:
    file = _locate(kind, name_or_path)
    document = _merged(kind, file, ())
    name = document.data.get("name", file.stem)
    if name != file.stem:
        raise ConfigError(
            Problem(
                "EP0304",
                f"name: '{name}' is not the file's name",
                str(document.position(("name",))),
                f"write '{file.stem}'",
            )
        )
    return Document(file, {**document.data, "name": name}, document.positions)


def _locate(kind: Kind, name_or_path: str | Path) -> Path:
    text = str(name_or_path)
    if isinstance(name_or_path, Path) or text.endswith((".yaml", ".yml")) or os.sep in text:
        file = Path(name_or_path)
        if not file.is_file():
            hint = f"give the path of a file, or a name that `edgepack {kind}` lists"
            raise ConfigError(Problem("EP0301", f"there is no {kind[:-1]} profile '{file}'", hint=hint))
        return file
    for file in _candidates(kind, text):
        return file
    known = [found.name for found in available(kind)]
    other: Kind = "boards" if kind == "targets" else "targets"
    if any(True for _ in _candidates(other, text)):
        hint = f"'{text}' is a {other[:-1]}: write `--{other[:-1]} {text}`"
    else:
        near = did_you_mean(text, known)
        listed = f"`edgepack {kind}` lists them"
        hint = f"{near} {listed}" if near.endswith("?") else f"{near}; {listed}" if near else listed
    raise ConfigError(Problem("EP0301", f"there is no {kind[:-1]} '{text}'", hint=hint))


def _candidates(kind: Kind, name: str) -> Iterator[Path]:
    for directory in search_path(kind):
        file = directory / f"{name}.yaml"
        if file.is_file():
            yield file


def _merged(kind: Kind, file: Path, chain: tuple[Path, ...]) -> Document:
    """``file`` with what it extends under it; ``chain``: the files that led here."""
    document = read_document(file)
    _check_schema(document)
    base_name = document.data.get("extends")
    if not isinstance(base_name, str):
        return document
    chain = (*chain, file.resolve())
    base = _merged(kind, _base(kind, document, base_name, chain), chain)
    positions = dict(base.positions)
    own = {key: value for key, value in base.data.items() if key not in {"name", "extends"}}
    data = _merge(own, document.data, (), positions, document.positions)
    return Document(file, data, positions)


def _base(kind: Kind, document: Document, name: str, chain: tuple[Path, ...]) -> Path:
    candidates = list(_candidates(kind, name))
    for file in candidates:
        if file.resolve() not in chain:
            return file
    where = str(document.position(("extends",)))
    if candidates:
        names = " -> ".join([*(file.stem for file in chain), name])
        raise ConfigError(Problem("EP0307", f"profiles extend each other in a circle: {names}", where))
    hint = did_you_mean(name, [found.name for found in available(kind)])
    raise ConfigError(Problem("EP0308", f"extends: there is no {kind[:-1]} '{name}'", where, hint))


def _merge(
    base: Mapping[str, object],
    over: Mapping[str, object],
    path: KeyPath,
    positions: dict[KeyPath, Position],
    over_positions: Mapping[KeyPath, Position],
) -> dict[str, object]:
    """Mappings merge key by key, everything else is replaced; ``positions`` follows what stays."""
    made = dict(base)
    for key, value in over.items():
        here = (*path, key)
        below = made.get(key)
        if isinstance(below, Mapping) and isinstance(value, Mapping):
            made[key] = _merge(below, value, here, positions, over_positions)
        else:
            for stale in [known for known in positions if known[: len(here)] == here]:
                del positions[stale]
            positions.update({known: at for known, at in over_positions.items() if known[: len(here)] == here})
            made[key] = value
    return made


def _check_schema(document: Document) -> None:
    """Each file states its schema, also one that extends another."""
    version = document.data.get("schema")
    if version == SCHEMA_VERSION and not isinstance(version, bool):
        return
    where = str(document.position(("schema",)))
    if version is None:
        raise ConfigError(
            Problem("EP0306", "the file does not say its schema", where, f"begin it with `schema: {SCHEMA_VERSION}`")
        )
    raise ConfigError(
        Problem(
            "EP0306",
            f"schema {version} is not known to this version",
            where,
            f"this version reads schema {SCHEMA_VERSION}",
        )
    )


def _with_absolute_paths(document: Document, keys: tuple[str, ...]) -> Document:
    """Relative file names are relative to the file that has them, which with ``extends`` may be another one."""
    data = dict(document.data)
    problems = []
    for key in keys:
        value = data.get(key)
        if isinstance(value, str):
            at = document.position((key,))
            data[key] = (at.file.parent / value).resolve()
            if not (at.file.parent / value).is_file():
                problems.append(
                    Problem("EP0309", f"{key}: there is no file '{value}'", str(at), f"looked in {at.file.parent}")
                )
    if problems:
        raise ConfigError(problems)
    return Document(document.file, data, document.positions)
