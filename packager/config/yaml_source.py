"""YAML with source positions, so that an error about a value can say ``file:line``.

Only plain data is read: no tags, no aliases (they can expand without bound), no duplicate keys, string keys, files of
at most 1 MiB.  Sequences become tuples.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from packager.errors import ConfigError, Problem

MAX_BYTES = 1 << 20
MAX_DEPTH = 32

_SCALAR_TAGS = {f"tag:yaml.org,2002:{name}" for name in ("str", "int", "float", "bool", "null")}

KeyPath = tuple[str | int, ...]


@dataclass(frozen=True)
class Position:
    """A line (from 1) of a file."""

    file: Path
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True)
class Document:
    """A YAML mapping and where each of its keys and items stands."""

    file: Path
    data: Mapping[str, object]
    positions: Mapping[KeyPath, Position] = field(default_factory=dict)

    def position(self, path: KeyPath) -> Position:
        """Where ``path`` stands, or the nearest enclosing key that has a position."""
        for length in range(len(path), 0, -1):
            if path[:length] in self.positions:
                return self.positions[path[:length]]
        return Position(self.file, 1)


class _PlainLoader(yaml.SafeLoader):
    """SafeLoader that refuses aliases while composing."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            mark = self.get_mark()
            raise yaml.MarkedYAMLError(problem="aliases (*name) are not supported", problem_mark=mark)
        node: yaml.Node | None = super().compose_node(parent, index)
        return node


def read_document(file: Path) -> Document:
    """Read ``file``, a mapping at the top; ConfigError (EP0302) says what is wrong and on which line."""
    text = _text(file)
    try:
        loader = _PlainLoader(text)
        root = loader.get_single_node()
        if not isinstance(root, yaml.MappingNode):
            raise _fault(file, 1, "the file must be a mapping of keys to values")
        positions: dict[KeyPath, Position] = {}
        data = _construct(loader, root, (), file, positions)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise _fault(file, mark.line + 1 if mark else 1, f"not valid YAML: {error.problem}") from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise _fault(file, line, f"not valid YAML: character U+{error.character:04X} is not allowed") from None
    except RecursionError:
        raise _fault(file, 1, "not valid YAML: nested too deep") from None
    assert isinstance(data, dict)
    return Document(file, data, positions)


def _text(file: Path) -> str:
    try:
        if file.stat().st_size > MAX_BYTES:
            raise _fault(file, 1, f"the file is larger than {MAX_BYTES} bytes")
        return file.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise _fault(file, 1, "the file is not UTF-8 text") from None
    except OSError as error:
        problem = Problem("EP0302", f"cannot read the file: {error.strerror or error}", str(file))
        raise ConfigError(problem) from None


def _construct(
    loader: _PlainLoader, node: yaml.Node, path: KeyPath, file: Path, positions: dict[KeyPath, Position]
) -> object:
    """Plain Python data of ``node``; notes where every key and item stands."""
    if len(path) > MAX_DEPTH:
        raise _fault(file, node.start_mark.line + 1, f"nested deeper than {MAX_DEPTH} levels")
    if isinstance(node, yaml.MappingNode):
        made: dict[str, object] = {}
        for key, line, value in _pairs(node, file):
            if key in made:
                raise _fault(file, line, f"'{key}' is given twice")
            positions[*path, key] = Position(file, line)
            made[key] = _construct(loader, value, (*path, key), file, positions)
        return made
    if isinstance(node, yaml.SequenceNode):
        items: list[object] = []
        for index, item in enumerate(node.value):
            positions[*path, index] = Position(file, item.start_mark.line + 1)
            items.append(_construct(loader, item, (*path, index), file, positions))
        return tuple(items)
    return _scalar(loader, node, file)


def _scalar(loader: _PlainLoader, node: yaml.Node, file: Path) -> object:
    line = node.start_mark.line + 1
    if node.tag not in _SCALAR_TAGS:
        raise _fault(
            file, line, f"'{node.value}' is neither text, a number, true, false nor null; quote it to make it text"
        )
    try:
        return loader.construct_object(node)
    except (ValueError, KeyError, IndexError, OverflowError):
        raise _fault(file, line, f"'{node.value[:40]}' is not a {node.tag.rpartition(':')[2]}") from None


def _pairs(node: yaml.MappingNode, file: Path) -> Iterator[tuple[str, int, yaml.Node]]:
    for key, value in node.value:
        line = key.start_mark.line + 1
        if not isinstance(key, yaml.ScalarNode) or key.tag != "tag:yaml.org,2002:str":
            raise _fault(file, line, "keys must be plain names")
        yield key.value, line, value


def _fault(file: Path, line: int, what: str) -> ConfigError:
    return ConfigError(Problem("EP0302", what, f"{file}:{line}"))
