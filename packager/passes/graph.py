"""What passes ask of the graph and do to it, so that each pass reads as its picture."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import onnx_ir as ir

FUSED_KEY = "edgepack.fused"
"""Key in ``ir.Node.meta`` for what was fused into a node, as text for people."""

Array = npt.NDArray[np.generic]
FloatArray = npt.NDArray[np.float64]


def array(value: ir.Value | None) -> Array | None:
    """The value of a constant, None when it is absent or computed at run time."""
    if value is None or value.const_value is None:
        return None
    return value.const_value.numpy()


def scalar(value: ir.Value | None) -> float | None:
    """The value of a constant with one element as a float; None for everything else."""
    found = array(value)
    return float(found.reshape(())) if found is not None and found.size == 1 and found.dtype.kind in "fiub" else None


def dims(value: ir.Value) -> tuple[int, ...]:
    """The static shape; the frontend left nothing else."""
    assert value.shape is not None
    return tuple(int(dim) for dim in value.shape)  # type: ignore[arg-type]  # the frontend left ints only


def elements(value: ir.Value) -> int:
    """How many elements ``value`` has."""
    return math.prod(dims(value))


def is_float32(value: ir.Value | None) -> bool:
    """Fusions reorder float32 arithmetic only."""
    return value is not None and value.dtype == ir.DataType.FLOAT


def input_at(node: ir.Node, index: int) -> ir.Value | None:
    """Input ``index``, None when it was left out."""
    return node.inputs[index] if index < len(node.inputs) else None


def required(node: ir.Node, index: int) -> ir.Value:
    """Input ``index``, which the operator demands."""
    value = node.inputs[index]
    assert value is not None
    return value


def producer(value: ir.Value | None, *op_types: str) -> ir.Node | None:
    """The ONNX node of one of ``op_types`` that computes ``value``."""
    node = value.producer() if value is not None else None
    return node if node is not None and node.domain == "" and node.op_type in op_types else None


def read_once(value: ir.Value) -> bool:
    """Exactly one input of one node reads ``value``, and nobody outside the graph does."""
    return len(value.uses()) == 1 and not value.is_graph_output()


def only_reader(value: ir.Value) -> ir.Node | None:
    """The node that alone reads ``value``, once."""
    return next(iter(value.uses())).node if read_once(value) else None


def set_input(node: ir.Node, index: int, value: ir.Value | None) -> None:
    """Put ``value`` at input ``index``, appending absent inputs as needed."""
    if index >= len(node.inputs):
        node.resize_inputs(index + 1)
    node.replace_input_with(index, value)


def add_constant(node: ir.Node, stem: str, data: npt.ArrayLike, dtype: npt.DTypeLike = np.float32) -> ir.Value:
    """A new initializer in the graph of ``node``."""
    graph = node.graph
    assert graph is not None
    content = np.asarray(data, dtype, order="C")
    name, count = stem, 1
    while name in graph.initializers:
        count += 1
        name = f"{stem}_{count}"
    value = ir.Value(
        name=name,
        type=ir.TensorType(ir.DataType.from_numpy(content.dtype)),
        shape=ir.Shape(content.shape),
        const_value=ir.Tensor(content, name=name),
    )
    graph.register_initializer(value)
    return value


def new_node(
    op_type: str,
    inputs: Sequence[ir.Value | None],
    like: ir.Value,
    *,
    shape: Sequence[int] | None = None,
    attributes: Sequence[ir.Attr] = (),
    name: str | None = None,
) -> ir.Node:
    """A node with one output that has the type of ``like`` and ``shape`` (or that of ``like``)."""
    node = ir.Node("", op_type, inputs, attributes, name=name)
    node.outputs[0].type = like.type
    node.outputs[0].shape = ir.Shape(dims(like) if shape is None else shape)
    return node


def insert_before(anchor: ir.Node, node: ir.Node) -> None:
    """Put ``node`` into the graph of ``anchor``, before it."""
    assert anchor.graph is not None
    anchor.graph.insert_before(anchor, node)


def insert_after(anchor: ir.Node, node: ir.Node) -> None:
    """Put ``node`` into the graph of ``anchor``, after it."""
    assert anchor.graph is not None
    anchor.graph.insert_after(anchor, node)


def can_take_over(old: ir.Value, new: ir.Value) -> bool:
    """Whether :func:`take_over` may be called: a graph output needs a value of its own, made by a node."""
    if not old.is_graph_output():
        return True
    made = new.producer()
    return made is not None and made.graph is old.graph and not new.is_graph_output()


def take_over(old: ir.Value, new: ir.Value) -> None:
    """Let every reader of ``old`` (the caller of the graph included) read ``new`` instead.

    When ``old`` is a graph output, ``new`` gets its name: names of outputs are the model's interface.
    """
    if old.is_graph_output():
        name = old.name
        old.name = f"{name}_replaced"
        new.name = name
    old.replace_all_uses_with(new, replace_graph_outputs=True)


def remove(node: ir.Node) -> None:
    """Take a node that nobody reads out of its graph."""
    assert node.graph is not None
    node.graph.remove(node, safe=True)


def absorb(reader: ir.Node, into: ir.Node) -> None:
    """Remove ``reader``: the first output of ``into`` now is what the output of ``reader`` was."""
    old, new = reader.outputs[0], into.outputs[0]
    for index in range(len(reader.inputs)):
        reader.replace_input_with(index, None)
    take_over(old, new)
    new.shape = old.shape
    remove(reader)


def note(node: ir.Node, text: str) -> None:
    """Record that ``text`` was fused into ``node``."""
    before = node.meta.get(FUSED_KEY, "")
    node.meta[FUSED_KEY] = f"{before} + {text}" if before else text
