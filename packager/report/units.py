"""Numbers as people read them."""

from __future__ import annotations


def format_count(count: float) -> str:
    """``300.8 M``: a count with three or four digits and a decimal prefix."""
    size = float(count)
    for prefix in ("", " k", " M"):
        if size < 1000:
            return f"{size:.0f}" if not prefix else f"{size:.4g}{prefix}"
        size /= 1000
    return f"{size:.4g} G"


def format_time(amount: int, unit: str) -> str:
    """``amount`` of the bench program's unit: ``1.234 ms`` for ns, else a count of instructions."""
    if unit != "ns":
        return f"{format_count(amount)} {unit}"
    if amount < 1_000:
        return f"{amount} ns"
    if amount < 1_000_000:
        return f"{amount / 1_000:.4g} us"
    return f"{amount / 1_000_000:.4g} ms" if amount < 10_000_000_000 else f"{amount / 1_000_000_000:.4g} s"
