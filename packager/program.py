"""``Program``: what the compiler knows after lowering, as frozen dataclasses.

The generator prints a Program; the planner fills in addresses.  Nothing here imports onnx, and equal Programs give
equal C.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class Bounded:
    """A dimension known only at run time, ``minimum`` to ``maximum`` inclusive; memory is planned at the latter."""

    name: str
    minimum: int
    maximum: int


Dim = int | Bounded


def upper_bound(dim: Dim) -> int:
    """The extent memory is planned at."""
    return dim.maximum if isinstance(dim, Bounded) else dim


class DType(enum.Enum):
    """Element type: value is (ONNX/numpy name, C type, bytes per element)."""

    FLOAT32 = ("float32", "float", 4)
    FLOAT64 = ("float64", "double", 8)
    FLOAT16 = ("float16", "uint16_t", 2)
    BFLOAT16 = ("bfloat16", "uint16_t", 2)
    INT8 = ("int8", "int8_t", 1)
    INT16 = ("int16", "int16_t", 2)
    INT32 = ("int32", "int32_t", 4)
    INT64 = ("int64", "int64_t", 8)
    UINT8 = ("uint8", "uint8_t", 1)
    UINT16 = ("uint16", "uint16_t", 2)
    UINT32 = ("uint32", "uint32_t", 4)
    UINT64 = ("uint64", "uint64_t", 8)
    BOOL = ("bool", "uint8_t", 1)

    def __init__(self, label: str, c_type: str, size: int) -> None:
        self.label = label
        self.c_type = c_type
        self.size = size

    @property
    def numpy(self) -> np.dtype[np.generic]:
        """The numpy dtype of the same bytes (bfloat16 is carried as uint16)."""
        return np.dtype("uint16" if self is DType.BFLOAT16 else self.label)

    @classmethod
    def of(cls, name: str) -> DType:
        """The DType called ``name`` in numpy's spelling; KeyError when there is none."""
        return _DTYPES[name]


_DTYPES = {member.label: member for member in DType}


@dataclass(frozen=True)
class Halo:
    """Border cells around the spatial plane of a blocked buffer, in elements; zeroed after the producer has written."""

    top: int = 0
    left: int = 0
    bottom: int = 0
    right: int = 0

    def __or__(self, other: Halo) -> Halo:
        """The smallest halo that contains both."""
        return Halo(
            max(self.top, other.top),
            max(self.left, other.left),
            max(self.bottom, other.bottom),
            max(self.right, other.right),
        )

    def __bool__(self) -> bool:
        return bool(self.top or self.left or self.bottom or self.right)


