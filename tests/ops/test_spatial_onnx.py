"""Pools, resizing and data movement against ONNX's own node tests."""

from __future__ import annotations

import itertools

import numpy as np
import onnx
import pytest

from tests.ops.agreement import ISAS
from tests.ops.elementwise_cases import Case, backend_cases, merged
from tests.support.harness import Array, run_model

DATA_INPUTS = {
    "AveragePool": 1,
    "Concat": 9,
    "ConstantOfShape": 0,
    "CumSum": 1,
    "DepthToSpace": 1,
    "Expand": 1,
    "EyeLike": 1,
    "Flatten": 1,
    "Gather": 2,
    "GatherElements": 2,
    "GatherND": 2,
    "GlobalAveragePool": 1,
    "GlobalMaxPool": 1,
    "GridSample": 2,
    "LpPool": 1,
    "MaxPool": 1,
    "MaxUnpool": 2,
    "OneHot": 1,
    "Pad": 1,
    "Range": 0,
    "Reshape": 1,
    "Resize": 1,
    "ReverseSequence": 2,
    "RoiAlign": 3,
    "ScatterElements": 3,
    "ScatterND": 3,
    "Slice": 1,
    "SpaceToDepth": 1,
    "Split": 1,
    "Squeeze": 1,
    "Tile": 1,
    "TopK": 1,
    "Transpose": 1,
    "Trilu": 1,
    "Unsqueeze": 1,
}
"""Operators and how many of their inputs are data; the others decide shapes and are constants for a compiler."""

DIFFERENT_TYPES = {"float16", "bfloat16"}
"""The frontend computes such models in float32."""

RTOL = 1e-3
"""That of ONNX's own runner: some expectations are written with four digits."""

OTHER_READING = {
    # "length_resized" is taken as the integer length here and in onnxruntime, as the fractional one by these two cases
    "test_resize_downsample_scales_linear_align_corners",
    "test_resize_downsample_scales_cubic_align_corners",
}

NOT_INFERRED = {"test_maxunpool_export_with_output_shape"}
"""ONNX's shape inference does not read output_shape; such a model is refused."""


def _cases(op_type: str) -> list[Case]:
    return [
        case
        for case in backend_cases()[op_type]
        if case.name not in OTHER_READING | NOT_INFERRED
        and not DIFFERENT_TYPES & {array.dtype.name for array in (*case.inputs.values(), *case.outputs.values())}
    ]


def _freeze(model: onnx.ModelProto, feeds: dict[str, Array], count: int) -> None:
    """Make every input after the first ``count`` of its node a constant."""
    frozen = {name for node in model.graph.node for name in node.input[count:] if name}
    for info in [info for info in model.graph.input if info.name in frozen]:
        model.graph.initializer.append(onnx.numpy_helper.from_array(feeds.pop(info.name), info.name))
        model.graph.input.remove(info)


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("op_type", DATA_INPUTS)
def test_gives_what_onnx_expects(op_type: str, isa: str) -> None:
    cases = sorted(_cases(op_type), key=lambda case: case.opset)
    assert cases
    for _, group in itertools.groupby(cases, key=lambda case: case.opset):
        model, feeds, expected = merged(list(group))
        _freeze(model, feeds, DATA_INPUTS[op_type])
        results = run_model(model, feeds, isa=isa, flags=("-O0",))
        for name, wanted in expected.items():
            assert results[name].shape == wanted.shape
            np.testing.assert_allclose(results[name], wanted, rtol=RTOL, atol=1e-5, err_msg=f"{op_type} {name}")
