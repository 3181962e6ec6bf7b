"""FoldPad."""

from __future__ import annotations

import numpy as np
import pytest

from packager.passes.fold_pad import FoldPad
from tests.frontend.models import Array, op_types, random
from tests.passes.support import apply, untouched

PADS = np.array([0, 0, 1, 2, 0, 0, 0, 1], np.int64)
LOWEST = np.array(np.finfo(np.float32).min)


def text(reader: str, *, before: str = "t = Pad (x, p)", inside: str = "", result: str = "float[a, b, c, d] y") -> str:
    return f"g (float[1, 2, 6, 7] x) => ({result}) {{ {inside} {before} {reader} }}"


@pytest.mark.parametrize(
    "reader",
    [
        "y = Conv (t, w)",
        "y = Conv <pads = [0, 1, 1, 0], strides = [2, 2]> (t, w)",
        'y = Conv <auto_pad = "VALID"> (t, w)',
    ],
)
def test_zeros_around_a_convolution_are_its_padding(reader: str) -> None:
    model = apply(FoldPad(), text(reader), p=PADS, w=random(3, 2, 3, 3))
    assert op_types(model) == ["Conv"]


def test_pads_may_name_their_axes() -> None:
    before = "t = Pad (x, p, zero, axes)"
    weights: dict[str, Array] = {"zero": np.array(0, np.float32), "axes": np.array([-1, 2], np.int64)}
    model = apply(
        FoldPad(), text("y = Conv (t, w)", before=before), p=np.array([1, 2, 0, 1]), w=random(3, 2, 3, 3), **weights
    )
    assert list(model.graph[0].attributes["pads"].value) == [2, 1, 1, 0]


def test_an_average_pool_then_counts_its_padding() -> None:
    model = apply(FoldPad(), text("y = AveragePool <kernel_shape = [3, 3], strides = [2, 2]> (t)"), p=PADS)
    assert op_types(model) == ["AveragePool"]
    assert model.graph[0].attributes["count_include_pad"].value == 1


def test_an_average_pool_that_counts_pads_takes_more() -> None:
    reader = "y = AveragePool <kernel_shape = [4, 4], pads = [1, 1, 1, 1], count_include_pad = 1> (t)"
    assert op_types(apply(FoldPad(), text(reader), p=PADS)) == ["AveragePool"]


@pytest.mark.parametrize("lowest", [LOWEST, np.array(-np.inf, np.float32)])
def test_the_lowest_float_around_a_max_pool_is_its_padding(lowest: np.ndarray) -> None:
    reader = "y = MaxPool <kernel_shape = [3, 3]> (t)"
    model = apply(FoldPad(), text(reader, before="t = Pad (x, p, lowest)"), p=PADS, lowest=lowest)
    assert op_types(model) == ["MaxPool"]


def test_zeros_around_what_is_never_negative_are_max_pool_padding() -> None:
    reader = "y = MaxPool <kernel_shape = [3, 3]> (t)"
    model = apply(FoldPad(), text(reader, inside="r = Relu (x)", before="t = Pad (r, p)"), p=PADS)
    assert op_types(model) == ["Relu", "MaxPool"]


@pytest.mark.parametrize(
    ("reader", "before"),
    [
        ("y = Conv (t, w)", 't = Pad <mode = "edge"> (x, p)'),
        ("y = Conv (t, w)", "t = Pad (x, p, one)"),
        ("y = Conv (t, w)", "t = Pad (x, negative)"),
        ("y = Conv (t, w2)", "t = Pad (x, channels)"),
        ('y = Conv <auto_pad = "SAME_UPPER", strides = [2, 2]> (t, w)', "t = Pad (x, p)"),
        ("y = AveragePool <kernel_shape = [4, 4], pads = [1, 1, 1, 1]> (t)", "t = Pad (x, p)"),
        ("y = AveragePool <kernel_shape = [2, 2]> (t)", "t = Pad (x, p)"),
        ("y = AveragePool <kernel_shape = [3, 3], strides = [2, 2], ceil_mode = 1> (t)", "t = Pad (x, p)"),
        ("y = MaxPool <kernel_shape = [3, 3]> (t)", "t = Pad (x, p)"),
    ],
    ids=[
        "mode",
        "value",
        "negative",
        "channels",
        "automatic padding",
        "uncounted pads",
        "window in the padding",
        "rounds up",
        "zeros against negatives",
    ],
)
def test_padding_that_means_something_else_is_left_alone(reader: str, before: str) -> None:
    weights: dict[str, Array] = {
        "p": PADS,
        "one": np.array(1, np.float32),
        "negative": np.array([0, 0, -1, 1, 0, 0, 1, 1]),
        "channels": np.array([0, 1, 0, 0, 0, 0, 0, 0]),
        "w": random(3, 2, 3, 3),
        "w2": random(3, 3, 3, 3),
    }
    untouched(FoldPad(), text(reader, before=before), **weights)


def test_a_padded_tensor_with_another_reader_is_left_alone() -> None:
    result = "float[a, b, c, d] y, float[e, f, g, h] z"
    untouched(FoldPad(), text("y = Conv (t, w) z = Relu (t)", result=result), p=PADS, w=random(3, 2, 3, 3))


def test_a_padded_tensor_that_is_an_output_is_left_alone() -> None:
    result = "float[a, b, c, d] y, float[e, f, g, h] t"
    untouched(FoldPad(), text("y = Conv (t, w)", result=result), p=PADS, w=random(3, 2, 3, 3))
