"""The base of our passes: visit every node once, rewrite where the pattern matches, count what was done."""

from __future__ import annotations

import abc
from collections import Counter

import onnx_ir as ir

FUSED_DOMAIN = "edgepack"
"""The domain of operators that passes make and only our lowerings understand."""


def graphs_of(graph: ir.Graph) -> list[ir.Graph]:
    """``graph`` and the bodies of its control flow; the bodies of our own fused operators are finished."""
    found = [graph]
    for node in graph:
        if node.domain != FUSED_DOMAIN:
            for attribute in node.attributes.values():
                if attribute.type == ir.AttributeType.GRAPH:
                    found += graphs_of(attribute.as_graph())
    return found


class NodePass(ir.passes.InPlacePass):
    """Calls :meth:`rewrite` for every standard node; ``counts`` says how often each kind of rewrite happened."""

    def __init__(self) -> None:
        super().__init__()
        self.counts: Counter[str] = Counter()

    def call(self, model: ir.Model) -> ir.passes.PassResult:
        """Visit the nodes of all graphs in order; nodes removed meanwhile are skipped."""
        before = self.counts.total()
        for graph in graphs_of(model.graph):
            for node in list(graph):
                if node.graph is graph and node.domain == "":
                    done = self.rewrite(node)
                    if done is not None:
                        self.counts[done] += 1
        return ir.passes.PassResult(model, self.counts.total() > before)

    @abc.abstractmethod
    def rewrite(self, node: ir.Node) -> str | None:
        """Try to rewrite at ``node``; what was done, as a person would say it, or None."""
