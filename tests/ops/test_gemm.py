from __future__ import annotations

import numpy as np
import onnx
import onnx_ir as ir
import pytest

from packager.errors import ModelError
from packager.frontend.load import load_model
from packager.lower.lower import lower
from packager.memory.planner import plan
from packager.ops.products import choose_tile, pack_panels
from tests.ops.linalg_network import Network, floats
from tests.support.harness import ISAS, Array, compile_program, node_model, run_program

SIZES = [(1, 1, 1), (1, 10, 64), (1, 12, 7), (1, 40, 33), (2, 3, 5), (5, 17, 9), (14, 32, 8), (29, 33, 20), (3, 100, 1)]


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("constant", [(), (1, 2)], ids=["computed", "constant"])
def test_all_sizes_and_orders_of_the_operands(isa: str, constant: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    network = Network()
    for m, n, k in SIZES:
        for a_trans, b_trans in ((0, 0), (0, 1), (1, 0), (1, 1)):
            a, b, c = floats(rng, m, k), floats(rng, k, n), floats(rng, n)
            operands = [a.T.copy() if a_trans else a, b.T.copy() if b_trans else b, c]
            network.node("Gemm", operands, a @ b + c, constant=constant, transA=a_trans, transB=b_trans)
    network.check(isa)


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("constant", [(), (1,), (2,)], ids=["computed", "constant B", "constant C"])
def test_c_is_broadcast_and_scaled(isa: str, constant: tuple[int, ...]) -> None:
    rng = np.random.default_rng(1)
    network = Network()
    for m, n, k in [(1, 9, 3), (6, 21, 4), (4, 1, 5)]:
        a, b = floats(rng, m, k), floats(rng, k, n)
        for shape in [(), (1,), (n,), (1, n), (m, 1), (1, 1), (m, n)]:
            c = floats(rng, *shape)
            wanted = np.float32(0.5) * (a @ b) + np.float32(-2) * c
            network.node("Gemm", [a, b, c], wanted, constant=constant, alpha=0.5, beta=-2.0)
        network.node("Gemm", [a, b], np.float32(3) * (a @ b), constant=tuple(set(constant) & {1}), alpha=3.0)
        network.node("Gemm", [a, b, floats(rng, n)], a @ b, constant=constant, beta=0.0)
    network.check(isa)


@pytest.mark.parametrize("isa", ISAS)
def test_a_long_inner_dimension_is_summed_in_blocks(isa: str) -> None:
    rng = np.random.default_rng(2)
    a, b, c = floats(rng, 31, 1100), floats(rng, 1100, 70), floats(rng, 70)
    network = Network()
    network.node("Gemm", [a, b, c], (a.astype(np.float64) @ b + c).astype(np.float32), constant=(1, 2))
    network.check(isa, atol=2e-4)  # sums of 1100 products round differently in another order


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize(
    ("kind", "alpha", "beta"), [("relu", 0.0, 0.0), ("clip", -0.5, 0.25), ("leaky_relu", 0.1, 0.0)]
)
def test_a_fused_activation_follows_the_sum(isa: str, kind: str, alpha: float, beta: float) -> None:
    rng = np.random.default_rng(3)
    a, b, c = floats(rng, 3, 8), floats(rng, 8, 21), floats(rng, 21)
    loaded = load_model(node_model("Gemm", {"a": a}, constants={"b": b, "c": c}))
    node = next(iter(loaded.model.graph))
    node.attributes.add(ir.AttrString("edgepack_activation", kind))
    node.attributes.add(ir.AttrFloat32("edgepack_activation_alpha", alpha))
    node.attributes.add(ir.AttrFloat32("edgepack_activation_beta", beta))
    program = plan(lower(loaded.model, name="network", isa=ISAS[isa][0]))[0]
    x = a @ b + c
    wanted = {"relu": np.maximum(x, 0), "clip": np.clip(x, alpha, beta), "leaky_relu": np.where(x < 0, alpha * x, x)}
    np.testing.assert_allclose(run_program(program, {"a": a}, isa=isa)["y"], wanted[kind], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("shape", [(4, 2, 5), (3, 5), (2, 4), (2, 2, 5)])
def test_a_c_that_would_widen_the_result_is_refused(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(4)
    model = node_model("Gemm", {"a": floats(rng, 2, 3), "b": floats(rng, 3, 5)})
    model.graph.node[0].input.append("c")
    model.graph.initializer.append(onnx.numpy_helper.from_array(floats(rng, *shape), "c"))
    with pytest.raises(ModelError, match=r"(?s)Gemm.*broadcast"):
        compile_program(model)


def test_doubles_and_integers_have_a_kernel_too() -> None:
    rng = np.random.default_rng(5)
    network = Network()
    a, b, c = rng.normal(size=(3, 4)), rng.normal(size=(4, 5)), rng.normal(size=(5,))
    network.node("Gemm", [a, b, c], 0.5 * (a @ b) + c, alpha=0.5)
    for dtype in (np.int32, np.int64, np.uint32, np.uint64):
        i: Array = rng.integers(0, 9, size=(3, 4)).astype(dtype)
        j: Array = rng.integers(0, 9, size=(4, 5)).astype(dtype)
        network.node("Gemm", [i, j], i @ j)
    network.check("avx2")


def test_panels_hold_groups_of_columns_padded_with_zeros() -> None:
    matrix = np.arange(2 * 5, dtype=np.float32).reshape(2, 5)
    assert pack_panels(matrix, 2, 2).tolist() == [0, 1, 2, 3, 5, 6, 7, 8, 4, 0, 9, 0]


@pytest.mark.parametrize("isa", ISAS)
def test_tiles_fit_the_registers_and_one_row_gets_independent_sums(isa: str) -> None:
    unit = ISAS[isa][0]
    for m, n, k in [*SIZES, (1, 1000, 1280), (49, 512, 256), (1024, 1024, 1024)]:
        tile, _ = choose_tile(m, n, k, unit)
        assert tile.m * tile.n * tile.unroll + tile.n + 1 <= unit.registers
        assert tile.m <= m
    row, _ = choose_tile(1, 1000, 1280, unit)
    assert row.n * row.unroll >= 4
