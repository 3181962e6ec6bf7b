"""The frontend: an ONNX file or ModelProto becomes an onnx_ir model with one set of semantics and static shapes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import onnx
import onnx_ir as ir

from packager.frontend import checks, read
from packager.frontend import dims as dimensions
from packager.frontend.cleanup import simplify
from packager.frontend.float16 import widen
from packager.frontend.fold import fold
from packager.frontend.functions import Supported, expand_bodies, inline_local
from packager.frontend.names import identifier
from packager.frontend.opset import check_versions, upgrade
from packager.frontend.skeleton import check_graph, check_names, forget_shapes, make_skeleton, to_ir
from packager.progress import Progress, silent

_NO_DIMS: Mapping[str, int] = MappingProxyType({})
_MAX_EXPANSIONS = 8


@dataclass(frozen=True)
class LoadedModel:
    """What the frontend hands on.

    ``model``: every value has a dtype and a static shape, constants are folded.  ``original``: the model as given, with
    its dimensions pinned and external data loaded; the result is verified against it.  ``name`` is a C identifier.
    """

    model: ir.Model
    original: onnx.ModelProto
    sha256: str
    name: str
    warnings: tuple[str, ...] = ()


def load_model(
    model: Path | onnx.ModelProto,
    *,
    dims: Mapping[str, int] = _NO_DIMS,
    supported: Supported | None = None,
    progress: Progress = silent,
) -> LoadedModel:
    """Read, check, pin, upgrade, inline and fold ``model``; neither the file nor the object given is changed.

    ``dims`` gives symbolic dimensions their values (see :func:`packager.frontend.dims.pin`).  ``supported`` says which
    operators have a lowering: others are expanded by their ONNX function body or refused, all at once; without it
    that is left to :func:`finish`.  Raises ModelError.
    """
    progress("reading the model")
    original, sha256, name, where = _read(model)
    check_versions(original, where)
    checks.check_ports(original, where)
    read.check_tensor_sizes(original, where)
    dimensions.pin(original, dims)
    skeleton = make_skeleton(original, where)
    check_names(skeleton.model, where)
    check_graph(skeleton, where)
    dimensions.check_all_pinned(original, where)
    checks.check_input_sizes(original, where)
    progress("upgrading to one set of operator semantics")
    skeleton.model = upgrade(inline_local(skeleton.model, where), where)
    forget_shapes(skeleton.model)
    graph = to_ir(skeleton)
    warnings = []
    if widen(graph):
        warnings.append("float16 tensors are computed in float32")
    simplify(graph, where)
    progress("inferring shapes and folding constants")
    fold(graph)
    if supported is not None:
        graph = finish(graph, supported, where)
    checks.check_static(graph, where)
    return LoadedModel(graph, original, sha256, name, tuple(warnings))


def finish(model: ir.Model, supported: Supported, where: str = "") -> ir.Model:
    """Expand operators without lowering by their ONNX function bodies; raise ModelError that lists all that remain."""
    for _ in range(_MAX_EXPANSIONS):
        expanded = expand_bodies(model, supported, where)
        if expanded is model:
            break
        model = expanded
        simplify(model, where)
        fold(model)
    checks.check_supported(model, supported, where)
    return model


def _read(model: Path | onnx.ModelProto) -> tuple[onnx.ModelProto, str, str, str]:
    """(a model of our own, sha256, name, how errors call it)."""
    if isinstance(model, onnx.ModelProto):
        own = onnx.ModelProto()
        own.CopyFrom(model)
        name, where = identifier(model.graph.name), f"model '{model.graph.name}'"
        read.check_text(own, where)
        read.refuse_external_data(own, where)
        return own, read.digest_of(own), name, where
    path = read.model_file(Path(model))
    own, sha256 = read.read_file(path)
    return own, sha256, identifier(path.stem), str(path)
