"""Vector widths that a compiler must be told to use."""

from __future__ import annotations

WIDE_VECTORS = {16: ("__AVX512F__", "-march=x86-64-v4"), 8: ("__AVX2__", "-march=x86-64-v3")}
"""By floats in a vector: the macro that says the compiler uses them, and a flag that makes it.  Others need none."""
