"""What an ONNX file says about itself, before anything is compiled."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import onnx
import onnx_ir as ir

from packager.errors import ModelError
from packager.frontend import read
from packager.frontend.dims import open_dims, pin
from packager.frontend.functions import Supported
from packager.frontend.load import load_model
from packager.frontend.opset import SEMANTICS_OPSET, STANDARD_DOMAINS

NO_DIMS: Mapping[str, int] = MappingProxyType({})


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
    that the model still needs, in order of appearance.  ``folded``: ``operators`` are those that are left after folding
    constants, because some of the file's own cannot be compiled.
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
    folded: bool = False


def summarize(path: Path, supported: Supported, dims: Mapping[str, int] = NO_DIMS) -> ModelSummary:
    """The summary of the model at ``path`` with ``dims`` given; ModelError when it is none."""
    file = read.model_file(path)
    model, sha256 = read.read_file(file)
    pin(model, dims)
    operators, open_keys = _operators(model, supported), _open_dims(model)
    graph = _folded(model) if not open_keys and (dims or _unsupported(operators)) else None
    left = _left_in(graph, supported) if graph is not None else operators
    folded = _unsupported(left) != _unsupported(operators)  # otherwise the file's own operators say more
    stored = {tensor.name for tensor in model.graph.initializer}
    return ModelSummary(
        file=file,
        sha256=sha256,
        producer=f"{model.producer_name} {model.producer_version}".strip(),
        ir_version=model.ir_version,
        opsets={entry.domain or "ai.onnx": entry.version for entry in model.opset_import},
        inputs=tuple(_value(value) for value in model.graph.input if value.name not in stored),
        outputs=tuple(map(_value, model.graph.output)) if graph is None else tuple(map(_inferred, graph.outputs)),
        operators=left if folded else operators,
        parameters=count_parameters(model),
        open_dims=open_keys,
        folded=folded,
    )


def count_parameters(model: onnx.ModelProto) -> int:
    """How many values ``model`` stores, whatever the target makes of them; shapes, indices and the like left out."""
    return sum(math.prod(tensor.dims) for tensor in read.tensors(model.graph) if tensor.data_type in _WEIGHTS)


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


def _unsupported(rows: tuple[Operator, ...]) -> set[tuple[str, str]]:
    return {(row.domain, row.name) for row in rows if row.support == "none"}


def _folded(model: onnx.ModelProto) -> ir.Graph | None:
    """The graph that is compiled: shapes inferred, branches that constants decide gone.  None where that fails."""
    try:
        return load_model(model).model.graph
    except ModelError:
        return None


def _inferred(value: ir.Value) -> Value:
    dims = tuple(dim if isinstance(dim, int) else str(dim) for dim in value.shape or ())
    return Value(str(value.name), value.dtype.name.lower() if value.dtype is not None else "unknown", dims)


def _left_in(graph: ir.Graph, supported: Supported) -> tuple[Operator, ...]:
    counts = Counter((node.domain, node.op_type) for node in graph.all_nodes())
    return _rows(counts, SEMANTICS_OPSET, set(), supported)


def _operators(model: onnx.ModelProto, supported: Supported) -> tuple[Operator, ...]:
    local = {(function.domain, function.name) for function in model.functions}
    graphs = list(_nodes(model.graph)) + [node for function in model.functions for node in function.node]
    counts = Counter((node.domain if node.domain != "ai.onnx" else "", node.op_type) for node in graphs)
    opset = next((entry.version for entry in model.opset_import if entry.domain in STANDARD_DOMAINS), 0)
    return _rows(counts, opset, local, supported)


def _rows(
    counts: Counter[tuple[str, str]], opset: int, local: set[tuple[str, str]], supported: Supported
) -> tuple[Operator, ...]:
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
