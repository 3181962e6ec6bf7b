from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import onnx
import onnx.helper as oh
import pytest

from packager.errors import ModelError
from tests.ops.conv_reference import convolve
from tests.ops.linalg_network import Network, floats
from tests.support.harness import ISAS, Array, compile_program, node_model, run_model, run_program

# x, w, attributes
FORMS: dict[str, tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = {
    "3x3": ((1, 16, 9, 9), (32, 16, 3, 3), {"pads": [1, 1, 1, 1]}),
    "several channel tiles, the last one short": ((1, 64, 9, 11), (80, 64, 3, 3), {"pads": [1, 1, 1, 1]}),
    "small plane, tiles of several rows": ((1, 48, 7, 7), (64, 48, 3, 3), {"pads": [1, 1, 1, 1]}),
    "image with two in the batch": ((2, 3, 17, 15), (24, 3, 3, 3), {"pads": [1, 1, 1, 1], "strides": [2, 2]}),
    "wide first layer": ((1, 1, 20, 61), (16, 1, 7, 7), {"pads": [3, 3, 3, 3], "strides": [2, 2]}),
    "1x1": ((1, 40, 13, 17), (20, 40, 1, 1), {}),
    "1x1, padding at the end": ((1, 3, 5, 7), (4, 3, 1, 1), {"pads": [0, 0, 2, 2]}),
    "1x1, padding at the end, blocks": ((1, 32, 5, 7), (16, 32, 1, 1), {"pads": [0, 0, 2, 1]}),
    "1x1 with stride": ((1, 64, 9, 9), (128, 64, 1, 1), {"strides": [2, 2]}),
    "channels no block divides": ((1, 37, 10, 10), (21, 37, 3, 3), {"pads": [1, 1, 1, 1]}),
    "ragged input block": ((1, 36, 8, 8), (34, 36, 3, 3), {}),
    "dilated": ((1, 40, 12, 12), (24, 40, 3, 3), {"pads": [2, 2, 2, 2], "dilations": [2, 2]}),
    "asymmetric padding": ((1, 32, 8, 9), (16, 32, 4, 2), {"pads": [2, 0, 1, 1]}),
    "padding wider than a tile": ((1, 3, 30, 40), (16, 3, 5, 21), {"pads": [2, 20, 2, 20]}),
    "groups of whole blocks": ((1, 64, 12, 12), (64, 16, 3, 3), {"pads": [1, 1, 1, 1], "group": 4}),
    "groups of parts of blocks": ((1, 6, 12, 12), (9, 2, 3, 2), {"pads": [1, 1, 0, 1], "group": 3}),
    "depthwise": ((1, 48, 9, 9), (48, 1, 3, 3), {"pads": [1, 1, 1, 1], "group": 48}),
    "depthwise, two images": ((2, 16, 9, 10), (16, 1, 3, 3), {"pads": [1, 1, 1, 1], "group": 16}),
    "depthwise, pixels side by side": ((1, 8, 12, 12), (8, 1, 3, 3), {"pads": [1, 1, 1, 1], "group": 8}),
    "depthwise with stride": ((1, 24, 15, 15), (24, 1, 5, 5), {"pads": [2, 2, 2, 2], "strides": [2, 2], "group": 24}),
    "depthwise, wide kernel": ((1, 20, 1, 40), (20, 1, 1, 11), {"pads": [0, 5, 0, 5], "group": 20}),
    "depthwise, dilated": ((1, 32, 12, 12), (32, 1, 3, 3), {"pads": [2, 2, 2, 2], "dilations": [2, 2], "group": 32}),
    "depthwise, short rows": ((1, 64, 25, 5), (64, 1, 3, 3), {"pads": [1, 1, 1, 1], "group": 64}),
    "depthwise, one column": ((2, 16, 7, 1), (16, 1, 5, 5), {"pads": [2, 2, 2, 2], "group": 16}),
    "depthwise, short rows, padding on one side": (
        (1, 16, 7, 4),
        (16, 1, 3, 3),
        {"pads": [0, 2, 1, 0], "group": 16},
    ),
    "depthwise, short rows with stride": (
        (1, 48, 9, 9),
        (48, 1, 5, 5),
        {"pads": [2, 2, 2, 2], "strides": [2, 2], "group": 48},
    ),
    "depthwise, short rows of small blocks": ((1, 8, 6, 4), (8, 1, 3, 3), {"pads": [1, 1, 1, 1], "group": 8}),
    "depthwise multiplier": ((1, 12, 9, 9), (24, 1, 3, 3), {"pads": [1, 1, 1, 1], "group": 12}),
    "one dimension": ((1, 40, 50), (24, 40, 5), {"pads": [2, 2], "strides": [2]}),
    "one dimension, depthwise": ((2, 32, 30), (32, 1, 3), {"pads": [2, 0], "group": 32}),
    "three dimensions": ((1, 4, 5, 6, 7), (6, 4, 2, 3, 3), {"pads": [1, 1, 1, 0, 1, 1]}),
    "three dimensions, groups": ((1, 4, 4, 6, 20), (4, 2, 1, 3, 3), {"group": 2, "strides": [2, 1, 1]}),
    "one output pixel": ((1, 40, 7, 7), (48, 40, 7, 7), {}),
    "one output pixel, ten classes": ((1, 40, 7, 7), (10, 40, 7, 7), {}),
    "three output channels": ((1, 40, 20, 20), (3, 40, 3, 3), {"pads": [0, 0, 1, 1], "strides": [2, 2]}),
    "kernel as large as the padded input": ((1, 16, 3, 3), (16, 16, 5, 5), {"pads": [1, 1, 1, 1]}),
}


def example(form: str, seed: int = 0) -> tuple[Array, Array, Array, dict[str, Any]]:
    x, w, attributes = FORMS[form]
    rng = np.random.default_rng(seed)
    return floats(rng, *x), floats(rng, *w), floats(rng, w[0]), attributes


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("constant", [(1, 2), (1,), ()], ids=["constant", "computed bias", "computed"])
def test_every_form_follows_the_definition(isa: str, constant: tuple[int, ...]) -> None:
    network = Network()
    for form in FORMS:
        x, w, bias, attributes = example(form)
        network.node("Conv", [x, w, bias], convolve(x, w, bias, **attributes), constant=constant, **attributes)
        network.node("Conv", [x, w], convolve(x, w, **attributes), constant=constant[:1], **attributes)
    network.check(isa, rtol=1e-4, atol=1e-4)  # sums of up to 2000 products round differently in another order


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize(
    ("auto_pad", "pads"),
    [("SAME_UPPER", [1, 0, 1, 1]), ("SAME_LOWER", [1, 1, 1, 0]), ("VALID", [0, 0, 0, 0])],
)
def test_auto_pad_is_resolved(isa: str, auto_pad: str, pads: list[int]) -> None:
    rng = np.random.default_rng(3)
    network = Network()
    for channels in (3, 40):
        x, w = floats(rng, 1, channels, 9, 8), floats(rng, 16, channels, 3, 3)
        strides = {"strides": [2, 2]}
        wanted = convolve(x, w, pads=pads, strides=[2, 2])
        network.node("Conv", [x, w], wanted, constant=(1,), auto_pad=auto_pad, **strides)
    network.check(isa, atol=1e-4)


ACTIVATIONS: list[tuple[str, dict[str, Any]]] = [
    ("Relu", {}),
    ("LeakyRelu", {"alpha": 0.2}),
    ("Sigmoid", {}),
    ("Tanh", {}),
    ("HardSigmoid", {"alpha": 0.3, "beta": 0.4}),
    ("HardSwish", {}),
    ("Elu", {"alpha": 1.5}),
    ("Gelu", {}),
]


@pytest.mark.parametrize("isa", ISAS)
def test_residual_and_activation_are_part_of_the_kernel(isa: str) -> None:
    rng = np.random.default_rng(5)
    weights: dict[str, Array] = {}
    nodes = []
    for (op_type, attributes), channels in itertools.product(ACTIVATIONS, (16, 24, 10)):
        key = f"{op_type}{channels}"
        weights |= {
            f"p{key}": 0.3 * floats(rng, channels, 3, 3, 3),
            f"q{key}": 0.1 * floats(rng, channels, channels, 3, 3),
        }
        nodes += [
            oh.make_node("Conv", ["x", f"p{key}"], [f"a{key}"], pads=[1, 1, 1, 1]),
            oh.make_node("Conv", [f"a{key}", f"q{key}"], [f"b{key}"], pads=[1, 1, 1, 1]),
            oh.make_node("Add", [f"b{key}", f"a{key}"], [f"c{key}"]),
            oh.make_node(op_type, [f"c{key}"], [f"y{key}"], **attributes),
        ]
    x = floats(rng, 1, 3, 9, 9)
    model = network_of(nodes, {"x": x}, weights)
    program = compile_program(model, isa=isa)
    assert not any("map" in call.kernel.name for call in program.body), "a pass over a tensor of its own"
    assert sum("Add" in call.source for call in program.body if call.macs) == len(nodes) // 4
    check_against_onnxruntime(model, {"x": x}, run_program(program, {"x": x}, isa=isa))


@pytest.mark.parametrize("isa", ["avx2", "avx512"])
def test_a_nan_survives_the_activation(isa: str) -> None:
    x = np.ones((1, 16, 5, 5), np.float32)
    x[0, 3, 2, 2] = np.nan
    nodes = [oh.make_node("Conv", ["x", "w"], ["a"]), oh.make_node("Relu", ["a"], ["y"])]
    model = network_of(nodes, {"x": x}, {"w": np.ones((16, 16, 1, 1), np.float32)})
    result = run_model(model, {"x": x}, isa=isa)["y"]
    assert np.isnan(result[0, :, 2, 2]).all()
    assert np.isnan(result).sum() == 16


@pytest.mark.parametrize("isa", ISAS)
def test_lanes_past_the_last_channel_never_reach_a_result(isa: str) -> None:
    # ten channels lie in blocks of four; the harness fills memory with NaN, so that a read of lanes 10 and 11 shows
    rng = np.random.default_rng(7)
    weights = {name: floats(rng, *shape) for name, shape in {"p": (10, 3, 3, 3), "q": (10, 10, 3, 3)}.items()}
    nodes = [
        oh.make_node("Conv", ["x", "p"], ["a"], pads=[1, 1, 1, 1]),
        oh.make_node("Conv", ["a", "q"], ["y"], pads=[1, 1, 1, 1]),
    ]
    x = floats(rng, 1, 3, 8, 8)
    model = network_of(nodes, {"x": x}, weights)
    check_against_onnxruntime(model, {"x": x}, run_model(model, {"x": x}, isa=isa))


def test_what_no_kernel_has_is_refused() -> None:
    rng = np.random.default_rng(0)
    doubles = node_model("Conv", {"x": np.zeros((1, 2, 5, 5))}, constants={"w": np.zeros((2, 2, 3, 3))})
    with pytest.raises(ModelError, match="no kernel for float64"):
        compile_program(doubles)
    four = node_model("Conv", {"x": floats(rng, 1, 2, 3, 3, 3, 3)}, constants={"w": floats(rng, 2, 2, 1, 1, 1, 1)})
    with pytest.raises(ModelError, match="one to three are supported"):
        compile_program(four)


def network_of(nodes: list[onnx.NodeProto], feeds: dict[str, Array], constants: dict[str, Array]) -> onnx.ModelProto:
    """A graph whose outputs are the results whose names begin with y."""
    outputs = [name for node in nodes for name in node.output if name.startswith("y")]
    graph = oh.make_graph(
        nodes,
        "network",
        [oh.make_tensor_value_info(name, 1, array.shape) for name, array in feeds.items()],
        [onnx.ValueInfoProto(name=name) for name in outputs],
        [onnx.numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    model = oh.make_model(graph, opset_imports=[oh.make_opsetid("", 21)], ir_version=10)
    return onnx.shape_inference.infer_shapes(model)


def check_against_onnxruntime(model: onnx.ModelProto, feeds: dict[str, Array], results: dict[str, Array]) -> None:
    ort = pytest.importorskip("onnxruntime")
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    for value, wanted in zip(session.get_outputs(), session.run(None, feeds), strict=True):
        # sums of hundreds of products round differently in another order
        np.testing.assert_allclose(results[value.name], wanted, rtol=1e-4, atol=1e-5 * np.abs(wanted).max())


@pytest.mark.parametrize("isa", ISAS)
def test_branches_joined_on_channels_keep_their_blocks(isa: str) -> None:
    rng = np.random.default_rng(9)
    weights: dict[str, Array] = {"stem": floats(rng, 16, 3, 3, 3), "after": floats(rng, 8, 40, 3, 3)}
    nodes = [oh.make_node("Conv", ["x", "stem"], ["s"], pads=[1, 1, 1, 1])]
    for index, channels in enumerate((16, 16, 8)):
        weights[f"w{index}"] = floats(rng, channels, 16, 1, 1)
        nodes.append(oh.make_node("Conv", ["s", f"w{index}"], [f"b{index}"]))
    nodes.append(oh.make_node("Concat", ["b0", "b1", "b2"], ["j"], axis=1))
    nodes.append(oh.make_node("MaxPool", ["j"], ["m"], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]))
    nodes.append(oh.make_node("Conv", ["m", "after"], ["y"], pads=[1, 1, 1, 1]))
    x = floats(rng, 1, 3, 12, 12)
    model = network_of(nodes, {"x": x}, weights)
    check_against_onnxruntime(model, {"x": x}, run_model(model, {"x": x}, isa=isa))


@pytest.mark.parametrize("isa", ["avx2", "avx512"])
def test_planes_of_every_width_are_covered(isa: str) -> None:
    rng = np.random.default_rng(11)
    network = Network()
    for height, width in itertools.product((1, 2, 5), (1, 2, 3, 13, 15, 28, 29)):
        for channels in (3, 16):
            x, w = floats(rng, 1, channels, height, width), floats(rng, 32, channels, 3, 3)
            network.node("Conv", [x, w], convolve(x, w, pads=[1] * 4), constant=(1,), pads=[1] * 4)
    network.check(isa, atol=1e-4)
