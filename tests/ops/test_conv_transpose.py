from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from packager.errors import ModelError
from tests.ops.conv_reference import convolve_transposed
from tests.ops.linalg_network import Network, floats
from tests.support.harness import ISAS, compile_program, node_model

# x, w, attributes
FORMS: dict[str, tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = {
    "upsampling by two": ((1, 16, 7, 9), (16, 8, 2, 2), {"strides": [2, 2]}),
    "many channels": (
        (2, 64, 8, 9),
        (64, 48, 3, 3),
        {"strides": [2, 2], "pads": [1, 1, 1, 1], "output_padding": [1, 1]},
    ),
    "many channels, wide": ((1, 40, 6, 40), (40, 24, 4, 4), {"strides": [2, 2], "pads": [1, 1, 1, 1]}),
    "overlapping kernel": ((1, 8, 7, 20), (8, 12, 4, 4), {"strides": [2, 2], "pads": [1, 1, 1, 1]}),
    "output padding": ((2, 4, 5, 6), (4, 6, 3, 3), {"strides": [2, 3], "output_padding": [1, 2], "pads": [1, 0, 0, 1]}),
    "groups": ((1, 6, 5, 5), (6, 2, 3, 3), {"strides": [2, 2], "group": 3}),
    "dilated": ((1, 4, 6, 40), (4, 4, 3, 3), {"dilations": [2, 2], "pads": [2, 2, 2, 2]}),
    "dilated with a stride": ((1, 4, 6, 7), (4, 4, 3, 3), {"dilations": [2, 3], "strides": [2, 2]}),
    "phases that no kernel element meets": ((1, 4, 5, 5), (4, 4, 2, 2), {"strides": [3, 3], "pads": [1, 1, 0, 0]}),
    "one dimension": ((1, 16, 50), (16, 8, 5), {"strides": [2], "pads": [2, 2]}),
    "one dimension, long stride": ((1, 9, 12), (9, 1, 64), {"strides": [32], "pads": [16, 16]}),
    "three dimensions": ((1, 3, 3, 4, 5), (3, 4, 2, 3, 2), {"strides": [2, 1, 2], "pads": [0, 1, 0, 1, 1, 0]}),
    "cropped beyond the first input": ((1, 4, 6, 6), (4, 4, 3, 3), {"pads": [3, 3, 3, 3]}),
}


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("constant", [(1, 2), ()], ids=["constant", "computed"])
def test_every_form_follows_the_definition(isa: str, constant: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    network = Network()
    for x_dims, w_dims, attributes in FORMS.values():
        x, w = floats(rng, *x_dims), floats(rng, *w_dims)
        bias = floats(rng, w_dims[1] * attributes.get("group", 1))
        wanted = convolve_transposed(x, w, bias, **attributes)
        network.node("ConvTranspose", [x, w, bias], wanted, constant=constant, **attributes)
        wanted = convolve_transposed(x, w, **attributes)
        network.node("ConvTranspose", [x, w], wanted, constant=constant[:1], **attributes)
    network.check(isa, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("isa", ["scalar", "avx2"])
@pytest.mark.parametrize(
    ("auto_pad", "pads"),
    [("SAME_UPPER", [0, 0, 1, 1]), ("SAME_LOWER", [1, 1, 0, 0]), ("NOTSET", [1, 1, 0, 0])],
    ids=["upper", "lower", "output_shape alone"],
)
def test_the_odd_element_is_cut_off_where_the_operator_text_says(isa: str, auto_pad: str, pads: list[int]) -> None:
    rng = np.random.default_rng(1)
    x, w = floats(rng, 1, 4, 5, 5), floats(rng, 4, 3, 3, 3)
    wanted = convolve_transposed(x, w, strides=[2, 2], pads=pads)
    network = Network()
    attributes: dict[str, Any] = {"auto_pad": auto_pad} if auto_pad != "NOTSET" else {"output_shape": [10, 10]}
    network.node("ConvTranspose", [x, w], wanted, constant=(1,), strides=[2, 2], **attributes)
    network.check(isa, atol=1e-4)


def test_long_strides_scatter_instead_of_making_many_calls() -> None:
    rng = np.random.default_rng(2)
    model = node_model(
        "ConvTranspose", {"x": floats(rng, 1, 8, 12)}, constants={"w": floats(rng, 8, 1, 64)}, strides=[32]
    )
    assert [call.kernel.name for call in compile_program(model).body] == ["ep_conv_transpose_f32"]


def test_double_precision_is_refused() -> None:
    model = node_model("ConvTranspose", {"x": np.zeros((1, 2, 5))}, constants={"w": np.zeros((2, 2, 3))})
    with pytest.raises(ModelError, match="no kernel for float64"):
        compile_program(model)
