"""What a built model occupies, from its manifest."""

from __future__ import annotations

from packager.bundle.manifest import Manifest


def flash_bytes(manifest: Manifest) -> int:
    """Read-only memory: code, constants, weights and the initial values of variables."""
    return sum(manifest.sections.get(name, 0) for name in ("text", "rodata", "weights", "data"))


def ram_bytes(manifest: Manifest) -> int:
    """The arena and static variables; the stack comes on top."""
    return manifest.arena_bytes + sum(manifest.sections.get(name, 0) for name in ("data", "bss"))
