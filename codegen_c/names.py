"""ONNX names become C identifiers here and nowhere else: total, injective, stable."""

from __future__ import annotations

from collections.abc import Iterable

from packager.errors import ConfigError, Problem

_C_WORDS = (
    "auto break case char const continue default do double else enum extern float for goto if inline int long "
    "register restrict return short signed sizeof static struct switch typedef union unsigned "
    "void volatile while bool true false"
)
_CPP_WORDS = (
    "alignas alignof and asm bitand bitor catch char8_t char16_t char32_t class compl concept const_cast decltype "
    "delete dynamic_cast explicit export friend mutable namespace new noexcept not nullptr operator or private "
    "protected public reinterpret_cast requires static_assert static_cast template this thread_local throw try "
    "typeid typename using virtual wchar_t xor"
)
_OPENCL_WORDS = "kernel global local constant half complex imaginary image2d_t sampler_t uchar ushort uint ulong"
_LIBRARY_WORDS = "main errno stdin stdout stderr std ep sem memcpy memset memmove exit abort signal time linux unix arm"
RESERVED = frozenset(" ".join((_C_WORDS, _CPP_WORDS, _OPENCL_WORDS, _LIBRARY_WORDS)).split())
"""Words that no identifier of ours may be, whatever the language of the file."""


def sanitize(text: str) -> str:
    """``text`` with every character C does not allow replaced; never empty.

    Letters, digits and ``_`` stay; other ASCII becomes ``_``; the rest becomes its code point (``é`` is ``u00e9``).
    """
    parts = [c if c.isascii() and (c.isalnum() or c == "_") else "_" if c.isascii() else f"u{ord(c):04x}" for c in text]
    return "".join(parts).strip("_") or "unnamed"


def model_prefix(name: str) -> str:
    """The prefix of every public name of a model: lower case, no reserved word, no leading digit.

    None begins with ``ep_``, nor do its macros: those are the runtime's (``ep_model`` is a type of its own).
    """
    prefix = sanitize(name).lower()
    if prefix[0].isdigit() or prefix == "ep" or prefix.startswith("ep_"):
        return f"model_{prefix}"
    return f"{prefix}_model" if prefix in RESERVED else prefix


def check_prefix(name: str) -> None:
    """ConfigError when ``name`` cannot be the prefix as it stands: the C code around a model is written against it."""
    if model_prefix(name) != name:
        what = f"{name!r} is no prefix of C names: lower case, digits and _, no leading digit, no word of C or its own"
        raise ConfigError(Problem("EP0304", what, hint=f"the nearest name that is one: '{model_prefix(name)}'"))


def identifiers(names: Iterable[str]) -> dict[str, str]:
    """Identifiers for ``names``, distinct also when upper-cased (they become macros); stable.

    They are used behind the model's prefix, so they may begin with a digit or be a keyword.
    """
    taken: set[str] = set()
    result: dict[str, str] = {}
    for name in names:
        if name in result:
            continue
        stem = sanitize(name)
        candidate, count = stem, 1
        while candidate.upper() in taken:
            count += 1
            candidate = f"{stem}_{count}"
        taken.add(candidate.upper())
        result[name] = candidate
    return result


_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t", "?": "\\?"}


def c_string(text: str) -> str:
    """A C string literal with the UTF-8 bytes of ``text``; trigraphs and control characters are escaped."""
    out: list[str] = []
    for char in text:
        if char in _ESCAPES:
            out.append(_ESCAPES[char])
        elif char.isascii() and char.isprintable():
            out.append(char)
        else:
            out.extend(f"\\{byte:03o}" for byte in char.encode("utf-8", "surrogateescape"))
    return '"' + "".join(out) + '"'


def comment(text: str) -> str:
    """``text`` made safe inside a ``/* */`` comment on one line: no terminator, no trigraph, no line splice."""
    shown = "".join(c if c.isprintable() else " " for c in text)
    return shown.replace("*/", "* /").replace("/*", "/ *").replace("??", "? ?").replace("\\", "/")
