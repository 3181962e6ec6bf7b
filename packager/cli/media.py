"""Inputs from files people have: arrays (npy, npz), pictures (png), sounds (wav)."""

from __future__ import annotations

import importlib.util
import math
import warnings
import wave
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from packager.bundle.manifest import PortInfo
from packager.errors import Problem, VerifyError
from packager.program import DType

Array = npt.NDArray[np.generic]

_PICTURES = (".png", ".jpg", ".jpeg", ".bmp")
_GREY_MODES = frozenset(("1", "L", "LA", "La"))
_NUMBERS = "biuf"
"""Kinds of numpy dtypes that inputs have."""
_FORMS = {
    ".npy": "write it with numpy.save(file, array); objects and pickles are not read",
    ".npz": "write it with numpy.savez(file, NAME=array, ...); objects and pickles are not read",
    **dict.fromkeys(_PICTURES, "pictures are PNG, JPEG or BMP of exactly the input's size"),
    ".wav": "sounds are mono WAV with 16-bit samples",
}
"""The way out, by kind of file."""


def read_inputs(given: Mapping[str, Path], ports: Sequence[PortInfo]) -> dict[str, Array]:
    """Arrays for ``ports`` from files by input name; the name may be empty for a single input and for an npz.

    An array has the input's shape, or that shape without some of its leading and trailing 1s (a picture without its
    batch).  A picture becomes 0..1 for float inputs, 0..255 for uint8, in the order of axes the input has; a sound
    becomes -1..1.  Nothing is resized or resampled, and no value is cut off.
    """
    feeds: dict[str, Array] = {}
    for name, file in given.items():
        if not name and file.suffix.lower() == ".npz":
            feeds |= {key: _fit(array, _port(key, ports, file), file) for key, array in _read_npz(file).items()}
        else:
            port = _port(name, ports, file)
            feeds[port.name] = _read(file, port)
    return feeds


def _port(name: str, ports: Sequence[PortInfo], file: Path) -> PortInfo:
    if not name and len(ports) == 1:
        return ports[0]
    for port in ports:
        if port.name == name:
            return port
    names = ", ".join(f"'{port.name}'" for port in ports)
    what = f"the model has no input '{name}'" if name else "the model has several inputs"
    raise VerifyError(Problem("EP0801", what, str(file), f"write NAME={file}; the inputs are {names}"))


def _read(file: Path, port: PortInfo) -> Array:

    def read_arranged(picture: Path) -> Array:
        return _arrange(read_picture(picture), port)

    readers = {".npy": _read_npy, ".wav": _read_wav, **dict.fromkeys(_PICTURES, read_arranged)}
    reader = readers.get(file.suffix.lower())
    if reader is None:
        hint = "inputs are .npy, .npz, .png, .jpg, .bmp or .wav files"
        raise VerifyError(Problem("EP0805", f"'{file.suffix}' files cannot be read", str(file), hint))
    try:
        array = reader(file)
    except (OSError, ValueError, EOFError, MemoryError, wave.Error, zlib.error) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        hint = _FORMS.get(file.suffix.lower(), "")
        raise VerifyError(Problem("EP0805", f"cannot read the input: {reason}", str(file), hint)) from None
    return _fit(array, port, file)


def _read_npy(file: Path) -> Array:
    return np.asarray(np.load(file, allow_pickle=False))


def _read_npz(file: Path) -> dict[str, Array]:
    try:
        with np.load(file, allow_pickle=False) as archive:
            return {name: np.asarray(archive[name]) for name in archive.files}
    except (OSError, ValueError, EOFError, MemoryError, zlib.error, zipfile.BadZipFile) as error:
        raise VerifyError(Problem("EP0805", f"cannot read the inputs: {error}", str(file), _FORMS[".npz"])) from None