@dataclass(frozen=True)
class Format:
    """How a tensor lies in memory.

    ``block == 0``: row-major, contiguous.  ``block == b``: ``x[N, C, H, W]`` (or ``x[N, C, W]``, H = 1) lies as
    ``[N, ceil(C/b), H, W, b]`` with room for the halo between rows and planes.  What follows a row is what precedes the
    next, and likewise for planes, so that a border of one cell all around costs one column and one row, not two:
    rows are ``W + max(left, right)`` cells apart, planes ``H + max(top, bottom)`` rows.  Lanes past C are undefined: no
    kernel may let them reach a valid lane.  Pointers given to kernels point at the first *interior* element.
    """

    block: int = 0
    halo: Halo = Halo()

    @property
    def is_plain(self) -> bool:
        """Row-major without blocks."""
        return self.block == 0

    def extents(self, dims: tuple[int, ...]) -> tuple[int, ...]:
        """The loop extents of the stored tensor, halo excluded: ``dims``, or ``(N, C/b, H, W, b)``."""
        if self.is_plain:
            return dims
        n, c, h, w = nchw(dims)
        return (n, -(-c // self.block), h, w, self.block)

    def strides(self, dims: tuple[int, ...]) -> tuple[int, ...]:
        """Element strides that go with :meth:`extents`; blocked strides step over the halo."""
        if self.is_plain:
            return tuple(math.prod(dims[axis + 1 :]) for axis in range(len(dims)))
        _, blocks, h, w, b = self.extents(dims)
        row = (w + max(self.halo.left, self.halo.right)) * b
        plane = (h + max(self.halo.top, self.halo.bottom)) * row
        return (blocks * plane, plane, row, b, 1)

    def elements(self, dims: tuple[int, ...]) -> int:
        """Elements in memory: from the first halo cell (:meth:`origin` before the interior) to the last."""
        if self.is_plain or 0 in dims:
            return math.prod(dims)
        n, blocks, h, w, b = self.extents(dims)
        _, plane, row, _, _ = self.strides(dims)
        last_row = (n * blocks - 1) * plane + (h - 1 + self.halo.bottom) * row
        return self.origin(dims) + last_row + (w + self.halo.right) * b

    def origin(self, dims: tuple[int, ...]) -> int:
        """Elements from the start of the buffer to the first interior element."""
        if self.is_plain:
            return 0
        strides = self.strides(dims)
        return self.halo.top * strides[2] + self.halo.left * strides[3]


PLAIN = Format()


def nchw(dims: tuple[int, ...]) -> tuple[int, int, int, int]:
    """``dims`` as (N, C, H, W): rank 4 as it is, rank 3 (N, C, W) with H = 1, rank 2 (N, C) with H = W = 1."""
    if len(dims) == 4:
        return (dims[0], dims[1], dims[2], dims[3])
    if len(dims) == 3:
        return (dims[0], dims[1], 1, dims[2])
    if len(dims) == 2:
        return (dims[0], dims[1], 1, 1)
    raise ValueError(f"no blocked form for rank {len(dims)}")


@dataclass(frozen=True)
class Buffer:
    """A mutable tensor (or scratch) in a memory pool.

    ``alias``: this buffer is bytes ``alias[1]`` onwards of the buffer named ``alias[0]`` (views are free).
    ``offset``: bytes from the start of the pool; None until planned.  ``padding``: elements that only fill lanes.
    """

    name: str
    dtype: DType
    dims: tuple[Dim, ...]
    format: Format = PLAIN
    pool: str = "arena"
    alias: tuple[str, int] | None = None
    offset: int | None = None
    padding: int = 0

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents at the upper bound."""
        return tuple(upper_bound(dim) for dim in self.dims)

    @property
    def logical_bytes(self) -> int:
        """Bytes of the tensor's values alone: no lane padding, no halo."""
        return (math.prod(self.shape) - self.padding) * self.dtype.size

    @property
    def stored_bytes(self) -> int:
        """Bytes the buffer occupies."""
        return self.format.elements(self.shape) * self.dtype.size

    @property
    def origin_bytes(self) -> int:
        """Bytes from the buffer's start to its first interior element."""
        return self.format.origin(self.shape) * self.dtype.size


@dataclass(frozen=True)
class Constant:
    """Read-only data: ``data`` holds the stored (packed) bytes, little endian; ``layout`` says how they were packed."""

    name: str
    dtype: DType
    dims: tuple[int, ...]
    data: bytes = field(repr=False)
    layout: str = "row-major"

    @classmethod
    def of(cls, name: str, array: npt.NDArray[np.generic], layout: str = "row-major") -> Constant:
        """A constant with the bytes of ``array`` (C order)."""
        little = array.astype(array.dtype.newbyteorder("<"), copy=False)
        return cls(name, DType.of(array.dtype.name), array.shape, np.ascontiguousarray(little).tobytes(), layout)


Operand = Buffer | Constant

Scalar = int | float | bool | str
FieldValue = Scalar | tuple["FieldValue", ...]


@dataclass(frozen=True)
class Descriptor:
    """A C struct literal: ``struct`` is the C type name, ``fields`` its designated initialisers in order.

    A str value is a C identifier (an enumerator); tuples are arrays.
    """

    struct: str
    fields: tuple[tuple[str, FieldValue], ...]

    @classmethod
    def of(cls, struct: str, /, **fields: FieldValue) -> Descriptor:
        """``Descriptor.of("ep_conv_desc", ic=16, oc=32)``."""
        return cls(struct, tuple(fields.items()))


@dataclass(frozen=True)
class Expression:
    """The body of a fused element-wise chain as straight-line code: one C expression per step, last one is the result.

    Step k is named ``t<k>``; operands are ``x<i>``.  Every step calls ``ep_`` primitives only.
    ``types`` are the C types of the steps, ``input_types`` those of the operands.
    """

    steps: tuple[str, ...]
    types: tuple[str, ...]
    input_types: tuple[str, ...]


@dataclass(frozen=True)
class Kernel:
    """One function of the C runtime.

    Its arguments, in order: outputs, inputs, scratch (if the call has one), expression function (if any), descriptor
    (if any), ``ptrdiff_t begin, ptrdiff_t end`` (if ``splits``).  ``variadic``: the inputs come as one
    ``const void *const *``.  ``fallible``: it checks indices and returns ``ep_status``; others return void.
    A missing optional input is passed as NULL.
    """

    name: str
    header: str
    splits: bool = False
    variadic: bool = False
    fallible: bool = False


@dataclass(frozen=True)
class KernelCall:
    """One kernel on concrete operands.

    ``extent`` is the length of the axis that ``[begin, end)`` ranges over when the kernel splits.
    ``in_place`` lists (output index, input index) pairs that may share memory.
    ``source`` names the ONNX node(s): "Conv 'stem/conv' + Relu".  ``macs`` counts multiply-accumulates.
    ``parallel``: the range is worth sharing among threads.
    """

    kernel: Kernel
    outputs: tuple[Buffer, ...]
    inputs: tuple[Operand | None, ...]
    descriptor: Descriptor | None = None
    scratch: Buffer | None = None
    expression: Expression | None = None
    extent: int = 1
    in_place: tuple[tuple[int, int], ...] = ()
    source: str = ""
    macs: int = 0
    parallel: bool = False


@dataclass(frozen=True)
class Port:
    """A graph input or output: its ONNX name and the buffer or constant that holds it."""

    name: str
    dtype: DType
    dims: tuple[Dim, ...]
    operand: Operand

    @property
    def count(self) -> int:
        """Elements at the upper bound."""
        return math.prod(upper_bound(dim) for dim in self.dims)

    @property
    def bytes(self) -> int:
        """Bytes at the upper bound."""
        return self.count * self.dtype.size


@dataclass(frozen=True)
class State:
    """What a streaming model keeps from one inference to the next: ``buffer`` holds the graph input ``input``.

    The last calls of the body write the graph output ``output`` into it.  It begins as zeros.
    """

    output: str
    input: str
    buffer: Buffer


@dataclass(frozen=True)
class Program:
    """A lowered network.  ``buffers`` are addressed by name; ``constants`` are those in use; ``body`` runs in order.

    ``arena_bytes`` and ``arena_align`` are 0 until planned.  ``lanes`` is the float vector width the body was made for.
    The first ``state_bytes`` of the arena hold the states and nothing else.
    """

    name: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    buffers: tuple[Buffer, ...]
    constants: tuple[Constant, ...]
    body: tuple[KernelCall, ...]
    lanes: int = 1
    threads: int = 1
    model_sha256: str = ""
    arena_bytes: int = 0
    arena_align: int = 64
    states: tuple[State, ...] = ()
    state_bytes: int = 0

    @property
    def macs(self) -> int:
        """Multiply-accumulates of one inference."""
        return sum(call.macs for call in self.body)

    def buffer_map(self) -> Mapping[str, Buffer]:
        """Buffers by name."""
        return {buffer.name: buffer for buffer in self.buffers}
