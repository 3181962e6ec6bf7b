"""Numbers survive the way into C."""

from __future__ import annotations

import math
import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegen_c.literals import descriptor_items, float_literal, int_literal
from packager.program import Descriptor


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_float_literals_read_back_exactly(value: float) -> None:
    text = float_literal(value)
    assert text.endswith("f")
    assert any(c in text for c in ".e")
    assert np.float32(float(text[:-1])) == np.float32(value)
    assert math.copysign(1, float(text[:-1])) == math.copysign(1, value)


@pytest.mark.parametrize("value", [0, -1, 2**31 - 1, -(2**31), 2**63 - 1, -(2**63), 2**64 - 1])
def test_integer_literals_compile_without_a_warning_and_keep_their_value(value: int, tmp_path: Path) -> None:
    kind = "unsigned long long" if value >= 2**63 else "long long"
    text = int_literal(value)
    (tmp_path / "v.c").write_text(f"extern {kind} v;\n{kind} v = {text};\n")
    done = subprocess.run(
        ["gcc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-Wconversion", "-pedantic", "-S", "-o", "v.s", "v.c"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assembly = (tmp_path / "v.s").read_text()
    shown = str(value - 2**64 if value >= 2**63 else value)
    assert f".quad\t{shown}" in assembly or (value == 0 and ".zero\t8" in assembly)


def test_descriptors_are_designated_initialisers() -> None:
    descriptor = Descriptor.of("ep_x", n=4, act="EP_ACT_RELU", alpha=0.1, on=True, dims=(1, (2, 3)), none=())
    expected = ".n = 4, .act = EP_ACT_RELU, .alpha = 0.1f, .on = 1, .dims = {1, {2, 3}}, .none = {0}"
    assert ", ".join(descriptor_items(descriptor)) == expected
    assert descriptor_items(Descriptor.of("ep_empty")) == ["0"]
