"""What the plan costs, for people, plots and budgets."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from packager.errors import BudgetError, Problem


@dataclass(frozen=True)
class Placement:
    """A root buffer as a rectangle: in use from step ``first`` to ``last`` at bytes ``offset`` to ``offset + bytes``.

    ``logical_bytes`` are the tensor's values alone, without lane padding and halo.
    """

    name: str
    first: int
    last: int
    offset: int
    bytes: int
    logical_bytes: int


@dataclass(frozen=True)
class MemoryReport:
    """The arena of one program.

    ``lower_bound`` is the largest set of tensors live at once, in logical bytes (views and in-place pairs once): no
    plan of this order takes less.  ``peak_step`` is where that happens, ``peak_source`` the node that runs there and
    ``peak_tensors`` what is live, largest first.  Step 0 is the start, call ``k`` runs at step ``k + 1``.
    """

    arena_bytes: int
    lower_bound: int
    stored_bound: int
    steps: int
    peak_step: int
    peak_source: str
    peak_tensors: tuple[str, ...]
    placements: tuple[Placement, ...]
    reordered: bool
    in_place: int

    @property
    def ratio(self) -> float:
        """Arena over lower bound; 1.0 when nothing is needed."""
        return self.arena_bytes / self.lower_bound if self.lower_bound else 1.0

    def to_json(self) -> dict[str, object]:
        """The report as plain data for ``report/memory.json``."""
        return {"schema": 1, **asdict(self)}


def check_budget(report: MemoryReport, ram_bytes: int | None, target: str) -> None:
    """BudgetError when the arena is larger than ``ram_bytes`` (None: no limit)."""
    if ram_bytes is None or report.arena_bytes <= ram_bytes:
        return
    sizes = {placement.name: placement.bytes for placement in report.placements}
    shown = report.peak_tensors[:5]
    tensors = ", ".join(f"'{name}' ({sizes[name]:,} bytes)" for name in shown)
    more = f" and {len(report.peak_tensors) - len(shown)} more" if len(report.peak_tensors) > len(shown) else ""
    over = report.arena_bytes - ram_bytes
    hint = "use a smaller input, or a target with more RAM"
    if report.lower_bound <= ram_bytes:
        hint = "the tensors alone would fit: try `--optimize ram`, which does without halos"
    raise BudgetError(
        Problem(
            "EP0401",
            f"the arena needs {report.arena_bytes:,} bytes, {over:,} more than the {ram_bytes:,} bytes "
            f"of RAM that target {target} allows",
            f"{report.peak_source or 'graph inputs and outputs'}, where {tensors}{more} are live",
            hint,
        )
    )
