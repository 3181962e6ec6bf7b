"""Which steps are worth running on several threads."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from packager.program import Buffer, KernelCall

_MICROSECONDS = 20.0
"""A step shorter than this gains less than waking and joining threads costs."""

_MACS_PER_LANE_AND_MICROSECOND = 4_000.0
"""Two multiply-accumulates a cycle and lane at 2 GHz: what a register-tiled kernel does."""

_BYTES_PER_MICROSECOND = 8_000.0
"""Out of the second-level cache of a small core."""


def microseconds(call: KernelCall, lanes: int) -> float:
    """A rough estimate of a step's time on one core: arithmetic or traffic, whichever is slower."""
    operands = [*call.outputs, *(operand for operand in call.inputs if isinstance(operand, Buffer))]
    traffic = sum(buffer.logical_bytes for buffer in operands) / _BYTES_PER_MICROSECOND
    return max(call.macs / (_MACS_PER_LANE_AND_MICROSECOND * lanes), traffic)


def mark_parallel(body: Sequence[KernelCall], *, lanes: int, threads: int) -> list[KernelCall]:
    """``body`` with ``parallel`` set where a kernel splits, nothing can fail in it and the step is long enough."""
    return [
        dataclasses.replace(call, parallel=True)
        if threads > 1
        and call.kernel.splits
        and not call.kernel.fallible
        and call.extent > 1
        and microseconds(call, lanes) >= _MICROSECONDS
        else call
        for call in body
    ]
