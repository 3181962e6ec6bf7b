"""Explicit padding becomes the padding of the convolution or pool that reads it."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from packager.passes.graph import array, dims, input_at, producer, read_once, remove, required, scalar
from packager.passes.node_pass import NodePass

_LOWEST = float(np.finfo(np.float32).min)
_NON_NEGATIVE = ("Relu", "Sigmoid", "HardSigmoid", "Softplus", "Abs", "Exp", "Softmax")


class FoldPad(NodePass):
    """Move a constant Pad of the spatial axes into Conv, AveragePool or MaxPool.

    ::
        x -> Pad(p) -> t -> Conv[pads=q] -> y     =>     x -> Conv[pads=p+q] -> y

    The value must be what the reader pads with: 0 for Conv; 0 for AveragePool, which then counts the padding; the
    lowest float for MaxPool, or 0 when ``x`` is never negative and no window lies wholly in the padding.

    Does nothing when ``t`` has another reader or is a graph output, for other modes and values, for negative pads and
    pads of batch or channels, when the reader has an automatic padding that depends on its input, for AveragePool with
    uncounted pads of its own, and for pools that round their output size up.
    """

    def rewrite(self, node: ir.Node) -> str | None:
        """See the class."""
        if node.op_type not in {"Conv", "AveragePool", "MaxPool"}:
            return None
        pad = producer(node.inputs[0], "Pad")
        if pad is None or not read_once(pad.outputs[0]):
            return None
        added = _spatial_pads(pad)
        own = _own_pads(node)
        if added is None or own is None or not _legal(node, pad, added, own):
            return None
        node.replace_input_with(0, required(pad, 0))
        node.attributes.pop("auto_pad", None)
        node.attributes["pads"] = ir.AttrInt64s("pads", [a + b for a, b in zip(added, own, strict=True)])
        if node.op_type == "AveragePool":
            node.attributes["count_include_pad"] = ir.AttrInt64("count_include_pad", 1)
        remove(pad)
        return f"Pad + {node.op_type}"


def _spatial_pads(pad: ir.Node) -> list[int] | None:
    """``[begin..., end...]`` of the spatial axes; None when other axes are padded, or something is not constant."""
    if pad.attributes.get_string("mode", "constant") != "constant":
        return None
    rank = len(dims(required(pad, 0)))
    amounts, axes = array(input_at(pad, 1)), array(input_at(pad, 3))
    if amounts is None or rank < 3 or (input_at(pad, 3) is not None and axes is None):
        return None
    positions = [int(axis) % rank for axis in axes.tolist()] if axes is not None else list(range(rank))
    begins, ends = [0] * rank, [0] * rank
    for index, axis in enumerate(positions):
        begins[axis] += int(amounts[index])
        ends[axis] += int(amounts[index + len(positions)])
    if any(begins[:2]) or any(ends[:2]) or min(begins + ends) < 0:
        return None
    return begins[2:] + ends[2:]


def _own_pads(node: ir.Node) -> list[int] | None:
    """The reader's padding; None when it is chosen from the input's size."""
    spatial = len(dims(required(node, 0))) - 2
    mode = node.attributes.get_string("auto_pad", "NOTSET")
    if mode == "VALID":
        return [0] * (2 * spatial)
    if mode != "NOTSET":
        return None
    pads = node.attributes.get_ints("pads", None)
    return list(pads) if pads is not None else [0] * (2 * spatial)


def _legal(node: ir.Node, pad: ir.Node, added: list[int], own: list[int]) -> bool:
    value = scalar(input_at(pad, 2)) if input_at(pad, 2) is not None else 0.0
    if value is None or node.attributes.get_int("ceil_mode", 0) == 1:
        return False
    if node.op_type == "Conv":
        return value == 0.0
    total = [a + b for a, b in zip(added, own, strict=True)]
    if not _windows_touch_input(node, total):
        return False
    if node.op_type == "AveragePool":
        return value == 0.0 and (not any(own) or node.attributes.get_int("count_include_pad", 0) == 1)
    if len(node.outputs) > 1:
        return False
    return value <= _LOWEST or (value == 0.0 and producer(pad.inputs[0], *_NON_NEGATIVE) is not None)


def _windows_touch_input(node: ir.Node, pads: list[int]) -> bool:
    """Pools want pads smaller than their kernel."""
    kernel = list(node.attributes.get_ints("kernel_shape", []) or [])
    return all(amount < kernel[index % len(kernel)] for index, amount in enumerate(pads))
