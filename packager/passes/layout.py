"""Choose how every tensor lies in memory."""

from __future__ import annotations

import onnx_ir as ir

from packager.config.isa import Isa


def assign_layout(model: ir.Model, isa: Isa, *, halos: bool) -> None:
    """Leave everything row-major."""
