from __future__ import annotations

import numpy as np
import pytest

from tests.ops.linalg_network import Network
from tests.support.harness import ISAS, Array

TYPES = ["float32", "float64", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))]


def position(x: Array, axis: int, *, smallest: bool, last: bool) -> Array:
    turned = np.flip(x, axis) if last else x
    found = turned.argmin(axis=axis, keepdims=True) if smallest else turned.argmax(axis=axis, keepdims=True)
    return np.asarray(x.shape[axis] - 1 - found if last else found).astype(np.int64)


@pytest.mark.parametrize("isa", ISAS)
def test_ties_go_to_the_first_or_the_last(isa: str) -> None:
    rng = np.random.default_rng(0)
    network = Network()
    for shape in [(9,), (4, 7), (2, 5, 33)]:
        x: Array = rng.integers(0, 4, size=shape).astype(np.float32)
        for axis in range(-len(shape), len(shape)):
            for smallest, op_type in enumerate(("ArgMax", "ArgMin")):
                for last in (0, 1):
                    wanted = position(x, axis, smallest=bool(smallest), last=bool(last))
                    network.node(op_type, [x], wanted, axis=axis, select_last_index=last)
                    network.node(op_type, [x], wanted.squeeze(axis), axis=axis, select_last_index=last, keepdims=0)
    network.check(isa)


def test_every_type() -> None:
    rng = np.random.default_rng(1)
    network = Network()
    for dtype in TYPES:
        x: Array = rng.integers(0, 100, size=(3, 20)).astype(dtype)
        network.node("ArgMax", [x], position(x, 1, smallest=False, last=False), axis=1)
        network.node("ArgMin", [x], position(x, 0, smallest=True, last=False), axis=0)
    network.check("avx2")
