"""Convolutions by their definition, in double precision: what the kernels are compared with."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.support.harness import Array


def taken(filters: Array, taps: tuple[int, ...]) -> Array:
    """``filters[:, :, *taps]`` in double precision."""
    index: Any = (slice(None), slice(None), *taps)
    taps_of: Array = filters[index].astype(np.float64)
    return taps_of


def convolve(
    x: Array,
    w: Array,
    bias: Array | None = None,
    *,
    strides: Sequence[int] = (),
    pads: Sequence[int] = (),
    dilations: Sequence[int] = (),
    group: int = 1,
) -> Array:
    """ONNX Conv with explicit pads."""
    rank = x.ndim - 2
    strides, dilations = tuple(strides) or (1,) * rank, tuple(dilations) or (1,) * rank
    pads = tuple(pads) or (0,) * 2 * rank
    padded = np.pad(x.astype(np.float64), [(0, 0), (0, 0), *zip(pads[:rank], pads[rank:], strict=True)])
    reach = [(k - 1) * d + 1 for k, d in zip(w.shape[2:], dilations, strict=True)]
    out = tuple((e - r) // s + 1 for e, r, s in zip(padded.shape[2:], reach, strides, strict=True))
    y = np.zeros((x.shape[0], w.shape[0], *out))
    oc, ic = w.shape[0] // group, w.shape[1]
    for taps in itertools.product(*(range(k) for k in w.shape[2:])):
        window = tuple(
            slice(t * d, t * d + (o - 1) * s + 1, s) for t, d, o, s in zip(taps, dilations, out, strides, strict=True)
        )
        for g in range(group):
            part = padded[(slice(None), slice(g * ic, (g + 1) * ic), *window)]
            filters = taken(w[g * oc : (g + 1) * oc], taps)
            y[:, g * oc : (g + 1) * oc] += np.einsum("nc...,oc->no...", part, filters)
    if bias is not None:
        y += bias.reshape(-1, *(1,) * rank)
    return y.astype(np.float32)


def convolve_transposed(
    x: Array,
    w: Array,
    bias: Array | None = None,
    *,
    strides: Sequence[int] = (),
    pads: Sequence[int] = (),
    dilations: Sequence[int] = (),
    output_padding: Sequence[int] = (),
    group: int = 1,
) -> Array:
    """ONNX ConvTranspose with explicit pads: every input adds its product with the kernel to the output."""
    rank = x.ndim - 2
    strides, dilations = tuple(strides) or (1,) * rank, tuple(dilations) or (1,) * rank
    pads, extra = tuple(pads) or (0,) * 2 * rank, tuple(output_padding) or (0,) * rank
    reach = [(k - 1) * d + 1 for k, d in zip(w.shape[2:], dilations, strict=True)]
    whole = [(i - 1) * s + r + e for i, s, r, e in zip(x.shape[2:], strides, reach, extra, strict=True)]
    y = np.zeros((x.shape[0], w.shape[1] * group, *whole))
    ic, oc = x.shape[1] // group, w.shape[1]
    for taps in itertools.product(*(range(k) for k in w.shape[2:])):
        window = tuple(
            slice(t * d, t * d + (i - 1) * s + 1, s)
            for t, d, i, s in zip(taps, dilations, x.shape[2:], strides, strict=True)
        )
        for g in range(group):
            part = x[:, g * ic : (g + 1) * ic].astype(np.float64)
            filters = taken(w[g * ic : (g + 1) * ic], taps)
            y[(slice(None), slice(g * oc, (g + 1) * oc), *window)] += np.einsum("nc...,co->no...", part, filters)
    if bias is not None:
        y += bias.reshape(-1, *(1,) * rank)
    inside = (slice(begin, extent - end) for extent, begin, end in zip(whole, pads[:rank], pads[rank:], strict=True))
    return y[(slice(None), slice(None), *inside)].astype(np.float32)
