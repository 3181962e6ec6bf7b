"""Zeroing the border of a blocked buffer: padding costs a few cells a row instead of a copy of the tensor."""

from __future__ import annotations

from packager.program import Buffer, Descriptor, Kernel

ZERO_HALO = Kernel("ep_zero_halo", "ep_halo.h")
"""``ep_zero_halo(y, descriptor)``: y points at the first interior element."""


def zero_halo_descriptor(buffer: Buffer) -> Descriptor:
    """The runs of interior cells in ``buffer`` and the gaps before, between and after them, in elements."""
    n, blocks, h, w, block = buffer.format.extents(buffer.shape)
    _, plane, row, _, _ = buffer.format.strides(buffer.shape)
    head = buffer.format.origin(buffer.shape)
    interior = (n * blocks - 1) * plane + (h - 1) * row + w * block
    return Descriptor.of(
        "ep_halo_desc",
        planes=n * blocks,
        rows=h,
        row=w * block,
        head=head,
        row_gap=row - w * block,
        plane_gap=plane - (h - 1) * row - w * block,
        tail=buffer.format.elements(buffer.shape) - head - interior,
    )
