"""Static shapes and folded constants, to a fixpoint: inference makes values known, known values make shapes known."""

from __future__ import annotations

import logging
import math

import numpy as np
import onnx
import onnx.reference.ops
import onnx_ir as ir
from onnx_ir.passes import common
from onnxscript.optimizer import fold_constants

from packager.errors import ModelError, Problem
from packager.frontend.opset import STANDARD_DOMAINS

FOLD_ELEMENTS = 1 << 24
"""No folded tensor is larger than this: a model that fills more at start-up computes it at run time."""

_KEPT = frozenset(
    {
        "QuantizeLinear",
        "DequantizeLinear",
        "DynamicQuantizeLinear",
        "Bernoulli",
        "RandomUniform",
        "RandomUniformLike",
        "RandomNormal",
        "RandomNormalLike",
        "Multinomial",
        "Conv",
        "ConvTranspose",
        "Resize",
        "LSTM",
        "GRU",
        "RNN",
    }
)
"""Never folded: they carry quantization, are random, or the reference evaluator is slow or wrong on them."""

_SHAPED_AS_INPUT = frozenset({"GroupNormalization"})
"""ONNX infers nothing for these; their output has the type and shape of their first input."""

_MAX_ROUNDS = 24


def fold(model: ir.Model) -> None:
    """Infer shapes and fold constants in place until nothing changes; raise ModelError when a constant has no value."""
    for log in ("onnxscript.optimizer._constant_folding", "onnx_ir.passes.common.shape_inference"):
        logging.getLogger(log).setLevel(logging.ERROR)
    for _ in range(_MAX_ROUNDS):
        inferred = common.ShapeInferencePass(check_type=False, strict_mode=False, data_prop=True)(model).modified
        inferred |= _shape_as_input(model)
        folded = _fold_constants(model)
        split = _fold_multiple_outputs(model)
        common.LiftConstantsToInitializersPass(lift_all_constants=True, size_limit=0)(model)
        _lift_outputs(model.graph)
        pruned = common.RemoveUnusedNodesPass()(model).modified
        if not (inferred or folded or split or pruned):
            break
    _check_all_folded(model)


def _shape_as_input(model: ir.Model) -> bool:
    """Type and shape for what ONNX's inference leaves out; whether anything was learned."""
    learned = False
    for node in model.graph:
        if node.op_type in _SHAPED_AS_INPUT and node.domain in STANDARD_DOMAINS and node.inputs[0] is not None:
            source, output = node.inputs[0], node.outputs[0]
            if output.shape is None and source.shape is not None and source.dtype is not None:
                output.shape, output.dtype = source.shape.copy(), source.dtype
                learned = True
    return learned


def _lift_outputs(graph: ir.Graph) -> None:
    """A graph output that is a constant is an initializer, too: onnx_ir's pass leaves the node that makes it."""
    for index, output in enumerate(graph.outputs):
        node = output.producer()
        if node is None or node.op_type != "Constant" or node.graph is not graph or output.const_value is None:
            continue
        constant = ir.Value(name=output.name, type=output.type, shape=output.shape, const_value=output.const_value)
        output.name = f"{output.name}_computed"
        graph.outputs[index] = constant
        graph.register_initializer(constant)
        output.replace_all_uses_with(constant)
        graph.remove(node, safe=True)


def _fold_constants(model: ir.Model) -> bool:
    try:
        result = fold_constants(
            model,
            onnx_shape_inference=True,
            input_size_limit=FOLD_ELEMENTS,
            output_size_limit=FOLD_ELEMENTS,
            should_fold=_should_fold,
        )
    except RuntimeError as error:
        cause = error.__cause__ or error
        what = f"constants cannot be folded: {error}: {cause}"
        raise ModelError(Problem("EP0207", what, hint="the model is wrong here: fix the export")) from error
    return bool(result)


def _should_fold(node: ir.Node) -> bool:
    if node.op_type in _KEPT:
        return False
    return _elements(node.outputs[0]) <= FOLD_ELEMENTS


def _elements(value: ir.Value) -> int:
    if value.shape is None:
        return 0
    return math.prod(dim for dim in value.shape if isinstance(dim, int))


def _constant_inputs(node: ir.Node) -> list[np.ndarray | None] | None:
    """The values of all inputs, None when one is computed at run time, or inside: the node has none, or a body."""
    if not node.inputs or any(value is not None and value.const_value is None for value in node.inputs):
        return None
    if any(attribute.type == ir.AttributeType.GRAPH for attribute in node.attributes.values()):
        return None
    return [None if value is None else value.const_value.numpy() for value in node.inputs]  # type: ignore[union-attr]


def _evaluate(node: ir.Node, inputs: list[np.ndarray | None], version: int) -> list[np.ndarray]:
    implementation = onnx.reference.ops.load_op("", node.op_type, version)
    attributes = {name: attribute.value for name, attribute in node.attributes.items()}
    outputs = implementation.eval(*inputs, **attributes, n_outputs=len(node.outputs))
    return [np.asarray(array) for array in (outputs if isinstance(outputs, tuple) else (outputs,))]


def _fold_multiple_outputs(model: ir.Model) -> bool:
    """What onnxscript leaves: nodes with several outputs (Split, TopK) on constants."""
    changed = False
    version = model.opset_imports.get("", 0)
    for node in list(model.graph):
        if len(node.outputs) < 2 or node.domain not in STANDARD_DOMAINS or not _should_fold(node):
            continue
        inputs = _constant_inputs(node)
        if inputs is None:
            continue
        try:
            arrays = _evaluate(node, inputs, version)
        except Exception:  # noqa: S112  reported by _check_all_folded
            continue
        for output, array in zip(node.outputs, arrays, strict=True):
            name = output.name  # a graph output keeps it
            if not name:
                continue  # left out
            output.name = f"{name}_computed"
            value = ir.Value(
                name=name,
                type=ir.TensorType(ir.DataType.from_numpy(array.dtype)),
                shape=ir.Shape(array.shape),
                const_value=ir.Tensor(array, name=name),
            )
            model.graph.register_initializer(value)
            output.replace_all_uses_with(value, replace_graph_outputs=True)
        changed = True
    return changed


def _check_all_folded(model: ir.Model) -> None:
    """A node on constants that could not be evaluated is a fault in the model: say which and why."""
    problems = []
    version = model.opset_imports.get("", 0)
    for node in model.graph:
        if node.domain not in STANDARD_DOMAINS or not _should_fold(node):
            continue
        inputs = _constant_inputs(node)
        if inputs is None:
            continue
        try:
            _evaluate(node, inputs, version)
        except (ValueError, IndexError) as error:
            what = f"{node.op_type} of constants cannot be computed: {error}"
            problems.append(Problem("EP0207", what, f"node '{node.name}'", "the model is wrong here: fix the export"))
        except Exception:  # noqa: S112  no reference implementation: it runs on the target
            continue
    if problems:
        raise ModelError(problems)
