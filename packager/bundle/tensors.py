"""Raw tensors, as the ``run`` program reads and writes them: little endian, one after another in graph order."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from difflib import get_close_matches

import numpy as np
import numpy.typing as npt

from packager.bundle.manifest import PortInfo
from packager.errors import DeviceError, Problem, VerifyError
from packager.program import DType

Array = npt.NDArray[np.generic]


def check_feeds(ports: Sequence[PortInfo], feeds: Mapping[str, Array]) -> None:
    """VerifyError that lists every input that is missing, unknown, or of another shape or dtype than ``ports`` say."""
    problems = []
    names = [port.name for port in ports]
    for name in feeds:
        if name not in names:
            close = get_close_matches(name, names, 1)
            hint = f"did you mean '{close[0]}'?" if close else f"the inputs are {', '.join(map(repr, names)) or 'none'}"
            problems.append(Problem("EP0801", f"the model has no input '{name}'", hint=hint))
    for port in ports:
        what = _misfit(port, feeds.get(port.name))
        if what:
            problems.append(Problem("EP0801", f"input '{port.name}' {what}", hint=_wanted(port)))
    if problems:
        raise VerifyError(problems)


def pack(ports: Sequence[PortInfo], feeds: Mapping[str, Array]) -> bytes:
    """The bytes of all inputs; VerifyError as :func:`check_feeds`."""
    check_feeds(ports, feeds)
    little = (feeds[port.name].astype(_stored(port), copy=False) for port in ports)
    return b"".join(np.ascontiguousarray(array).tobytes() for array in little)


def unpack(ports: Sequence[PortInfo], data: bytes) -> dict[str, Array]:
    """The outputs by name; DeviceError when ``data`` is not as long as they are."""
    expected = sum(port.bytes for port in ports)
    if len(data) != expected:
        raise DeviceError(
            Problem("EP0721", f"the program wrote {len(data):,} bytes of outputs instead of {expected:,}")
        )
    outputs, at = {}, 0
    for port in ports:
        flat = np.frombuffer(data, _stored(port), math.prod(port.dims), at)
        outputs[port.name] = flat.astype(DType.of(port.dtype).numpy).reshape(port.dims)
        at += port.bytes
    return outputs


def unpack_frames(ports: Sequence[PortInfo], data: bytes, count: int) -> list[dict[str, Array]]:
    """The outputs of ``count`` inferences, one after another; DeviceError as :func:`unpack`."""
    size = len(data) // max(count, 1)
    return [unpack(ports, data[at * size : (at + 1) * size if at < count - 1 else None]) for at in range(count)]


def _stored(port: PortInfo) -> np.dtype[np.generic]:
    return DType.of(port.dtype).numpy.newbyteorder("<")


def _misfit(port: PortInfo, array: Array | None) -> str:
    if array is None:
        return "is not given"
    if array.dtype.newbyteorder("=") != DType.of(port.dtype).numpy:
        return f"has dtype {array.dtype.name}"
    return "" if array.shape == port.dims else f"has shape {list(array.shape)}"


def _wanted(port: PortInfo) -> str:
    return f"it takes {port.dtype}, shape {list(port.dims)}"
