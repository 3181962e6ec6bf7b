from __future__ import annotations

import numpy as np
import pytest

from packager.errors import ModelError
from tests.ops.linalg_network import Network, floats
from tests.support.harness import ISAS, Array, compile_program, node_model


def normal(x: Array, axes: tuple[int, ...], epsilon: float) -> Array:
    wide: Array = x.astype(np.float64)
    centered = wide - wide.mean(axis=axes, keepdims=True)
    return np.asarray(centered / np.sqrt((centered**2).mean(axis=axes, keepdims=True) + epsilon))


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("constant", [(), (1, 2)], ids=["computed", "constant"])
def test_layer_normalization_of_any_axis_with_its_optional_outputs(isa: str, constant: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    network = Network()
    x = floats(rng, 2, 3, 4, 9)
    for axis in (-1, 0, 1, 2, 3):
        row = x.shape[axis:]
        scale, bias = floats(rng, *row), floats(rng, *row)
        axes = tuple(range(axis % 4, 4))
        y = (normal(x, axes, 1e-5) * scale + bias).astype(np.float32)
        mean = x.mean(axis=axes, keepdims=True)
        inverse = 1 / np.sqrt(x.var(axis=axes, keepdims=True) + np.float32(1e-5))
        network.node("LayerNormalization", [x, scale, bias], y, constant=constant, axis=axis)
        network.node("LayerNormalization", [x, scale, bias], [y, mean, inverse], constant=constant, axis=axis)
        without = (normal(x, axes, 1e-2) * scale).astype(np.float32)
        network.node("LayerNormalization", [x, scale], without, constant=constant[:1], axis=axis, epsilon=1e-2)
    network.check(isa)


def test_a_constant_scale_is_broadcast_over_the_row() -> None:
    rng = np.random.default_rng(1)
    x, scale, bias = floats(rng, 2, 4, 5), floats(rng, 4, 1), floats(rng, 1)
    network = Network()
    wanted = (normal(x, (1, 2), 1e-5) * scale + bias).astype(np.float32)
    network.node("LayerNormalization", [x, scale, bias], wanted, constant=(1, 2), axis=1)
    network.check("avx2")


def test_a_large_mean_costs_no_digits_of_the_variance() -> None:
    rng = np.random.default_rng(2)
    x = floats(rng, 3, 64) + np.float32(4096)
    network = Network()
    scale, bias = np.ones(64, np.float32), np.zeros(64, np.float32)
    network.node("LayerNormalization", [x, scale, bias], normal(x, (1,), 1e-5).astype(np.float32), constant=(1, 2))
    image = x.reshape(1, 3, 8, 8)
    wanted = normal(image, (2, 3), 1e-5).astype(np.float32)
    ones, zeros = np.ones(3, np.float32), np.zeros(3, np.float32)
    network.node("InstanceNormalization", [image, ones, zeros], wanted, constant=(1, 2))
    network.check("avx2", atol=2e-3)  # the mean itself is rounded to 2^-12 of the spread; one pass would be off by 1


@pytest.mark.parametrize("isa", ISAS)
def test_root_mean_square_normalization(isa: str) -> None:
    rng = np.random.default_rng(3)
    x, scale = floats(rng, 4, 33), floats(rng, 33)
    wanted = x / np.sqrt((x.astype(np.float64) ** 2).mean(axis=1, keepdims=True) + 1e-5) * scale
    network = Network(opset=23)
    network.node("RMSNormalization", [x, scale], wanted.astype(np.float32))
    network.check(isa)


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("constant", [(), (1, 2)], ids=["computed", "constant"])
def test_instance_and_group_normalization(isa: str, constant: tuple[int, ...]) -> None:
    rng = np.random.default_rng(4)
    network = Network()
    for shape in [(2, 6, 5), (1, 6, 3, 7), (2, 6, 2, 3, 4)]:
        x, scale, bias = floats(rng, *shape), floats(rng, 6), floats(rng, 6)
        channel = (1, 6, *[1] * (len(shape) - 2))
        instance = normal(x, tuple(range(2, len(shape))), 1e-5) * scale.reshape(channel) + bias.reshape(channel)
        network.node("InstanceNormalization", [x, scale, bias], instance.astype(np.float32), constant=constant)
        groups = x.reshape(shape[0], 3, 2, -1)
        group = normal(groups, (2, 3), 1e-3).reshape(shape) * scale.reshape(channel) + bias.reshape(channel)
        wanted = group.astype(np.float32)
        network.node("GroupNormalization", [x, scale, bias], wanted, constant=constant, num_groups=3, epsilon=1e-3)
    network.check(isa)


@pytest.mark.parametrize("constant", [(), (1, 2, 3, 4)], ids=["computed", "constant"])
def test_batch_normalization_with_statistics_from_anywhere(constant: tuple[int, ...]) -> None:
    rng = np.random.default_rng(5)
    x, scale, bias, mean = floats(rng, 2, 5, 3, 7), floats(rng, 5), floats(rng, 5), floats(rng, 5)
    variance = np.abs(floats(rng, 5)) + np.float32(0.1)
    s, b, m, v = (array.reshape(1, 5, 1, 1) for array in (scale, bias, mean, variance))
    network = Network()
    wanted = ((x - m) / np.sqrt(v + np.float32(1e-3)) * s + b).astype(np.float32)
    network.node("BatchNormalization", [x, scale, bias, mean, variance], wanted, constant=constant, epsilon=1e-3)
    network.check("avx2")


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("p", [1, 2])
def test_lp_normalization_gives_zero_where_the_norm_is_zero(p: int, isa: str) -> None:
    x = floats(np.random.default_rng(6), 3, 5, 19)
    x[1] = 0
    network = Network(opset=22)
    for axis in (-1, 0, 1):
        norm = (np.abs(x.astype(np.float64)) ** p).sum(axis=axis, keepdims=True) ** (1 / p)
        wanted = np.divide(x, norm, out=np.zeros_like(x, dtype=np.float64), where=norm != 0)
        network.node("LpNormalization", [x], wanted.astype(np.float32), axis=axis, p=p)
    network.check(isa)


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("size", [1, 2, 3, 5, 12])
def test_local_response_normalization_with_odd_and_even_windows(size: int, isa: str) -> None:
    x = floats(np.random.default_rng(7), 2, 6, 3, 7)
    squares = np.zeros(x.shape)
    for c in range(6):
        window = x[:, max(0, c - (size - 1) // 2) : min(6, c + size // 2 + 1)].astype(np.float64)
        squares[:, c] = (window**2).sum(axis=1)
    wanted = x / (1.5 + 0.01 / size * squares) ** 0.6
    network = Network()
    network.node("LRN", [x], wanted.astype(np.float32), size=size, alpha=0.01, beta=0.6, bias=1.5)
    network.check(isa)


def test_training_mode_is_refused_by_name() -> None:
    ones = np.ones(3, np.float32)
    constants = {"s": ones, "b": ones, "m": ones, "v": ones}
    x = np.ones((1, 3, 4, 4), np.float32)
    model = node_model(
        "BatchNormalization", {"x": x}, ("y", "mean", "var"), constants=constants, opset=15, training_mode=1
    )
    with pytest.raises(ModelError, match="training_mode"):
        compile_program(model)
