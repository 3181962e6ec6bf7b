"""How a bundle, a model and their figures are printed; shared by several commands."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from packager.cli.console import print_table, show_warning, stdout

if TYPE_CHECKING:
    from packager.bundle.manifest import Manifest, PortInfo
    from packager.config.target import Target

MOST_FUSIONS = 12


def print_facts(rows: Iterable[tuple[str, str]]) -> None:
    """Aligned ``name  value`` lines; rows without a value are left out."""
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2), pad_edge=True)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for name, value in rows:
        if value:
            table.add_row(Text(name), Text(value))
    stdout().print(table)


def print_line(text: str) -> None:
    """One line of text as it is, however long."""
    from rich.text import Text

    stdout().print(Text(text), soft_wrap=True)


def bundle_facts(manifest: Manifest, target: Target | None = None) -> list[tuple[str, str]]:
    """What a person wants to know of a built model."""
    from packager.config.sizes import format_size
    from packager.report.footprint import flash_bytes, ram_bytes
    from packager.report.units import format_count

    budget = target.budget if target else None
    bound = manifest.arena_lower_bound
    ratio = manifest.arena_bytes / bound if bound else 1.0
    return [
        ("MACs", format_count(manifest.macs)),
        ("parameters", format_count(manifest.parameters)),
        ("flash", _against(flash_bytes(manifest), budget.flash if budget else None)),
        ("RAM", _against(ram_bytes(manifest), budget.ram if budget else None)),
        ("stack", f"{format_size(manifest.stack_max)} at most" if manifest.stack_max else ""),
        ("arena", f"{format_size(manifest.arena_bytes)}, {ratio:.2f}x its lower bound {format_size(bound)}"),
        ("inputs", "\n".join(map(_port, manifest.inputs))),
        ("outputs", "\n".join(map(_port, manifest.outputs))),
        ("states", "\n".join(f"{output} is {target} of the next call" for output, target in manifest.states.items())),
    ]


def fused_fact(fused: Sequence[str]) -> tuple[str, str]:
    """What the optimizer joined, the rest counted."""
    shown = list(fused[:MOST_FUSIONS])
    if len(fused) > len(shown):
        shown.append(f"and {len(fused) - len(shown)} kinds more")
    return "fused", "\n".join(shown)


def show_warnings(warnings: Iterable[str]) -> None:
    """Every warning once."""
    for warning in dict.fromkeys(warnings):
        show_warning(warning)


def shell_quoted(path: Path) -> str:
    """``path`` as it is typed in a shell."""
    import shlex

    return shlex.quote(str(path))


def print_ports(ports: Iterable[PortInfo]) -> None:
    """Inputs or outputs as a table."""
    print_table(("name", "dtype", "shape"), [(port.name, port.dtype, str(list(port.dims))) for port in ports])


def _port(port: PortInfo) -> str:
    return f"{port.name}: {port.dtype} {list(port.dims)}"


def _against(size: int, limit: int | None) -> str:
    from packager.config.sizes import format_size

    return format_size(size) + (f" of {format_size(limit)}" if limit else "")
