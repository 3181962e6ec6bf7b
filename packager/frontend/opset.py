"""One set of operator semantics: check the versions a model asks for, upgrade to :data:`SEMANTICS_OPSET`."""

from __future__ import annotations

from collections.abc import Iterator

import onnx
from onnx import helper, version_converter

from packager.errors import ModelError, Problem
from packager.frontend.read import subgraphs

SEMANTICS_OPSET = 24
"""The ai.onnx version lowerings read.  Versions after it added types and operators; they changed no meaning."""

OLDEST_OPSET = 7
"""The oldest version with today's broadcasting."""

NEWEST_OPSET = onnx.defs.onnx_opset_version()

STANDARD_DOMAINS = ("", "ai.onnx")


def check_versions(model: onnx.ModelProto, where: str) -> None:
    """Refuse IR and ai.onnx versions outside the known range, naming both."""
    problems = []
    if not 3 <= model.ir_version <= onnx.IR_VERSION:
        what = f"IR version {model.ir_version} is outside the supported range 3..{onnx.IR_VERSION}"
        problems.append(Problem("EP0103", what, where, "export the model with a released version of onnx"))
    for entry in model.opset_import:
        if entry.domain in STANDARD_DOMAINS and not OLDEST_OPSET <= entry.version <= NEWEST_OPSET:
            relation = "newer" if entry.version > NEWEST_OPSET else "older"
            what = (
                f"opset {entry.version} of domain ai.onnx is {relation} than the supported range "
                f"{OLDEST_OPSET}..{NEWEST_OPSET}"
            )
            hint = "export the model with a supported opset" + (", or upgrade edgepack" if relation == "newer" else "")
            problems.append(Problem("EP0104", what, where, hint))
    if problems:
        raise ModelError(problems)


def opset_of(model: onnx.ModelProto) -> int:
    """The ai.onnx version of ``model``; :data:`SEMANTICS_OPSET` when it uses none of its operators."""
    for entry in model.opset_import:
        if entry.domain in STANDARD_DOMAINS:
            return int(entry.version)
    return SEMANTICS_OPSET


def upgrade(model: onnx.ModelProto, where: str) -> onnx.ModelProto:
    """``model`` in terms of :data:`SEMANTICS_OPSET` (or its own version when that is newer).

    onnx's converter does it; what it gets wrong is put right here, each with a test that shows the fault.
    """
    version = opset_of(model)
    if version >= SEMANTICS_OPSET:
        return model
    if version < 13:
        for graph in graphs(model.graph):
            _flatten_hardmax(graph)
    sampled = _legacy_resizes(model, where) if version < 11 else {}
    try:
        upgraded = version_converter.convert_version(model, SEMANTICS_OPSET)
    except Exception as error:
        what = f"the model cannot be upgraded from opset {version} to {SEMANTICS_OPSET}: {str(error).strip()}"
        hint = f"export the model with opset {SEMANTICS_OPSET}"
        raise ModelError(Problem("EP0208", what, where, hint)) from error
    for graph in graphs(upgraded.graph):
        for node in graph.node:
            if node.op_type == "Resize" and node.output and node.output[0] in sampled:
                node.attribute.append(helper.make_attribute("coordinate_transformation_mode", "asymmetric"))
                node.attribute.append(helper.make_attribute("nearest_mode", sampled[node.output[0]]))
    return upgraded


def graphs(graph: onnx.GraphProto) -> Iterator[onnx.GraphProto]:
    """``graph`` and every graph inside it."""
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            for inner in subgraphs(attribute):
                yield from graphs(inner)


def _flatten_hardmax(graph: onnx.GraphProto) -> None:
    """Hardmax before opset 13 works on the input flattened at ``axis``; the converter only copies the axis."""
    nodes = list(graph.node)
    del graph.node[:]
    for node in nodes:
        if node.op_type != "Hardmax" or node.domain not in STANDARD_DOMAINS:
            graph.node.append(node)
            continue
        axis = next((attribute.i for attribute in node.attribute if attribute.name == "axis"), 1)
        name = node.output[0]
        flat, best, shape = (f"{name}_{part}" for part in ("flat", "hardmax", "shape"))
        graph.node.append(helper.make_node("Flatten", [node.input[0]], [flat], axis=axis))
        graph.node.append(helper.make_node("Hardmax", [flat], [best], name=node.name, axis=1))
        graph.node.append(helper.make_node("Shape", [node.input[0]], [shape]))
        graph.node.append(helper.make_node("Reshape", [best, shape], [name]))


def _legacy_resizes(model: onnx.ModelProto, where: str) -> dict[str, str]:
    """Outputs of Upsample and Resize-10 with their nearest_mode: both sample at i / scale, Resize-11 elsewhere.

    Resize-10 takes the next cell when it shrinks (onnxruntime's rule; the text is silent), else the cell itself.
    """
    found: dict[str, str] = {}
    for graph in graphs(model.graph):
        constants = {tensor.name: tensor for tensor in model.graph.initializer}
        constants |= {tensor.name: tensor for tensor in graph.initializer}
        for node in graph.node:
            if node.op_type == "Upsample":
                found[node.output[0]] = "floor"
            elif node.op_type == "Resize":
                tensor = constants.get(node.input[1])
                scales = onnx.numpy_helper.to_array(tensor) if tensor is not None else None
                if scales is None or (scales.min() < 1 < scales.max()):
                    what = "Resize of opset 10 with scales that are computed, or that grow one axis and shrink another"
                    raise ModelError(Problem("EP0208", what, f"{where}: node '{node.name}'", "export with opset 11"))
                found[node.output[0]] = "ceil" if scales.min() < 1 else "floor"
    return found
