"""FuseActivation and RecognizeActivations."""

from __future__ import annotations

import numpy as np
import pytest

from packager.passes.fuse_activation import ALPHA, BETA, KIND, FuseActivation
from packager.passes.recognize_activations import RecognizeActivations
from tests.frontend.models import Array, op_types, random
from tests.passes.support import apply, untouched

GEMM = "g (float[3, 6] x) => (float[3, 4] y) {{ t = MatMul (x, w) {} }}"
WEIGHT = random(6, 4)
LIMITS: dict[str, Array] = {
    "low": np.array(-0.5, np.float32),
    "high": np.array(0.75, np.float32),
    "zero": np.array(0, np.float32),
}
NUMBERS: dict[str, Array] = {
    name: np.array(value, np.float32)
    for name, value in {
        "n3": 3,
        "n0": 0,
        "n6": 6,
        "n1": 1,
        "sixth": 1 / 6,
        "half": 0.5,
        "root": 2**0.5,
        "n2": 2,
    }.items()
}


@pytest.mark.parametrize(
    ("node", "kind", "alpha", "beta"),
    [
        ("Relu (t)", "relu", 0, 0),
        ("Clip (t, low, high)", "clip", -0.5, 0.75),
        ("Clip (t, zero)", "relu", 0, 0),
        ("LeakyRelu <alpha = 0.25> (t)", "leaky_relu", 0.25, 0),
        ("LeakyRelu (t)", "leaky_relu", 0.01, 0),
        ("Sigmoid (t)", "sigmoid", 0, 0),
        ("Tanh (t)", "tanh", 0, 0),
        ("HardSigmoid <alpha = 0.3, beta = 0.4> (t)", "hard_sigmoid", 0.3, 0.4),
        ("HardSigmoid (t)", "hard_sigmoid", 0.2, 0.5),
        ("HardSwish (t)", "hard_swish", 0, 0),
        ("Elu <alpha = 0.5> (t)", "elu", 0.5, 0),
        ("Softplus (t)", "softplus", 0, 0),
        ("Mish (t)", "mish", 0, 0),
        ("Gelu (t)", "gelu", 0, 0),
        ('Gelu <approximate = "tanh"> (t)', "gelu_tanh", 0, 0),
    ],
)
def test_an_activation_goes_into_the_product_before_it(node: str, kind: str, alpha: float, beta: float) -> None:
    model = apply(FuseActivation(), GEMM.format(f"y = {node}"), w=WEIGHT, **LIMITS)
    (product,) = model.graph
    assert product.attributes.get_string(KIND) == kind
    assert product.attributes.get_float(ALPHA) == pytest.approx(alpha)
    assert product.attributes.get_float(BETA) == pytest.approx(beta)
    assert product.meta["edgepack.fused"] == node.split(" ", maxsplit=1)[0]


@pytest.mark.parametrize(
    ("node", "weight"),
    [("Conv (x, w)", random(4, 3, 3)), ("ConvTranspose (x, w)", random(3, 4, 3))],
)
def test_it_goes_into_convolutions(node: str, weight: np.ndarray) -> None:
    text = f"g (float[1, 3, 8] x) => (float[1, 4, w0] y) {{ t = {node} y = Relu (t) }}"
    assert len(apply(FuseActivation(), text, w=weight).graph) == 1


@pytest.mark.parametrize(
    "body",
    ["y = Clip (t, low)", "a = Relu (x) c = MatMul (a, w) y = Celu (c)", "s = Abs (t) y = Relu (s)"],
    ids=["one side open", "no kernel has it", "not after a product"],
)
def test_other_operators_are_left_alone(body: str) -> None:
    untouched(FuseActivation(), GEMM.format(body), w=WEIGHT, **LIMITS)


def test_limits_computed_at_run_time_are_left_alone() -> None:
    text = "g (float[3, 6] x, float low, float high) => (float[3, 4] y) { t = MatMul (x, w) y = Clip (t, low, high) }"
    untouched(FuseActivation(), text, w=WEIGHT)


