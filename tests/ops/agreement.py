"""See that the compiled C computes what onnxruntime (or ONNX's reference, where that lacks an operator) computes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, cast

import numpy as np
import onnx
import onnx.helper as oh
import onnx.reference
import onnxruntime

from packager.program import KernelCall, Program
from tests.support.harness import Array, best_isa, compile_program, run_model

ISAS = ("scalar", best_isa())
"""No vectors, and the widest this machine has."""


def numbers(*dims: int, seed: int = 0, dtype: type[Any] = np.float32) -> Array:
    """Normal numbers; integers are spread over -100..100."""
    generator = np.random.default_rng(seed)
    if np.issubdtype(dtype, np.integer):
        return generator.integers(-100, 100, dims).astype(dtype)
    return generator.standard_normal(dims).astype(dtype)


def counting(*dims: int, dtype: type[Any] = np.float32) -> Array:
    """0, 1, 2 ...: every cell is told from every other."""
    return np.arange(math.prod(dims)).reshape(dims).astype(dtype)


def expected(model: onnx.ModelProto, feeds: Mapping[str, Array]) -> list[Array]:
    """The reference's outputs."""
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    except Exception:  # onnxruntime has no kernel for some types; its own exceptions have no common base
        return list(onnx.reference.ReferenceEvaluator(model).run(None, dict(feeds)))
    return list(session.run(None, dict(feeds)))


def reference(model: onnx.ModelProto, feeds: Mapping[str, Array]) -> Array:
    """The first output by ONNX's reference."""
    outputs = cast("list[Array]", onnx.reference.ReferenceEvaluator(model).run(None, dict(feeds)))
    return outputs[0]


def assert_agrees(model: onnx.ModelProto, feeds: Mapping[str, Array], isa: str, *, rtol: float = 1e-5) -> None:
    """Outputs are those of the reference: equal where they were only moved, else within ``rtol`` of the largest."""
    want = expected(model, feeds)
    got = run_model(model, feeds, isa=isa)
    for info, values in zip(model.graph.output, want, strict=True):
        found = got[info.name]
        assert found.shape == values.shape
        assert found.dtype == values.dtype
        if values.dtype.kind == "f":
            np.testing.assert_allclose(found, values, rtol=rtol, atol=rtol * max(1.0, float(np.abs(values).max())))
        else:
            np.testing.assert_array_equal(found, values)


def network(
    nodes: list[onnx.NodeProto], inputs: Mapping[str, Array], outputs: Mapping[str, tuple[int, ...]], **weights: Array
) -> onnx.ModelProto:
    """A float model of ``nodes``; ``outputs`` gives names and shapes."""
    graph = oh.make_graph(
        nodes,
        "graph",
        [oh.make_tensor_value_info(n, oh.np_dtype_to_tensor_dtype(a.dtype), a.shape) for n, a in inputs.items()],
        [oh.make_tensor_value_info(name, onnx.TensorProto.FLOAT, dims) for name, dims in outputs.items()],
        [onnx.numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    return oh.make_model(graph, opset_imports=[oh.make_opsetid("", 19)], ir_version=9)


def kernels(program: Program) -> list[str]:
    """Names of the kernels called, in order."""
    return [call.kernel.name for call in program.body]


def compiled(model: onnx.ModelProto, isa: str = "avx2") -> Program:
    """The planned program."""
    return compile_program(model, isa=isa)


def call_of(program: Program, kernel: str) -> KernelCall:
    """The one call of ``kernel``."""
    (found,) = [call for call in program.body if call.kernel.name == kernel]
    return found
