from __future__ import annotations

import numpy as np
import pytest

from tests.ops.linalg_network import Network, floats
from tests.support.harness import ISAS, compile_program, node_model

SHAPES = [
    ((7,), (7,)),
    ((7,), (7, 9)),
    ((3, 7), (7,)),
    ((2, 3, 7), (7, 20)),
    ((2, 3, 7), (7,)),
    ((3, 7), (4, 7, 18)),
    ((2, 1, 3, 7), (5, 7, 4)),
    ((2, 1, 3, 7), (1, 5, 7, 33)),
    ((4, 1, 16, 8), (4, 6, 8, 16)),
    ((1, 3, 7), (2, 2, 7, 16)),
    ((2, 3, 2, 1, 3, 2, 4, 5), (2, 1, 2, 2, 1, 2, 5, 3)),
]


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("constant", [(), (0,), (1,)], ids=["computed", "constant A", "constant B"])
def test_batches_are_broadcast_as_in_numpy(isa: str, constant: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    network = Network()
    for a_shape, b_shape in SHAPES:
        a, b = floats(rng, *a_shape), floats(rng, *b_shape)
        network.node("MatMul", [a, b], np.asarray(a @ b), constant=constant)
    network.check(isa)


def test_a_batch_of_rows_times_one_matrix_is_one_product() -> None:
    rng = np.random.default_rng(1)
    program = compile_program(node_model("MatMul", {"a": floats(rng, 4, 5, 6)}, constants={"b": floats(rng, 6, 8)}))
    (call,) = program.body
    assert call.descriptor is not None
    fields = dict(call.descriptor.fields)
    assert fields["m"] == 20
    assert fields["batch"] == (1, 1, 1, 1, 1, 1)
    assert call.macs == 4 * 5 * 6 * 8


@pytest.mark.parametrize("dtype", [np.float64, np.int32, np.int64, np.uint32, np.uint64])
def test_other_types_wrap_around_or_keep_their_precision(dtype: type[np.generic]) -> None:
    rng = np.random.default_rng(2)
    top = 2**31 if dtype is not np.float64 else 1000
    a, b = (rng.integers(0, top, size=shape).astype(dtype) for shape in ((2, 1, 3, 4), (5, 4, 2)))
    network = Network()
    network.node("MatMul", [a, b], np.matmul(a, b))
    network.check("sse")
