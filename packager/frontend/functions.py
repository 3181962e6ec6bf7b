"""Inline model-local functions, and operators that ONNX itself defines by a function body."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import onnx
import onnx_ir as ir
from onnx import helper, inliner

from packager.errors import ModelError, Problem
from packager.frontend.opset import STANDARD_DOMAINS, graphs, opset_of
from packager.frontend.skeleton import attach, detach

Supported = Callable[[str, str], bool]
"""(domain, op_type) -> is there a lowering?"""

_Schema = Any
"""An ``onnx.defs.OpSchema``, whose type stubs lack what it says about function bodies."""

_BODY_DOMAIN = "edgepack.body"


def inline_local(model: onnx.ModelProto, where: str) -> onnx.ModelProto:
    """``model`` with every call of a model-local function replaced by the function's body."""
    if not model.functions:
        return model
    try:
        inlined = inliner.inline_local_functions(model, convert_version=True)
    except Exception as error:
        raise ModelError(
            Problem("EP0107", f"a model-local function cannot be inlined: {error}", where, "fix the export")
        ) from error
    _import_function_domains(model, inlined)
    return inlined


def _import_function_domains(model: onnx.ModelProto, inlined: onnx.ModelProto) -> None:
    """Bodies may use operators of domains only the function imports."""
    known = {entry.domain for entry in inlined.opset_import}
    for function in model.functions:
        for entry in function.opset_import:
            if entry.domain not in known:
                known.add(entry.domain)
                inlined.opset_import.append(entry)


def expand_bodies(model: ir.Model, supported: Supported, where: str) -> ir.Model:
    """``model`` with operators that have no lowering replaced by ONNX's own definition of them, where there is one.

    Returns ``model`` itself when there is nothing to expand.
    """
    wanted = sorted(
        {
            node.op_type
            for node in ir.traversal.RecursiveGraphIterator(model.graph)
            if node.domain in STANDARD_DOMAINS and not supported("", node.op_type) and _has_body(node, model)
        }
    )
    if not wanted:
        return model
    proto, heavy = detach(model)
    _call_bodies(proto, set(wanted))
    return attach(inline_local(proto, where), heavy)


def _call_bodies(model: onnx.ModelProto, wanted: set[str]) -> None:
    """Make every operator in ``wanted`` a call of a function of its own, whose body is what onnx defines for it.

    onnx's inliner can do this, too, but it stops at optional inputs that were left out and forgets default attributes.
    """
    version = opset_of(model)
    types = _types(model)
    for graph in graphs(model.graph):
        for node in graph.node:
            if node.op_type not in wanted or node.domain not in STANDARD_DOMAINS:
                continue
            schema: _Schema = onnx.defs.get_schema(node.op_type, version)
            present = {attribute.name for attribute in node.attribute}
            node.attribute.extend(
                attribute.default_value
                for name, attribute in schema.attributes.items()
                if name not in present and attribute.default_value.name
            )
            body = _body(schema, node, version, types)
            body.name, body.domain = f"{node.op_type}_{len(model.functions)}", _BODY_DOMAIN
            model.functions.append(body)
            node.op_type, node.domain = body.name, body.domain
    model.opset_import.append(helper.make_opsetid(_BODY_DOMAIN, 1))


def _body(
    schema: _Schema, node: onnx.NodeProto, version: int, types: Mapping[str, onnx.TypeProto]
) -> onnx.FunctionProto:
    """The definition of ``node``, of the newest version up to the model's."""
    fixed = [number for number in schema.function_opset_versions if number <= version]
    if fixed:
        data = schema.get_function_with_opset_version(max(fixed))
    else:
        newest = max(number for number in schema.context_dependent_function_opset_versions if number <= version)
        inputs = [types.get(name, onnx.TypeProto()).SerializeToString() for name in node.input]
        data = schema.get_context_dependent_function_with_opset_version(newest, node.SerializeToString(), inputs)
    body = onnx.FunctionProto()
    body.ParseFromString(data)
    return body


def _types(model: onnx.ModelProto) -> dict[str, onnx.TypeProto]:
    """The types of all values by name."""
    found: dict[str, onnx.TypeProto] = {}
    for graph in graphs(model.graph):
        for value in (*graph.input, *graph.value_info, *graph.output):
            found[value.name] = value.type
        for tensor in graph.initializer:
            found[tensor.name] = helper.make_tensor_type_proto(tensor.data_type, tensor.dims)
    return found


def _has_body(node: ir.Node, model: ir.Model) -> bool:
    version = model.opset_imports.get("", 0)
    try:
        schema: _Schema = onnx.defs.get_schema(node.op_type, version)
    except onnx.defs.SchemaError:
        return False
    known = (*schema.function_opset_versions, *schema.context_dependent_function_opset_versions)
    return any(number <= version for number in known)
