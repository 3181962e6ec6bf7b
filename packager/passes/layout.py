"""Choose how every tensor lies in memory: channel blocks for convolutions and what stands between them.

::

    x -> Conv -> Relu -> MaxPool -> Flatten    =>    x -> Conv -> Relu -> MaxPool -> Reorder -> Flatten
                                                     plain [  blocked, halo for the next Conv  ]  plain
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import onnx_ir as ir

from packager.config.isa import Isa
from packager.lower.context import FORMAT_KEY
from packager.lower.registry import LayoutRule, registry
from packager.passes.conv_geometry import ConvGeometry, conv_geometry
from packager.passes.graph import array, dims, elements, input_at, insert_before, is_float32, new_node, required
from packager.program import Format, Halo, nchw

_POOLS = frozenset({"MaxPool", "AveragePool", "GlobalMaxPool", "Resize", "Upsample"})
_MOST_PHASES = 16  # of a transposed convolution: it makes one call each
_PLAIN_CHANNELS = (
    32  # so many input channels a blocked convolution reads from a row-major tensor as fast as from blocks
)

_PADDED = 0.1
"""Share of padded lanes that an exact layout accepts."""
_NARROW = 8
"""Output columns below which a convolution wants its padding in memory."""


@dataclass(frozen=True)
class _Choice:
    """Channels per block of a node's inputs and outputs; 0 is row-major."""

    inputs: tuple[int, ...]
    output: int


def assign_layout(model: ir.Model, isa: Isa, *, halos: bool, exact: bool = False) -> None:
    """Leave a :class:`~packager.program.Format` on values that are not row-major and insert ``Reorder`` nodes where a
    reader needs another one than the writer made.

    Graph inputs and outputs stay row-major.  Does nothing without vectors (``isa.lanes == 1``): kernels then want rows.
    Without ``halos`` no buffer gets a border; convolutions with padding leave out what lies outside.  With ``exact``
    tensors whose lanes would need more than a tenth of padding stay row-major, too: less memory, slower kernels.
    """
    if isa.lanes == 1:
        return
    layout = _Layout(model.graph, isa, halos=halos, exact=exact)
    for node in list(model.graph):
        layout.visit(node)
    layout.finish()


def channel_block(channels: int, lanes: int) -> int:
    """The block for a tensor of ``channels``: the widest that divides them, else the one that pads least; 0 below 4."""
    widths = [width for width in (16, 8, 4) if width <= lanes]
    if channels < 4:
        return 0
    return min(widths, key=lambda width: (-channels % width, -width))


