"""What a self-test on the device compares with: the reference's outputs, frame by frame where there are states."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from codegen_c.selftest import SelfTestCase, Values
from packager.program import DType
from packager.verify.compare import Tolerance, allowance
from packager.verify.feeds import input_ports, random_feeds
from packager.verify.reference import Reference
from packager.verify.stream import first_call

if TYPE_CHECKING:
    import onnx

    from packager.program import Program

Array = npt.NDArray[np.generic]


def self_test_cases(model: onnx.ModelProto, program: Program, count: int, seed: int = 0) -> list[SelfTestCase]:
    """``count`` inferences of ``model`` on random inputs, in the order of the program's ports."""
    states = {state.output: state.input for state in program.states}
    reference, tolerance = Reference(model), Tolerance()
    held = _zeros(model, states.values())
    cases = []
    for feeds in random_feeds(first_call(model, states), count, seed):
        everything = {**feeds, **held}
        expected = reference.run(everything)
        second = reference.second_opinion(everything) or expected
        held = {target: expected[output] for output, target in states.items()}
        cases.append(
            SelfTestCase(
                inputs=tuple(_values(feeds[port.name]) for port in program.inputs),
                expected=tuple(_values(expected[port.name]) for port in program.outputs),
                relative=tolerance.rtol,
                absolute=tuple(
                    allowance(expected[port.name], second[port.name], tolerance) for port in program.outputs
                ),
            )
        )
    return cases


def _zeros(model: onnx.ModelProto, names: Iterable[str]) -> dict[str, Array]:
    wanted = set(names)
    ports = [port for port in input_ports(model) if port.name in wanted]
    return {port.name: np.zeros(port.dims, DType.of(port.dtype).numpy) for port in ports}


def _values(array: Array) -> Values:
    if array.dtype.itemsize == 2 and array.dtype.kind in "fV":  # 16-bit floats are stored as their bits
        array = array.view(np.uint16)
    return tuple(array.reshape(-1).tolist())
