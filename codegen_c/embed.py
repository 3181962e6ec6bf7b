"""How the weight bytes reach the object file."""

from __future__ import annotations

import enum


class EmbedStyle(enum.Enum):
    """EMBED: ``#embed`` (clang 19 and later); INCBIN: an assembler file (gcc); ARRAY: plain C text."""

    EMBED = "embed"
    INCBIN = "incbin"
    ARRAY = "array"
