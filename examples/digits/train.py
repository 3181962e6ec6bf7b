"""Train the example network on scikit-learn's handwritten digits and write ``digits.onnx`` and the sample images.

The data set (1,797 images of 8x8 pixels, 0 to 16) comes with scikit-learn.  The network is small enough to train with
numpy in about half a minute; run it again only to change it: ``python examples/digits/train.py``.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnx
import onnx.helper as oh
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

HERE = Path(__file__).parent
CHANNELS = (16, 32)
EPOCHS = 40
BATCH = 32
Array = npt.NDArray[np.float32]


def data() -> tuple[Array, Array, npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Images [n, 1, 8, 8] in 0..1 and labels, training and test part; the split is fixed."""
    digits = load_digits()
    images = (digits.images[:, None] / 16).astype(np.float32)
    parts = train_test_split(images, digits.target.astype(np.int64), test_size=0.25, random_state=0)
    return parts[0], parts[1], parts[2], parts[3]


def patches(x: Array) -> Array:
    """x[n, c, h, w] -> [n, h, w, c * 9]: the 3x3 neighbourhoods with zero padding, ordered as Conv weights are."""
    n, c, h, w = x.shape
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
    return np.ascontiguousarray(windows.transpose(0, 2, 3, 1, 4, 5)).reshape(n, h, w, c * 9)


class Conv3x3:
    """A 3x3 convolution with ReLU, He initialisation."""

    def __init__(self, rng: np.random.Generator, c_in: int, c_out: int) -> None:
        self.weight = rng.normal(0, (2 / (9 * c_in)) ** 0.5, (c_out, c_in * 9)).astype(np.float32)
        self.bias = np.zeros(c_out, np.float32)

    def forward(self, x: Array) -> Array:
        """x[n, c_in, h, w] -> y[n, c_out, h, w]."""
        self.columns = patches(x)
        y: Array = np.maximum(self.columns @ self.weight.T + self.bias, 0).transpose(0, 3, 1, 2)
        self.y = y
        return y

    def backward(self, dy: Array) -> Array:
        """dL/dy -> dL/dx; leaves the parameters' gradients in ``gradients``."""
        d = (dy * (self.y > 0)).transpose(0, 2, 3, 1)
        n, h, w, c_out = d.shape
        self.gradients = [
            d.reshape(-1, c_out).T @ self.columns.reshape(n * h * w, -1),
            d.sum((0, 1, 2)),
        ]
        c_in = self.weight.shape[1] // 9
        columns = (d @ self.weight).reshape(n, h, w, c_in, 3, 3)
        dx = np.zeros((n, c_in, h + 2, w + 2), np.float32)
        for row in range(3):
            for column in range(3):
                dx[:, :, row : row + h, column : column + w] += columns[..., row, column].transpose(0, 3, 1, 2)
        return dx[:, :, 1:-1, 1:-1]

    @property
    def parameters(self) -> list[Array]:
        """What the optimiser updates."""
        return [self.weight, self.bias]


