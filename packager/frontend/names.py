"""The name generated code goes by."""

from __future__ import annotations

import re


def identifier(text: str) -> str:
    """``text`` as a lower-case C identifier: ``MobileNet-v2 (1.0)`` becomes ``mobilenet_v2_1_0``; never empty."""
    name = re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")
    if not name:
        return "model"
    return f"m_{name}" if name[0].isdigit() else name
