"""How a tensor of planes (N, C, H, W) is stepped through, whatever its memory format."""

from __future__ import annotations

from dataclasses import dataclass

from packager.program import Constant, Operand, nchw


@dataclass(frozen=True)
class Planes:
    """Element steps: channel c of pixel (i, j) of image n lies at
    ``n * image + (c // block) * plane + (c % block) * lane + i * row + j * pixel``.
    """

    block: int
    lane: int
    pixel: int
    row: int
    plane: int
    image: int

    @classmethod
    def of(cls, operand: Operand) -> Planes:
        """The steps of an operand of rank 3 or 4; one block of all channels when it is row-major."""
        dims = operand.dims if isinstance(operand, Constant) else operand.shape
        _, c, h, w = nchw(dims)
        if isinstance(operand, Constant) or operand.format.is_plain:
            return cls(c, h * w, 1, w, c * h * w, c * h * w)
        image, plane, row, pixel, _ = operand.format.strides(dims)
        return cls(operand.format.block, 1, pixel, row, plane, image)

    def contiguous(self, width: int) -> bool:
        """Whether rows of ``width`` pixels follow each other without a gap."""
        return self.row == width * self.pixel
