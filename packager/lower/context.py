"""What a lowering function sees of the graph and the target."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import onnx_ir as ir

from packager.config.isa import Isa
from packager.errors import ModelError, Problem
from packager.program import PLAIN, Buffer, Constant, Descriptor, DType, Expression, Format, Kernel, KernelCall, Operand

FORMAT_KEY = "edgepack.format"
"""Key in ``ir.Value.meta`` under which the layout pass leaves a value's :class:`~packager.program.Format`."""

_VIEW_ALIGNMENT = 16


def describe(node: ir.Node) -> str:
    """How errors and comments name a node: ``Conv 'stem/conv'``, or by its first output when it has no name."""
    return f"{node.op_type} '{node.name or next((o.name for o in node.outputs if o.name), '')}'"


def _dtype(label: str, tensor: str) -> DType:
    try:
        return DType.of(label)
    except KeyError:
        raise ModelError(Problem("EP0211", f"{label} tensors are not supported", f"tensor '{tensor}'")) from None


class LoweringContext:
    """Hands out operands and collects what lowering produces; one per compilation.

    Dtypes and static shapes of every value are known when lowering starts (the frontend guarantees it).
    """

    def __init__(self, isa: Isa, *, threads: int = 1) -> None:
        self.isa = isa
        self.threads = threads
        self.buffers: dict[str, Buffer] = {}
        self._constants: dict[tuple[str, bytes], Constant] = {}
        self._values: dict[ir.Value, Operand] = {}
        self._arrays: dict[ir.Value, npt.NDArray[np.generic]] = {}
        self._names: set[str] = set()

    # -- values -------------------------------------------------------------------------------------------------

    def array(self, value: ir.Value | None) -> npt.NDArray[np.generic] | None:
        """The numpy value of a compile-time constant, None when it is computed at run time (or absent)."""
        if value is None or value.const_value is None:
            return None
        if value not in self._arrays:
            self._arrays[value] = value.const_value.numpy()
        return self._arrays[value]

    def shape(self, value: ir.Value) -> tuple[int, ...]:
        """The static shape of ``value``."""
        if value.shape is None:
            raise ModelError(Problem("EP0210", f"the shape of tensor '{value.name}' is not known"))
        return tuple(int(dim) for dim in value.shape)  # type: ignore[arg-type]  # the frontend left ints only

    def dtype(self, value: ir.Value) -> DType:
        """The element type of ``value``; ModelError for types no kernel has (strings, complex, 4-bit...)."""
        return _dtype(value.dtype.numpy().name if value.dtype is not None else "unknown", value.name or "")

    def format(self, value: ir.Value) -> Format:
        """The memory format the layout pass chose for ``value``."""
        found = value.meta.get(FORMAT_KEY, PLAIN)
        assert isinstance(found, Format)
        return found

    def operand(self, value: ir.Value | None) -> Operand | None:
        """The buffer or row-major constant that holds ``value``; None for an absent optional input."""
        if value is None:
            return None
        if value not in self._values:
            array = self.array(value)
            if array is not None:
                self._values[value] = self.constant(array, value.name or "constant")
            else:
                self._values[value] = self._buffer(value)
        return self._values[value]

    def inputs(self, node: ir.Node) -> tuple[Operand | None, ...]:
        """Operands of all inputs, None for those left out."""
        return tuple(self.operand(value) for value in node.inputs)

    def buffer(self, value: ir.Value) -> Buffer:
        """The buffer an output is written to."""
        found = self.operand(value)
        assert isinstance(found, Buffer), f"'{value.name}' is not a buffer"
        return found

    def outputs(self, node: ir.Node) -> tuple[Buffer, ...]:
        """Buffers of all named outputs; an output that was left out has no buffer and is skipped."""
        return tuple(self.buffer(value) for value in node.outputs if value.name)

    # -- things lowering makes ----------------------------------------------------------------------------------

    def constant(self, array: npt.NDArray[np.generic], name: str, layout: str = "row-major") -> Constant:
        """A read-only constant with the bytes of ``array``; equal bytes are kept once; ModelError for odd types."""
        _dtype(array.dtype.name, name)
        made = Constant.of(name, array, layout)
        return self._constants.setdefault((f"{made.dtype.label}{made.dims}{layout}", made.data), made)

    def scratch(self, count: int, dtype: DType = DType.FLOAT32, *, padding: int = 0) -> Buffer:
        """A buffer of ``count`` elements that lives during one call; ``padding`` of them only fill lanes."""
        return self._add(Buffer(self._unique("scratch"), dtype, (count,), padding=padding))

    def temporary(self, dims: Sequence[int], dtype: DType, fmt: Format = PLAIN, *, padding: int = 0) -> Buffer:
        """A buffer between two calls of one lowering; ``padding`` of its elements only fill lanes."""
        return self._add(Buffer(self._unique("temporary"), dtype, tuple(dims), fmt, padding=padding))

    def alias(self, output: ir.Value, source: ir.Value, element_offset: int = 0) -> None:
        """Make ``output`` a view of ``source`` (same bytes from ``element_offset`` on): no call, no copy.

        When ``source`` is a constant the output becomes a constant too.
        """
        base = self.operand(source)
        dims = self.shape(output)
        if isinstance(base, Constant):
            count = math.prod(dims)
            flat = np.frombuffer(base.data, base.dtype.numpy)[element_offset : element_offset + count]
            self._values[output] = self.constant(flat.reshape(dims), output.name or "constant")
            return
        assert base is not None
        self._values[output] = self._add(
            Buffer(
                self._unique(output.name or "view"),
                self.dtype(output),
                dims,
                self.format(output),
                alias=(base.name, element_offset * base.dtype.size),
            )
        )

    def define(self, output: ir.Value, array: npt.NDArray[np.generic]) -> None:
        """Make ``output`` a compile-time constant: no call."""
        self._arrays[output] = array
        self._values[output] = self.constant(array, output.name or "constant")

    def can_view(self, offset_bytes: int) -> bool:
        """Whether a view may begin ``offset_bytes`` into a buffer; kernels accept any element's address, slowly."""
        return offset_bytes % _VIEW_ALIGNMENT == 0

    def root(self, buffer: Buffer) -> str:
        """The name of the buffer that owns the memory of ``buffer``."""
        buffer = self.buffers[buffer.name]
        while buffer.alias is not None:
            buffer = self.buffers[buffer.alias[0]]
        return buffer.name

    def is_graph_port(self, operand: Operand | None) -> bool:
        """Whether ``operand`` shares memory with a graph input or output."""
        if not isinstance(operand, Buffer):
            return False
        root = self.root(operand)
        return any(
            isinstance(held, Buffer) and self.root(held) == root and (value.is_graph_input() or value.is_graph_output())
            for value, held in self._values.items()
        )

    def place_inside(self, value: ir.Value, target: ir.Value, element_offset: int) -> bool:
        """Let the producer of ``value`` write straight into ``target`` (Concat by aliasing).

        Where ``value`` is a view of the whole of another buffer (Reshape), that buffer moves.  False when it cannot: a
        constant, a graph input or output, a part of something else already, another memory format, or an offset
        that is not aligned as kernels expect; the caller then copies.
        """
        base = self.buffer(target)
        held = self._values.get(value)
        offset = element_offset * base.dtype.size
        if not isinstance(held, Buffer) or held.format != base.format or not self.can_view(offset):
            return False
        root = held = self.buffers[held.name]
        while root.alias is not None:
            parent = self.buffers[root.alias[0]]
            if root.alias[1] != 0 or root.stored_bytes != parent.stored_bytes or not parent.format.is_plain:
                return False
            root = parent
        if self.is_graph_port(root) or root.name == self.root(base):
            return False
        self.buffers[root.name] = replace(root, alias=(base.name, offset))
        for other, operand in self._values.items():
            if isinstance(operand, Buffer) and operand.name == root.name:
                self._values[other] = self.buffers[root.name]
        return True

    def call(
        self,
        kernel: Kernel,
        node: ir.Node,
        outputs: Sequence[Buffer],
        inputs: Sequence[Operand | None],
        descriptor: Descriptor | None = None,
        *,
        scratch: Buffer | None = None,
        expression: Expression | None = None,
        extent: int = 1,
        in_place: Sequence[tuple[int, int]] = (),
        macs: int = 0,
    ) -> KernelCall:
        """A KernelCall that names ``node`` as its source."""
        return KernelCall(
            kernel,
            tuple(outputs),
            tuple(inputs),
            descriptor,
            scratch,
            expression,
            extent,
            tuple(in_place),
            self.source(node),
            macs,
        )

    def source(self, node: ir.Node) -> str:
        """``Conv 'stem/conv'``, with what was fused into it."""
        fused = node.meta.get("edgepack.fused", "")
        return describe(node) + (f" + {fused}" if fused else "")

    def unsupported(self, node: ir.Node, what: str, hint: str = "") -> ModelError:
        """The error for an attribute or input form this lowering does not cover: ``raise ctx.unsupported(...)``."""
        return ModelError(Problem("EP0212", f"{node.op_type}: {what}", f"node {describe(node)}", hint))

    # -- internals ----------------------------------------------------------------------------------------------

    def _unique(self, stem: str) -> str:
        name, count = stem, 1
        while name in self._names:
            count += 1
            name = f"{stem}_{count}"
        self._names.add(name)
        return name

    def _add(self, buffer: Buffer) -> Buffer:
        self.buffers[buffer.name] = buffer
        return buffer

    def _buffer(self, value: ir.Value) -> Buffer:
        name = self._unique(value.name or "tensor")
        return self._add(Buffer(name, self.dtype(value), self.shape(value), self.format(value)))
