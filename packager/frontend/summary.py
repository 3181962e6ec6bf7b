"""What an ONNX file says about itself, before anything is compiled."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import onnx

from packager.frontend import read
from packager.frontend.dims import open_dims
from packager.frontend.functions import Supported
from packager.frontend.opset import STANDARD_DOMAINS


@dataclass(frozen=True)
class Value:
    """A graph input or output; a dimension that is not fixed is its name, or ``?``."""

    name: str
    dtype: str
    dims: tuple[int | str, ...]


@dataclass(frozen=True)
class Operator:
    """How often an operator occurs.  ``support``: lowering, function (it is expanded by its body) or none."""

    name: str
    domain: str
    count: int
    support: str


@dataclass(frozen=True)
class ModelSummary:
    """The face of a model.

    ``parameters`` counts the stored values, without shapes, indices and the like; ``open_dims`` are the ``--dim`` keys
    that the model needs, in order of appearance.
    """

    file: Path
    sha256: str
    producer: str
    ir_version: int
    opsets: dict[str, int]
    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]
    operators: tuple[Operator, ...]
    parameters: int
    open_dims: tuple[str, ...]


def summarize(path: Path, supported: Supported) -> ModelSummary:
    """The summary of the model at ``path``; ModelError when it is none."""
    file = read.model_file(path)
    model, sha256 = read.read_file(file)
    stored = {tensor.name for tensor in model.graph.initializer}
    return ModelSummary(
        file=file,
        sha256=sha256,
        producer=f"{model.producer_name} {model.producer_version}".strip(),
        ir_version=model.ir_version,
        opsets={entry.domain or "ai.onnx": entry.version for entry in model.opset_import},
        inputs=tuple(_value(value) for value in model.graph.input if value.name not in stored),
        outputs=tuple(_value(value) for value in model.graph.output),
        operators=_operators(model, supported),
        parameters=sum(math.prod(t.dims) for t in read.tensors(model.graph) if t.data_type in _WEIGHTS),
        open_dims=_open_dims(model),
    )


_WEIGHTS = {
    onnx.TensorProto.FLOAT,
    onnx.TensorProto.DOUBLE,
    onnx.TensorProto.FLOAT16,
    onnx.TensorProto.BFLOAT16,
    onnx.TensorProto.INT8,
    onnx.TensorProto.UINT8,
}


def _open_dims(model: onnx.ModelProto) -> tuple[str, ...]:
    keys = [label if label not in {"", "?", "-1"} else f"{name}:{axis}" for name, axis, label in open_dims(model)]
    return tuple(dict.fromkeys(keys))


def _value(value: onnx.ValueInfoProto) -> Value:
    if not value.type.HasField("tensor_type"):
        return Value(value.name, str(value.type.WhichOneof("value") or "unknown").removesuffix("_type"), ())
    tensor = value.type.tensor_type
    dims = tuple(dim.dim_value if dim.HasField("dim_value") else dim.dim_param or "?" for dim in tensor.shape.dim)
    known = tensor.elem_type in onnx.TensorProto.DataType.values()
    dtype = onnx.TensorProto.DataType.Name(tensor.elem_type).lower() if known else f"type {tensor.elem_type}"
    return Value(value.name, dtype, dims)


def _nodes(graph: onnx.GraphProto) -> Iterator[onnx.NodeProto]:
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            for subgraph in read.subgraphs(attribute):
                yield from _nodes(subgraph)


def _operators(model: onnx.ModelProto, supported: Supported) -> tuple[Operator, ...]:
    local = {(function.domain, function.name) for function in model.functions}
    graphs = list(_nodes(model.graph)) + [node for function in model.functions for node in function.node]
    counts = Counter((node.domain if node.domain != "ai.onnx" else "", node.op_type) for node in graphs)
    opset = next((entry.version for entry in model.opset_import if entry.domain in STANDARD_DOMAINS), 0)

    def support(domain: str, name: str) -> str:
        if supported(domain, name) or (not domain and name == "Constant"):
            return "lowering"
        return "function" if (domain, name) in local or _has_body(domain, name, opset) else "none"

    rows = [Operator(name, domain or "ai.onnx", n, support(domain, name)) for (domain, name), n in counts.items()]
    return tuple(sorted(rows, key=lambda row: (-row.count, row.name)))


def _has_body(domain: str, name: str, opset: int) -> bool:
    try:
        schema = onnx.defs.get_schema(name, opset, domain)
    except onnx.defs.SchemaError:
        return False
    # onnx's own stubs leave these two out
    return bool(schema.has_function or schema.has_context_dependent_function)  # type: ignore[attr-defined]
