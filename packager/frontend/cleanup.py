"""Remove what inference does not need: Identity, Dropout, training forms, an If whose condition is known."""

from __future__ import annotations

import onnx_ir as ir

from packager.errors import ModelError, Problem
from packager.frontend.opset import STANDARD_DOMAINS


def simplify(model: ir.Model, where: str) -> None:
    """Refuse training forms, drop Dropout and Identity; in place."""
    problems = []
    for node in list(ir.traversal.RecursiveGraphIterator(model.graph)):
        if node.domain not in STANDARD_DOMAINS:
            continue
        if node.op_type == "Dropout":
            problems += _drop(node, where)
        elif node.op_type == "BatchNormalization":
            problems += _check_batch_norm(node, where)
    if problems:
        raise ModelError(problems)
    for node in list(ir.traversal.RecursiveGraphIterator(model.graph)):
        if node.domain in STANDARD_DOMAINS and node.op_type == "Identity":
            _drop_identity(node)


def _drop(node: ir.Node, where: str) -> list[Problem]:
    """Dropout is the identity at inference; ratio 0 with training_mode is, too, but nobody exports that."""
    training = node.inputs[2] if len(node.inputs) > 2 else None
    if training is not None and (training.const_value is None or bool(training.const_value.numpy())):
        return [_training(node, "Dropout with training_mode", where)]
    if len(node.outputs) > 1 and (node.outputs[1].uses() or node.outputs[1].is_graph_output()):
        return [_training(node, "Dropout whose mask is read", where)]
    source = node.inputs[0]
    assert source is not None
    graph = node.graph
    assert graph is not None
    identity = ir.Node("", "Identity", [source], name=node.name)
    result, old = identity.outputs[0], node.outputs[0]
    result.name, result.type, result.shape = old.name, old.type, old.shape
    ir.convenience.replace_nodes_and_values(graph, node, [node], [identity], [old], [result])
    return []


def _drop_identity(node: ir.Node) -> None:
    """Let readers of the copy read the original.

    A graph output keeps its Identity when the original is an input, a constant, another output or outside the graph:
    onnx_ir's own pass gives two outputs one name here.
    """
    x, y = node.inputs[0], node.outputs[0]
    if x is None:
        return
    if y.is_graph_output():
        made = x.producer()
        if made is None or made.graph is not node.graph or x.is_graph_output():
            return
        name = y.name
        y.name = f"{name}_copied"
        x.name = name
    y.replace_all_uses_with(x, replace_graph_outputs=True)
    assert node.graph is not None
    node.graph.remove(node, safe=True)


def _check_batch_norm(node: ir.Node, where: str) -> list[Problem]:
    mode = node.attributes.get("training_mode")
    spatial = node.attributes.get("spatial")
    if mode is not None and mode.value:
        return [_training(node, "BatchNormalization training_mode=1", where)]
    if any(value.uses() or value.is_graph_output() for value in node.outputs[1:]):
        return [_training(node, "BatchNormalization with training_mode outputs", where)]
    if spatial is not None and not spatial.value:
        return [_training(node, "BatchNormalization spatial=0", where)]
    return []


def _training(node: ir.Node, what: str, where: str) -> Problem:
    return Problem(
        "EP0204",
        f"{what} is not supported for inference",
        f"{where}: node '{node.name or node.outputs[0].name}'",
        "export the model in evaluation mode",
    )
