"""docs/errors.md lists exactly the codes the code uses."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
CODE = re.compile(r"EP\d{4}")


def test_every_error_code_is_documented_and_nothing_else() -> None:
    sources = [*(ROOT / "packager").rglob("*.py"), *(ROOT / "codegen_c").rglob("*.py")]
    used = {code for file in sources for code in CODE.findall(file.read_text("utf-8"))}
    documented = set(CODE.findall((ROOT / "docs" / "errors.md").read_text("utf-8")))
    assert used - documented == set(), "codes without an entry in docs/errors.md"
    assert documented - used == set(), "entries for codes that do not exist"
