"""docs/support.md says what the compiler does today."""

from __future__ import annotations

import pytest

from tests.ops import support_page


@pytest.mark.slow
def test_the_page_is_what_the_compiler_does() -> None:
    rows = [support_page.row(op_type, tests) for op_type, tests in sorted(support_page.node_tests().items())]
    assert support_page.page(rows) == support_page.PAGE.read_text(), "run `python -m tests.ops.support_page`"
