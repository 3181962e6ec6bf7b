"""What a self-test on the device compares with: the reference's outputs, frame by frame where there are states."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from codegen_c.selftest import SelfTestCase, Values
from packager.verify.compare import Tolerance, allowance
from packager.verify.feeds import random_feeds
from packager.verify.stream import StreamReference, first_call

if TYPE_CHECKING:
    import onnx

    from packager.program import Program

Array = npt.NDArray[np.generic]


def self_test_cases(model: onnx.ModelProto, program: Program, count: int, seed: int = 0) -> list[SelfTestCase]:
    """``count`` inferences of ``model`` on random inputs, in the order of the program's ports."""
    states = {state.output: state.input for state in program.states}
    reference, tolerance = StreamReference(model, states), Tolerance()
    cases = []
    for feeds in random_feeds(first_call(model, states), count, seed):
        expected = reference.run(feeds)
        second = reference.second_opinion(feeds) or expected
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


def _values(array: Array) -> Values:
    if array.dtype.itemsize == 2 and array.dtype.kind in "fV":  # 16-bit floats are stored as their bits
        array = array.view(np.uint16)
    return tuple(array.reshape(-1).tolist())
