"""Zeroing the border of a blocked buffer: padding costs a few cells a row instead of a copy of the tensor."""

from __future__ import annotations

from packager.program import Buffer, Descriptor, Kernel

ZERO_HALO = Kernel("ep_zero_halo", "ep_halo.h")
"""``ep_zero_halo(y, descriptor)``: y points at the first interior element."""


def zero_halo_descriptor(buffer: Buffer) -> Descriptor:
    """The planes of ``buffer`` and the border around each."""
    n, blocks, h, w, block = buffer.format.extents(buffer.shape)
    halo = buffer.format.halo
    return Descriptor.of(
        "ep_halo_desc",
        planes=n * blocks,
        height=h,
        width=w,
        block=block,
        top=halo.top,
        left=halo.left,
        bottom=halo.bottom,
        right=halo.right,
    )
