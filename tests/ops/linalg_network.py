"""A network of unconnected nodes: one compilation tests many forms of an operator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
import onnx.helper as oh

from tests.support.harness import Array, run_model


@dataclass
class Network:
    """Collects nodes with what each should give."""

    opset: int = 21
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    feeds: dict[str, Array] = field(default_factory=dict)
    constants: dict[str, Array] = field(default_factory=dict)
    expected: dict[str, Array] = field(default_factory=dict)

    def node(
        self,
        op_type: str,
        inputs: Sequence[Array | None],
        expected: Array | list[Array | None],
        *,
        constant: tuple[int, ...] = (),
        **attributes: Any,
    ) -> None:
        """Add a node; inputs at the positions in ``constant`` become initializers, None leaves an operand out."""
        index = len(self.nodes)
        names = []
        for position, array in enumerate(inputs):
            name = f"x{index}_{position}" if array is not None else ""
            names.append(name)
            if array is not None:
                (self.constants if position in constant else self.feeds)[name] = array
        wanted = expected if isinstance(expected, list) else [expected]
        outputs = [f"y{index}_{at}" if array is not None else "" for at, array in enumerate(wanted)]
        self.nodes.append(oh.make_node(op_type, names, outputs, name=f"node{index}", **attributes))
        self.expected |= {name: array for name, array in zip(outputs, wanted, strict=True) if array is not None}

    def model(self) -> onnx.ModelProto:
        """The ONNX model of all nodes."""

        def infos(arrays: dict[str, Array]) -> list[onnx.ValueInfoProto]:
            return [
                oh.make_tensor_value_info(n, oh.np_dtype_to_tensor_dtype(a.dtype), a.shape) for n, a in arrays.items()
            ]

        constants = [onnx.numpy_helper.from_array(array, name) for name, array in self.constants.items()]
        graph = oh.make_graph(self.nodes, "network", infos(self.feeds), infos(self.expected), constants)
        return oh.make_model(graph, opset_imports=[oh.make_opsetid("", self.opset)], ir_version=10)

    def check(self, isa: str, *, rtol: float = 1e-5, atol: float = 1e-5) -> None:
        """Every output is as expected."""
        results = run_model(self.model(), self.feeds, isa=isa)
        for name, wanted in self.expected.items():
            node = next(node for node in self.nodes if name in node.output)
            shapes = [(self.feeds | self.constants)[n].shape if n else None for n in node.input]
            np.testing.assert_allclose(
                results[name], wanted, rtol=rtol, atol=atol, err_msg=f"{name}: {node.op_type} of {shapes}"
            )


def floats(rng: np.random.Generator, *shape: int) -> Array:
    """Normally distributed float32 values."""
    return rng.normal(size=shape).astype(np.float32)
