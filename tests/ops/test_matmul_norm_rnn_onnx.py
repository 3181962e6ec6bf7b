"""Products, softmax, reductions, normalizations and recurrent operators against ONNX's own node tests."""

from __future__ import annotations

import itertools

import numpy as np
import onnx
import pytest

from tests.ops.elementwise_cases import backend_cases, merged
from tests.support.harness import ISAS, Array, run_model

OPERATORS = [
    "ArgMax",
    "ArgMin",
    "BatchNormalization",
    "Einsum",
    "GRU",
    "Gemm",
    "GroupNormalization",
    "Hardmax",
    "InstanceNormalization",
    "LRN",
    "LSTM",
    "LayerNormalization",
    "LogSoftmax",
    "LpNormalization",
    "MatMul",
    "RMSNormalization",
    "RNN",
    "ReduceL1",
    "ReduceL2",
    "ReduceLogSum",
    "ReduceLogSumExp",
    "ReduceMax",
    "ReduceMean",
    "ReduceMin",
    "ReduceProd",
    "ReduceSum",
    "ReduceSumSquare",
    "Softmax",
]

UNSUPPORTED_TYPES = {"float16", "bfloat16"}
"""The frontend computes such models in float32; here only operators of 32 bits and more are compared."""


def fix_axes(model: onnx.ModelProto, feeds: dict[str, Array]) -> None:
    """Axes must be known when a model is built: make them constants."""
    for info in [info for info in model.graph.input if info.name.startswith("axes")]:
        model.graph.initializer.append(onnx.numpy_helper.from_array(feeds.pop(info.name), info.name))
        model.graph.input.remove(info)


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("op_type", OPERATORS)
def test_gives_what_onnx_expects(op_type: str, isa: str) -> None:
    cases = [
        case
        for case in backend_cases()[op_type]
        if not UNSUPPORTED_TYPES & {array.dtype.name for array in (*case.inputs.values(), *case.outputs.values())}
        and not any(attribute.name == "training_mode" for attribute in case.node.attribute)
    ]
    assert cases
    for _, group in itertools.groupby(sorted(cases, key=lambda case: case.opset), key=lambda case: case.opset):
        model, feeds, expected = merged(list(group))
        fix_axes(model, feeds)
        results = run_model(model, feeds, isa=isa, flags=("-O0",))
        for name, wanted in expected.items():
            assert results[name].shape == wanted.shape
            np.testing.assert_allclose(results[name], wanted, rtol=1e-5, atol=1e-6, err_msg=f"{op_type} {name}")
