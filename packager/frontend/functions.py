"""Inline model-local functions, and operators that ONNX itself defines by a function body."""

from __future__ import annotations

from collections.abc import Callable

import onnx
import onnx_ir as ir
from onnx import inliner

from packager.errors import ModelError, Problem
from packager.frontend.opset import STANDARD_DOMAINS
from packager.frontend.skeleton import attach, detach

Supported = Callable[[str, str], bool]
"""(domain, op_type) -> is there a lowering?"""


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
    try:
        inlined = inliner.inline_selected_functions(
            proto, [("", op_type) for op_type in wanted], exclude=False, inline_schema_functions=True
        )
    except Exception as error:
        what = f"the ONNX definition of {', '.join(wanted)} cannot be inlined: {error}"
        raise ModelError(Problem("EP0203", what, where, "`edgepack ops` lists what is supported")) from error
    return attach(inlined, heavy)


def _has_body(node: ir.Node, model: ir.Model) -> bool:
    try:
        schema = onnx.defs.get_schema(node.op_type, model.opset_imports.get("", 0))
    except onnx.defs.SchemaError:
        return False
    # onnx's own stubs leave these two out
    return bool(schema.has_function or schema.has_context_dependent_function)  # type: ignore[attr-defined]
