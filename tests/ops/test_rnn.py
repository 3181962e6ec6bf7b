"""Recurrent operators in every form of the operator text, against onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime
import pytest

from packager.errors import ModelError
from tests.ops.linalg_network import Network, floats
from tests.support.harness import ISAS, Array, compile_program, node_model

GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
ACTIVATIONS = {"LSTM": 3, "GRU": 2, "RNN": 1}
ALL_ACTIVATIONS = [
    "Relu",
    "Tanh",
    "Sigmoid",
    "Affine",
    "LeakyRelu",
    "ThresholdedRelu",
    "ScaledTanh",
    "HardSigmoid",
    "Elu",
    "Softsign",
    "Softplus",
]


class RecurrentNetwork(Network):
    """Nodes with random operands; onnxruntime says what they should give."""

    def add(
        self,
        op_type: str,
        rng: np.random.Generator,
        size: tuple[int, int, int, int],
        *,
        optional: str = "",
        constant: bool = True,
        outputs: str = "yhc",
        **attributes: Any,
    ) -> None:
        """``size`` is (steps, batch, inputs, hidden); ``optional`` operands: b(ias) l(engths) h c p(eepholes)."""
        steps, batch, inputs, hidden = size
        directions = 2 if attributes.get("direction") == "bidirectional" else 1
        rows = GATES[op_type] * hidden
        operands: list[Array | None] = [
            floats(rng, steps, batch, inputs),
            floats(rng, directions, rows, inputs) / 2,
            floats(rng, directions, rows, hidden) / 2,
            floats(rng, directions, 2 * rows) if "b" in optional else None,
            rng.integers(1, steps + 1, size=batch).astype(np.int32) if "l" in optional else None,
            floats(rng, directions, batch, hidden) if "h" in optional else None,
        ]
        if op_type == "LSTM":
            operands.append(floats(rng, directions, batch, hidden) if "c" in optional else None)
            operands.append(floats(rng, directions, 3 * hidden) if "p" in optional else None)
        shapes = [(steps, directions, batch, hidden), (directions, batch, hidden), (directions, batch, hidden)]
        wanted = [
            np.empty(shape, np.float32) if letter in outputs else None
            for letter, shape in zip("yhc" if op_type == "LSTM" else "yh", shapes, strict=False)
        ]
        fixed = (1, 2, 3, 7) if constant else ()
        self.node(op_type, operands, wanted, constant=fixed, hidden_size=hidden, **attributes)

    def check(self, isa: str, *, rtol: float = 1e-4, atol: float = 1e-5) -> None:
        """Run onnxruntime for the expected values first."""
        session = onnxruntime.InferenceSession(self.model().SerializeToString(), providers=["CPUExecutionProvider"])
        self.expected = dict(zip(self.expected, session.run(None, self.feeds), strict=True))
        super().check(isa, rtol=rtol, atol=atol)


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("op_type", GATES)
def test_directions_and_optional_operands(op_type: str, isa: str) -> None:
    rng = np.random.default_rng(0)
    network = RecurrentNetwork()
    for direction in ("forward", "reverse", "bidirectional"):
        network.add(op_type, rng, (4, 3, 5, 20), optional="blhcp", direction=direction)
        network.add(op_type, rng, (3, 2, 4, 16), outputs="y", direction=direction)
        network.add(op_type, rng, (1, 1, 7, 3), optional="bc", outputs="hc", direction=direction)
        network.add(op_type, rng, (5, 1, 3, 9), optional="bhp", constant=False, direction=direction)
    network.check(isa)


@pytest.mark.parametrize("isa", ["scalar", "avx2"])
@pytest.mark.parametrize("linear", [0, 1])
def test_gru_applies_the_reset_gate_before_or_after_the_product(linear: int, isa: str) -> None:
    rng = np.random.default_rng(1)
    network = RecurrentNetwork()
    for direction in ("forward", "bidirectional"):
        for constant in (True, False):
            network.add(
                "GRU",
                rng,
                (4, 2, 5, 18),
                optional="bh",
                constant=constant,
                direction=direction,
                linear_before_reset=linear,
            )
    network.check(isa)


@pytest.mark.parametrize("op_type", GATES)
def test_every_activation_with_its_own_parameters(op_type: str) -> None:
    rng = np.random.default_rng(2)
    network = RecurrentNetwork()
    for at in range(len(ALL_ACTIVATIONS)):
        names = [ALL_ACTIVATIONS[(at + step * 4) % len(ALL_ACTIVATIONS)] for step in range(ACTIVATIONS[op_type])]
        # more values than any of the lists consumes would be an error in onnxruntime: give exactly as many
        takes = {"Affine": 2, "LeakyRelu": 1, "ThresholdedRelu": 1, "ScaledTanh": 2, "HardSigmoid": 2, "Elu": 1}
        alphas = [float(rng.uniform(0.2, 0.6)) for name in names if takes.get(name, 0) >= 1]
        betas = [float(rng.uniform(0.2, 0.6)) for name in names if takes.get(name, 0) == 2]
        parameters: dict[str, Any] = {
            key: values for key, values in (("activation_alpha", alphas), ("activation_beta", betas)) if values
        }
        network.add(op_type, rng, (3, 1, 4, 6), optional="b", activations=names, **parameters)
    network.check("avx2")


@pytest.mark.parametrize("op_type", GATES)
def test_clip_and_coupled_gates(op_type: str) -> None:
    rng = np.random.default_rng(3)
    network = RecurrentNetwork()
    network.add(op_type, rng, (4, 2, 5, 10), optional="bhcp", clip=0.4)
    if op_type == "LSTM":
        network.add(op_type, rng, (4, 2, 5, 10), optional="bp", input_forget=1, direction="bidirectional")
    network.check("avx2")


@pytest.mark.parametrize("op_type", GATES)
def test_batch_first_layout_is_the_same_numbers_in_another_order(op_type: str) -> None:
    rng = np.random.default_rng(4)
    steps_first = RecurrentNetwork()
    steps_first.add(op_type, rng, (4, 3, 5, 7), optional="blhc", direction="bidirectional")
    session = onnxruntime.InferenceSession(steps_first.model().SerializeToString(), providers=["CPUExecutionProvider"])
    outputs = session.run(None, steps_first.feeds)
    values = steps_first.feeds | steps_first.constants
    turned = [values[name] if name else None for name in steps_first.nodes[0].input]
    for index in (0, 5, 6):
        if index < len(turned) and (array := turned[index]) is not None:
            turned[index] = array.swapaxes(0, 1).copy()
    y, *states = outputs
    wanted: list[Array | None] = [y.transpose(2, 0, 1, 3).copy(), *[state.swapaxes(0, 1).copy() for state in states]]
    batch_first = Network()
    batch_first.node(op_type, turned, wanted, constant=(1, 2, 3), hidden_size=7, direction="bidirectional", layout=1)
    batch_first.check("avx512")


def test_an_unknown_activation_is_refused_with_the_list() -> None:
    rng = np.random.default_rng(5)
    network = RecurrentNetwork()
    network.add("RNN", rng, (2, 1, 3, 4), activations=["Cubic"])
    with pytest.raises(ModelError, match=r"activation Cubic is not one of relu"):
        compile_program(network.model())


def test_too_few_activations_are_refused() -> None:
    rng = np.random.default_rng(6)
    x, w, r = floats(rng, 2, 1, 3), floats(rng, 1, 16, 3), floats(rng, 1, 16, 4)
    model = node_model("LSTM", {"x": x}, constants={"w": w, "r": r}, hidden_size=4, activations=["Tanh"])
    with pytest.raises(ModelError, match="1 activations where 3 are needed"):
        compile_program(model)


@pytest.mark.parametrize("isa", ISAS)
def test_work_and_memory_count_hidden_units_not_lanes(isa: str) -> None:
    size, hidden, gates = 6, 12, 3
    model = node_model(
        "GRU",
        {"x": np.zeros((1, 1, size), np.float32)},
        ["y"],
        constants={
            "w": np.ones((1, gates * hidden, size), np.float32),
            "r": np.ones((1, gates * hidden, hidden), np.float32),
        },
        hidden_size=hidden,
    )
    program = compile_program(model, isa=isa)
    assert program.macs == gates * hidden * (size + hidden)
    inner = [buffer for buffer in program.buffers if buffer.name.startswith(("temporary", "scratch"))]
    assert all(buffer.logical_bytes % (4 * hidden) == 0 for buffer in inner if buffer.shape != (1,))
