"""What later stages rely on: known dtypes, static positive shapes, a lowering for every operator."""

from __future__ import annotations

import math
from collections.abc import Iterable

import onnx
import onnx_ir as ir

from packager.errors import ModelError, Problem
from packager.frontend.functions import Supported
from packager.frontend.opset import STANDARD_DOMAINS
from packager.frontend.skeleton import detach

_MOST_ELEMENTS = 2**31 - 1


def check_ports(model: onnx.ModelProto, where: str) -> None:
    """Refuse graph inputs and outputs that are not tensors (maps, sequences, optionals) before onnx_ir sees them."""
    problems = []
    producers = {name: node for node in model.graph.node for name in node.output}
    for kind, values in (("input", model.graph.input), ("output", model.graph.output)):
        for value in values:
            if value.type.WhichOneof("value") not in {"tensor_type", None}:
                node = producers.get(value.name)
                by = f" (made by {node.op_type})" if node is not None else ""
                type_name = value.type.WhichOneof("value").removesuffix("_type")
                what = f"{kind} '{value.name}' is a {type_name}, not a tensor{by}"
                hint = "export without ZipMap (zipmap=False)" if node is not None and node.op_type == "ZipMap" else ""
                problems.append(Problem("EP0112", what, where, hint or "export it as a tensor"))
    if problems:
        raise ModelError(problems)


def check_input_sizes(model: onnx.ModelProto, where: str) -> None:
    """Refuse inputs of more elements than a 32-bit index holds: onnx would follow each value of an integer input."""
    problems = []
    for value in model.graph.input:
        dims = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
        if math.prod(dims) > _MOST_ELEMENTS:
            what = f"input '{value.name}' has {math.prod(dims):,} elements, shape {dims}"
            problems.append(Problem("EP0111", what, where, f"inputs may have up to {_MOST_ELEMENTS:,}"))
    if problems:
        raise ModelError(problems)


def check_supported(model: ir.Model, supported: Supported, where: str = "") -> None:
    """Raise one ModelError that lists every operator without a lowering."""
    missing: dict[tuple[str, str], list[str]] = {}
    for node in ir.traversal.RecursiveGraphIterator(model.graph):
        domain = "" if node.domain in STANDARD_DOMAINS else node.domain
        if not supported(domain, node.op_type):
            label = node.name or next((value.name for value in node.outputs if value.name), "") or ""
            missing.setdefault((domain, node.op_type), []).append(label)
    if missing:
        raise ModelError([_missing(domain, op_type, names, where) for (domain, op_type), names in missing.items()])


def check_static(model: ir.Model, where: str) -> None:
    """Every value has an element type and a shape of positive integers, with a product that an index holds."""
    unknown, empty, untyped, large = [], [], [], []
    for value in _values(model.graph):
        if value.dtype is None or (value.type is not None and not isinstance(value.type, ir.TensorType)):
            untyped.append(_label(value))
        elif value.shape is None or not all(isinstance(dim, int) for dim in value.shape):
            unknown.append(_label(value))
        elif 0 in tuple(value.shape) and not _is_absent(value):
            empty.append(f"{_label(value)} {list(value.shape)}")
        elif math.prod(value.shape.numpy()) > _MOST_ELEMENTS:
            large.append(f"{_label(value)} {list(value.shape)}")
    problems = []
    fault = _inference_fault(model) if untyped or unknown else ""
    if untyped:
        what = f"the element type of {_list(untyped)} is not known"
        problems.append(Problem("EP0209", what, where, fault or "`edgepack ops` lists what is supported"))
    if unknown:
        what = f"shapes depend on run-time data: {_list(unknown)}"
        hint = fault or "every shape must follow from the input shapes (see --dim)"
        problems.append(Problem("EP0206", what, where, hint))
    if large:
        what = f"tensors with more than {_MOST_ELEMENTS:,} elements are not supported: {_list(large)}"
        problems.append(Problem("EP0111", what, where, "check the model's shapes and the values given with --dim"))
    if empty:
        what = f"tensors with a zero-size dimension are not supported: {_list(empty)}"
        problems.append(Problem("EP0205", what, where, "give the dimension a size of at least 1"))
    if problems:
        raise ModelError(problems)


def _inference_fault(model: ir.Model) -> str:
    """What onnx's inference objects to, on one line; '' when it only does not know."""
    proto, _ = detach(model)
    try:
        onnx.shape_inference.infer_shapes(proto, check_type=True, strict_mode=True, data_prop=True)
    except onnx.shape_inference.InferenceError as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        return f"onnx says: {'; '.join(lines)}"
    return ""


def _missing(domain: str, op_type: str, names: list[str], where: str) -> Problem:
    more = f", and {len(names) - 1} more: {_list(names[1:])}" if len(names) > 1 else ""
    prefix = f"{where}: " if where else ""
    return Problem(
        "EP0203",
        f"operator {op_type} (domain {domain or 'ai.onnx'}) has no lowering and no function body",
        f"{prefix}node '{names[0]}'{more}",
        "`edgepack ops` lists what is supported; a model-local function would be inlined",
    )


def _values(graph: ir.Graph) -> Iterable[ir.Value]:
    yield from graph.inputs
    yield from graph.initializers.values()
    for node in graph:
        yield from (value for value in node.outputs if value.name and (value.uses() or value.is_graph_output()))


def _is_absent(value: ir.Value) -> bool:
    """An empty constant (roi of Resize, empty axes) stands for an optional input that was left out."""
    return value.const_value is not None


def _label(value: ir.Value) -> str:
    node = value.producer()
    return f"'{value.name}'" + (f" (output of {node.op_type})" if node is not None else "")


def _list(names: list[str], limit: int = 8) -> str:
    shown = [name if name.startswith("'") else f"'{name}'" for name in names[:limit]]
    return ", ".join(shown) + (f" and {len(names) - limit} more" if len(names) > limit else "")
