"""Inputs to verify with: from files, or random with a fixed seed."""

from __future__ import annotations

import math
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, overload

import numpy as np
import numpy.typing as npt

from packager.bundle.manifest import PortInfo
from packager.bundle.tensors import check_feeds
from packager.errors import Problem, VerifyError
from packager.program import DType

if TYPE_CHECKING:
    import onnx

Array = npt.NDArray[np.generic]
Feeds = dict[str, Array]

_GATHERS = ("Gather", "GatherElements")
_SPEC = "random:"
MOST_RANDOM = 1_000_000
"""Random samples of one verification; nobody waits for more."""


def input_ports(model: onnx.ModelProto) -> tuple[PortInfo, ...]:
    """The inputs of a model with static shapes; initializers that are listed as inputs are constants."""
    constants = {tensor.name for tensor in model.graph.initializer}
    return tuple(_port(value) for value in model.graph.input if value.name not in constants)


def feeds_for(model: onnx.ModelProto, inputs: str, seed: int = 0) -> Sequence[Feeds]:
    """The samples that ``inputs`` asks for: ``random:N``, or a directory or ``.npz`` file (see :func:`load_feeds`)."""
    if not inputs.startswith(_SPEC):
        return load_feeds(Path(inputs), input_ports(model))
    count = inputs.removeprefix(_SPEC)
    if not is_count(count):
        hint = f"write random:5 (up to {MOST_RANDOM:,}) or a directory"
        raise VerifyError(Problem("EP0802", f"'{inputs}' asks for no possible number of samples", hint=hint))
    return random_feeds(model, int(count), seed)


def is_count(text: str) -> bool:
    """Whether ``text`` is a number of samples: 1 to :data:`MOST_RANDOM`."""
    digits = text.isascii() and text.isdecimal() and len(text) <= len(str(MOST_RANDOM))
    return digits and 1 <= int(text) <= MOST_RANDOM


def random_feeds(model: onnx.ModelProto, count: int, seed: int = 0) -> Sequence[Feeds]:
    """``count`` samples that depend on ``seed`` and the names of the inputs only, each drawn when it is asked for.

    Floats are uniform in -1..1; 8-bit integers use their whole range, as images do; wider integers are -8..8 (0..8
    unsigned), or any valid index where they go straight into a Gather.
    """
    return RandomFeeds(input_ports(model), _index_limits(model), range(count), seed)


@dataclass(frozen=True)
class RandomFeeds(Sequence[Feeds]):
    """The samples with the ``numbers`` given; none is kept."""

    ports: tuple[PortInfo, ...]
    limits: Mapping[str, int]
    numbers: range
    seed: int

    def __len__(self) -> int:
        return len(self.numbers)

    @overload
    def __getitem__(self, index: int) -> Feeds: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Feeds]: ...
    def __getitem__(self, index: int | slice) -> Feeds | Sequence[Feeds]:
        if isinstance(index, slice):
            return replace(self, numbers=self.numbers[index])
        where = (self.seed, self.numbers[index])
        return {port.name: _draw(port, self.limits.get(port.name), where) for port in self.ports}


def load_feeds(path: Path, ports: Sequence[PortInfo]) -> list[Feeds]:
    """Samples from files, checked against ``ports``; VerifyError says what does not fit.

    ``path`` is an ``.npz`` whose keys are input names (``in:NAME`` also; ``out:...`` is skipped), or a directory with
    ``NAME.npy`` or ``input_K.npy`` (K counts the inputs from 0; ``/`` and ``:`` in names as ``_``).  A directory of
    such directories or ``.npz`` files holds one sample in each; so does, for a model with one input, every file of a
    directory of ``.npy`` files with other names.
    """
    try:
        samples = list(_samples(path, ports))
    except OSError as error:
        raise _unreadable(Path(error.filename or path), error) from None
    if not samples:
        hint = "it takes NAME.npy or input_0.npy files, .npz files, or directories of them"
        raise VerifyError(Problem("EP0802", "there are no inputs", str(path), hint))
    for where, feeds in samples:
        _check(feeds, ports, where)
    return [feeds for _, feeds in samples]


def check_finite(feeds: Mapping[str, Array]) -> list[Problem]:
    """A problem for every input with NaN: its comparison would say nothing."""
    return [
        Problem("EP0803", f"input '{name}' holds NaN ({int(np.isnan(array).sum())} of {array.size} values)")
        for name, array in feeds.items()
        if np.issubdtype(array.dtype, np.floating) and np.isnan(array).any()
    ]


