"""Where the elements of broadcast operands lie: one stride per axis of the output, neighbouring axes merged."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import onnx_ir as ir

from packager.lower.context import LoweringContext
from packager.ops.reorder import reorder_call
from packager.program import Buffer, Constant, Descriptor, Format, KernelCall, Operand, nchw

MAX_RANK = 8
"""``EP_MAP_RANK``: axes that are left after merging."""

MAX_INPUTS = 16
"""``EP_MAP_INPUTS``."""

GRAIN = 2048
"""``EP_MAP_GRAIN``: elements in one unit of the range when all axes have merged into one."""


@dataclass(frozen=True)
class Strided:
    """An operand and its element stride along each axis of the output as it lies in memory; 0 where it is broadcast."""

    operand: Operand
    strides: tuple[int, ...]


@dataclass(frozen=True)
class Space:
    """What a map runs over: extents of the output in memory, the output and the inputs."""

    extents: tuple[int, ...]
    output: tuple[int, ...]
    inputs: tuple[tuple[int, ...], ...]

    @property
    def is_vectorisable(self) -> bool:
        """Whether neighbours on the innermost axis are neighbours in memory, or one element."""
        return self.output[-1] == 1 and all(strides[-1] in (0, 1) for strides in self.inputs)

    @property
    def range(self) -> int:
        """The length of the range the kernel splits."""
        return -(-self.extents[0] // GRAIN) if len(self.extents) == 1 else self.extents[0]

    def descriptor(self, output_size: int = 1, input_sizes: Sequence[int] | None = None) -> Descriptor:
        """The ``ep_map_desc``; strides are multiplied by the given element sizes."""
        sizes = input_sizes or [1] * len(self.inputs)
        return Descriptor.of(
            "ep_map_desc",
            rank=len(self.extents),
            inputs=len(self.inputs),
            extent=self.extents,
            y=tuple(stride * output_size for stride in self.output),
            x=tuple(
                tuple(stride * size for stride in strides) for strides, size in zip(self.inputs, sizes, strict=True)
            )
            or ((0,),),
        )


def merge(extents: Sequence[int], output: Sequence[int], inputs: Sequence[Sequence[int]]) -> Space:
    """Drop axes of one element; join neighbours that every operand walks as one."""
    axes: list[tuple[int, list[int]]] = []
    for axis, extent in enumerate(extents):
        if extent == 1:
            continue
        strides = [operand[axis] for operand in (output, *inputs)]
        if axes and all(outer == extent * inner for outer, inner in zip(axes[-1][1], strides, strict=True)):
            axes[-1] = (axes[-1][0] * extent, strides)
        else:
            axes.append((extent, strides))
    if not axes:
        axes = [(1, [1] + [0] * len(inputs))]
    columns = list(zip(*(strides for _, strides in axes), strict=True))
    return Space(tuple(extent for extent, _ in axes), columns[0], tuple(columns[1:]))


NARROW = 64
"""Rows shorter than this waste most of a vector loop."""


def widen(space: Space, operands: Sequence[Operand], ctx: LoweringContext) -> tuple[Space, list[Operand]]:
    """Join several short rows into one where the rows differ in nothing but constants, which are repeated.

    ``x[50176, 3] + c[3]`` becomes ``x[784, 192] + c_repeated[192]``: whole vectors instead of three lanes.
    """
    unchanged = (space, list(operands))
    if len(space.extents) != 2 or space.extents[1] >= NARROW or space.output != (space.extents[1], 1):
        return unchanged
    rows, width = space.extents
    whole = [strides == (width, 1) for strides in space.inputs]
    repeated = [
        isinstance(operand, Constant) and operand.dims and math.prod(operand.dims) == width and strides == (0, 1)
        for operand, strides in zip(operands, space.inputs, strict=True)
    ]
    times = _joined_rows(rows, width, ctx.isa.lanes)
    if times == 1 or not all(a or b for a, b in zip(whole, repeated, strict=True)):
        return unchanged
    length = times * width
    wide: list[Operand] = []
    for operand, again in zip(operands, repeated, strict=True):
        if again:
            assert isinstance(operand, Constant)
            cells = np.frombuffer(operand.data, operand.dtype.numpy)
            wide.append(ctx.constant(np.tile(cells, times), f"{operand.name}_repeated"))
        else:
            wide.append(operand)
    strides = [(0, 1) if again else (length, 1) for again in repeated]
    return merge((rows // times, length), (length, 1), strides), wide


def _joined_rows(rows: int, width: int, lanes: int) -> int:
    """How many rows make a long one: a divisor of ``rows``, best one that fills vectors; 1 when there is none."""
    divisors = [
        times for times in range(1, rows + 1) if rows % times == 0 and NARROW <= times * width <= NARROW * NARROW
    ]
    return next((times for times in divisors if times * width % lanes == 0), divisors[0] if divisors else 1)


def plain_strides(dims: Sequence[int], rank: int) -> tuple[int, ...]:
    """Row-major strides of ``dims`` aligned to the right of ``rank`` axes; 0 for axes of one element."""
    strides = [0 if extent == 1 else math.prod(dims[axis + 1 :]) for axis, extent in enumerate(dims)]
    return (0,) * (rank - len(dims)) + tuple(strides)


class Broadcaster:
    """Lays operands against one output; remembers copies that had to be made first."""

    def __init__(self, node: ir.Node, output: Buffer, ctx: LoweringContext) -> None:
        self.node = node
        self.output = output
        self.ctx = ctx
        self.copies: list[KernelCall] = []

    def constant(self, array: npt.NDArray[np.generic], name: str) -> Strided:
        """A constant operand, packed to the output's blocks where it has some."""
        fmt = self.output.format
        if fmt.is_plain:
            return Strided(self.ctx.constant(array, name), plain_strides(array.shape, len(self.output.shape)))
        n, c, h, w = dims = nchw(self._padded(array.shape))
        cells = array.reshape(dims)
        if c == 1:
            return Strided(self.ctx.constant(cells, name), _one_channel(dims))
        blocks = -(-c // fmt.block)
        filled = np.zeros((n, blocks * fmt.block, h, w), array.dtype)
        filled[:, :c] = cells
        packed = filled.reshape(n, blocks, fmt.block, h, w).transpose(0, 1, 3, 4, 2)
        layout = f"N C/{fmt.block} H W {fmt.block}"
        operand = self.ctx.constant(np.ascontiguousarray(packed), name, layout)
        return Strided(operand, self._blocked_strides(dims, Format(fmt.block)))

    def value(self, value: ir.Value) -> Strided:
        """An operand that is computed at run time (or a constant in the row-major form others read too)."""
        array = self.ctx.array(value)
        if array is not None:
            return self.constant(array, value.name or "constant")
        operand = self.ctx.operand(value)
        assert operand is not None
        if isinstance(operand, Constant):  # a view of a constant
            data = np.frombuffer(operand.data, operand.dtype.numpy).reshape(operand.dims)
            return self.constant(data, operand.name)
        ours, theirs = self.output.format, operand.format
        dims = operand.shape
        if ours.is_plain and theirs.is_plain:
            return Strided(operand, plain_strides(dims, len(self.output.shape)))
        if theirs.block == ours.block and len(dims) == len(self.output.shape):
            return Strided(operand, self._blocked_strides(nchw(dims), theirs))
        if not theirs.is_plain:
            raise self.ctx.unsupported(
                self.node, f"input '{value.name}' of shape {dims} has another block than the output"
            )
        return self._row_major_against_blocks(operand, nchw(self._padded(dims)))

    def _row_major_against_blocks(self, operand: Buffer, dims: tuple[int, int, int, int]) -> Strided:
        _, c, h, w = dims
        block = self.output.format.block
        if c == 1:
            return Strided(operand, _one_channel(dims))
        if h == w == 1 and c % block == 0:
            return Strided(operand, (c if dims[0] > 1 else 0, block if c > block else 0, 0, 0, 1))
        copy = self.ctx.temporary(dims, operand.dtype, Format(block))
        self.copies.append(reorder_call(self.node, self.ctx, copy, dataclasses.replace(operand, dims=dims)))
        return Strided(copy, self._blocked_strides(dims, copy.format))

    def _blocked_strides(self, dims: tuple[int, int, int, int], fmt: Format) -> tuple[int, ...]:
        """Strides of a blocked operand; one channel against several is its lane 0."""
        n, c, h, w = dims
        one_lane = c == 1 and nchw(self.output.shape)[1] != 1
        extents = (n, -(-c // fmt.block), h, w, 1 if one_lane else fmt.block)
        return tuple(stride if extent > 1 else 0 for stride, extent in zip(fmt.strides(dims), extents, strict=True))

    def _padded(self, dims: Sequence[int]) -> tuple[int, ...]:
        return (1,) * (len(self.output.shape) - len(dims)) + tuple(dims)


def _one_channel(dims: tuple[int, int, int, int]) -> tuple[int, ...]:
    """Row-major cells of one channel along (N, C/b, H, W, b)."""
    n_step, _, h_step, w_step = plain_strides(dims, 4)
    return (n_step, 0, h_step, w_step, 0)
