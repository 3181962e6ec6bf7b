"""Model-local functions are inlined; operators that ONNX defines by a body are expanded when no lowering exists."""

from __future__ import annotations

import numpy as np
import pytest

from packager.errors import ModelError
from packager.frontend.checks import check_supported
from packager.frontend.load import finish, load_model
from tests.frontend.models import op_types, parse, random, run

PRIMITIVE = frozenset(
    "Abs Add And Cast Clip Concat Conv Div Equal Exp Expand Flatten Gather Greater Identity Less Log MatMul Max Min "
    "Mul Neg Not Or Pow ReduceMax ReduceMean ReduceSum Reshape Shape Sigmoid Slice Softmax Split Sqrt Sub Sum Tanh "
    "Transpose Unsqueeze Where".split()
)


def primitive(domain: str, op_type: str) -> bool:
    return domain == "" and op_type in PRIMITIVE


def test_model_local_functions_are_inlined_even_when_nested() -> None:
    functions = """
    <domain: "local", opset_import: ["" : 17, "local" : 1]>
    outer <k> (a) => (b) { t = local.inner (a) b = LeakyRelu <alpha : float = @k> (t) }
    <domain: "local", opset_import: ["" : 17]>
    inner (a) => (b) { b = Add (a, a) }
    """
    text = "g (float[2, 3] x) => (float[2, 3] y) { t = local.outer <k = 0.5> (x) y = local.outer <k = 0.25> (t) }"
    model = parse(text, functions=functions, imports=', "local" : 1')
    loaded = load_model(model)
    assert op_types(loaded.model) == ["Add", "LeakyRelu", "Add", "LeakyRelu"]
    x = random(2, 3)
    np.testing.assert_allclose(run(loaded.model, {"x": x})[0], run(model, {"x": x})[0])


@pytest.mark.parametrize(
    "node",
    [
        "y = Mish (x)",
        "y = HardSwish (x)",
        'y = Gelu <approximate = "tanh"> (x)',
        "y = Softplus (x)",
        "y = Softsign (x)",
        "y = Celu <alpha = 2.0> (x)",
        "y = Shrink <lambd = 0.3, bias = 0.1> (x)",
        "y = ThresholdedRelu <alpha = 0.2> (x)",
        "y = MeanVarianceNormalization <axes = [1]> (x)",
        "a = ReduceL2 <keepdims = 1> (x) y = Add (x, a)",
        "a = ReduceLogSumExp <keepdims = 1> (x) y = Add (x, a)",
        "b = GreaterOrEqual (x, half) y = Where (b, x, half)",
        "y = LayerNormalization <axis = 1> (x, row, row)",
        "y = PRelu (x, row)",
        "y = LogSoftmax <axis = 0> (x)",
    ],
)
def test_an_operator_without_lowering_is_expanded_by_its_onnx_body(node: str) -> None:
    text = f"""g (float[3, 4] x) => (float[3, 4] y) {{
        half = Constant <value = float {{0.5}}> ()
        row = Constant <value = float[4] {{0.5, -1.0, 2.0, 1.0}}> ()
        {node}
    }}"""
    model = parse(text, opset=20)
    loaded = load_model(model, supported=primitive)
    assert set(op_types(loaded.model)) <= PRIMITIVE
    x = random(3, 4)
    np.testing.assert_allclose(run(loaded.model, {"x": x})[0], run(model, {"x": x})[0], rtol=1e-4, atol=1e-5)


def test_an_operator_with_a_lowering_is_left_alone() -> None:
    model = parse("g (float[3] x) => (float[3] y) { y = HardSwish (x) }")
    loaded = load_model(model, supported=lambda _domain, op_type: op_type == "HardSwish")
    assert op_types(loaded.model) == ["HardSwish"]


def test_all_unsupported_operators_are_listed_at_once() -> None:
    text = """g (float[3] x) => (float[3] y) {
        [first] a = Sin (x) [second] b = Sin (a) [third] c = Cos (b) [fourth] y = com.acme.Foo (c)
    }"""
    model = parse(text, imports=', "com.acme" : 1')
    with pytest.raises(ModelError) as caught:
        load_model(model, supported=primitive)
    assert [problem.code for problem in caught.value.problems] == ["EP0203"] * 3
    text = str(caught.value)
    for part in (
        "operator Sin (domain ai.onnx)",
        "'first', and 1 more: 'second'",
        "operator Cos",
        "Foo (domain com.acme)",
    ):
        assert part in text


def test_operators_in_branches_are_checked_too() -> None:
    text = """g (bool c, float[3] x) => (float[3] y) {
        y = If (c) <
            then_branch = t () => (float[3] a) { a = Sin (x) },
            else_branch = e () => (float[3] b) { b = Neg (x) }
        >
    }"""
    loaded = load_model(parse(text))
    with pytest.raises(ModelError, match="operator Sin"):
        check_supported(loaded.model, lambda _domain, op_type: op_type in {"If", "Neg"})


def test_finish_returns_the_same_model_when_everything_has_a_lowering() -> None:
    loaded = load_model(parse("g (float[3] x) => (float[3] y) { y = Neg (x) }"))
    assert finish(loaded.model, primitive) is loaded.model


def test_a_body_takes_default_attributes_and_omitted_inputs() -> None:
    text = """g (float[1, 2, 3, 4] q, float[1, 2, 5, 4] k, float[1, 2, 5, 4] v, float[1, 2, 2, 4] past)
        => (float[1, 2, 3, 4] y, float[1, 2, 7, 4] keys, float[1, 2, 7, 4] values, float[1, 2, 3, 4] z) {
        y, keys, values = Attention <is_causal = 1> (q, k, v, , past, past)
        z = MeanVarianceNormalization (q)
    }"""
    model = parse(text, opset=23)
    loaded = load_model(
        model, supported=lambda _domain, op_type: op_type not in {"Attention", "MeanVarianceNormalization"}
    )
    assert not {"Attention", "MeanVarianceNormalization"} & set(op_types(loaded.model))
    feeds = {"q": random(1, 2, 3, 4), "past": random(1, 2, 2, 4), "k": random(1, 2, 5, 4), "v": random(1, 2, 5, 4)}
    for got, want in zip(run(loaded.model, feeds), run(model, feeds), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)
