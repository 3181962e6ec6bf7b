"""Convolutions whose output lies in channel blocks: packing of weights and calls of the vector kernels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import onnx_ir as ir

from packager.lower.context import LoweringContext
from packager.ops.planes import Planes
from packager.ops.tile import ConvTile, ConvWork, conv_tile, depthwise_tile, flattened, outer_channels, vector_width
from packager.passes.conv_geometry import ConvGeometry
from packager.program import Buffer, Constant, Descriptor, FieldValue, Halo, Kernel, KernelCall, Operand

CONV = {width: Kernel(f"ep_conv_f32__x{width}", "ep_conv.h", splits=True) for width in (4, 8, 16)}
DWCONV = {width: Kernel(f"ep_dwconv_f32__x{width}", "ep_dwconv.h", splits=True) for width in (4, 8, 16)}

PREFETCH_BYTES = 24 * 1024
"""Weights that come from beyond the second-level cache by the time they are needed again."""

Weights = npt.NDArray[np.float32]


@dataclass(frozen=True)
class ConvOperands:
    """What one convolution reads and writes; ``weights[oc, ic / groups, kh, kw]`` are known at build time."""

    x: Operand
    weights: Weights
    bias: Weights
    residual: Buffer | None
    y: Buffer
    activation: tuple[FieldValue, ...]
    y_planes: Planes
    y_start: int = 0


def blocked_call(node: ir.Node, ctx: LoweringContext, conv: ConvOperands, shape: ConvGeometry) -> KernelCall | None:
    """The call that computes ``conv`` on channel blocks; None when these formats or extents have no such form."""
    shape = shape.as_planes()
    if shape.depthwise and not _is_plain(conv.x):
        return _depthwise_call(node, ctx, conv, shape)
    return dense_call(node, ctx, conv, shape)


def output_planes(y: Buffer, lanes: int) -> Planes | None:
    """How the vector kernels write ``y``: its blocks, or those that a row-major vector of channels can be seen as."""
    planes = Planes.of(y)
    if not y.format.is_plain:
        return planes
    channels = y.shape[1]
    block = next((b for b in (16, 8, 4) if b <= lanes and channels % b == 0), 0)
    if planes.lane != 1 or block == 0:
        return None
    return Planes(block, 1, block, block, block, channels)


# -- dense and grouped ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Plan:
    """The decisions for one dense convolution."""

    shape: ConvGeometry
    x: Planes
    y: Planes
    r: Planes
    width: int
    tile: ConvTile
    border: bool

    @property
    def group_ic(self) -> int:
        return self.shape.ic // self.shape.groups

    @property
    def group_oc(self) -> int:
        return self.shape.oc // self.shape.groups

    @property
    def channel_tiles(self) -> int:
        return -(-self.group_oc // (self.tile.vectors * self.width)) * self.shape.groups

    @property
    def row_tiles(self) -> int:
        return -(-self.shape.outputs[0] // self.tile.height)


def dense_call(node: ir.Node, ctx: LoweringContext, conv: ConvOperands, shape: ConvGeometry) -> KernelCall | None:
    """The call for all but depthwise convolutions, of two spatial dimensions; None as in :func:`blocked_call`."""
    plan = _plan(ctx, conv, shape)
    if plan is None:
        return None
    weights = pack_dense(conv.weights, plan.shape.groups, plan.x.block, plan.tile.vectors * plan.width, plan.width)
    if plan.border:
        weights = pack_dense(conv.weights, plan.shape.groups, plan.group_ic, plan.tile.vectors * plan.width, plan.width)
    bias = np.zeros(-(-shape.oc // plan.width) * plan.width, np.float32)
    bias[: shape.oc] = conv.bias
    name = node.inputs[1].name if len(node.inputs) > 1 and node.inputs[1] is not None else None
    layout = f"conv tiles of {plan.tile.vectors}x{plan.width} channels, input blocks of {plan.x.block}"
    inputs = [
        conv.x,
        ctx.constant(weights, name or "weights", layout),
        ctx.constant(bias, f"{name or 'weights'}.bias"),
        conv.residual,
    ]
    return ctx.call(
        CONV[plan.width],
        node,
        [conv.y],
        inputs,
        _dense_descriptor(plan, conv),
        extent=plan.shape.images * plan.channel_tiles * plan.row_tiles,
        in_place=[(0, 3)] if conv.residual is not None and conv.residual.format == conv.y.format else [],
        macs=plan.shape.images * int(np.prod(plan.shape.outputs)) * conv.weights.size,
    )


def _plan(ctx: LoweringContext, conv: ConvOperands, shape: ConvGeometry) -> _Plan | None:
    x, y = Planes.of(conv.x), conv.y_planes
    r = Planes.of(conv.residual) if conv.residual is not None else y
    if conv.residual is not None and conv.residual.format.is_plain:
        r = y  # the same vector of channels
    group_ic, group_oc = shape.ic // shape.groups, shape.oc // shape.groups
    if _is_plain(conv.x):
        x = Planes(group_ic, x.lane, x.pixel, x.row, group_ic * x.lane, x.image)
    width = vector_width(group_oc, y.block, ctx.isa)
    if shape.groups > 1 and (group_ic % x.block or group_oc % width):
        return None
    border = not _padding_in_memory(conv.x, shape)
    steps = group_ic * int(np.prod(shape.kernel))
    rows, columns = shape.outputs
    touched = _touched(shape) if border else (0, 0)
    work = ConvWork(rows, columns, -(-group_oc // width), steps, multi_row=not border, border=touched)
    same_plane = shape.inputs == shape.outputs and not border and not any(shape.pads)
    pointwise = {*shape.kernel, *shape.strides} == {1} and same_plane
    if pointwise and all(side.contiguous(columns) for side in (x, y, r)):
        shape, x, y, r = _flatten(shape, x, y, r, flattened(work, ctx.isa, width))
        work = replace(work, rows=shape.outputs[0], columns=shape.outputs[1])
    tile = conv_tile(work, ctx.isa, width)
    return _Plan(shape, x, y, r, width, tile, border) if tile is not None else None


def _flatten(
    shape: ConvGeometry, x: Planes, y: Planes, r: Planes, plane: tuple[int, int]
) -> tuple[ConvGeometry, Planes, Planes, Planes]:
    """A 1x1 convolution sees a contiguous plane as rows of any length."""

    def steps(side: Planes) -> Planes:
        return Planes(side.block, side.lane, side.pixel, plane[1] * side.pixel, side.plane, side.image)

    flat = ConvGeometry(shape.images, shape.groups, shape.ic, shape.oc, plane, plane, (1, 1), (1, 1), (1, 1), (0, 0))
    return flat, steps(x), steps(y), steps(r)


def _dense_descriptor(plan: _Plan, conv: ConvOperands) -> Descriptor:
    shape, tile = plan.shape, plan.tile
    input_bytes = 4 * shape.ic * shape.inputs[0] * shape.inputs[1]
    weights = conv.weights.size
    oc_outer = outer_channels(input_bytes, 4 * weights, plan.channel_tiles, plan.row_tiles)
    return Descriptor.of(
        "ep_conv_desc",
        images=shape.images,
        groups=shape.groups,
        ic=plan.group_ic,
        oc=shape.oc,
        x_block=plan.x.block,
        y_block=plan.y.block,
        **window_fields(shape),
        x_lane=plan.x.lane,
        **_steps("x", plan.x),
        y_start=conv.y_start,
        **_steps("y", plan.y),
        **_steps("r", plan.r),
        tile_h=tile.height,
        tile_w=tile.width,
        tile_oc=tile.vectors,
        border=int(plan.border),
        oc_outer=int(oc_outer),
        residual=int(conv.residual is not None),
        prefetch=tile.vectors * plan.width * (weights // shape.oc) if 4 * weights > PREFETCH_BYTES else 0,
        act=conv.activation,
    )


def window_fields(shape: ConvGeometry) -> dict[str, FieldValue]:
    """The window arithmetic of a two-dimensional convolution, as descriptor fields."""
    return {
        "ih": shape.inputs[0],
        "iw": shape.inputs[1],
        "oh": shape.outputs[0],
        "ow": shape.outputs[1],
        "kh": shape.kernel[0],
        "kw": shape.kernel[1],
        "sh": shape.strides[0],
        "sw": shape.strides[1],
        "dh": shape.dilations[0],
        "dw": shape.dilations[1],
        "top": shape.pads[0],
        "left": shape.pads[1],
    }


def pack_dense(weights: Weights, groups: int, x_block: int, tile: int, width: int) -> Weights:
    """``w[oc, ic, kh, kw]`` in the kernel's order: for each group and tile of channels, input block, p, q, lane, output
    channel; zero up to a multiple of ``width`` output channels.
    """
    oc, ic, kh, kw = weights.shape
    group_oc = oc // groups
    padded = np.zeros((groups, -(-group_oc // width) * width, ic, kh, kw), np.float32)
    padded[:, :group_oc] = weights.reshape(groups, group_oc, ic, kh, kw)
    return np.concatenate([part.reshape(-1) for part in _dense_parts(padded, x_block, tile)])


def _dense_parts(padded: Weights, x_block: int, tile: int) -> Iterator[Weights]:
    groups, group_oc, ic, kh, kw = padded.shape
    whole = ic - ic % x_block
    for group in range(groups):
        for start in range(0, group_oc, tile):
            part = padded[group, start : start + tile]
            blocks = part[:, :whole].reshape(part.shape[0], whole // x_block, x_block, kh, kw)
            yield blocks.transpose(1, 3, 4, 2, 0)
            if whole != ic:
                yield part[:, whole:].transpose(2, 3, 1, 0)


# -- depthwise ------------------------------------------------------------------------------------------------------


def _depthwise_call(node: ir.Node, ctx: LoweringContext, conv: ConvOperands, shape: ConvGeometry) -> KernelCall | None:
    x, y = Planes.of(conv.x), conv.y_planes
    r = Planes.of(conv.residual) if conv.residual is not None else y
    same_blocks = x.block == y.block == r.block
    edge = not _columns_in_memory(conv.x, shape)
    if not same_blocks or (edge and not shape.short_rows) or conv.y.format.is_plain:
        return None
    rows, columns = shape.outputs
    several = shape.strides[1] == 1 and not edge
    span = next(s for s in (4, 2, 1) if s == 1 or (several and s * y.block <= ctx.isa.lanes and columns % s == 0))
    width = span * y.block
    height, vectors = depthwise_tile(rows, columns // span, shape.kernel[1], shape.strides[1], ctx.isa)
    blocks = -(-shape.oc // y.block)
    name = node.inputs[1].name if node.inputs[1] is not None else None
    inputs = [
        conv.x,
        ctx.constant(pack_depthwise(conv.weights, y.block, span), name or "weights", f"depthwise blocks of {width}"),
        ctx.constant(pack_depthwise(conv.bias.reshape(-1, 1, 1, 1), y.block, span), f"{name or 'weights'}.bias"),
        conv.residual,
    ]
    descriptor = Descriptor.of(
        "ep_dwconv_desc",
        blocks=blocks,
        block=y.block,
        **window_fields(shape),
        **{
            f"{side}_{step}": getattr(planes, step)
            for side, planes in (("x", x), ("y", y), ("r", r))
            for step in _PITCHES
        },
        tile_h=height,
        tile_w=vectors,
        clip=int(not _padding_in_memory(conv.x, shape)),
        edge=int(edge),
        residual=int(conv.residual is not None),
        act=conv.activation,
    )
    return ctx.call(
        DWCONV[width],
        node,
        [conv.y],
        inputs,
        descriptor,
        extent=shape.images * blocks * -(-rows // height),
        in_place=[(0, 3)] if conv.residual is not None and conv.residual.format == conv.y.format else [],
        macs=shape.images * rows * columns * conv.weights.size,
    )


def pack_depthwise(weights: Weights, block: int, span: int) -> Weights:
    """``w[c, 1, kh, kw]`` as ``[channel block][p][q][block]``, each block repeated for ``span`` pixels of a vector."""
    channels, _, kh, kw = weights.shape
    padded = np.zeros((-(-channels // block) * block, kh, kw), np.float32)
    padded[:channels] = weights[:, 0]
    blocks = padded.reshape(-1, block, kh, kw).transpose(0, 2, 3, 1)
    return np.ascontiguousarray(np.tile(blocks, (1, 1, 1, span)))


# -- shared ---------------------------------------------------------------------------------------------------------

_PITCHES = ("row", "plane", "image")


def _steps(side: str, planes: Planes) -> dict[str, FieldValue]:
    return {f"{side}_{step}": getattr(planes, step) for step in ("pixel", *_PITCHES)}


def _is_plain(operand: Operand) -> bool:
    return isinstance(operand, Constant) or operand.format.is_plain


def _padding_in_memory(x: Operand, shape: ConvGeometry) -> bool:
    """Whether everything the window touches lies in the buffer: there is no padding, or the halo covers it."""
    if isinstance(x, Constant):
        return not shape.halo
    return (x.format.halo | shape.halo) == x.format.halo


def _columns_in_memory(x: Operand, shape: ConvGeometry) -> bool:
    """Whether the padding to the left and right lies in the buffer."""
    halo = Halo(0, shape.halo.left, 0, shape.halo.right)
    return not isinstance(x, Constant) and (x.format.halo | halo) == x.format.halo


def _touched(shape: ConvGeometry) -> tuple[int, int]:
    """Output columns that read padding on the left and on the right."""
    left = min(shape.outputs[1], -(-shape.pads[1] // shape.strides[1]))
    right = min(shape.outputs[1], -(-max(0, shape.after(1)) // shape.strides[1]))
    return left, right
