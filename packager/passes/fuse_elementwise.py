"""Chains of element-wise operators become one loop over memory."""

from __future__ import annotations

from dataclasses import dataclass, field

import onnx_ir as ir

from packager.passes.graph import FUSED_KEY, dims, insert_before, is_float32, take_over
from packager.passes.node_pass import FUSED_DOMAIN, NodePass, graphs_of

FUSED_OP = "FusedElementwise"
BODY = "body"

MAX_INPUTS = 8
"""Tensors a fused loop reads: every one takes a pointer and a load an iteration."""

MAX_STEPS = 40
"""Operators in a fused loop: beyond it values spill from registers."""

FLOAT_OPS = frozenset(
    "Abs Add Ceil Celu Clip Cos Div Elu Erf Exp Floor Gelu HardSigmoid HardSwish LeakyRelu Log Max Mean Min Mish Mul "
    "Neg Pow PRelu Reciprocal Relu Round Selu Sigmoid Sign Sin Softplus Softsign Sqrt Sub Sum Swish Tanh "
    "ThresholdedRelu Where".split()
)
"""Element-wise operators with a float32 result."""

TRUTH_OPS = frozenset("And Equal Greater GreaterOrEqual Less LessOrEqual Not Or Xor IsNaN IsInf".split())
"""Element-wise operators with a truth value as result: lane masks inside a loop, never its input or output."""


@dataclass
class _Group:
    """Operators that will be one loop, in order, and the tensors they read from memory."""

    root: ir.Node
    nodes: list[ir.Node] = field(default_factory=list)

    @property
    def inputs(self) -> list[ir.Value]:
        """What the loop reads, each once: everything made outside, except numbers."""
        made = {value for node in self.nodes for value in node.outputs}
        found: dict[ir.Value, None] = {}
        for node in self.nodes:
            for value in node.inputs:
                if value is not None and value not in made and not _is_number(value):
                    found[value] = None
        return list(found)


class FuseElementwise(NodePass):
    """Replace operators that only feed each other, element by element, by one FusedElementwise node.

    ::
        x -> Mul(a) -> t -> Add(b) -> u -> Tanh -> y     =>     x, a, b -> FusedElementwise{Mul, Add, Tanh} -> y

    The node's attribute ``body`` holds the operators; its inputs are the node's inputs, numbers stay inside.  Values
    between are never stored.  Truth values live inside only: what the loop reads and writes is float32.

    Does nothing to an operator alone.  A producer stays outside when it has a reader outside or is a graph output (it
    would be computed twice), when its shape is not that of the result (a broadcast value would be computed again and
    again), and when the loop would read more than eight tensors or have more than forty operators.
    """

    def call(self, model: ir.Model) -> ir.passes.PassResult:
        """Visit results before what they are made of, so that each loop is as long as it can be."""
        before = self.counts.total()
        for graph in graphs_of(model.graph):
            for node in reversed(list(graph)):
                if node.graph is graph and node.domain == "":
                    done = self.rewrite(node)
                    if done is not None:
                        self.counts[done] += 1
        return ir.passes.PassResult(model, self.counts.total() > before)

    def rewrite(self, node: ir.Node) -> str | None:
        """See the class."""
        if node.op_type not in FLOAT_OPS or not _fits(node) or not is_float32(node.outputs[0]):
            return None
        group = _grow(node)
        if len(group.nodes) < 2:
            return None
        types = [member.op_type for member in group.nodes]
        _replace(group)
        return " + ".join(types) if len(types) <= 4 else f"{len(types)} element-wise operators"


def _is_number(value: ir.Value) -> bool:
    """A constant with one element, which is written into the loop."""
    return value.const_value is not None and value.const_value.size == 1


def _fits(node: ir.Node) -> bool:
    """Element-wise, one output, and nothing but float32 and truth values around it."""
    if node.domain != "" or node.op_type not in FLOAT_OPS | TRUTH_OPS or len(node.outputs) != 1:
        return False
    return all(
        value is None or is_float32(value) or value.dtype == ir.DataType.BOOL for value in (*node.inputs, *node.outputs)
    )


