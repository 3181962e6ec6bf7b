"""Fold ``scale * y + shift`` per output channel into the constant weights of the node that computes y."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from packager.passes.graph import (
    Array,
    FloatArray,
    add_constant,
    array,
    dims,
    input_at,
    is_float32,
    producer,
    read_once,
    set_input,
)

FOLDING_OPS = ("Conv", "ConvTranspose", "Gemm", "MatMul")
_RESIDUAL = 3


def channel_axis(node: ir.Node) -> int:
    """The axis of the output that runs over output channels."""
    return 1 if node.op_type in {"Conv", "ConvTranspose"} else len(dims(node.outputs[0])) - 1


def per_channel(constant: Array, shape: tuple[int, ...], axis: int) -> FloatArray | None:
    """``constant`` as one number per index of ``axis`` when it broadcasts to ``shape`` along that axis only."""
    if constant.ndim > len(shape) or constant.dtype.kind != "f":
        return None
    full = (1,) * (len(shape) - constant.ndim) + constant.shape
    if any(extent != 1 for index, extent in enumerate(full) if index != axis):
        return None
    if full[axis] not in (1, shape[axis]):
        return None
    return np.broadcast_to(constant.astype(np.float64).reshape(-1), (shape[axis],)).copy()


def foldable(value: ir.Value | None) -> ir.Node | None:
    """The node that computes ``value`` if an affine map of it can move into its weights.

    None when the value has another reader, the weights or the bias are computed at run time, or something that does not
    commute (an activation, a residual) was fused already.
    """
    node = producer(value, *FOLDING_OPS)
    if node is None or value is None or not read_once(value) or not is_float32(value):
        return None
    if "edgepack_activation" in node.attributes or input_at(node, _RESIDUAL) is not None:
        return None
    bias = input_at(node, 2)
    if array(node.inputs[1]) is None or (bias is not None and array(bias) is None):
        return None
    if node.op_type == "MatMul" and len(dims(node.inputs[1])) < 2:  # type: ignore[arg-type]  # present: it has a value
        return None
    return node


def fold_affine(node: ir.Node, scale: FloatArray, shift: FloatArray) -> bool:
    """Make ``node`` compute ``scale * y + shift``; False, and nothing changed, when that is not finite in float32."""
    weights = _weights(node)
    bias = _bias(node, len(scale))
    with np.errstate(over="ignore", invalid="ignore"):
        new_weights = (weights * _along_outputs(node, scale, weights.ndim)).astype(np.float32)
        new_bias = (bias * scale + shift).astype(np.float32)
    if not (np.isfinite(new_weights).all() and np.isfinite(new_bias).all()):
        return False
    stem = node.name or str(node.outputs[0].name)
    if not (scale == 1).all():
        set_input(node, 1, add_constant(node, f"{stem}.weight", new_weights.reshape(_weight_shape(node))))
        node.attributes.pop("alpha", None)
    if new_bias.any() or input_at(node, 2) is not None:
        set_input(node, 2, add_constant(node, f"{stem}.bias", new_bias))
        node.attributes.pop("beta", None)
        _use_gemm(node)
    return True


def _weight_shape(node: ir.Node) -> tuple[int, ...]:
    weights = node.inputs[1]
    assert weights is not None
    return dims(weights)


def _weights(node: ir.Node) -> FloatArray:
    """The weights; those of a grouped ConvTranspose as ``[group, in, out, ...]``, Gemm's alpha multiplied in."""
    found = array(node.inputs[1])
    assert found is not None
    weights = found.astype(np.float64)
    if node.op_type == "ConvTranspose":
        group = node.attributes.get_int("group", 1)
        return weights.reshape(group, weights.shape[0] // group, *weights.shape[1:])
    if node.op_type == "Gemm":
        return weights * node.attributes.get_float("alpha", 1.0)
    return weights


def _bias(node: ir.Node, channels: int) -> FloatArray:
    found = array(input_at(node, 2))
    if found is None:
        return np.zeros(channels)
    beta = node.attributes.get_float("beta", 1.0) if node.op_type == "Gemm" else 1.0
    return found.astype(np.float64) * beta


def _along_outputs(node: ir.Node, scale: FloatArray, rank: int) -> FloatArray:
    """``scale`` shaped so that it multiplies the output channels of :func:`_weights`."""
    if node.op_type == "Conv" or (node.op_type == "Gemm" and node.attributes.get_int("transB", 0) == 1):
        return scale.reshape(-1, *(1,) * (rank - 1))
    if node.op_type == "ConvTranspose":
        group = node.attributes.get_int("group", 1)
        return scale.reshape(group, 1, len(scale) // group, *(1,) * (rank - 3))
    return scale


def _use_gemm(node: ir.Node) -> None:
    """A product of two matrices with a bias is a Gemm."""
    operands = node.inputs[:2]
    if node.op_type == "MatMul" and all(value is not None and len(dims(value)) == 2 for value in operands):
        node.op_type = "Gemm"
