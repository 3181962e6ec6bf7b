"""A model as one ``.c`` and one ``.h``: everything the two include from the runtime is put where it was included."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from packager import resources

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+"(?P<name>[^"]+)"')
_OPEN = re.compile(r"^[ \t]*#[ \t]*if")
_CLOSE = re.compile(r"^[ \t]*#[ \t]*endif")
_GUARD = re.compile(r"^[ \t]*#[ \t]*ifndef[ \t]+(\w+_H)[ \t]*\n[ \t]*#[ \t]*define[ \t]+\1\b", re.MULTILINE)
_UNUSED = ["#if defined(__clang__) /* headers have more than one model uses */"]
_UNUSED += ['#pragma clang diagnostic ignored "-Wunused-function"', "#endif", ""]
_LICENCE = "/* SPDX-License-Identifier: Apache-2.0 */"


def single_file(prefix: str, header: str, sources: Sequence[str]) -> dict[str, bytes]:
    """``single/<prefix>.h`` and ``.c`` of the public ``header`` and the ``sources`` that include it.

    Headers with a guard are put in once, the others (bodies for one vector width) wherever they are included.
    """
    known = _Inliner(own=f"{prefix}.h")
    top = [_LICENCE, *known.expand(header)]
    body = [_LICENCE, f'#include "{prefix}.h"', "", *_UNUSED]
    for source in sources:
        body += known.expand(source)
    texts = {f"single/{prefix}.h": top, f"single/{prefix}.c": body}
    return {path: ("\n".join(_squeezed(lines)) + "\n").encode() for path, lines in texts.items()}


def _runtime(name: str) -> str:
    return (resources.directory("runtime_c") / "include" / "ep" / name.removeprefix("ep/")).read_text("utf-8")


class _Inliner:
    """Expands includes; remembers which guarded headers are there for good."""

    def __init__(self, own: str, read: Callable[[str], str] = _runtime) -> None:
        self._own = own
        self._read = read
        self._done: set[str] = set()

    def expand(self, text: str, outside: int = 0) -> Iterator[str]:
        """The lines of ``text``; ``outside`` counts the conditionals around them, its own guard left out."""
        depth = outside - bool(_GUARD.search(text))
        for line in text.splitlines():
            found = _INCLUDE.match(line)
            if found is not None:
                yield from self._included(found["name"].removeprefix("ep/"), depth)
            elif line.strip() != _LICENCE:
                yield line
            depth += bool(_OPEN.match(line)) - bool(_CLOSE.match(line))

    def _included(self, name: str, depth: int) -> Iterator[str]:
        if name == self._own or name in self._done:
            return
        text = self._read(name)
        if depth == 0 and _GUARD.search(text):
            self._done.add(name)  # inside a conditional it may be left out, so it is put in again
        yield f"/* ---- {name} ---- */"
        yield from self.expand(text, depth)


def _squeezed(lines: Sequence[str]) -> Iterator[str]:
    """Never two empty lines in a row."""
    before = ""
    for line in lines:
        if line.strip() or before.strip():
            yield line
        before = line
