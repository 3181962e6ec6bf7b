"""Copies through one index table per axis: Pad (edge, reflect, wrap), nearest Resize, Gather by constants."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import onnx_ir as ir

from packager.lower.context import LoweringContext
from packager.ops.views import spread
from packager.program import Buffer, Descriptor, Kernel, KernelCall, Operand

TABLE_COPY = Kernel("ep_table_copy", "ep_table.h", splits=True)
TABLE_RANK = 8

HOLE = -1
"""An index that means: not in the source, take the fill value."""

_STRIDE = -1


@dataclass(frozen=True)
class TableAxis:
    """One loop: ``indices`` are source positions along the axis (HOLE allowed), None for 0, 1, 2 ..."""

    extent: int
    x: int
    y: int
    indices: tuple[int, ...] | None = None


def _merge(axes: Sequence[TableAxis]) -> list[TableAxis]:
    merged: list[TableAxis] = []
    for axis in axes:
        if axis.extent == 1 and axis.indices is None:
            continue
        outer = merged[-1] if merged else None
        if (
            outer is not None
            and outer.indices is None
            and axis.indices is None
            and outer.x == axis.x * axis.extent
            and outer.y == axis.y * axis.extent
        ):
            merged[-1] = TableAxis(outer.extent * axis.extent, axis.x, axis.y)
        else:
            merged.append(axis)
    return merged


def _regular(axis: TableAxis) -> tuple[TableAxis, int]:
    """The axis by a stride where its indices are evenly spaced, and the source offset of its first cell."""
    indices = axis.indices
    if not indices or HOLE in indices:
        return axis, 0
    step = indices[1] - indices[0] if len(indices) > 1 else 1
    if indices != tuple(indices[0] + step * position for position in range(len(indices))):
        return axis, 0
    return TableAxis(axis.extent, axis.x * step, axis.y), indices[0] * axis.x


def _offsets(axis: TableAxis) -> list[int]:
    return [index * axis.x if index != HOLE else HOLE for index in axis.indices or ()]


def table_copy(
    ctx: LoweringContext,
    node: ir.Node,
    target: Buffer,
    origin: tuple[Operand, int],
    axes: Sequence[TableAxis],
    *,
    fill: Operand | None = None,
) -> list[KernelCall]:
    """Calls that fill ``target`` from ``origin`` (operand, element offset), outermost axis first; none when empty.

    ``fill`` is a one-element operand for cells with a HOLE.  Raises ModelError when more than eight axes remain.
    """
    if any(axis.extent == 0 for axis in axes):
        return []
    source, offset = origin
    regular = [_regular(axis) for axis in axes]
    offset += sum(shift for _, shift in regular)
    merged = _merge([axis for axis, _ in regular])
    if len(merged) > TABLE_RANK:
        raise ctx.unsupported(node, f"data movement over {len(merged)} axes (at most {TABLE_RANK})")
    entries: list[int] = []
    starts: list[int] = []
    for axis in merged:
        starts.append(_STRIDE if axis.indices is None else len(entries))
        entries += _offsets(axis)
    descriptor = Descriptor.of(
        "ep_table_desc",
        size=target.dtype.size,
        extent=spread([axis.extent for axis in merged], TABLE_RANK, 1),
        at=spread(starts, TABLE_RANK, _STRIDE),
        xs=spread([axis.x for axis in merged], TABLE_RANK, 0),
        ys=spread([axis.y for axis in merged], TABLE_RANK, 0),
        xo=offset,
        yo=0,
        holes=HOLE in entries,
    )
    table = ctx.constant(np.array(entries or [0], np.int32), f"{node.name or node.op_type}_indices")
    extent = merged[0].extent if merged else 1
    return [ctx.call(TABLE_COPY, node, (target,), (source, table, fill), descriptor, extent=extent)]