def _read_wav(file: Path) -> Array:
    """16-bit PCM, one channel, as float32 in -1..1."""
    with wave.open(str(file), "rb") as sound:
        if sound.getsampwidth() != 2 or sound.getnchannels() != 1:
            raise ValueError(
                f"{sound.getnchannels()} channels of {8 * sound.getsampwidth()} bits; mono 16-bit PCM is read"
            )
        samples = np.frombuffer(sound.readframes(sound.getnframes()), "<i2")
    return np.asarray(samples / np.float32(32768), np.float32)


def read_picture(file: Path) -> npt.NDArray[np.uint8]:
    """The picture as uint8[height, width, channels] with 1 or 3 channels; transparency is left out.

    Reads what Pillow reads (the extra ``images``).  VerifyError when it is not installed, ValueError for damaged files.
    """
    if importlib.util.find_spec("PIL") is None:
        hint = "pip install 'edgepack[images]', or convert the picture to .npy"
        raise VerifyError(Problem("EP0805", "reading pictures needs Pillow, which is not installed", str(file), hint))
    from PIL import Image, UnidentifiedImageError

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(file) as picture:
                kept = picture.convert("L" if picture.mode in _GREY_MODES else "RGB")
    except UnidentifiedImageError:
        raise ValueError("it is no picture that Pillow knows") from None
    except (SyntaxError, Image.DecompressionBombWarning, Image.DecompressionBombError) as error:
        raise ValueError(str(error)) from None
    pixels = np.asarray(kept, np.uint8)
    return pixels.reshape(*pixels.shape[:2], -1)


def _fit(array: Array, port: PortInfo, file: Path) -> Array:
    """``array`` in the shape and type of ``port``; a conversion may round to floats, and changes nothing else."""
    if array.dtype.kind not in _NUMBERS:
        what = f"values of type {array.dtype} do not fit input '{port.name}', which takes {port.dtype}"
        raise VerifyError(Problem("EP0801", what, str(file), "inputs are arrays of real numbers or bools"))
    if not _extends(array.shape, port.dims):
        what = f"{list(array.shape)} does not fit input '{port.name}', which takes {list(port.dims)}"
        hint = f"write a file of that shape, {math.prod(port.dims):,} values; only 1s around a shape are added"
        raise VerifyError(Problem("EP0801", what, str(file), hint))
    wanted = DType.of(port.dtype).numpy
    with np.errstate(all="ignore"):
        made = array.reshape(port.dims).astype(wanted)
    if not _keeps_values(array.reshape(port.dims), made):
        what = f"{array.dtype.name} values do not fit input '{port.name}', which takes {port.dtype}"
        hint = f"scale or round them first; numpy.save(file, array.astype('{port.dtype}')) if losing them is meant"
        raise VerifyError(Problem("EP0801", what, str(file), hint))
    return made


def _extends(shape: tuple[int, ...], dims: tuple[int, ...]) -> bool:
    """Whether ``dims`` is ``shape`` with any number of 1s before and after it."""
    added = len(dims) - len(shape)
    return any(dims == (1,) * before + shape + (1,) * (added - before) for before in range(added + 1))


def _keeps_values(given: Array, made: Array) -> bool:
    """Whether a conversion kept every value; floats may round, but not to an infinity."""
    if made.dtype.kind != "f":
        return bool(np.array_equal(given, made))
    return bool(np.array_equal(np.isfinite(given), np.isfinite(made)))


def _arrange(picture: npt.NDArray[np.uint8], port: PortInfo) -> Array:
    """The picture with its axes in the order of ``port``, 0..1 when that holds floats."""
    height, width, channels = picture.shape
    wanted = tuple(extent for extent in port.dims if extent != 1)
    for pixels in (picture, picture.transpose(2, 0, 1)):
        if tuple(extent for extent in pixels.shape if extent != 1) == wanted:
            shaped = pixels.reshape(port.dims)
            return shaped / np.float32(255) if port.dtype.startswith("float") else shaped
    size = f"{width} x {height} pixels with {channels} channels"
    raise ValueError(
        f"{size} do not fit '{port.name}', which takes {list(port.dims)}; scale or convert the picture first"
    )
