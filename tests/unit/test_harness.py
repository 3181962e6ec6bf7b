"""The test harness itself: a test that names an instruction set runs on that one."""

from __future__ import annotations

import subprocess

import pytest

from tests.support.harness import ISAS, RUNTIME


@pytest.mark.parametrize("isa", ISAS)
def test_the_flags_of_an_instruction_set_select_its_vectors(isa: str) -> None:
    described, flags = ISAS[isa]
    command = ["gcc", *flags, f"-I{RUNTIME / 'include'}", "-E", "-P", "-x", "c", "-"]
    probe = '#include "ep/ep_base.h"\nlanes EP_F32_LANES\n'
    shown = subprocess.run(command, input=probe, capture_output=True, text=True, check=True).stdout
    assert shown.strip().endswith(f"lanes {described.lanes}")
