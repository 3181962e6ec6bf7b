"""Memory formats: where cells lie, how little a halo costs, that every cell a window reads is inside the buffer."""

from __future__ import annotations

import itertools
import math

import pytest

from packager.ops.halo import zero_halo_descriptor
from packager.program import Buffer, DType, Format, Halo

HALOS = [Halo(*sides) for sides in itertools.product((0, 1, 2), repeat=4)]


def interior(dims: tuple[int, int, int, int], fmt: Format) -> set[int]:
    extents, strides = fmt.extents(dims), fmt.strides(dims)
    return {
        fmt.origin(dims) + sum(i * s for i, s in zip(index, strides, strict=True))
        for index in itertools.product(*(range(n) for n in extents))
    }


def border(dims: tuple[int, int, int, int], fmt: Format) -> set[int]:
    n, blocks, h, w, b = fmt.extents(dims)
    strides, halo = fmt.strides(dims), fmt.halo
    rows, columns = range(-halo.top, h + halo.bottom), range(-halo.left, w + halo.right)
    cells = itertools.product(range(n), range(blocks), rows, columns, range(b))
    outside = (cell for cell in cells if not (0 <= cell[2] < h and 0 <= cell[3] < w))
    return {fmt.origin(dims) + sum(i * s for i, s in zip(cell, strides, strict=True)) for cell in outside}


@pytest.mark.parametrize("halo", HALOS)
def test_halo_cells_are_in_the_buffer_and_never_interior(halo: Halo) -> None:
    dims, fmt = (2, 8, 3, 2), Format(4, halo)
    inside, outside = interior(dims, fmt), border(dims, fmt)
    assert len(inside) == math.prod(dims)
    assert not inside & outside
    assert inside | outside <= set(range(fmt.elements(dims)))


@pytest.mark.parametrize("halo", HALOS)
def test_zeroing_touches_everything_but_the_interior(halo: Halo) -> None:
    dims, fmt = (2, 8, 3, 2), Format(4, halo)
    fields = dict(zero_halo_descriptor(Buffer("x", DType.FLOAT32, dims, fmt)).fields)
    gaps = [int(fields[name]) for name in ("planes", "rows", "row", "head", "row_gap", "plane_gap", "tail")]  # type: ignore[arg-type]
    planes, rows, row, head, row_gap, plane_gap, tail = gaps
    zeroed, at = set(range(head)), head
    for plane, r in itertools.product(range(planes), range(rows)):
        at += row
        gap = row_gap if r < rows - 1 else plane_gap if plane < planes - 1 else tail
        zeroed |= set(range(at, at + gap))
        at += gap
    assert zeroed == set(range(fmt.elements(dims))) - interior(dims, fmt)


def test_a_border_of_one_costs_one_row_and_one_column() -> None:
    dims = (1, 16, 32, 32)
    stored = Format(16, Halo(1, 1, 1, 1)).elements(dims)
    assert stored <= 16 * (33 * 33 + 34 + 1)


def test_row_major_formats_store_the_values_alone() -> None:
    assert Format().elements((2, 3, 4)) == 24
    assert Format().strides((2, 3, 4)) == (12, 4, 1)
    assert Format(4).elements((1, 5, 2, 2)) == 2 * 2 * 2 * 4