class _Layout:
    def __init__(self, graph: ir.Graph, isa: Isa, *, halos: bool, exact: bool) -> None:
        self.graph = graph
        self.isa = isa
        self.halos = halos
        self.exact = exact
        self.blocks: dict[ir.Value, int] = {}
        self.copies: dict[tuple[ir.Value, int], ir.Value] = {}
        self.preferred = _preferred_blocks(graph, isa.lanes)

    def visit(self, node: ir.Node) -> None:
        """Decide for one node, after the nodes that feed it."""
        choice = self._choose(node)
        for index, value in enumerate(node.inputs):
            if value is not None and not _is_fixed(value) and self._block(value) != choice.inputs[index]:
                node.replace_input_with(index, self._reordered(value, choice.inputs[index], node))
        for output in node.outputs:
            captured = any(use.node.graph is not self.graph for use in output.uses())
            self.blocks[output] = 0 if captured else choice.output

    def finish(self) -> None:
        """Give the graph row-major outputs, place halos and leave the formats on the values."""
        for index, value in enumerate(list(self.graph.outputs)):
            if self._block(value):
                self.graph.outputs[index] = self._plain_output(value)
        halos = self._halos() if self.halos else {}
        for value, block in self.blocks.items():
            if block:
                value.meta[FORMAT_KEY] = Format(block, halos.get(value, Halo()))

    # -- decisions ----------------------------------------------------------------------------------------------

    def _choose(self, node: ir.Node) -> _Choice:
        plain = _Choice((0,) * len(node.inputs), 0)
        row = registry().get((node.domain, node.op_type))
        output = node.outputs[0]
        known = all(value is None or value.shape is not None for value in (*node.inputs, output))
        if row is None or row.layout is LayoutRule.PLAIN or not known or len(dims(output)) not in (3, 4):
            return plain
        if row.layout is LayoutRule.FOLLOW:
            return self._follow(node) or plain
        if node.op_type == "Conv":
            return self._conv(node) or plain
        if node.op_type == "ConvTranspose":
            return self._conv_transpose(node) or plain
        if node.op_type == "Concat":
            return self._concat(node) or plain
        if node.op_type in _POOLS and is_float32(output) and not any(o.name for o in node.outputs[1:]):
            x = required(node, 0)
            block = self._block(x) if dims(x)[:2] == dims(output)[:2] else 0  # a Resize may change channels
            return _Choice((block, *plain.inputs[1:]), block)
        if node.op_type == "GlobalAveragePool" and is_float32(output):
            return _Choice((self._block(required(node, 0)),), 0)
        return plain

    def _conv(self, node: ir.Node) -> _Choice | None:
        blocks = self._conv_blocks(node)
        if blocks is None:
            return None
        into, out = blocks
        x = required(node, 0)
        shape = _geometry(node)
        if _single_pixel(node.outputs[0]):
            if not _common_block(shape.oc, self.isa.lanes):
                return None
            out = 0
        few = shape.ic // shape.groups <= _PLAIN_CHANNELS or _single_pixel(x)
        if self._block(x) == 0 and not shape.depthwise and few:
            into = 0
        return _Choice((into, 0, 0, out)[: len(node.inputs)], out)

    def _conv_transpose(self, node: ir.Node) -> _Choice | None:
        """Blocks where every phase of the stride has taps; its kernels leave out what lies outside and need no halo."""
        x, output = required(node, 0), node.outputs[0]
        fixed = all(array(value) is not None for value in node.inputs[1:] if value is not None)
        if not fixed or node.attributes.get_int("group", 1) != 1 or not is_float32(output) or _single_pixel(output):
            return None
        kernel = dims(required(node, 1))[2:]
        strides = node.attributes.get_ints("strides", (1,) * len(kernel))
        into, out = self._channel_block(x), self._channel_block(output)
        if not out or math.prod(strides) > _MOST_PHASES or any(s > k for s, k in zip(strides, kernel, strict=True)):
            return None
        if self._block(x) == 0 and dims(x)[1] <= _PLAIN_CHANNELS:
            into = 0
        return _Choice((into, 0, 0)[: len(node.inputs)], out)

    def _conv_blocks(self, node: ir.Node) -> tuple[int, int] | None:
        """Blocks a vector kernel would read and write; None when the row-major kernel is the better one."""
        if array(input_at(node, 1)) is None or not is_float32(node.outputs[0]):
            return None
        if any(value is not None and array(value) is None for value in node.inputs[2:3]):
            return None
        shape = _geometry(node)
        into, out = self._channel_block(required(node, 0)), self._channel_block(node.outputs[0])
        if shape.depthwise:
            return (into, into) if into and (self.halos or not _border(shape)) else None
        if shape.groups > 1:
            into = _common_block(shape.ic // shape.groups, into)
            out = _common_block(shape.oc // shape.groups, out)
        if not into and shape.groups == 1 and self._block(required(node, 0)) == 0:
            into = 4  # fewer than four channels: read as they are
        if not (into and out) or (self._block(required(node, 0)) == 0 and self._too_small(node, shape)):
            return None
        return into, out

    def _too_small(self, node: ir.Node, shape: ConvGeometry) -> bool:
        """Whether copies into and out of blocks would cost more than the vector kernel saves."""
        macs = elements(node.outputs[0]) * (shape.ic // shape.groups) * math.prod(shape.kernel)
        follow = any(_stays_blocked(use.node) for use in node.outputs[0].uses())
        copied = 0 if follow else elements(node.outputs[0])
        if shape.ic > _PLAIN_CHANNELS:
            copied += elements(required(node, 0))
        vector_rows = shape.strides[-1] == 1 and shape.outputs[-1] >= 2 * self.isa.lanes
        plain_rate = 0.6 * self.isa.lanes if vector_rows else 1.0
        blocked_rate = 1.2 * min(self.isa.lanes, shape.oc)
        return macs / plain_rate < macs / blocked_rate + 1.5 * copied

    def _follow(self, node: ir.Node) -> _Choice | None:
        output = node.outputs[0]
        shape = dims(output)
        same = [value for value in node.inputs if value is not None and dims(value) == shape]
        blocks = {self._block(value) for value in same if not _is_fixed(value)} - {0}
        floats = all(is_float32(value) for value in (*node.inputs, *node.outputs) if value is not None)
        if not blocks or not floats or _single_pixel(output) or any(_is_fixed(value) for value in same):
            return None
        block = max(blocks)
        return _Choice(tuple(block if value in same else 0 for value in node.inputs), block)

    def _concat(self, node: ir.Node) -> _Choice | None:
        parts = [value for value in node.inputs if value is not None]
        blocks = {self._block(value) for value in parts}
        axis = node.attributes.get_int("axis", 0) % len(dims(node.outputs[0]))
        if blocks == {0} or any(_is_fixed(value) for value in parts) or not is_float32(node.outputs[0]):
            return None
        usable = [
            block
            for block in (16, 8, 4)
            if block in blocks and (axis != 1 or all(dims(value)[1] % block == 0 for value in parts))
        ]
        copied = {
            block: sum(elements(value) for value in parts if self._block(value) != block) for block in (*usable, 0)
        }
        block = min(copied, key=lambda candidate: (copied[candidate], -candidate))
        return _Choice((block,) * len(node.inputs), block) if block else None

    # -- formats ------------------------------------------------------------------------------------------------

    def _block(self, value: ir.Value) -> int:
        return self.blocks.get(value, 0)

    def _channel_block(self, value: ir.Value) -> int:
        """The block ``value`` has, or would get."""
        channels = dims(value)[1]
        block = self._block(value) or self.preferred.get(value) or channel_block(channels, self.isa.lanes)
        return 0 if self.exact and block and -channels % block > _PADDED * channels else block

    def _reordered(self, value: ir.Value, block: int, reader: ir.Node) -> ir.Value:
        """``value`` in blocks of ``block``, copied once, before the first of its readers."""
        key = (value, block)
        if key not in self.copies:
            copy = self._copy(value)
            insert_before(reader, copy)
            self.copies[key] = copy.outputs[0]
            self.blocks[copy.outputs[0]] = block
        return self.copies[key]

    def _plain_output(self, value: ir.Value) -> ir.Value:
        """A row-major graph output in place of the blocked ``value``; takes over its name."""
        copy = self._copy(value)
        self.graph.append(copy)
        output = copy.outputs[0]
        output.name, value.name = value.name, f"{value.name}_blocked"
        self.blocks[output] = 0
        return output

    @staticmethod
    def _copy(value: ir.Value) -> ir.Node:
        node = new_node("Reorder", [value], value)
        node.domain = "edgepack"
        node.name = f"{value.name}/reorder"
        node.outputs[0].name = f"{value.name}_reordered"
        return node

    # -- halos --------------------------------------------------------------------------------------------------

    def _halos(self) -> dict[ir.Value, Halo]:
        """The border each blocked value needs: the largest its convolutions read, alike for the parts of a Concat so
        that they can be written in place.
        """
        halos: dict[ir.Value, Halo] = {}
        concats: list[list[ir.Value]] = []
        for node in self.graph:
            first = input_at(node, 0)
            if node.op_type == "Conv" and first is not None and self._block(first):
                halos[first] = halos.get(first, Halo()) | _border(_geometry(node))
            elif node.op_type == "Concat" and self._block(node.outputs[0]):
                concats.append([*(value for value in node.inputs if value is not None), *node.outputs])
        for group in (*reversed(concats), *concats):
            joined = Halo()
            for value in group:
                joined |= halos.get(value, Halo())
            halos.update(dict.fromkeys(group, joined))
        return halos


def _preferred_blocks(graph: ir.Graph, lanes: int) -> dict[ir.Value, int]:
    """Blocks that let the parts of a channel Concat lie side by side."""
    preferred: dict[ir.Value, int] = {}
    for node in graph:
        if node.op_type != "Concat" or node.outputs[0].shape is None or len(dims(node.outputs[0])) not in (3, 4):
            continue
        parts = [value for value in node.inputs if value is not None]
        if node.attributes.get_int("axis", 0) % len(dims(node.outputs[0])) != 1:
            continue
        common = math.gcd(*(dims(value)[1] for value in parts))
        block = _common_block(common, lanes)
        for value in (*parts, *node.outputs):
            if block:
                preferred[value] = min(block, preferred.get(value, block))
    return preferred


def _common_block(channels: int, widest: int) -> int:
    """The widest block up to ``widest`` that divides ``channels``; 0 when there is none."""
    return next((width for width in (16, 8, 4) if width <= widest and channels % width == 0), 0)


def _geometry(node: ir.Node) -> ConvGeometry:
    return conv_geometry(node, dims(required(node, 0)), dims(required(node, 1)), dims(node.outputs[0]))


def _border(shape: ConvGeometry) -> Halo:
    """The padding to keep in memory.

    Depthwise kernels need the columns, unless a tile holds whole rows, and leave out rows.  The others leave out what
    lies outside, which is faster than zeroing it (0.87 to 0.99 of the time on planes of 8 to 56) until the edges are
    most of the plane (1.25 on 7 x 7).
    """
    if shape.depthwise:
        return Halo() if shape.short_rows else Halo(0, shape.halo.left, 0, shape.halo.right)
    return shape.halo if shape.outputs[-1] < _NARROW else Halo()


def _single_pixel(value: ir.Value) -> bool:
    """Planes of one pixel: a row-major vector of channels, which kernels read and write as it is."""
    _, _, height, width = nchw(dims(value))
    return height * width == 1


def _is_fixed(value: ir.Value) -> bool:
    """Constants stay row-major."""
    return value.const_value is not None


def _stays_blocked(node: ir.Node) -> bool:
    row = registry().get((node.domain, node.op_type))
    return row is not None and row.layout is not LayoutRule.PLAIN
