"""The lowering registry: one function per operator, registered by name (and domain)."""

from __future__ import annotations

import enum
import functools
import importlib
import pkgutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from packager.program import KernelCall

if TYPE_CHECKING:
    import onnx_ir as ir

    from packager.lower.context import LoweringContext

Lowered = KernelCall | Iterable[KernelCall]
LoweringFunction = Callable[["ir.Node", "LoweringContext"], Lowered]


class LayoutRule(enum.Enum):
    """What an operator's lowering accepts; read by the layout pass.

    PLAIN: every operand row-major.  FOLLOW: element-wise; tensors of the output's shape may all be blocked the same way
    (halos may differ), smaller operands stay row-major constants or buffers.  SPATIAL: conv-like, the layout
    pass decides operand by operand (conv, pools, resize, concat on channels ...).
    """

    PLAIN = "plain"
    FOLLOW = "follow"
    SPATIAL = "spatial"


@dataclass(frozen=True)
class Lowering:
    """A registry row."""

    op_type: str
    domain: str
    function: LoweringFunction
    layout: LayoutRule


_REGISTRY: dict[tuple[str, str], Lowering] = {}


def lowering(
    *op_types: str, domain: str = "", layout: LayoutRule = LayoutRule.PLAIN
) -> Callable[[LoweringFunction], LoweringFunction]:
    """Register the decorated function as the lowering of ``op_types``; registering one twice is a bug."""

    def register(function: LoweringFunction) -> LoweringFunction:
        for op_type in op_types:
            key = (domain, op_type)
            if key in _REGISTRY:
                raise ValueError(f"{op_type} ({domain or 'ai.onnx'}) has two lowerings")
            _REGISTRY[key] = Lowering(op_type, domain, function, layout)
        return function

    return register


def registry() -> Mapping[tuple[str, str], Lowering]:
    """All lowerings by (domain, op_type); imports every module of ``packager.ops`` on first use."""
    _load()
    return _REGISTRY


@functools.cache
def _load() -> None:
    package = importlib.import_module("packager.ops")
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"packager.ops.{module.name}")
