"""Small models as text, and what runs them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnx.parser
import onnx_ir as ir
import onnxruntime

Array = npt.NDArray[Any]


def parse(
    body: str, *, opset: int = 17, ir_version: int = 8, functions: str = "", imports: str = ""
) -> onnx.ModelProto:
    """The model of an ONNX text graph."""
    head = f'<ir_version: {ir_version}, opset_import: ["" : {opset}{imports}]>'
    model: onnx.ModelProto = onnx.parser.parse_model(f"{head}\n{body}\n{functions}")
    return model


def add_initializer(model: onnx.ModelProto, **arrays: Array) -> onnx.ModelProto:
    """``model`` with more initializers."""
    model.graph.initializer.extend(onnx.numpy_helper.from_array(array, name) for name, array in arrays.items())
    return model


def save(model: onnx.ModelProto, path: Path) -> Path:
    """Write ``model`` to ``path``."""
    path.write_bytes(model.SerializeToString())
    return path


def run(model: onnx.ModelProto | ir.Model, feeds: Mapping[str, Array]) -> list[Array]:
    """The outputs onnxruntime computes, without any optimisation of its own."""
    proto = ir.to_proto(model) if isinstance(model, ir.Model) else model
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(proto.SerializeToString(), options)
    outputs: list[Array] = session.run(None, dict(feeds))
    return outputs


def random(*shape: int, seed: int = 0) -> npt.NDArray[np.float32]:
    """Standard normal float32 values, the same each time."""
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def op_types(model: ir.Model) -> list[str]:
    """The operators of the main graph in order."""
    return [node.op_type for node in model.graph]
