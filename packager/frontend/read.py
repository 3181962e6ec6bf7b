"""Read an ONNX file: one clear error for everything that is not a model, external data only from the model's folder."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from pathlib import Path

import onnx
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]  # protobuf ships no stubs

from packager.errors import ModelError, Problem

_BITS: dict[int, int] = {
    onnx.TensorProto.BOOL: 8,
    onnx.TensorProto.INT8: 8,
    onnx.TensorProto.UINT8: 8,
    onnx.TensorProto.INT16: 16,
    onnx.TensorProto.UINT16: 16,
    onnx.TensorProto.FLOAT16: 16,
    onnx.TensorProto.BFLOAT16: 16,
    onnx.TensorProto.INT32: 32,
    onnx.TensorProto.UINT32: 32,
    onnx.TensorProto.FLOAT: 32,
    onnx.TensorProto.INT64: 64,
    onnx.TensorProto.UINT64: 64,
    onnx.TensorProto.DOUBLE: 64,
    onnx.TensorProto.INT4: 4,
    onnx.TensorProto.UINT4: 4,
}
"""Bits per element of the types whose byte count can be checked."""


def read_file(path: Path) -> tuple[onnx.ModelProto, str]:
    """The model in ``path`` with its external data loaded, and the sha256 of all bytes read.  Raises ModelError."""
    try:
        data = path.read_bytes()
    except OSError as error:
        hint = "give the path of an .onnx file that you may read"
        raise ModelError(Problem("EP0101", f"the model cannot be read: {error.strerror}", str(path), hint)) from error
    digest = hashlib.sha256(data)
    model = onnx.ModelProto()
    try:
        model.ParseFromString(data)
    except DecodeError as error:
        raise ModelError(
            Problem(
                "EP0102",
                f"the file is not an ONNX model, or it is truncated ({len(data)} bytes)",
                str(path),
                "export or download it again; `onnx.checker` reads complete files only",
            )
        ) from error
    if not model.HasField("graph"):
        raise ModelError(
            Problem("EP0102", "the file is not an ONNX model: it has no graph", str(path), "give an .onnx file")
        )
    check_text(model, str(path))
    _load_external_data(model, path, digest)
    return model, digest.hexdigest()


def digest_of(model: onnx.ModelProto) -> str:
    """The sha256 of a model that was handed over in memory."""
    return hashlib.sha256(model.SerializeToString(deterministic=True)).hexdigest()


def tensors(graph: onnx.GraphProto) -> Iterator[onnx.TensorProto]:
    """Every tensor stored in ``graph``: initializers, attributes, and those of its subgraphs."""
    yield from graph.initializer
    for sparse in graph.sparse_initializer:
        yield sparse.values
        yield sparse.indices
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.TENSOR:
                yield attribute.t
            yield from attribute.tensors
            for subgraph in subgraphs(attribute):
                yield from tensors(subgraph)


def subgraphs(attribute: onnx.AttributeProto) -> Iterator[onnx.GraphProto]:
    """The graphs held by an attribute."""
    if attribute.type == onnx.AttributeProto.GRAPH:
        yield attribute.g
    yield from attribute.graphs


def check_text(model: onnx.ModelProto, where: str) -> None:
    """Refuse names that are not UTF-8 (a damaged file; protobuf decodes them only when they are read)."""
    try:
        texts = [entry.domain for entry in model.opset_import] + list(_names(model.graph))
    except UnicodeDecodeError:
        texts = [b""]
    if not all(isinstance(text, str) for text in texts):
        what = "the file is damaged: it holds names that are not UTF-8"
        raise ModelError(Problem("EP0102", what, where, "export or download it again"))


def _names(graph: onnx.GraphProto) -> Iterator[object]:
    yield graph.name
    for tensor in graph.initializer:
        yield tensor.name
        for entry in tensor.external_data:
            yield from (entry.key, entry.value)
    for value in (*graph.input, *graph.output, *graph.value_info):
        yield value.name
        yield from (dim.dim_param for dim in value.type.tensor_type.shape.dim)
    for node in graph.node:
        yield from (node.name, node.op_type, node.domain, *node.input, *node.output)
        for attribute in node.attribute:
            yield attribute.name
            if attribute.type == onnx.AttributeProto.STRING:
                yield attribute.s.decode()
            for subgraph in subgraphs(attribute):
                yield from _names(subgraph)


def check_tensor_sizes(model: onnx.ModelProto, where: str) -> None:
    """Refuse tensors whose stored bytes do not fit their shape (a damaged file)."""
    problems = []
    for tensor in tensors(model.graph):
        what = _misfit(tensor)
        if what:
            problems.append(Problem("EP0102", what, where, "the file is damaged: export or download it again"))
    if problems:
        raise ModelError(problems)


def _misfit(tensor: onnx.TensorProto) -> str:
    bits = _BITS.get(tensor.data_type)
    if bits is None and tensor.data_type != onnx.TensorProto.STRING:
        label = _type_name(tensor.data_type)
        return f"tensor '{tensor.name}' has element type {label}, which edgepack does not read"
    if any(dim < 0 for dim in tensor.dims):
        return f"tensor '{tensor.name}' has a negative dimension: {list(tensor.dims)}"
    count = math.prod(tensor.dims)
    if bits is not None and tensor.HasField("raw_data"):
        needed, held, unit = -(-count * bits // 8), len(tensor.raw_data), "bytes"
    else:
        packed = 2 if bits == _BITS[onnx.TensorProto.INT4] else 1
        needed, held, unit = -(-count // packed), len(getattr(tensor, _field(tensor.data_type))), "values"
    return (
        ""
        if held == needed
        else f"tensor '{tensor.name}' holds {held} {unit}, its shape {list(tensor.dims)} needs {needed}"
    )


def _field(data_type: int) -> str:
    """The field of TensorProto that holds values of this type where there are no raw bytes."""
    from onnx import helper

    field: str = helper.tensor_dtype_to_field(data_type)
    return field


def _type_name(data_type: int) -> str:
    known = onnx.TensorProto.DataType.values()
    return str(onnx.TensorProto.DataType.Name(data_type)) if data_type in known else f"number {data_type}"


def refuse_external_data(model: onnx.ModelProto, where: str) -> None:
    """A model given in memory has no folder: refuse tensors that still lie in other files."""
    names = [tensor.name for tensor in _external_tensors(model)]
    if names:
        what = f"tensors are in external data that is not loaded: {', '.join(names)}"
        hint = "give the model's path, or call onnx.load_external_data_for_model first"
        raise ModelError(Problem("EP0105", what, where, hint))


def model_file(path: Path) -> Path:
    """``path``, or the only ``.onnx`` file in it when it is a directory.  Raises ModelError."""
    if path.is_dir():
        found = sorted(path.glob("*.onnx"))
        if len(found) == 1:
            return found[0]
        what = f"the directory holds {len(found)} .onnx files" if found else "the directory holds no .onnx file"
        raise ModelError(Problem("EP0101", what, str(path), "give the path of the .onnx file itself"))
    if not path.exists():
        raise ModelError(Problem("EP0101", "the model file does not exist", str(path), "check the path"))
    return path


def _load_external_data(model: onnx.ModelProto, path: Path, digest: hashlib._Hash) -> None:
    """Replace references to files beside the model by their bytes; all missing or escaping files are named at once."""
    problems: dict[str, Problem] = {}
    for tensor in _external_tensors(model):
        location = {entry.key: entry.value for entry in tensor.external_data}
        try:
            _load_tensor(tensor, location, path, digest)
        except ModelError as error:
            problems.setdefault(error.problems[0].what, error.problems[0])
    if problems:
        raise ModelError(list(problems.values()))


def _external_tensors(model: onnx.ModelProto) -> Iterator[onnx.TensorProto]:
    for tensor in tensors(model.graph):
        if tensor.data_location == onnx.TensorProto.EXTERNAL:
            yield tensor
    for function in model.functions:
        for tensor in tensors(onnx.GraphProto(node=function.node)):
            if tensor.data_location == onnx.TensorProto.EXTERNAL:
                what = f"a model-local function ({function.name}) keeps a tensor in external data"
                raise ModelError(Problem("EP0105", what, f"tensor '{tensor.name}'", "store it inside the model"))


def _load_tensor(tensor: onnx.TensorProto, location: dict[str, str], path: Path, digest: hashlib._Hash) -> None:
    where = f"{path}: tensor '{tensor.name}'"
    name = location.get("location", "")
    folder = path.parent.resolve()
    file = (folder / name).resolve()
    if not name or not file.is_relative_to(folder):
        what = f"external data location '{name}' leaves the model folder"
        raise ModelError(
            Problem("EP0106", what, where, "keep the data file beside the model; links must stay inside, too")
        )
    if not file.is_file():
        raise ModelError(Problem("EP0105", f"external data file '{name}' is missing", where, f"put it in {folder}"))
    try:
        offset = int(location.get("offset", "0"))
        length = int(location.get("length", "-1"))
    except ValueError:
        raise ModelError(Problem("EP0105", f"external data of '{name}' has a bad offset or length", where)) from None
    size = file.stat().st_size
    if offset < 0 or offset > size or offset + max(length, 0) > size:
        what = f"external data file '{name}' has {size} bytes, but {max(length, 0)} from offset {offset} on are needed"
        raise ModelError(Problem("EP0105", what, where, "the data file is truncated: export or download it again"))
    with file.open("rb") as stream:
        stream.seek(offset)
        data = stream.read(length if length >= 0 else -1)
    digest.update(data)
    tensor.raw_data = data
    tensor.data_location = onnx.TensorProto.DEFAULT
    del tensor.external_data[:]
