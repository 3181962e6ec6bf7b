"""What ``--optimize`` and the memory goal change."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnx.helper as oh
import pytest

import edgepack
from packager.config.load import load_target
from packager.pipeline import MEMORY_GOAL, compile_model


def ten_channels() -> onnx.ModelProto:
    """Two convolutions with 10 channels in between: 12 lanes in blocks of 4."""
    rng = np.random.default_rng(0)
    weights = {"a": rng.normal(size=(10, 3, 3, 3)), "b": rng.normal(size=(16, 10, 3, 3))}
    nodes = [oh.make_node("Conv", ["x", "a"], ["t"]), oh.make_node("Conv", ["t", "b"], ["y"], strides=[2, 2])]
    graph = oh.make_graph(
        nodes,
        "ten",
        [oh.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1, 3, 34, 34])],
        [oh.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [1, 16, 15, 15])],
        [onnx.numpy_helper.from_array(value.astype(np.float32), name) for name, value in weights.items()],
    )
    return oh.make_model(graph, opset_imports=[oh.make_opsetid("", 17)], ir_version=8)


@pytest.mark.parametrize("target", ["x86_64-linux-avx512", "rpi4"])
def test_the_arena_stays_within_its_goal(target: str) -> None:
    compiled = compile_model(ten_channels(), load_target(target))
    assert compiled.memory.ratio <= MEMORY_GOAL


def test_optimize_ram_pads_nothing() -> None:
    digits = Path(__file__).parents[2] / "examples/digits/digits.onnx"
    assert compile_model(digits, load_target("rpi4"), optimize="ram").memory.ratio <= 1.01


@pytest.mark.qemu_system
def test_optimize_size_makes_smaller_code_with_the_same_outputs(tmp_path: Path) -> None:
    digits = Path(__file__).parents[2] / "examples/digits/digits.onnx"
    speed = edgepack.build(digits, "cortex-m4f", out=tmp_path / "speed")
    size = edgepack.build(digits, "cortex-m4f", out=tmp_path / "size", optimize="size")
    assert size.manifest.sections["text"] < 0.8 * speed.manifest.sections["text"]
    assert edgepack.verify(size).passed