def _port(value: onnx.ValueInfoProto) -> PortInfo:
    from onnx import helper

    tensor = value.type.tensor_type
    dtype = DType.of(helper.tensor_dtype_to_np_dtype(tensor.elem_type).name)
    dims = tuple(dim.dim_value for dim in tensor.shape.dim)
    return PortInfo(value.name, dtype.label, dims, math.prod(dims) * dtype.size)


def _draw(port: PortInfo, limit: int | None, seed: tuple[int, int]) -> Array:
    dice = np.random.default_rng([*seed, zlib.crc32(port.name.encode())])
    dtype = DType.of(port.dtype).numpy
    if port.dtype == "bool":
        return dice.integers(0, 2, port.dims).astype(dtype)
    if port.dtype.startswith(("int", "uint")):
        low, high = (-8, 8) if port.dtype.startswith("int") else (0, 8)
        if dtype.itemsize == 1:
            low, high = (-128, 127) if port.dtype == "int8" else (0, 255)
        if limit is not None:
            low, high = 0, limit - 1
        return dice.integers(low, high, port.dims, endpoint=True).astype(dtype)
    values = dice.uniform(-1, 1, port.dims)
    if port.dtype == "bfloat16":
        return np.asarray(np.asarray(values, np.float32).view(np.uint32) >> 16, np.uint16)
    return values.astype(dtype)


def _index_limits(model: onnx.ModelProto) -> dict[str, int]:
    """For inputs that are indices of a Gather from a tensor of known shape: the least extent they index."""
    shapes = {tensor.name: tuple(tensor.dims) for tensor in model.graph.initializer}
    shapes |= {port.name: port.dims for port in input_ports(model)}
    limits: dict[str, int] = {}
    for node in model.graph.node:
        if node.op_type in _GATHERS and node.input[0] in shapes:
            axis = next((attribute.i for attribute in node.attribute if attribute.name == "axis"), 0)
            extent = shapes[node.input[0]][axis]
            limits[node.input[1]] = min(extent, limits.get(node.input[1], extent))
    return limits


def _samples(path: Path, ports: Sequence[PortInfo], *, nested: bool = False) -> Iterator[tuple[str, Feeds]]:
    """(where it is, inputs) of each sample; directories in directories of samples are not looked into."""
    if path.suffix == ".npz" and path.is_file():
        yield str(path), _from_npz(path)
        return
    if not path.is_dir():
        hint = "give a directory of .npy files, an .npz file, or random:N"
        raise VerifyError(Problem("EP0802", "there are no such inputs", str(path), hint))
    arrays = sorted(path.glob("*.npy"))
    names = _file_names(ports)
    if len(ports) == 1 and arrays and not any(file.stem in names for file in arrays):
        yield from ((str(file), {ports[0].name: _read(file)}) for file in arrays if not _is_output(file))
        return
    if arrays:
        files = [file for file in arrays if file.stem in names or not _is_output(file)]
        yield str(path), {names.get(file.stem, file.stem): _read(file) for file in files}
        return
    for entry in sorted(path.iterdir()) if not nested else ():
        if entry.is_dir() or entry.suffix == ".npz":
            yield from _samples(entry, ports, nested=True)


def _from_npz(path: Path) -> Feeds:
    try:
        with np.load(path, allow_pickle=False) as archive:
            return {
                key.removeprefix("in:"): np.asarray(archive[key]) for key in archive.files if not key.startswith("out:")
            }
    except (OSError, ValueError, EOFError, MemoryError, zlib.error, zipfile.BadZipFile) as error:
        raise _unreadable(path, error) from None


def _file_names(ports: Sequence[PortInfo]) -> dict[str, str]:
    """What files of one sample may be called, without ``.npy``: input names by stem."""
    names = {f"input_{number}": port.name for number, port in enumerate(ports)}
    return names | {port.name.replace("/", "_").replace(":", "_"): port.name for port in ports}


def _is_output(file: Path) -> bool:
    return file.stem.startswith(("expected_", "output_"))


def _read(file: Path) -> Array:
    try:
        return np.asarray(np.load(file, allow_pickle=False))
    except (OSError, ValueError, EOFError, MemoryError) as error:
        raise _unreadable(file, error) from None


def _check(feeds: Feeds, ports: Sequence[PortInfo], where: str) -> None:
    try:
        check_feeds(ports, feeds)
    except VerifyError as error:
        raise VerifyError([Problem(one.code, one.what, where, one.hint) for one in error.problems]) from None
    problems = check_finite(feeds)
    if problems:
        raise VerifyError([Problem(one.code, one.what, where) for one in problems])


def _unreadable(path: Path, error: Exception) -> VerifyError:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return VerifyError(Problem("EP0802", f"the inputs cannot be read: {reason}", str(path)))
