"""Geometry of pooling windows: extents, padding and pitches over three spatial axes (missing ones have extent 1)."""

from __future__ import annotations

from dataclasses import dataclass

import onnx_ir as ir

from packager.lower.context import LoweringContext
from packager.ops.arguments import required
from packager.program import FieldValue, Format, nchw

SPATIAL = 3


@dataclass(frozen=True)
class Window:
    """Attributes of a pooling node, one entry per spatial axis of the model."""

    inside: tuple[int, ...]
    outside: tuple[int, ...]
    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    dilation: tuple[int, ...]
    before: tuple[int, ...]
    after: tuple[int, ...]

    @property
    def is_whole(self) -> bool:
        """Whether the one window is exactly the plane."""
        return self.kernel == self.inside and all(extent == 1 for extent in self.outside) and not any(self.before)

    def fields(self, x: tuple[Format, tuple[int, ...]], y: tuple[Format, tuple[int, ...]]) -> dict[str, FieldValue]:
        """Fields of ``ep_window_desc`` for operands given as (format, dims)."""
        x_plane, xs = pitches(*x)
        y_plane, ys = pitches(*y)
        return {
            "in": _three(self.inside, 1),
            "out": _three(self.outside, 1),
            "kernel": _three(self.kernel, 1),
            "stride": _three(self.stride, 1),
            "dilation": _three(self.dilation, 1),
            "before": _three(self.before, 0),
            "after": _three(self.after, 0),
            "x_plane": x_plane,
            "y_plane": y_plane,
            "xs": xs,
            "ys": ys,
        }


def _three(values: tuple[int, ...], filler: int) -> tuple[int, ...]:
    return (filler,) * (SPATIAL - len(values)) + values


def pitches(fmt: Format, dims: tuple[int, ...]) -> tuple[int, tuple[int, ...]]:
    """(pitch of a plane, pitches of the three spatial axes) in elements."""
    if fmt.is_plain:
        depth, height, width = _three(dims[2:], 1)
        return depth * height * width, (height * width, width, 1)
    _, plane, row, cell, _ = fmt.strides(dims)
    return plane, (plane, row, cell)


def planes(fmt: Format, dims: tuple[int, ...]) -> int:
    """Planes of a tensor: channels, or blocks of channels, of all images."""
    if fmt.is_plain:
        return dims[0] * dims[1]
    n, c, _, _ = nchw(dims)
    return n * -(-c // fmt.block)


def window_of(node: ir.Node, ctx: LoweringContext) -> Window:
    """Read kernel_shape, strides, dilations, pads, auto_pad and ceil_mode of MaxPool, AveragePool and LpPool (22).

    Raises ModelError for more than three spatial axes, and for outputs that would have windows without any cell of x:
    padding not smaller than the kernel, or the extra column that texts before version 22 gave ceil_mode.
    """
    dims, out = ctx.shape(required(node, 0, ctx)), ctx.shape(node.outputs[0])
    inside, rank = dims[2:], len(dims) - 2
    if not 1 <= rank <= SPATIAL:
        raise ctx.unsupported(node, f"{rank} spatial axes (1 to {SPATIAL} are supported)")
    kernel = tuple(node.attributes.get_ints("kernel_shape") or ())
    if len(kernel) != rank:
        raise ctx.unsupported(node, f"kernel_shape {list(kernel)} for {rank} spatial axes")
    stride = tuple(node.attributes.get_ints("strides") or (1,) * rank)
    dilation = tuple(node.attributes.get_ints("dilations") or (1,) * rank)
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True)]
    before, after = _padding(node, inside, reach, stride)
    window = Window(inside, out[2:], kernel, stride, dilation, before, after)
    _check_extents(node, ctx, window, reach)
    return window


def _padding(
    node: ir.Node, inside: tuple[int, ...], reach: list[int], stride: tuple[int, ...]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    rank = len(inside)
    mode = node.attributes.get_string("auto_pad", "NOTSET")
    if mode in ("SAME_UPPER", "SAME_LOWER"):
        total = [
            max(0, (-(-dim // step) - 1) * step + span - dim)
            for dim, step, span in zip(inside, stride, reach, strict=True)
        ]
        less, more = tuple(pad // 2 for pad in total), tuple(pad - pad // 2 for pad in total)
        return (less, more) if mode == "SAME_UPPER" else (more, less)
    pads = tuple(node.attributes.get_ints("pads") or ()) if mode == "NOTSET" else ()
    pads = pads or (0,) * (2 * rank)
    return pads[:rank], pads[rank:]


def _check_extents(node: ir.Node, ctx: LoweringContext, window: Window, reach: list[int]) -> None:
    rounding = node.attributes.get_int("ceil_mode", 0)
    same = node.attributes.get_string("auto_pad", "NOTSET").startswith("SAME")
    for axis, (dim, span, step) in enumerate(zip(window.inside, reach, window.stride, strict=True)):
        before, after = window.before[axis], window.after[axis]
        room = dim + before + after - span
        expected = (-(-room // step) if rounding else room // step) + 1
        if same:
            expected = -(-dim // step)
        elif rounding and (expected - 1) * step >= dim + before:
            expected -= 1
        if room < 0:
            raise ctx.unsupported(
                node,
                f"on spatial axis {axis} the window of {span} is larger than the input with its padding, {room + span}",
                "by the operator's text such an output is empty; give the model a larger input",
            )
        if min(before, after) < 0 or not _has_cells(window, axis):
            raise ctx.unsupported(node, f"on spatial axis {axis} a window lies in the padding alone")
        if window.outside[axis] != expected:
            raise ctx.unsupported(
                node,
                f"spatial axis {axis} of the output has {window.outside[axis]} windows, their rule gives {expected}",
                "with ceil_mode a window that starts in the end padding is ignored (ONNX version 22)",
            )


def _has_cells(window: Window, axis: int) -> bool:
    """Whether every window has a tap inside x; only the first and last windows can miss it (and dilated ones)."""
    dim, step, spread = window.inside[axis], window.stride[axis], window.dilation[axis]
    for o in range(window.outside[axis]):
        start = o * step - window.before[axis]
        first = max(0, -(start // spread))  # the first tap at or after the start of x
        if first >= window.kernel[axis] or start + first * spread >= dim:
            return False
    return True
