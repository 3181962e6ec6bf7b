"""What a built model occupies, from its manifest."""

from __future__ import annotations

import struct

from packager.bundle.manifest import Manifest

CONTEXT_POINTERS = 3
"""Members of the runtime's ``ep_context``, each a pointer."""


def flash_bytes(manifest: Manifest) -> int:
    """Read-only memory: code, constants, weights and the initial values of variables."""
    return sum(manifest.sections.get(name, 0) for name in ("text", "rodata", "weights", "data"))


def ram_bytes(manifest: Manifest) -> int:
    """The arena, the context and static variables of one instance; the stack comes on top."""
    static = sum(manifest.sections.get(name, 0) for name in ("data", "bss"))
    return manifest.arena_bytes + context_bytes(manifest) + static


def context_bytes(manifest: Manifest) -> int:
    """What the caller keeps beside the arena."""
    architecture = str(manifest.profile.get("triple", "native")).split("-")[0]
    pointer = struct.calcsize("P") if architecture == "native" else 8 if "64" in architecture else 4
    return CONTEXT_POINTERS * pointer
