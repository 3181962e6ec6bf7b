"""Inputs of `edgepack run`: arrays, pictures and sounds."""

from __future__ import annotations

import struct
import wave
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from PIL import Image

from packager.bundle.manifest import PortInfo
from packager.cli.media import read_inputs, read_picture
from packager.errors import VerifyError

Pixels = npt.NDArray[np.uint8]


def port(name: str, *dims: int, dtype: str = "float32") -> PortInfo:
    return PortInfo(name, dtype, dims, int(np.prod(dims)) * np.dtype(dtype).itemsize)


@pytest.fixture
def picture() -> Pixels:
    return np.random.default_rng(3).integers(0, 256, (12, 7, 4), dtype=np.uint8)


@pytest.mark.parametrize(
    ("mode", "kept"),
    [("RGB", slice(0, 3)), ("RGBA", slice(0, 3)), ("L", slice(0, 1)), ("LA", slice(0, 1))],
)
def test_pictures_keep_their_channels_but_transparency(picture: Pixels, tmp_path: Path, mode: str, kept: slice) -> None:
    file = tmp_path / "x.png"
    Image.fromarray(picture[..., : len(mode)].squeeze(), mode).save(file)
    assert np.array_equal(read_picture(file), picture[..., kept])


def test_a_palette_is_looked_up(picture: Pixels, tmp_path: Path) -> None:
    file = tmp_path / "x.png"
    indexed = Image.fromarray(picture[..., :3]).convert("P", palette=Image.Palette.ADAPTIVE)
    indexed.save(file)
    assert np.array_equal(read_picture(file), np.asarray(indexed.convert("RGB")))


def test_pictures_take_the_axes_and_the_range_of_the_input(picture: Pixels, tmp_path: Path) -> None:
    file = tmp_path / "x.png"
    Image.fromarray(picture[..., :3]).save(file)
    planes = read_inputs({"": file}, [port("image", 1, 3, 12, 7)])["image"]
    assert np.allclose(planes[0], picture[..., :3].transpose(2, 0, 1) / 255)
    pixels = read_inputs({"image": file}, [port("image", 1, 12, 7, 3, dtype="uint8")])["image"]
    assert np.array_equal(pixels[0], picture[..., :3])


@pytest.mark.parametrize(
    "damage",
    [lambda data: data[:60], lambda data: b"no" + data, lambda data: data[:-40] + bytes(40), lambda _: b""],
    ids=["cut off", "other format", "bad checksum", "empty"],
)
def test_a_damaged_picture_is_an_error(picture: Pixels, tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    file = tmp_path / "x.png"
    Image.fromarray(picture[..., :3]).save(file)
    file.write_bytes(damage(file.read_bytes()))
    with pytest.raises(VerifyError, match="EP0805"):
        read_inputs({"image": file}, [port("image", 1, 3, 12, 7)])


def test_a_picture_of_another_size_is_refused_with_both_sizes(picture: Pixels, tmp_path: Path) -> None:
    file = tmp_path / "x.png"
    Image.fromarray(picture[..., :3]).save(file)
    with pytest.raises(
        VerifyError, match=r"7 x 12 pixels with 3 channels do not fit 'image', which takes \[1, 3, 32, 32\]"
    ):
        read_inputs({"image": file}, [port("image", 1, 3, 32, 32)])


@pytest.mark.parametrize("dims", [(1, 2, 3), (2, 3, 1), (1, 1, 2, 3, 1), (2, 3)])
def test_ones_are_added_around_the_shape_of_an_array(tmp_path: Path, dims: tuple[int, ...]) -> None:
    file = tmp_path / "x.npy"
    np.save(file, np.arange(6.0).reshape(2, 3))
    assert read_inputs({"": file}, [port("x", *dims)])["x"].shape == dims


@pytest.mark.parametrize("dims", [(1, 5), (6,), (3, 2), (1, 3, 2), (2, 1, 3)])
def test_an_array_of_another_shape_is_refused_though_its_values_are_as_many(
    tmp_path: Path, dims: tuple[int, ...]
) -> None:
    file = tmp_path / "x.npy"
    for shape in ((2, 3), (1, 1, 2, 3, 1, 1)):
        np.save(file, np.zeros(shape))
        with pytest.raises(VerifyError, match=r"EP0801.* does not fit input 'x', which takes"):
            read_inputs({"": file}, [port("x", *dims)])


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        ([1.0, 2.5], "int32"),
        ([np.nan, 1.0], "int32"),
        ([1e300, 1.0], "float32"),
        ([1 << 40, 1], "int32"),
        ([-1, 1], "uint8"),
        ([2, 1], "bool"),
    ],
)
@pytest.mark.filterwarnings("error")
def test_values_that_the_inputs_type_cannot_hold_are_refused(tmp_path: Path, values: list[float], dtype: str) -> None:
    file = tmp_path / "x.npy"
    np.save(file, np.array(values))
    with pytest.raises(VerifyError, match=f"EP0801.*64 values do not fit input 'x', which takes {dtype}"):
        read_inputs({"": file}, [port("x", 2, dtype=dtype)])