class Network:
    """conv 3x3, ReLU, max pool 2x2, conv 3x3, ReLU, mean over the image, linear."""

    def __init__(self, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self.first = Conv3x3(rng, 1, CHANNELS[0])
        self.second = Conv3x3(rng, *CHANNELS)
        self.weight = rng.normal(0, (1 / (CHANNELS[1] * 4)) ** 0.5, (10, CHANNELS[1] * 4)).astype(np.float32)
        self.bias = np.zeros(10, np.float32)

    def forward(self, x: Array) -> Array:
        """x[n, 1, 8, 8] -> scores[n, 10]."""
        self.pooled, self.mask1 = max_pool(self.first.forward(x))
        pooled, self.mask2 = max_pool(self.second.forward(self.pooled))
        self.features = pooled.reshape(len(x), -1)
        scores: Array = self.features @ self.weight.T + self.bias
        return scores

    def backward(self, d: Array) -> list[Array]:
        """dL/dscores -> gradients, in the order of ``parameters``."""
        gradients = [d.T @ self.features, d.sum(0)]
        pooled = (d @ self.weight).reshape(len(d), CHANNELS[1], 2, 2)
        back = self.second.backward(unpool(pooled, self.mask2))
        self.first.backward(unpool(back, self.mask1))
        return [*self.first.gradients, *self.second.gradients, *gradients]

    @property
    def parameters(self) -> list[Array]:
        """What the optimiser updates."""
        return [*self.first.parameters, *self.second.parameters, self.weight, self.bias]


def max_pool(x: Array) -> tuple[Array, npt.NDArray[np.bool_]]:
    """2x2 maxima of x[n, c, h, w], and where they were (split among ties)."""
    n, c, h, w = x.shape
    blocks = x.reshape(n, c, h // 2, 2, w // 2, 2)
    y: Array = blocks.max((3, 5))
    return y, blocks == y[:, :, :, None, :, None]


def unpool(d: Array, mask: npt.NDArray[np.bool_]) -> Array:
    """The gradient of :func:`max_pool`."""
    n, c, h, _, w, _ = mask.shape
    share = d[:, :, :, None, :, None] / mask.sum((3, 5), keepdims=True)
    gradient: Array = (mask * share).reshape(n, c, 2 * h, 2 * w).astype(np.float32)
    return gradient


def train(x: Array, y: npt.NDArray[np.int64]) -> Network:
    """Adam on cross entropy with a falling step; fixed seeds."""
    network, rng = Network(), np.random.default_rng(1)
    moments = [(np.zeros_like(p), np.zeros_like(p)) for p in network.parameters]
    step = 0
    for epoch in range(EPOCHS):
        rate = 2e-3 * 0.5 * (1 + np.cos(np.pi * epoch / EPOCHS))
        for batch in np.array_split(rng.permutation(len(x)), len(x) // BATCH):
            step += 1
            scores = network.forward(x[batch])
            p = np.exp(scores - scores.max(1, keepdims=True))
            p /= p.sum(1, keepdims=True)
            p[np.arange(len(batch)), y[batch]] -= 1
            gradients = network.backward((p / len(batch)).astype(np.float32))
            for parameter, gradient, (m, v) in zip(network.parameters, gradients, moments, strict=True):
                m[...] += 0.1 * (gradient - m)
                v[...] += 0.001 * (gradient**2 - v)
                parameter[...] -= rate * (m / (1 - 0.9**step)) / (np.sqrt(v / (1 - 0.999**step)) + 1e-8)
    return network


def to_onnx(network: Network) -> onnx.ModelProto:
    """The trained network, input ``image`` [1, 1, 8, 8], output ``probabilities`` [1, 10]."""
    first, second = network.first, network.second
    weights = {
        "conv1.weight": first.weight.reshape(CHANNELS[0], 1, 3, 3),
        "conv1.bias": first.bias,
        "conv2.weight": second.weight.reshape(CHANNELS[1], CHANNELS[0], 3, 3),
        "conv2.bias": second.bias,
        "fc.weight": network.weight,
        "fc.bias": network.bias,
    }
    nodes = [
        oh.make_node("Conv", ["image", "conv1.weight", "conv1.bias"], ["a"], "conv1", pads=[1, 1, 1, 1]),
        oh.make_node("Relu", ["a"], ["b"], "relu1"),
        oh.make_node("MaxPool", ["b"], ["c"], "pool1", kernel_shape=[2, 2], strides=[2, 2]),
        oh.make_node("Conv", ["c", "conv2.weight", "conv2.bias"], ["d"], "conv2", pads=[1, 1, 1, 1]),
        oh.make_node("Relu", ["d"], ["e"], "relu2"),
        oh.make_node("MaxPool", ["e"], ["f"], "pool2", kernel_shape=[2, 2], strides=[2, 2]),
        oh.make_node("Flatten", ["f"], ["g"], "flatten"),
        oh.make_node("Gemm", ["g", "fc.weight", "fc.bias"], ["scores"], "fc", transB=1),
        oh.make_node("Softmax", ["scores"], ["probabilities"], "softmax", axis=-1),
    ]
    graph = oh.make_graph(
        nodes,
        "digits",
        [oh.make_tensor_value_info("image", onnx.TensorProto.FLOAT, [1, 1, 8, 8])],
        [oh.make_tensor_value_info("probabilities", onnx.TensorProto.FLOAT, [1, 10])],
        [onnx.numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    model = oh.make_model(graph, opset_imports=[oh.make_opsetid("", 17)], ir_version=8, producer_name="edgepack")
    onnx.checker.check_model(model, full_check=True)
    return model


def main() -> None:
    """Train, report the accuracy on images never seen, write the files."""
    x_train, x_test, y_train, y_test = data()
    network = train(x_train, y_train)
    accuracy = float((network.forward(x_test).argmax(1) == y_test).mean())
    print(f"test accuracy {100 * accuracy:.2f} % on {len(x_test)} images")
    onnx.save(to_onnx(network), HERE / "digits.onnx")
    (HERE / "images").mkdir(exist_ok=True)
    for digit in range(10):
        index = int(np.flatnonzero(y_test == digit)[0])
        np.save(HERE / "images" / f"{digit}.npy", x_test[index : index + 1])


if __name__ == "__main__":
    main()