def _grow(root: ir.Node) -> _Group:
    """The largest group that ends at ``root``; only ``root`` when it would read a truth value from memory."""
    members = {root}
    frontier = [root]
    while frontier:
        node = frontier.pop()
        for value in node.inputs:
            made = value.producer() if value is not None else None
            if made is None or made in members or not _joins(made, members, root):
                continue
            members.add(made)
            frontier.append(made)
            if not _allowed(members, root):
                members.remove(made)
                frontier.remove(made)
    _shed_truth_readers(members, root)
    return _ordered(members, root)


def _joins(made: ir.Node, members: set[ir.Node], root: ir.Node) -> bool:
    value = made.outputs[0]
    if made.graph is not root.graph or not _fits(made) or value.is_graph_output():
        return False
    return dims(value) == dims(root.outputs[0]) and all(use.node in members for use in value.uses())


def _allowed(members: set[ir.Node], root: ir.Node) -> bool:
    return len(members) <= MAX_STEPS and len(_ordered(members, root).inputs) <= MAX_INPUTS


def _shed_truth_readers(members: set[ir.Node], root: ir.Node) -> None:
    """Leave out operators that read a truth value from memory, with all they feed on that then has a reader outside."""
    while True:
        outside = {value for value in _ordered(members, root).inputs if not is_float32(value)}
        bad = [node for node in members if any(value in outside for value in node.inputs)]
        if root in bad:
            members.intersection_update({root})
            return
        members.difference_update(bad)
        stranded = [
            node
            for node in members
            if node is not root and any(use.node not in members for use in node.outputs[0].uses())
        ]
        members.difference_update(stranded)
        if not bad and not stranded:
            return


def _ordered(members: set[ir.Node], root: ir.Node) -> _Group:
    """The members in an order in which each follows what it reads."""
    order: dict[ir.Node, None] = {}
    pending = [(root, False)]
    while pending:
        node, ready = pending.pop()
        if ready:
            order[node] = None
            continue
        if node in order:
            continue
        pending.append((node, True))
        for value in reversed(node.inputs):
            made = value.producer() if value is not None else None
            if made is not None and made in members and made not in order:
                pending.append((made, False))
    return _Group(root, list(order))


def _replace(group: _Group) -> None:
    """Put a FusedElementwise node where the group's last operator is."""
    root, outside = group.root, group.inputs
    body, types = _body(group, outside), " + ".join(node.op_type for node in group.nodes[1:])
    fused = ir.Node(FUSED_DOMAIN, FUSED_OP, outside, [ir.AttrGraph(BODY, body)], name=root.name)
    fused.outputs[0].type = root.outputs[0].type
    fused.outputs[0].shape = root.outputs[0].shape
    fused.meta[FUSED_KEY] = types
    insert_before(root, fused)
    take_over(root.outputs[0], fused.outputs[0])
    graph = root.graph
    assert graph is not None
    for node in reversed(group.nodes):
        graph.remove(node, safe=True)


def _body(group: _Group, outside: list[ir.Value]) -> ir.Graph:
    """The operators over values of their own: inputs in the order of ``outside``, numbers as initializers."""
    inner: dict[ir.Value, ir.Value] = {}
    for index, read in enumerate(outside):
        inner[read] = ir.Value(name=f"x{index}", type=read.type, shape=read.shape)
    numbers: list[ir.Value] = []
    nodes = []
    for step, node in enumerate(group.nodes):
        for value in node.inputs:
            if value is not None and value not in inner:
                inner[value] = _number(value, len(numbers))
                numbers.append(inner[value])
        operands = [inner[operand] if operand is not None else None for operand in node.inputs]
        copy = ir.Node("", node.op_type, operands, list(node.attributes.values()), name=node.name)
        copy.outputs[0].name = f"t{step}"
        copy.outputs[0].type = node.outputs[0].type
        copy.outputs[0].shape = node.outputs[0].shape
        inner[node.outputs[0]] = copy.outputs[0]
        nodes.append(copy)
    return ir.Graph(
        [inner[value] for value in outside],
        [inner[group.root.outputs[0]]],
        nodes=nodes,
        initializers=numbers,
        name=f"{group.root.name or 'elementwise'}_body",
        opset_imports=dict(group.root.graph.opset_imports) if group.root.graph is not None else None,
    )


def _number(value: ir.Value, index: int) -> ir.Value:
    return ir.Value(name=f"c{index}", type=value.type, shape=value.shape, const_value=value.const_value)