def test_rounding_infinities_and_nan_are_left_to_floats(tmp_path: Path) -> None:
    file = tmp_path / "x.npy"
    np.save(file, np.array([0.1, np.inf, np.nan]))
    assert read_inputs({"": file}, [port("x", 3)])["x"].tolist() == pytest.approx([0.1, np.inf, np.nan], nan_ok=True)


@pytest.mark.parametrize(
    "array",
    [np.array(["a", "b"]), np.array([(1, 2.0)] * 2, "i4,f4"), np.array([1j, 2]), np.array(["2026-01-01"] * 2, "M8[D]")],
    ids=["text", "structure", "complex", "date"],
)
def test_arrays_of_anything_but_real_numbers_are_refused(tmp_path: Path, array: npt.NDArray[np.generic]) -> None:
    file = tmp_path / "x.npy"
    np.save(file, array)
    with pytest.raises(VerifyError, match=r"EP0801.*values of type .* do not fit input 'x'"):
        read_inputs({"": file}, [port("x", 2)])


def test_a_file_that_claims_more_than_memory_holds_cannot_be_read(tmp_path: Path) -> None:
    file = tmp_path / "x.npy"
    np.save(file, np.zeros(100))
    text = b"{'descr': '<f8', 'fortran_order': False, 'shape': (4503599627370496,), }"
    file.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", 118) + text.ljust(117) + b"\n")
    with pytest.raises(VerifyError, match=r"EP0805.*cannot read the input"):
        read_inputs({"": file}, [port("x", 2)])


def test_an_archive_gives_all_inputs(tmp_path: Path) -> None:
    file = tmp_path / "x.npz"
    np.savez(file, a=np.zeros(2, np.float32), b=np.ones(3, np.float32))
    feeds = read_inputs({"": file}, [port("a", 2), port("b", 1, 3)])
    assert feeds["b"].tolist() == [[1, 1, 1]]


def test_a_sound_becomes_floats(tmp_path: Path) -> None:
    file = tmp_path / "x.wav"
    with wave.open(str(file), "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(16000)
        sound.writeframes(np.array([0, 16384, -32768], "<i2").tobytes())
    assert read_inputs({"": file}, [port("x", 1, 3)])["x"].tolist() == [[0, 0.5, -1]]


@pytest.mark.parametrize("name", ["x.txt", "none.npy", "none.npz", "empty.wav"])
def test_files_that_cannot_be_read_are_named(tmp_path: Path, name: str) -> None:
    (tmp_path / "x.txt").touch()
    (tmp_path / "empty.wav").touch()
    with pytest.raises(VerifyError) as caught:
        read_inputs({"": tmp_path / name}, [port("x", 3)])
    assert [(problem.code, problem.where) for problem in caught.value.problems] == [("EP0805", str(tmp_path / name))]


def test_an_unknown_or_missing_name_lists_the_inputs(tmp_path: Path) -> None:
    ports = [port("a", 1), port("b", 1)]
    for name in ("", "c"):
        with pytest.raises(VerifyError) as caught:
            read_inputs({name: tmp_path / "x.npy"}, ports)
        assert "'a', 'b'" in caught.value.problems[0].hint
