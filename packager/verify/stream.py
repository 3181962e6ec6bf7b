"""Streaming models as the reference sees them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from packager.program import DType
from packager.verify.feeds import input_ports
from packager.verify.reference import Reference

if TYPE_CHECKING:
    import onnx

Array = npt.NDArray[np.generic]


class StreamReference:
    """The reference implementation of a model whose ``states`` (output: input) it carries from frame to frame."""

    def __init__(self, model: onnx.ModelProto, states: Mapping[str, str]) -> None:
        self._reference = Reference(model)
        self._states = states
        ports = {port.name: port for port in input_ports(model)}
        self._held: dict[str, Array] = {
            name: np.zeros(ports[name].dims, DType.of(ports[name].dtype).numpy) for name in states.values()
        }
        self._next = self._held
        self.name = self._reference.name

    def run(self, feeds: Mapping[str, Array]) -> dict[str, Array]:
        """The outputs of the next frame, states left out."""
        self._held = self._next
        found = self._reference.run({**feeds, **self._held})
        self._next = {target: found[output] for output, target in self._states.items()}
        return self._visible(found)

    def second_opinion(self, feeds: Mapping[str, Array]) -> dict[str, Array] | None:
        """The frame that ``run`` computed last, computed in another way."""
        found = self._reference.second_opinion({**feeds, **self._held})
        return None if found is None else self._visible(found)

    def _visible(self, found: Mapping[str, Array]) -> dict[str, Array]:
        return {name: value for name, value in found.items() if name not in self._states}


def first_call(model: onnx.ModelProto, states: Mapping[str, str]) -> onnx.ModelProto:
    """``model`` as at the first call of a stream: state inputs are zeros, state outputs are nobody's."""
    import onnx

    if not states:
        return model
    made = onnx.ModelProto()
    made.CopyFrom(model)
    ports = {port.name: port for port in input_ports(model)}
    given = {value.name: value for value in made.graph.input}
    for name in states.values():
        zeros = np.zeros(ports[name].dims, DType.of(ports[name].dtype).numpy)
        made.graph.initializer.append(onnx.numpy_helper.from_array(zeros, name))
        made.graph.input.remove(given[name])
    for value in [value for value in made.graph.output if value.name in states]:
        made.graph.output.remove(value)
    return made
