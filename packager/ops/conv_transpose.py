"""ConvTranspose: one convolution for each phase of the stride, or a scatter where that does not pay.

With stride s, outputs ``f, f + s, f + 2s, ...`` (phase f) read the same kernel elements, those k with
``(f + pad - k * dilation) % s == 0``; so each phase is an ordinary convolution with stride 1 whose results lie s apart.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import onnx_ir as ir

from packager.lower.context import LoweringContext
from packager.lower.registry import LayoutRule, lowering
from packager.ops.activation_attr import activation_fields
from packager.ops.arguments import input_at, required, required_operand
from packager.ops.conv_blocked import ConvOperands, Weights, dense_call
from packager.ops.conv_plain import OutputSteps, PlainConv, plain_call
from packager.ops.planes import Planes
from packager.ops.reorder import reorder_call
from packager.passes.conv_geometry import ConvGeometry
from packager.program import Buffer, Descriptor, DType, Kernel, KernelCall, Operand

SCATTER = Kernel("ep_conv_transpose_f32", "ep_conv_transpose.h", splits=True)

_MOST_PHASES = 16


@dataclass(frozen=True)
class _Transposed:
    """Attributes of one node; tuples run over the spatial dimensions (padded to three)."""

    groups: int
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    pads: tuple[int, ...]


@dataclass(frozen=True)
class _Phase:
    """One dimension of one phase: ``taps`` are kernel elements in the order in which they meet rising inputs."""

    first: int
    count: int
    taps: tuple[int, ...]
    pad: int
    dilation: int


@lowering("ConvTranspose", layout=LayoutRule.SPATIAL)
def conv_transpose(node: ir.Node, ctx: LoweringContext) -> Iterator[KernelCall]:
    """``y = act(transposed convolution of x by w + bias)``; ONNX ConvTranspose-11, one to three spatial dimensions."""
    attributes = _read(node, ctx)
    phases = [_phases(attributes, axis) for axis in range(3)]
    weights = ctx.array(node.inputs[1])
    convs: list[tuple[tuple[_Phase, ...], Weights, ConvGeometry]] = []
    if weights is not None and math.prod(len(axis) for axis in phases) <= _MOST_PHASES:
        kernel = weights.astype(np.float32).reshape(weights.shape[:2] + attributes.kernel)
        convs = [
            (phase, *_phase_conv(attributes, kernel, phase, ctx.shape(node.outputs[0])[0]))
            for phase in itertools.product(*phases)
        ]
    y = ctx.buffer(node.outputs[0])
    blocked = None if y.format.is_plain or not convs else _blocked_calls(node, ctx, attributes, convs)
    if blocked is not None:
        yield from blocked
        return
    x = required_operand(node, 0, ctx)
    if isinstance(x, Buffer) and not x.format.is_plain:
        copy = ctx.temporary(x.shape, x.dtype)
        yield reorder_call(node, ctx, copy, x)
        x = copy
    target = y if y.format.is_plain else ctx.temporary(y.shape, y.dtype)
    if not convs:
        yield _scatter(node, ctx, attributes, x, target)
    for phase, filters, shape in convs:
        yield _plain_phase(node, ctx, attributes, phase, _PlainPhase(x, target, filters, shape))
    if target is not y:
        yield reorder_call(node, ctx, y, target)


def _read(node: ir.Node, ctx: LoweringContext) -> _Transposed:
    x, w = required(node, 0, ctx), required(node, 1, ctx)
    dims, filters, outputs = ctx.shape(x), ctx.shape(w), ctx.shape(node.outputs[0])[2:]
    rank = len(dims) - 2
    if ctx.dtype(x) is not DType.FLOAT32:
        raise ctx.unsupported(node, f"no kernel for {ctx.dtype(x).label}", "convert the model to float32")
    if not 1 <= rank <= 3:
        raise ctx.unsupported(node, f"{rank} spatial dimensions; one to three are supported")
    groups = node.attributes.get_int("group", 1)
    if len(filters) != len(dims) or groups < 1 or filters[0] != dims[1] or dims[1] % groups:
        raise ctx.unsupported(node, f"weights {filters} do not fit {dims[1]} channels in {groups} groups")
    ones = (1,) * (3 - rank)
    strides = tuple(node.attributes.get_ints("strides", (1,) * rank))
    dilations = tuple(node.attributes.get_ints("dilations", (1,) * rank))
    window = _Transposed(
        groups, ones + dims[2:], ones + outputs, ones + filters[2:], ones + strides, ones + dilations, ()
    )
    return replace(window, pads=_pads(node, window, rank))


def _pads(node: ir.Node, window: _Transposed, rank: int) -> tuple[int, ...]:
    """Outputs cut off before the tensor.

    With ``output_shape`` or ``auto_pad`` they follow from the extents: the smaller half of the total for SAME_UPPER,
    else the larger.
    """
    missing = (0,) * (3 - rank)
    auto_pad = node.attributes.get_string("auto_pad", "NOTSET")
    if "output_shape" not in node.attributes and not auto_pad.startswith("SAME"):
        given = tuple(node.attributes.get_ints("pads", (0,) * rank)) if auto_pad == "NOTSET" else (0,) * rank
        return missing + given[:rank]
    extra = missing + tuple(node.attributes.get_ints("output_padding", (0,) * rank))
    totals = [
        max(0, (window.inputs[i] - 1) * window.strides[i] + extra[i] + _reach(window, i) - window.outputs[i])
        for i in range(3)
    ]
    return tuple(total // 2 if auto_pad == "SAME_UPPER" else total - total // 2 for total in totals)


def _reach(window: _Transposed, axis: int) -> int:
    """Outputs that one input touches."""
    return (window.kernel[axis] - 1) * window.dilations[axis] + 1


def _phases(attributes: _Transposed, axis: int) -> list[_Phase]:
    stride, dilation = attributes.strides[axis], attributes.dilations[axis]
    step = dilation // math.gcd(stride, dilation)
    made = []
    for first in range(min(stride, attributes.outputs[axis])):
        origin = first + attributes.pads[axis]
        taps = tuple(k for k in reversed(range(attributes.kernel[axis])) if (origin - k * dilation) % stride == 0)
        pad = -((origin - taps[0] * dilation) // stride) if taps else 0
        made.append(_Phase(first, -(-(attributes.outputs[axis] - first) // stride), taps, pad, step))
    return made


def _phase_conv(
    attributes: _Transposed, kernel: Weights, phase: tuple[_Phase, ...], images: int
) -> tuple[Weights, ConvGeometry]:
    """The ordinary convolution that computes one phase: its weights ``[oc, ic / groups, ...]`` and geometry."""
    groups, ic, oc = attributes.groups, kernel.shape[0], kernel.shape[1] * attributes.groups
    weights = kernel
    for axis, part in enumerate(phase):
        weights = np.take(weights, np.array(part.taps, np.intp), axis=2 + axis)
    weights = weights.reshape(groups, ic // groups, oc // groups, *weights.shape[2:]).swapaxes(1, 2)
    weights = weights.reshape(oc, ic // groups, *weights.shape[3:])
    shape = ConvGeometry(
        images,
        groups,
        ic,
        oc,
        attributes.inputs,
        tuple(axis.count for axis in phase),
        weights.shape[2:],
        (1, 1, 1),
        tuple(axis.dilation for axis in phase),
        tuple(axis.pad for axis in phase),
    )
    return weights, shape


def _blocked_calls(
    node: ir.Node,
    ctx: LoweringContext,
    attributes: _Transposed,
    convs: Sequence[tuple[tuple[_Phase, ...], Weights, ConvGeometry]],
) -> list[KernelCall] | None:
    """One vector kernel a phase; None when a phase has no such form."""
    bias = input_at(node, 2)
    offsets = ctx.array(bias) if bias is not None else np.zeros(convs[0][2].oc, np.float32)
    y = ctx.buffer(node.outputs[0])
    planes = Planes.of(y)
    if offsets is None or attributes.kernel[0] != 1 or any(weights.size == 0 for _, weights, _ in convs):
        return None
    x, calls = required_operand(node, 0, ctx), []
    apart = replace(planes, pixel=planes.pixel * attributes.strides[2], row=planes.row * attributes.strides[1])
    for phase, weights, shape in convs:
        start = phase[1].first * planes.row + phase[2].first * planes.pixel
        filters = weights.reshape(weights.shape[:2] + weights.shape[3:])
        operands = ConvOperands(
            x, filters, offsets.astype(np.float32), None, y, activation_fields(node), apart, y_start=start
        )
        call = dense_call(node, ctx, operands, shape.last_two())
        if call is None:
            return None
        calls.append(call)
    return calls


@dataclass(frozen=True)
class _PlainPhase:
    """A phase on row-major tensors."""

    x: Operand
    y: Buffer
    weights: Weights
    shape: ConvGeometry


def _plain_phase(
    node: ir.Node, ctx: LoweringContext, attributes: _Transposed, phase: tuple[_Phase, ...], conv: _PlainPhase
) -> KernelCall:
    oc = conv.shape.oc
    # no kernel element meets some phases: those are the bias alone
    weights = conv.weights if conv.weights.size else np.zeros((oc, 1), np.float32)
    whole = OutputSteps.whole(oc, attributes.outputs)
    strides = attributes.strides
    to = OutputSteps(
        sum(axis.first * step for axis, step in zip(phase, whole.steps, strict=True)),
        (whole.steps[0] * strides[0], whole.steps[1] * strides[1], whole.steps[2] * strides[2]),
        whole.channel,
        whole.image,
    )
    bias, name = ctx.operand(input_at(node, 2)), required(node, 1, ctx).name or "weights"
    made = PlainConv(conv.x, weights, bias, None, conv.y, activation_fields(node), name)
    return plain_call(node, ctx, made, conv.shape, to)


def _scatter(node: ir.Node, ctx: LoweringContext, attributes: _Transposed, x: Operand, y: Buffer) -> KernelCall:
    ic, oc_group = ctx.shape(required(node, 1, ctx))[:2]
    images = y.shape[0]
    bias = ctx.operand(input_at(node, 2))
    window = {
        f"{prefix}{axis}": values[index]
        for prefix, values in (
            ("i", attributes.inputs),
            ("o", attributes.outputs),
            ("k", attributes.kernel),
            ("s", attributes.strides),
            ("d", attributes.dilations),
        )
        for index, axis in enumerate("dhw")
    }
    descriptor = Descriptor.of(
        "ep_conv_transpose_desc",
        groups=attributes.groups,
        ic=ic // attributes.groups,
        oc=oc_group,
        **window,
        front=attributes.pads[0],
        top=attributes.pads[1],
        left=attributes.pads[2],
        has_bias=int(bias is not None),
        act=activation_fields(node),
    )
    return ctx.call(
        SCATTER,
        node,
        [y],
        [x, required_operand(node, 1, ctx), bias],
        descriptor,
        extent=images * oc_group * attributes.groups,
        macs=images * ic * oc_group * math.prod((*attributes.inputs, *attributes.kernel)),
    )
