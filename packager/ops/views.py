"""Strided views: data movement operators say which view goes where, this module picks the kernel that copies it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import onnx_ir as ir

from packager.lower.context import LoweringContext
from packager.program import PLAIN, Buffer, Descriptor, Format, Kernel, KernelCall, Operand

COPY = Kernel("ep_copy_nd", "ep_copy.h", splits=True)
TRANSPOSE = Kernel("ep_transpose", "ep_transpose.h", splits=True)

COPY_RANK = 8
TRANSPOSE_RANK = 6
_WIDEST_ELEMENT = 8
_SMALLEST_TILE = 4
_FOLDED_COUNT = 1024  # constants may grow to this many elements when they are rearranged at build time


@dataclass(frozen=True)
class View:
    """``extents`` cells at ``offset + sum(index * stride)``, in elements from the first interior element."""

    extents: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int = 0

    @classmethod
    def of(cls, dims: Sequence[int], fmt: Format = PLAIN) -> View:
        """The whole of a tensor; a blocked one has the axes (N, C/b, H, W, b)."""
        dims = tuple(dims)
        return cls(fmt.extents(dims), fmt.strides(dims))

    @property
    def count(self) -> int:
        """Cells."""
        return math.prod(self.extents)

    @property
    def is_contiguous(self) -> bool:
        """Whether the cells follow one another in index order."""
        expected = 1
        for extent, stride in zip(reversed(self.extents), reversed(self.strides), strict=True):
            if extent != 1 and stride != expected:
                return False
            expected *= extent
        return True

    def slice(self, axis: int, start: int, count: int, step: int = 1) -> View:
        """``count`` cells of ``axis`` from ``start`` on, ``step`` apart (which may be negative)."""
        extents, strides = list(self.extents), list(self.strides)
        offset = self.offset + start * strides[axis] if count else self.offset
        extents[axis], strides[axis] = count, strides[axis] * step
        return View(tuple(extents), tuple(strides), offset)

    def permute(self, order: Sequence[int]) -> View:
        """Axis k of the result is axis ``order[k]`` of this view."""
        return replace(
            self,
            extents=tuple(self.extents[axis] for axis in order),
            strides=tuple(self.strides[axis] for axis in order),
        )

    def broadcast(self, dims: Sequence[int]) -> View:
        """Repeat along new leading axes and axes of extent 1, as numpy does."""
        lead = len(dims) - len(self.extents)
        strides = [0] * lead + [
            stride if extent == dim else 0
            for extent, stride, dim in zip(self.extents, self.strides, dims[lead:], strict=True)
        ]
        return View(tuple(dims), tuple(strides), self.offset)

    def split(self, axis: int, parts: Sequence[int]) -> View:
        """Replace ``axis`` by axes of extents ``parts`` (row-major, product = its extent)."""
        stride = self.strides[axis]
        inner = [stride * math.prod(parts[index + 1 :]) for index in range(len(parts))]
        return View(
            (*self.extents[:axis], *parts, *self.extents[axis + 1 :]),
            (*self.strides[:axis], *inner, *self.strides[axis + 1 :]),
            self.offset,
        )


@dataclass(frozen=True)
class Axis:
    """One loop of a copy."""

    extent: int
    x: int
    y: int


def collapse(x: View, y: View) -> list[Axis]:
    """The loops of ``y[...] = x[...]``, outermost first in the order of ``y``; axes that run on as one are merged."""
    assert x.extents == y.extents, f"views of {x.extents} and {y.extents}"
    axes = [Axis(*row) for row in zip(x.extents, x.strides, y.strides, strict=True) if row[0] != 1]
    axes.sort(key=lambda axis: -abs(axis.y))
    merged: list[Axis] = []
    for axis in axes:
        outer = merged[-1] if merged else None
        if outer and outer.x == axis.x * axis.extent and outer.y == axis.y * axis.extent:
            merged[-1] = Axis(outer.extent * axis.extent, axis.x, axis.y)
        else:
            merged.append(axis)
    return merged


def _widen(axes: list[Axis], offsets: tuple[int, int], size: int) -> tuple[list[Axis], tuple[int, int], int]:
    """Move pairs of elements as one element twice as wide while every stride and offset allows it.

    Only for short inner runs, which would otherwise be copied element by element.
    """
    while (
        axes
        and size < _WIDEST_ELEMENT
        and axes[-1].x == axes[-1].y == 1
        and axes[-1].extent in (2, 4, 8)
        and not any(offset % 2 for offset in offsets)
        and not any(axis.x % 2 or axis.y % 2 for axis in axes[:-1])
    ):
        axes = [Axis(axis.extent, axis.x // 2, axis.y // 2) for axis in axes[:-1]] + (
            [Axis(axes[-1].extent // 2, 1, 1)] if axes[-1].extent > 2 else []
        )
        offsets = (offsets[0] // 2, offsets[1] // 2)
        size *= 2
    return axes, offsets, size


def spread(values: Sequence[int], rank: int, filler: int) -> tuple[int, ...]:
    """``rank`` entries: the first value first (the split axis), the others last, ``filler`` between."""
    head, tail = (tuple(values[:1]) or (filler,)), tuple(values[1:])
    return head + (filler,) * (rank - 1 - len(tail)) + tail


def loops(axes: Sequence[Axis], rank: int) -> dict[str, tuple[int, ...]]:
    """Descriptor fields ``extent``, ``xs``, ``ys`` of ``rank`` loops."""
    return {
        "extent": spread([axis.extent for axis in axes], rank, 1),
        "xs": spread([axis.x for axis in axes], rank, 0),
        "ys": spread([axis.y for axis in axes], rank, 0),
    }


def copy(
    ctx: LoweringContext, node: ir.Node, target: tuple[Buffer, View], origin: tuple[Operand, View]
) -> list[KernelCall]:
    """Calls that copy a view of an operand to a view of a buffer, of equal extents: none when they are empty.

    Raises ModelError when more than eight axes remain after merging.
    """
    (y, to), (x, source) = target, origin
    if to.count == 0:
        return []
    size = y.dtype.size
    axes, (xo, yo) = collapse(source, to), (source.offset, to.offset)
    if ctx.isa.lanes > 1:
        axes, (xo, yo), size = _widen(axes, (xo, yo), size)
    row = _transposed_axis(axes)
    if row is not None:
        outer = [axis for index, axis in enumerate(axes[:-1]) if index != row]
        descriptor = Descriptor.of(
            "ep_transpose_desc",
            size=size,
            **loops(outer, TRANSPOSE_RANK),
            rows=axes[row].extent,
            cols=axes[-1].extent,
            x_col=axes[-1].x,
            y_row=axes[row].y,
            xo=xo,
            yo=yo,
        )
        extent = outer[0].extent if outer and outer[0].extent > 1 else axes[row].extent
        return [ctx.call(TRANSPOSE, node, (y,), (x,), descriptor, extent=extent)]
    if len(axes) > COPY_RANK:
        raise ctx.unsupported(node, f"data movement over {len(axes)} axes (at most {COPY_RANK})")
    descriptor = Descriptor.of("ep_copy_desc", size=size, **loops(axes, COPY_RANK), xo=xo, yo=yo)
    return [ctx.call(COPY, node, (y,), (x,), descriptor, extent=axes[0].extent if axes else 1)]


def _transposed_axis(axes: Sequence[Axis]) -> int | None:
    """The axis that is contiguous in x while the innermost one is contiguous in y; None when a plain copy will do."""
    if len(axes) < 2 or len(axes) - 2 > TRANSPOSE_RANK or axes[-1].y != 1 or axes[-1].x in (0, 1):
        return None
    for index, axis in enumerate(axes[:-1]):
        if axis.x == 1 and axis.extent >= _SMALLEST_TILE and axes[-1].extent >= _SMALLEST_TILE:
            return index
    return None


def view_or_copy(
    ctx: LoweringContext, node: ir.Node, output: ir.Value, source: ir.Value, view: View
) -> list[KernelCall]:
    """Make ``output`` the cells ``view`` of ``source`` in index order (its own shape may group them differently).

    Free when they lie together, constants are rearranged now, everything else is copied; so is a graph input that
    would become a graph output, since callers own both.
    """
    dims = ctx.shape(output)
    array = ctx.array(source)
    if array is not None and view.count <= max(array.size, _FOLDED_COUNT):
        ctx.define(output, _cells(array, view).reshape(dims))
        return []
    operand = ctx.operand(source)
    assert operand is not None
    offset = view.offset if view.count else 0
    aligned = ctx.can_view(offset * operand.dtype.size)
    ports = output.is_graph_output() and ctx.is_graph_port(operand)
    if isinstance(operand, Buffer) and view.is_contiguous and aligned and not ports:
        ctx.alias(output, source, offset)
        return []
    return copy(ctx, node, (ctx.buffer(output), View.of(view.extents)), (operand, view))


def _cells(array: npt.NDArray[np.generic], view: View) -> npt.NDArray[np.generic]:
    """The cells of ``view`` of a row-major array."""
    if view.count == 0:
        return np.zeros(view.extents, array.dtype)
    flat = np.ascontiguousarray(array).reshape(-1)
    strides = tuple(stride * array.itemsize for stride in view.strides)
    return np.ascontiguousarray(np.lib.stride_tricks.as_strided(flat[view.offset :], view.extents, strides))
