"""The window arithmetic of convolutions: which input each output element reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import onnx_ir as ir

from packager.program import Halo


@dataclass(frozen=True)
class ConvGeometry:
    """Extents of one convolution; tuples run over the spatial dimensions, outermost first.

    ``ic`` and ``oc`` are channels of all groups.  ``pads`` are the elements before the tensor; what lies after it
    follows from ``outputs``.
    """

    images: int
    groups: int
    ic: int
    oc: int
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    pads: tuple[int, ...]

    @property
    def rank(self) -> int:
        """Number of spatial dimensions."""
        return len(self.inputs)

    @property
    def depthwise(self) -> bool:
        """One filter per channel."""
        return self.groups == self.ic == self.oc and self.groups > 1

    @property
    def short_rows(self) -> bool:
        """Depthwise with rows so short that one register tile holds a whole one: it leaves out what lies beside it."""
        return self.depthwise and self.outputs[-1] <= 5 and self.kernel[-1] <= 5

    def after(self, axis: int) -> int:
        """Elements read past the end of the tensor along ``axis``; negative when the end is not reached."""
        last = (self.outputs[axis] - 1) * self.strides[axis] + (self.kernel[axis] - 1) * self.dilations[axis]
        return last - self.pads[axis] - (self.inputs[axis] - 1)

    @property
    def halo(self) -> Halo:
        """The border that the input of a rank 1 or 2 convolution needs."""
        before = [max(0, pad) for pad in self.pads][-2:]
        after = [max(0, self.after(axis)) for axis in range(self.rank)][-2:]
        if self.rank == 1:
            return Halo(0, before[0], 0, after[0])
        return Halo(before[0], before[1], after[0], after[1])

    def last_two(self) -> ConvGeometry:
        """The same without leading spatial dimensions, which must have extent 1."""
        assert set(self.inputs[:-2] + self.kernel[:-2]) <= {1}
        return replace(
            self,
            inputs=self.inputs[-2:],
            outputs=self.outputs[-2:],
            kernel=self.kernel[-2:],
            strides=self.strides[-2:],
            dilations=self.dilations[-2:],
            pads=self.pads[-2:],
        )

    def as_planes(self) -> ConvGeometry:
        """The same with exactly two spatial dimensions (a rank 1 convolution is one row)."""
        return self.padded_to(2)

    def padded_to(self, rank: int) -> ConvGeometry:
        """The same with leading spatial dimensions of extent 1, up to ``rank``."""
        missing = rank - self.rank
        ones, zeros = (1,) * missing, (0,) * missing
        return ConvGeometry(
            self.images,
            self.groups,
            self.ic,
            self.oc,
            ones + self.inputs,
            ones + self.outputs,
            ones + self.kernel,
            ones + self.strides,
            ones + self.dilations,
            zeros + self.pads,
        )


def conv_geometry(node: ir.Node, x: Sequence[int], w: Sequence[int], y: Sequence[int]) -> ConvGeometry:
    """The geometry of an ONNX Conv-11 node on tensors of these shapes; ``auto_pad`` is resolved."""
    rank = len(x) - 2
    kernel = tuple(w[2:])
    strides = tuple(node.attributes.get_ints("strides", (1,) * rank))
    dilations = tuple(node.attributes.get_ints("dilations", (1,) * rank))
    outputs = tuple(y[2:])
    auto_pad = node.attributes.get_string("auto_pad", "NOTSET")
    pads = tuple(node.attributes.get_ints("pads", (0,) * rank))[:rank]
    if auto_pad == "VALID":
        pads = (0,) * rank
    elif auto_pad.startswith("SAME"):
        totals = [
            max(0, (outputs[i] - 1) * strides[i] + (kernel[i] - 1) * dilations[i] + 1 - x[2 + i]) for i in range(rank)
        ]
        pads = tuple(total // 2 if auto_pad == "SAME_UPPER" else total - total // 2 for total in totals)
    groups = node.attributes.get_int("group", 1)
    return ConvGeometry(x[0], groups, x[1], w[0], tuple(x[2:]), outputs, kernel, strides, dilations, pads)
