"""Convolutions on row-major tensors: any rank, groups, dilation and padding, also with weights computed at run time."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import onnx_ir as ir

from packager.config.isa import Isa
from packager.lower.context import LoweringContext
from packager.passes.conv_geometry import ConvGeometry
from packager.program import Buffer, Descriptor, FieldValue, Kernel, KernelCall, Operand

CONV_PLAIN = Kernel("ep_conv_plain_f32", "ep_conv_plain.h", splits=True)

MAX_CHANNELS = 4  # EP_CONV_PLAIN_MAX_OC
MAX_VECTORS = 8  # EP_CONV_PLAIN_MAX_W


@dataclass(frozen=True)
class OutputSteps:
    """Where a convolution writes: ``steps`` are element steps of the (padded to three) spatial dimensions."""

    start: int
    steps: tuple[int, int, int]
    channel: int
    image: int

    @classmethod
    def whole(cls, channels: int, outputs: tuple[int, ...]) -> OutputSteps:
        """A row-major tensor of its own."""
        _, height, width = outputs
        plane = math.prod(outputs)
        return cls(0, (height * width, width, 1), plane, channels * plane)


@dataclass(frozen=True)
class PlainConv:
    """One convolution on row-major tensors.

    ``weights`` is an array ``[oc, ic / groups, *kernel]``, or the buffer that holds one in that order.
    """

    x: Operand
    weights: npt.NDArray[np.float32] | Operand
    bias: Operand | None
    residual: Operand | None
    y: Buffer
    activation: tuple[FieldValue, ...]
    name: str = "weights"


def plain_call(
    node: ir.Node, ctx: LoweringContext, conv: PlainConv, shape: ConvGeometry, to: OutputSteps | None = None
) -> KernelCall:
    """The call that computes ``conv``; it writes all of ``y`` unless ``to`` says where."""
    shape = _as_one_row(shape.padded_to(3)) if to is None else shape.padded_to(3)
    to = to or OutputSteps.whole(shape.oc, shape.outputs)
    group_oc = shape.oc // shape.groups
    packable = isinstance(conv.weights, np.ndarray)
    channels = min(MAX_CHANNELS, group_oc) if packable else 1
    vectors = tile_vectors(shape, channels, ctx.isa)
    weights: Operand = (
        ctx.constant(pack_plain(conv.weights, shape.groups, channels), conv.name, f"conv tiles of {channels} channels")
        if isinstance(conv.weights, np.ndarray)
        else conv.weights
    )
    return ctx.call(
        CONV_PLAIN,
        node,
        [conv.y],
        [conv.x, weights, conv.bias, conv.residual],
        _descriptor(conv, shape, to, channels, vectors),
        extent=shape.images * shape.groups * -(-group_oc // channels) * shape.outputs[0] * shape.outputs[1],
        in_place=[(0, 3)] if conv.residual is not None else [],
        macs=shape.images * math.prod(shape.outputs) * shape.oc * (shape.ic // shape.groups) * math.prod(shape.kernel),
    )


def tile_vectors(shape: ConvGeometry, channels: int, isa: Isa) -> int:
    """Vectors of neighbouring pixels in a register tile: as many as fit, leaving few pixels over."""
    inside = max(1, shape.outputs[2] - _at_border(shape)) // isa.lanes
    room = (isa.registers - channels - 1) // (channels if isa.lanes == 1 else channels + 1)
    widest = max(1, min(MAX_VECTORS, room, inside))
    if isa.lanes > 1:
        return widest
    return max(range(1, widest + 1), key=lambda width: width - 3 * (inside % width) * width / inside)


def pack_plain(weights: npt.NDArray[np.float32], groups: int, channels: int) -> npt.NDArray[np.float32]:
    """``w[oc, ic, ...]`` as ``[group][tile of channels][ic][...][channels]``, zero past a group's last channel."""
    oc, taps = weights.shape[0], math.prod(weights.shape[1:])
    group_oc = oc // groups
    tiles = -(-group_oc // channels)
    padded = np.zeros((groups, tiles * channels, taps), np.float32)
    padded[:, :group_oc] = weights.reshape(groups, group_oc, taps)
    return np.ascontiguousarray(padded.reshape(groups, tiles, channels, taps).swapaxes(2, 3))


def _at_border(shape: ConvGeometry) -> int:
    """Output columns that read padding."""
    return -(-shape.pads[2] // shape.strides[2]) + -(-max(0, shape.after(2)) // shape.strides[2])


def _as_one_row(shape: ConvGeometry) -> ConvGeometry:
    """A 1x1 convolution without padding sees the whole plane as one row."""
    if {*shape.kernel, *shape.strides} != {1} or any(shape.pads) or shape.inputs != shape.outputs:
        return shape
    row = (1, 1, math.prod(shape.outputs))
    ones, zeros = (1, 1, 1), (0, 0, 0)
    return ConvGeometry(shape.images, shape.groups, shape.ic, shape.oc, row, row, ones, ones, ones, zeros)


def _descriptor(conv: PlainConv, shape: ConvGeometry, to: OutputSteps, channels: int, vectors: int) -> Descriptor:
    _, height, width = shape.inputs
    plane = math.prod(shape.inputs)
    window = {
        f"{prefix}{axis}": values[index]
        for prefix, values in (
            ("i", shape.inputs),
            ("o", shape.outputs),
            ("k", shape.kernel),
            ("s", shape.strides),
            ("d", shape.dilations),
        )
        for index, axis in enumerate("dhw")
    }
    return Descriptor.of(
        "ep_conv_plain_desc",
        images=shape.images,
        groups=shape.groups,
        ic=shape.ic // shape.groups,
        oc=shape.oc // shape.groups,
        **window,
        front=shape.pads[0],
        top=shape.pads[1],
        left=shape.pads[2],
        x_row=width,
        x_depth=height * width,
        x_channel=plane,
        x_image=shape.ic * plane,
        y_start=to.start,
        y_pixel=to.steps[2],
        y_row=to.steps[1],
        y_depth=to.steps[0],
        y_channel=to.channel,
        y_image=to.image,
        tile_oc=channels,
        tile_w=vectors,
        has_bias=int(conv.bias is not None),
        residual=int(conv.residual is not None),
        act=conv.activation,
    )
