"""RAM and flash of a built model."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from packager.bundle.manifest import Manifest
from packager.config.load import load_target
from packager.report.footprint import CONTEXT_POINTERS, context_bytes, flash_bytes, ram_bytes

HEADER = Path(__file__).parents[2] / "runtime_c" / "include" / "ep" / "ep_context.h"


def manifest(target: str) -> Manifest:
    return Manifest(
        name="net",
        target=target,
        edgepack="1",
        model_sha256="ab" * 32,
        inputs=(),
        outputs=(),
        macs=0,
        parameters=0,
        arena_bytes=1000,
        arena_lower_bound=1000,
        weights_bytes=400,
        stack_max=120,
        profile=load_target(target).model_dump(mode="json", by_alias=True),
        sections={"text": 50, "rodata": 6, "weights": 400, "data": 8, "bss": 2},
    )


def test_the_context_is_as_many_pointers_as_the_header_says() -> None:
    found = re.search(r"typedef struct ep_context \{(.*?)\} ep_context;", HEADER.read_text("utf-8"), re.DOTALL)
    assert found is not None
    members = [line for line in found[1].splitlines() if ";" in line]
    assert len(members) == CONTEXT_POINTERS
    assert all("*" in member for member in members)


@pytest.mark.parametrize(("target", "pointer"), [("rpi4", 8), ("rpi3-armv7", 4), ("cortex-m4f", 4), ("wasm32-wasi", 4)])
def test_ram_is_arena_context_and_variables_and_not_the_stack(target: str, pointer: int) -> None:
    assert context_bytes(manifest(target)) == 3 * pointer
    assert ram_bytes(manifest(target)) == 1000 + 3 * pointer + 8 + 2
    assert flash_bytes(manifest(target)) == 50 + 6 + 400 + 8