def test_only_the_first_of_two_activations_is_fused() -> None:
    model = apply(FuseActivation(), GEMM.format("a = Tanh (t) y = Relu (a)"), w=WEIGHT)
    assert op_types(model) == ["MatMul", "Relu"]


def test_a_value_with_another_reader_is_left_alone() -> None:
    text = "g (float[3, 6] x) => (float[3, 4] y, float[3, 4] z) { t = MatMul (x, w) y = Relu (t) z = Neg (t) }"
    untouched(FuseActivation(), text, w=WEIGHT)


def test_a_graph_output_is_left_alone() -> None:
    text = "g (float[3, 6] x) => (float[3, 4] y, float[3, 4] t) { t = MatMul (x, w) y = Relu (t) }"
    untouched(FuseActivation(), text, w=WEIGHT)


@pytest.mark.parametrize(
    ("body", "op_type"),
    [
        ("s = Sigmoid (x) y = Mul (x, s)", "Swish"),
        ("s = Sigmoid (x) y = Mul (s, x)", "Swish"),
        ("s = HardSigmoid <alpha = 0.16666667, beta = 0.5> (x) y = Mul (x, s)", "HardSwish"),
        ("a = Add (x, n3) c = Clip (a, n0, n6) m = Mul (x, c) y = Div (m, n6)", "HardSwish"),
        ("a = Add (n3, x) c = Clip (a, n0, n6) m = Mul (c, x) y = Mul (m, sixth)", "HardSwish"),
        ("a = Add (x, n3) c = Clip (a, n0, n6) d = Div (c, n6) y = Mul (x, d)", "HardSwish"),
        ("a = Add (x, n3) c = Clip (a, n0, n6) y = Div (c, n6)", "HardSigmoid"),
        ("s = Softplus (x) t = Tanh (s) y = Mul (x, t)", "Mish"),
        ("d = Div (x, root) e = Erf (d) p = Add (e, n1) m = Mul (x, p) y = Mul (m, half)", "Gelu"),
        ("d = Div (x, root) e = Erf (d) p = Add (e, n1) h = Mul (x, half) y = Mul (h, p)", "Gelu"),
        ("y = PRelu (x, half)", "LeakyRelu"),
    ],
)
def test_spelled_out_activations_are_recognised(body: str, op_type: str) -> None:
    graph_pass = RecognizeActivations()
    model = apply(graph_pass, f"g (float[3, 5] x) => (float[3, 5] y) {{ {body} }}", **NUMBERS)
    while graph_pass(model).modified and len(model.graph) > 1:
        pass
    assert op_types(model) == [op_type]


@pytest.mark.parametrize(
    "body",
    [
        "s = Sigmoid (x) y = Mul (x, s) z = Neg (s)",
        "a = Abs (x) s = Sigmoid (a) y = Mul (x, s) z = Neg (x)",
        "a = Add (x, n2) c = Clip (a, n0, n6) m = Mul (x, c) y = Div (m, n6) z = Neg (x)",
        "a = Add (x, n3) c = Clip (a, n0, n6) m = Mul (x, c) y = Div (m, n2) z = Neg (x)",
        "a = Add (x, n3) c = Clip (a, n0, n6) m = Mul (x, c) y = Div (n6, m) z = Neg (x)",
        "y = PRelu (x, slopes) z = Neg (x)",
    ],
    ids=[
        "gate has another reader",
        "gate of another value",
        "other shift",
        "other factor",
        "quotient",
        "slopes differ",
    ],
)
def test_what_only_looks_like_an_activation_is_left_alone(body: str) -> None:
    text = f"g (float[3, 5] x) => (float[3, 5] y, float[3, 5] z) {{ {body} }}"
    untouched(RecognizeActivations(), text, slopes=random(5), **NUMBERS)


def test_a_gate_that_is_an_output_is_left_alone() -> None:
    text = "g (float[3, 5] x) => (float[3, 5] y, float[3, 5] s) { s = Sigmoid (x) y = Mul (x, s) }"
    untouched(RecognizeActivations(), text)
