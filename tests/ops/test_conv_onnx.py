"""Conv and ConvTranspose against ONNX's own node tests: weights computed at run time, and as constants."""

from __future__ import annotations

import itertools

import numpy as np
import onnx
import pytest

from tests.ops.elementwise_cases import backend_cases, merged
from tests.support.harness import ISAS, Array, run_model


def fix_weights(model: onnx.ModelProto, feeds: dict[str, Array]) -> None:
    """Turn every input but a node's first into an initializer."""
    data = {node.input[0] for node in model.graph.node}
    for info in [info for info in model.graph.input if info.name not in data]:
        model.graph.initializer.append(onnx.numpy_helper.from_array(feeds.pop(info.name), info.name))
        model.graph.input.remove(info)


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("constant", [False, True], ids=["computed weights", "constant weights"])
@pytest.mark.parametrize("op_type", ["Conv", "ConvTranspose"])
def test_gives_what_onnx_expects(op_type: str, isa: str, constant: bool) -> None:
    cases = backend_cases()[op_type]
    assert cases
    for _, group in itertools.groupby(sorted(cases, key=lambda case: case.opset), key=lambda case: case.opset):
        model, feeds, expected = merged(list(group))
        if constant:
            fix_weights(model, feeds)
        results = run_model(model, feeds, isa=isa, flags=("-O0",))
        for name, wanted in expected.items():
            assert results[name].shape == wanted.shape
            np.testing.assert_allclose(results[name], wanted, rtol=1e-5, atol=1e-5, err_msg=f"{op_type} {name}")
