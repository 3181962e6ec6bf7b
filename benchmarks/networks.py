"""Write the benchmark networks as ONNX files: ``python benchmarks/networks.py DIR [NAME ...]``.

The architectures are the published ones, BatchNormalization already folded; the weights are random (fixed seed), since
they do not change the time of float arithmetic.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnx.helper as oh


class Graph:
    """A network under construction; layers take and return tensor names, ``channels`` follows along."""

    def __init__(self, name: str, shape: Sequence[int]) -> None:
        self.name = name
        self.shape = list(shape)
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []
        self.rng = np.random.default_rng(7)

    def weight(self, values: npt.NDArray[Any]) -> str:
        """An initializer."""
        name = f"weight{len(self.weights)}"
        self.weights.append(onnx.numpy_helper.from_array(values.astype(np.float32), name))
        return name

    def add(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """A node with one output."""
        output = f"{kind.lower()}{len(self.nodes)}"
        self.nodes.append(oh.make_node(kind, list(inputs), [output], name=output, **attributes))
        return output

    def conv(
        self,
        x: str,
        c_in: int,
        c_out: int,
        kernel: tuple[int, int] = (3, 3),
        stride: int = 1,
        *,
        group: int = 1,
        act: str | None = "relu",
        pads: Sequence[int] | None = None,
    ) -> str:
        """Convolution with bias and activation; pads keep the size (rounded up) unless given."""
        shape = (c_out, c_in // group, *kernel)
        deviation = np.sqrt(2 / np.prod(shape[1:]))
        same = [(k - 1) // 2 for k in kernel] + [k // 2 for k in kernel]
        weights = self.weight(self.rng.normal(0, deviation, shape)), self.weight(self.rng.normal(0, 0.1, c_out))
        strides, pads = [stride, stride], list(pads or same)
        y = self.add("Conv", x, *weights, kernel_shape=list(kernel), strides=strides, pads=pads, group=group)
        if act == "relu6":
            return self.add("Clip", y, self.weight(np.array(0)), self.weight(np.array(6)))
        return self.add("Relu", y) if act else y

    def separable(self, x: str, c_in: int, c_out: int, stride: int, act: str) -> str:
        """Depthwise 3x3, then 1x1."""
        return self.conv(self.conv(x, c_in, c_in, stride=stride, group=c_in, act=act), c_in, c_out, (1, 1), act=act)

    def dense(self, x: str, c_in: int, c_out: int) -> str:
        """Gemm with bias."""
        w = self.weight(self.rng.normal(0, np.sqrt(2 / c_in), (c_out, c_in)))
        return self.add("Gemm", x, w, self.weight(self.rng.normal(0, 0.1, c_out)), transB=1)

    def head(self, x: str, c_in: int, classes: int) -> str:
        """Global mean and classifier."""
        return self.dense(self.add("Flatten", self.add("GlobalAveragePool", x)), c_in, classes)

    def model(self, output: str, classes: int) -> onnx.ModelProto:
        """The finished model."""
        graph = oh.make_graph(
            self.nodes,
            self.name,
            [oh.make_tensor_value_info("input", onnx.TensorProto.FLOAT, self.shape)],
            [oh.make_tensor_value_info(output, onnx.TensorProto.FLOAT, [1, classes])],
            self.weights,
        )
        return oh.make_model(graph, opset_imports=[oh.make_opsetid("", 17)], ir_version=8)


def ds_cnn() -> onnx.ModelProto:
    """Keyword spotting of MLPerf Tiny."""
    net = Graph("ds_cnn", [1, 1, 49, 10])
    x = net.conv("input", 1, 64, (10, 4), 2, pads=[4, 1, 5, 1])
    for _ in range(4):
        x = net.separable(x, 64, 64, 1, "relu")
    return net.model(net.add("Softmax", net.head(x, 64, 12), axis=1), 12)


def resnet8() -> onnx.ModelProto:
    """Image classification of MLPerf Tiny."""
    net = Graph("resnet8", [1, 3, 32, 32])
    x = net.conv("input", 3, 16)
    for c_in, c_out, stride in ((16, 16, 1), (16, 32, 2), (32, 64, 2)):
        y = net.conv(net.conv(x, c_in, c_out, stride=stride), c_out, c_out, act=None)
        skip = x if stride == 1 else net.conv(x, c_in, c_out, (1, 1), stride, act=None)
        x = net.add("Relu", net.add("Add", y, skip))
    return net.model(net.add("Softmax", net.head(x, 64, 10), axis=1), 10)


def ad_autoencoder() -> onnx.ModelProto:
    """Anomaly detection of MLPerf Tiny."""
    net = Graph("ad_autoencoder", [1, 640])
    widths = (640, *[128] * 4, 8, *[128] * 4, 640)
    x = "input"
    for c_in, c_out in pairwise(widths[:-1]):
        x = net.add("Relu", net.dense(x, c_in, c_out))
    return net.model(net.dense(x, 128, 640), 640)


def mobilenet_v1(name: str, size: int, width: float, classes: int) -> onnx.ModelProto:
    """MobileNetV1; at width 0.25 and 96x96 the visual wake words network of MLPerf Tiny."""
    net = Graph(name, [1, 3, size, size])
    c = int(32 * width)
    x = net.conv("input", 3, c, stride=2, act="relu6")
    for c_out, stride in (
        (64, 1),
        (128, 2),
        (128, 1),
        (256, 2),
        (256, 1),
        (512, 2),
        *[(512, 1)] * 5,
        (1024, 2),
        (1024, 1),
    ):
        x = net.separable(x, c, int(c_out * width), stride, "relu6")
        c = int(c_out * width)
    return net.model(net.head(x, c, classes), classes)


def mobilenet_v2() -> onnx.ModelProto:
    """MobileNetV2 at 224x224."""
    net = Graph("mobilenet_v2", [1, 3, 224, 224])
    x, c = net.conv("input", 3, 32, stride=2, act="relu6"), 32
    rows = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))
    for expansion, c_out, repeats, first in rows:
        for index in range(repeats):
            stride, wide = (first if index == 0 else 1), c * expansion
            y = x if expansion == 1 else net.conv(x, c, wide, (1, 1), act="relu6")
            y = net.conv(y, wide, wide, stride=stride, group=wide, act="relu6")
            y = net.conv(y, wide, c_out, (1, 1), act=None)
            x = net.add("Add", x, y) if stride == 1 and c == c_out else y
            c = c_out
    return net.model(net.head(net.conv(x, c, 1280, (1, 1), act="relu6"), 1280, 1000), 1000)


def resnet(name: str, blocks: Sequence[int], expansion: int) -> onnx.ModelProto:
    """ResNet at 224x224: basic blocks (expansion 1) or bottlenecks (4)."""
    net = Graph(name, [1, 3, 224, 224])
    x, c = net.conv("input", 3, 64, (7, 7), 2), 64
    x = net.add("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    for stage, count in enumerate(blocks):
        inner, c_out = 64 << stage, (64 << stage) * expansion
        for index in range(count):
            stride = 2 if stage and index == 0 else 1
            if expansion == 1:
                y = net.conv(net.conv(x, c, inner, stride=stride), inner, inner, act=None)
            else:
                y = net.conv(net.conv(x, c, inner, (1, 1)), inner, inner, stride=stride)
                y = net.conv(y, inner, c_out, (1, 1), act=None)
            skip = x if c == c_out and stride == 1 else net.conv(x, c, c_out, (1, 1), stride, act=None)
            x, c = net.add("Relu", net.add("Add", y, skip)), c_out
    return net.model(net.head(x, c, 1000), 1000)


NETWORKS: dict[str, Callable[[], onnx.ModelProto]] = {
    "ds_cnn": ds_cnn,
    "resnet8": resnet8,
    "ad_autoencoder": ad_autoencoder,
    "mobilenet_v1_025_96": lambda: mobilenet_v1("mobilenet_v1_025_96", 96, 0.25, 2),
    "mobilenet_v1": lambda: mobilenet_v1("mobilenet_v1", 224, 1.0, 1000),
    "mobilenet_v2": mobilenet_v2,
    "resnet18": lambda: resnet("resnet18", (2, 2, 2, 2), 1),
    "resnet50": lambda: resnet("resnet50", (3, 4, 6, 3), 4),
}
"""Constructors by file name."""


def main(arguments: Sequence[str]) -> None:
    """Write the named networks, all without names."""
    folder = Path(arguments[0] if arguments else ".")
    folder.mkdir(parents=True, exist_ok=True)
    for name in arguments[1:] or NETWORKS:
        model = NETWORKS[name]()
        onnx.checker.check_model(model)
        onnx.save(model, folder / f"{name}.onnx")
        print(folder / f"{name}.onnx")


if __name__ == "__main__":
    main(sys.argv[1:])
