"""Element-wise operators against ONNX's own node tests."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from packager.lower.lower import lowerings
from packager.ops.expression import emitters
from tests.ops.elementwise_cases import backend_cases, merged
from tests.support.harness import best_isa, run_model

lowerings()  # registers the operators
WITHOUT_CASES = {"CastLike", "Not"}
"""ONNX tests these with types or opsets that are not supported; test_cast and test_elementwise_values do."""
OPERATORS = sorted({*emitters(), "QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear"} - WITHOUT_CASES)

TOLERANCE = {"float16": 1e-3, "bfloat16": 8e-3}
"""Relative; half an ulp of the storage type, because the cases were computed in it and we compute in float32."""


@pytest.mark.parametrize("op_type", OPERATORS)
def test_gives_what_onnx_expects(op_type: str) -> None:
    cases = backend_cases()[op_type]
    assert cases
    by_opset = itertools.groupby(sorted(cases, key=lambda case: case.opset), key=lambda case: case.opset)
    for _, group in by_opset:
        model, feeds, expected = merged(list(group))
        results = run_model(model, feeds, isa=best_isa(), flags=("-O0",))
        for name, wanted in expected.items():
            got = results[name].view(wanted.dtype)
            assert got.shape == wanted.shape
            assert results[name].dtype.itemsize == wanted.dtype.itemsize
            np.testing.assert_allclose(
                got.astype(np.float64),
                wanted.astype(np.float64),
                rtol=TOLERANCE.get(wanted.dtype.name, 1e-5),
                atol=1e-6,
                err_msg=f"{op_type} {name}",
            )
