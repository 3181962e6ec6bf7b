"""The passes together: real block structures, and random graphs."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from packager.passes.optimize import optimize
from tests.frontend.models import Array, op_types, random, run
from tests.passes.expand import check, run_expanded
from tests.passes.support import feeds_of, load


def optimized(text: str, **weights: Array) -> tuple[ir.Model, tuple[str, ...]]:
    """The model after all passes, the graph checked after each, and compared with onnxruntime at the end."""
    model = load(text, **weights)
    names = [value.name for value in model.graph.outputs]
    feeds = feeds_of(model)
    expected = run(model, feeds)
    report = optimize(model, after_pass=check)
    assert [value.name for value in model.graph.outputs] == names
    for got, want in zip(run_expanded(model, feeds), expected, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)
    return model, report


def norm(name: str, channels: int) -> dict[str, Array]:
    return {
        f"{name}s": random(channels, seed=1),
        f"{name}b": random(channels, seed=2),
        f"{name}m": random(channels, seed=3),
        f"{name}v": np.abs(random(channels, seed=4)) + 0.1,
    }


def test_a_residual_block_becomes_two_convolutions() -> None:
    text = """g (float[1, 4, 8, 8] x) => (float[1, 4, 8, 8] y) {
        p = Pad (x, pads)
        a = Conv (p, w1)
        b = BatchNormalization (a, ns, nb, nm, nv)
        c = Relu (b)
        d = Conv <pads = [1, 1, 1, 1]> (c, w2)
        e = BatchNormalization (d, ns, nb, nm, nv)
        f = Add (e, x)
        y = Relu (f)
    }"""
    weights = {"w1": random(4, 4, 3, 3), "w2": random(4, 4, 3, 3, seed=5)}
    model, report = optimized(text, pads=np.array([0, 0, 1, 1, 0, 0, 1, 1]), **weights, **norm("n", 4))
    assert op_types(model) == ["Conv", "Conv"]
    assert model.graph[1].meta["edgepack.fused"] == "BatchNormalization + Add + Relu"
    assert "2x Conv + BatchNormalization" in report
    assert "2x Conv + Relu" in report


def test_a_channels_last_network_keeps_transposes_at_its_ends() -> None:
    text = """g (float[1, 8, 8, 3] x) => (float[1, 6, 6, 4] y) {
        a = Transpose <perm = [0, 3, 1, 2]> (x) b = Conv (a, w1) c = Transpose <perm = [0, 2, 3, 1]> (b)
        d = Add (c, bias) e = Relu (d)
        f = Transpose <perm = [0, 3, 1, 2]> (e) g1 = Conv (f, w2) h = Transpose <perm = [0, 2, 3, 1]> (g1)
        y = Relu (h)
    }"""
    model, _ = optimized(text, w1=random(5, 3, 3, 3), w2=random(4, 5, 1, 1), bias=random(5))
    assert op_types(model) == ["Transpose", "Conv", "Conv", "Transpose"]


def test_a_squeeze_and_excite_block_keeps_its_gate() -> None:
    text = """g (float[1, 4, 6, 6] x) => (float[1, 4, 6, 6] y) {
        a = Conv (x, w) s = Sigmoid (a) t = Mul (a, s)
        p = GlobalAveragePool (t) q = Conv (p, w) r = HardSigmoid (q) y = Mul (t, r)
    }"""
    model, _ = optimized(text, w=random(4, 4, 1, 1))
    assert op_types(model) == ["Conv", "GlobalAveragePool", "Conv", "Mul"]
    assert model.graph[0].attributes.get_string("edgepack_activation") == "silu"


def test_equal_work_is_done_once() -> None:
    text = """g (float[2, 6] x) => (float[2, 4] y) {
        a = MatMul (x, w) b = MatMul (x, w) c = Tanh (a) d = Exp (b) y = Add (c, d)
    }"""
    model, _ = optimized(text, w=random(6, 4))
    assert op_types(model).count("MatMul") == 1


def test_work_nobody_reads_is_dropped() -> None:
    model, _ = optimized("g (float[4] x) => (float[4] y) { unused = Exp (x) y = Neg (x) }")
    assert op_types(model) == ["Neg"]


def test_a_second_run_finds_nothing() -> None:
    model, _ = optimized(
        "g (float[2, 6] x) => (float[2, 4] y) { a = MatMul (x, w) b = Tanh (a) c = Exp (b) y = Abs (c) }",
        w=random(6, 4),
    )
    assert optimize(model) == ()


UNARY = ["Relu", "Sigmoid", "Tanh", "Neg", "Abs", "HardSwish", "Softplus", "Identity", "Transpose", "Flatten", "Square"]
BINARY = ["Add", "Sub", "Mul", "Max", "Concat"]
WITH_CONSTANT = ["MulC", "AddC", "DivC", "CSub", "Conv", "Norm", "Pad", "Slice", "GatherC"]


@st.composite
def graphs(draw: st.DrawFn) -> str:
    """A random graph of float32 tensors [1, c, h, w]; channel counts follow from the operators drawn."""
    shapes: dict[str, tuple[int, ...]] = {"x": (1, 4, 4, 4)}
    lines = []
    for index in range(draw(st.integers(3, 14))):
        op = draw(st.sampled_from(UNARY + BINARY + WITH_CONSTANT * 2))
        source = draw(st.sampled_from(sorted(shapes)[-4:]))
        shape = shapes[source]
        name = f"v{index:02}"
        if op in BINARY:
            fitting = [other for other in shapes if shapes[other] == shape]
            other = draw(st.sampled_from(fitting))
            attribute = "<axis = 1> " if op == "Concat" else ""
            lines.append(f"{name} = {op} {attribute}({source}, {other})")
            shape = (shape[0], 2 * shape[1], *shape[2:]) if op == "Concat" else shape
        else:
            line, shape = _node(op, source, shape, draw(st.integers(0, 2)))
            lines.append(f"{name} = {line}")
        shapes[name] = shape
    results = draw(st.lists(st.sampled_from(sorted(set(shapes) - {"x"})), min_size=1, max_size=3, unique=True))
    typed = ", ".join(f"float[{', '.join(map(str, shapes[name]))}] {name}" for name in results)
    return f"g (float[1, 4, 4, 4] x) => ({typed}) {{ {' '.join(lines)} }}"


def _node(op: str, x: str, shape: tuple[int, ...], variant: int) -> tuple[str, tuple[int, ...]]:
    _, channels, height, width = shape
    simple = {
        "Square": f"Mul ({x}, {x})",
        "MulC": f"Mul ({x}, two)",
        "AddC": f"Add (row, {x})" if width == 4 else f"Add (two, {x})",
        "DivC": f"Div ({x}, two)",
        "CSub": f"Sub (column, {x})" if channels == 4 else f"Sub (two, {x})",
    }
    if op in simple:
        return simple[op], shape
    if op == "Transpose":
        perm = [[0, 2, 3, 1], [0, 3, 1, 2], [0, 1, 3, 2]][variant]
        return f"Transpose <perm = {perm}> ({x})", tuple(shape[axis] for axis in perm)
    if op == "Conv" and channels == 4:
        return "Conv (" + f"{x}, w)", (1, 4, height, width)
    if op == "Norm" and channels == 4:
        return f"BatchNormalization ({x}, ns, nb, nm, nv)", shape
    if op == "Pad":
        return f"Pad ({x}, pads)", (1, channels, height + 2, width + 1)
    if op == "Slice" and height > 1:
        return f"Slice ({x}, one, large, axis2)", (1, channels, height - 1, width)
    if op == "GatherC" and width > 1:
        return f"Gather <axis = 3> ({x}, pair)", (1, channels, height, 2)
    if op == "Flatten":
        return f"Reshape ({x}, shape{variant})", (1, channels, height * width, 1) if variant else (
            1,
            channels,
            1,
            height * width,
        )
    return f"{op if op in UNARY else 'Relu'} ({x})", shape


CONSTANTS: dict[str, Array] = {
    "two": np.array(2, np.float32),
    "row": random(4),
    "column": random(4, 1, 1),
    "w": random(4, 4, 1, 1) / 4,
    "pads": np.array([0, 0, 1, 0, 0, 0, 1, 1]),
    "one": np.array([1]),
    "large": np.array([99]),
    "axis2": np.array([2]),
    "pair": np.array([0, 1]),
    "shape0": np.array([0, 0, 1, -1]),
    "shape1": np.array([0, 0, -1, 1]),
    "shape2": np.array([0, 0, -1, 1]),
    **norm("n", 4),
}


@pytest.mark.slow
@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(graphs())
def test_random_graphs_compute_the_same_before_and_after(text: str) -> None:
    optimized(text, **CONSTANTS)
