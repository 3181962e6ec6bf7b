"""Streaming models as the reference sees them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import onnx


def first_call(model: onnx.ModelProto, states: Mapping[str, str]) -> onnx.ModelProto:
    """``model`` as at the first call of a stream: state inputs are zeros, state outputs are nobody's.

    A bundle's program starts a new stream for every sample, so this is what its outputs are compared with.
    """
    import numpy as np
    import onnx

    if not states:
        return model
    made = onnx.ModelProto()
    made.CopyFrom(model)
    given = {value.name: value for value in made.graph.input}
    for name in states.values():
        tensor = given[name].type.tensor_type
        dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
        zeros = np.zeros([dim.dim_value for dim in tensor.shape.dim], dtype)
        made.graph.initializer.append(onnx.numpy_helper.from_array(zeros, name))
        made.graph.input.remove(given[name])
    for value in [value for value in made.graph.output if value.name in states]:
        made.graph.output.remove(value)
    return made
