"""Generated lines fit a screen and lose nothing on the way."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from codegen_c.lines import WIDTH, columns, comment_lines, filled, string_lines

ITEMS = st.lists(st.text("abc0123", min_size=1, max_size=30), max_size=40)


@given(ITEMS)
def test_broken_lists_hold_the_same_items_within_the_width(items: list[str]) -> None:
    lines = filled("    call(", items, ");", 8)
    assert "".join(lines).replace(" ", "") == f"call({','.join(items)});"
    assert all(len(line) <= WIDTH for line in lines)
    assert all(line.startswith(" " * 8) for line in lines[1:])


def test_a_long_array_is_broken_inside() -> None:
    array = ".act = {" + ", ".join("{EP_ACT_RELU, 0.0f}" for _ in range(12)) + "}"
    lines = filled("const d = {", [".n = 1", array], "};", 8)
    assert len(lines) > 1
    assert all(len(line) <= WIDTH for line in lines)
    assert " ".join(line.strip() for line in lines) == "const d = {.n = 1, " + array + "};"


def test_conditions_take_their_own_separator() -> None:
    assert filled("if (", ["a == NULL", "b == NULL"], ") {", 4, " ||") == ["if (a == NULL || b == NULL) {"]


@given(st.text())
def test_a_long_string_is_several_literals_that_join(text: str) -> None:
    made = string_lines(text * 20, 8)
    assert made.startswith('"')
    assert made.endswith('"')
    assert made.count("\n") == max(0, -(-len(text * 20) // 80) - 1)


def test_comments_wrap_and_columns_align() -> None:
    [comment] = comment_lines("step 1: " + "x[1, 2] " * 40)
    assert all(len(line) <= WIDTH for line in comment.split("\n"))
    assert columns([("1", '"a"', "x"), ("100", '"bcd"', "y")]) == ['    {1,   "a",   x},', '    {100, "bcd", y},']
