"""Pin symbolic dimensions: ``--dim batch=1`` by name, ``--dim input:0=1`` by position."""

from __future__ import annotations

from collections.abc import Mapping

import onnx

from packager.errors import ModelError, Problem


def pin(model: onnx.ModelProto, dims: Mapping[str, int]) -> None:
    """Give the symbolic dimensions of the graph inputs the values of ``dims``, in place.

    A key is the name of a dimension (every input axis of that name is pinned, ``?`` and ``-1`` included when an
    exporter used them as names) or ``input:axis``.  Raises one ModelError that names every key that matches nothing.
    """
    used: set[str] = set()
    problems = []
    names = sorted({label or f"{name}:{axis}" for name, axis, label in open_dims(model)})
    constants = {tensor.name for tensor in model.graph.initializer}
    for value in model.graph.input:
        if value.name in constants:
            continue
        if not value.type.HasField("tensor_type") or not value.type.tensor_type.HasField("shape"):
            continue
        for axis, dim in enumerate(value.type.tensor_type.shape.dim):
            problems += _pin_axis(value.name, axis, dim, dims, used)
    unknown = sorted(set(dims) - used)
    if problems or unknown:
        raise ModelError(problems + [_unused(names, key, dims[key]) for key in unknown])
    _pin_outputs(model, dims)


def open_dims(model: onnx.ModelProto) -> list[tuple[str, int, str]]:
    """(input, axis, name) of every input dimension without a value; the name is '' when the model gives none."""
    constants = {tensor.name for tensor in model.graph.initializer}
    return [
        (value.name, axis, _label(dim))
        for value in model.graph.input
        if value.name not in constants
        for axis, dim in enumerate(value.type.tensor_type.shape.dim)
        if not _is_static(dim)
    ]


def check_all_pinned(model: onnx.ModelProto, where: str) -> None:
    """Raise one ModelError that names every input dimension still open, and the flags that close them."""
    found = open_dims(model)
    if not found:
        return
    counts: dict[str, int] = {}
    for _, _, label in found:
        counts[label] = counts.get(label, 0) + 1
    flags: list[str] = []
    lines = []
    for name, axis, label in found:
        lines.append(f"input '{name}' axis {axis}" + (f" ('{label}')" if label else ""))
        named = bool(label) and label not in {"?", "-1"}
        flag = f"--dim {label}=N" if named else f"--dim {name}:{axis}=N"
        if flag not in flags:
            flags.append(flag)
    what = "symbolic dimensions have no value: " + ", ".join(lines)
    raise ModelError(Problem("EP0110", what, where, f"give each a value: {' '.join(flags)}"))


def _is_static(dim: onnx.TensorShapeProto.Dimension) -> bool:
    return dim.HasField("dim_value") and dim.dim_value >= 0


def _label(dim: onnx.TensorShapeProto.Dimension) -> str:
    return str(dim.dim_value) if dim.HasField("dim_value") else dim.dim_param


def _pin_axis(
    name: str, axis: int, dim: onnx.TensorShapeProto.Dimension, dims: Mapping[str, int], used: set[str]
) -> list[Problem]:
    positional = f"{name}:{axis}"
    key = positional if positional in dims else _label(dim)
    if key not in dims:
        return []
    used.add(key)
    value = dims[key]
    if _is_static(dim):
        if value == dim.dim_value or key != positional:
            return []
        what = f"input '{name}' axis {axis} is {dim.dim_value} in the model and cannot become {value}"
        return [Problem("EP0111", what, f"--dim {key}={value}", "only symbolic dimensions can be given a value")]
    if value <= 0:
        what = f"dimension '{key}' must be at least 1, not {value}"
        return [Problem("EP0111", what, f"--dim {key}={value}", f"write --dim {key}=N with the size you will run")]
    dim.dim_value = value
    return []


def _unused(names: list[str], key: str, value: int) -> Problem:
    hint = f"the model's symbolic dimensions are: {', '.join(names)}" if names else "all its dimensions have values"
    return Problem("EP0111", f"the model has no symbolic dimension '{key}'", f"--dim {key}={value}", hint)


def _pin_outputs(model: onnx.ModelProto, dims: Mapping[str, int]) -> None:
    for value in model.graph.output:
        for dim in value.type.tensor_type.shape.dim:
            if dim.HasField("dim_param") and dim.dim_param in dims:
                dim.dim_value = dims[dim.dim_param]
