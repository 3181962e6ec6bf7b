"""The progress callback every long stage takes; ``cli`` renders it, libraries pass :data:`silent`."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Called with what is going on now and how much of it is done."""

    def __call__(self, message: str, fraction: float | None = None) -> None:
        """Report ``message``; ``fraction`` is 0..1 or None when the extent is unknown."""


def silent(message: str, fraction: float | None = None) -> None:
    """Report nothing."""
