"""Register tiles of the convolution kernels: a small model of cycles picks one per layer and instruction set."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from packager.config.isa import Isa

MAX_VECTORS = 8  # EP_CONV_MAX_OC
MAX_PIXELS = 32  # EP_CONV_MAX_PIXELS

_FMA_LATENCY = 4.0
_ISSUE = 2.0  # multiply-adds a cycle, and loads a cycle
_TILE_OVERHEAD = 12.0  # cycles to set one tile up
_STORE = 0.75  # cycles to finish one vector: activation and store
_VARIANT = 40.0  # cycles a further copy of the loop is worth (instruction cache, compile time)
_L1_WEIGHTS = 24 * 1024
_L2_WEIGHTS = 320 * 1024  # room for the tile in use and the next one
_L2_BYTES_A_CYCLE = 24.0
_L2 = 640 * 1024
_L3_BYTES_A_CYCLE = 8.0


@dataclass(frozen=True)
class ConvTile:
    """``height`` x ``width`` pixels times ``vectors`` vectors of output channels in registers."""

    height: int
    width: int
    vectors: int

    @property
    def pixels(self) -> int:
        """Pixels of a whole tile."""
        return self.height * self.width


@dataclass(frozen=True)
class ConvWork:
    """What the model needs to know of a layer: the output plane, ``vectors`` of output channels (of one group),
    ``steps`` multiply-adds for each output, whether tiles may span rows, and how many output columns on the left and
    on the right read padding that is not in memory.
    """

    rows: int
    columns: int
    vectors: int
    steps: int
    multi_row: bool = True
    border: tuple[int, int] = (0, 0)


def vector_width(channels: int, block: int, isa: Isa) -> int:
    """Lanes to compute ``channels`` (stored in blocks of ``block``) with: few vectors, then narrow ones."""
    widths = [width for width in (4, 8, 16) if width <= isa.lanes and width % block == 0]
    return min(widths, key=lambda width: (-(-channels // width), width))


def conv_tile(work: ConvWork, isa: Isa, width: int) -> ConvTile | None:
    """The tile with the fewest estimated cycles; None when no tile keeps the padding within the outer tiles."""
    best = min(
        ((_cycles(work, tile, width), tile) for tile in _candidates(work, isa)),
        key=lambda entry: (entry[0], -entry[1].pixels * entry[1].vectors),
        default=None,
    )
    return best[1] if best is not None else None


def depthwise_tile(rows: int, vectors: int, kernel_width: int, stride: int, isa: Isa) -> tuple[int, int]:
    """(rows, vectors of a row) for the depthwise kernel: two rows share nothing but hide latency, and a short row of
    columns is loaded once for all taps.
    """
    taps = kernel_width if kernel_width < 8 else 1
    room = max(2, isa.registers - taps - 1)
    if stride == 1:
        widest = max(1, min(8, room // 2))
        width = -(-vectors // -(-vectors // widest))
        return (min(rows, max(2, min(room, 8) // width)), width)
    widest = min(14, room)
    width = -(-vectors // -(-vectors // widest))
    return (1, width)


def outer_channels(input_bytes: int, weight_bytes: int, channel_tiles: int, row_tiles: int) -> bool:
    """Whether to run all rows for one channel tile (True) or all channel tiles for one row: what is read again and
    again should be what fits the second-level cache.
    """

    def traffic(repeated: int, times: int, once: int) -> float:
        rate = _L2_BYTES_A_CYCLE if repeated < _L2 else _L3_BYTES_A_CYCLE
        return repeated * (times - 1) / rate + (repeated + once) / _L3_BYTES_A_CYCLE

    return traffic(input_bytes, channel_tiles, weight_bytes) <= traffic(weight_bytes, row_tiles, input_bytes)


def _candidates(work: ConvWork, isa: Isa) -> Iterator[ConvTile]:
    for vectors in range(1, min(MAX_VECTORS, work.vectors) + 1):
        widest = min(MAX_PIXELS, (min(isa.registers - 1, 31) - vectors - 1) // vectors)  # one to spare
        if widest < 1:
            break
        fewest = -(-work.columns // widest)
        for splits in range(fewest, min(fewest + 4, work.columns) + 1):
            width = -(-work.columns // splits)
            if _padding_is_outside(work, width):
                yield ConvTile(1, width, vectors)
        if fewest == 1 and work.multi_row:
            for height in range(2, min(work.rows, widest // work.columns) + 1):
                yield ConvTile(-(-work.rows // -(-work.rows // height)), work.columns, vectors)


def _padding_is_outside(work: ConvWork, width: int) -> bool:
    """Whether only the first and the last tile of a row touch the padding: no other has an output column in
    [0, left) or [columns - right, columns).
    """
    left, right = work.border
    tiles = -(-work.columns // width)
    if tiles <= 1:
        return True
    return width >= left and (tiles - 1) * width <= work.columns - right


def _cycles(work: ConvWork, tile: ConvTile, width: int) -> float:
    shapes = list(
        itertools.product(
            _pieces(work.rows, tile.height), _pieces(work.columns, tile.width), _pieces(work.vectors, tile.vectors)
        )
    )
    total = _VARIANT * len(shapes)
    for (rows, row_count), (columns, column_count), (vectors, vector_count) in shapes:
        sums = rows * columns * vectors
        step = max(sums / _ISSUE, _FMA_LATENCY, (vectors + rows * columns) / _ISSUE)
        weight_bytes = vectors * width * 4
        if work.steps * weight_bytes > _L2_WEIGHTS:
            step = max(step, weight_bytes / _L3_BYTES_A_CYCLE)
        elif work.steps * weight_bytes > _L1_WEIGHTS:
            step = max(step, weight_bytes / _L2_BYTES_A_CYCLE)
        cost = work.steps * (step + 0.25) + sums * _STORE + _TILE_OVERHEAD
        total += row_count * column_count * vector_count * cost
    return total


def _pieces(extent: int, step: int) -> list[tuple[int, int]]:
    """``extent`` cut into steps: (size, how many)."""
    whole, rest = divmod(extent, step)
    return [(size, count) for size, count in ((step, whole), (rest, 1)) if size and count]


def flattened(work: ConvWork, isa: Isa, width: int) -> tuple[int, int]:
    """How to cut the contiguous plane of a 1x1 convolution into rows: as it is, or as one long row."""

    def cost(plane: tuple[int, int]) -> float:
        cut = replace(work, rows=plane[0], columns=plane[1])
        tile = conv_tile(cut, isa, width)
        return _cycles(cut, tile, width) if tile is not None else math.inf

    return min([(work.rows, work.columns), (1, work.rows * work.columns)], key=cost)
