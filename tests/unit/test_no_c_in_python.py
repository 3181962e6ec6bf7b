"""Algorithms are written in C files, not in Python strings: generated code holds declarations, calls and tables."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = sorted(path for folder in ("packager", "codegen_c") for path in (ROOT / folder).rglob("*.py"))

# What only an algorithm has: loops, alternatives, values stored into an element.  `if` and `return` of status checks,
# `switch` over step numbers and accessor bodies are the printed entry points.
STATEMENTS = re.compile(
    r"\b(for|while)\s*\(.*(;|<|>)"
    r"|\bdo\s*\{"
    r"|\b\w+\[[^\]]*\]\s*[-+*/|&^]?=\s*[^={\s]"
    r"|\*\s*\w+(\+\+|--)\s*="
    r"|\belse\s*\{"
)


def c_statements(source: str) -> Iterator[tuple[int, str]]:
    """(line, text) of string literals that hold a C statement of an algorithm; docstrings may speak of C."""
    tree = ast.parse(source)
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            found = STATEMENTS.search(node.value)
            if found is not None and (";" in node.value or "{" in node.value):
                yield node.lineno, node.value


@pytest.mark.parametrize(
    "text",
    [
        "for (i = 0; i < n; i++) {",
        "while (n > 0) {",
        "y[i] = x[i] * w[i];",
        "sum[k] += x;",
        "} else {",
        "do { n--; }",
        "*p++ = 0;",
    ],
)
def test_the_pattern_finds_statements(text: str) -> None:
    assert list(c_statements(f"code = {text!r}"))


@pytest.mark.parametrize(
    "text", ["return EP_OK;", "x for y in z; and more", "static const ep_port ports[] = {", "    case 3: step_3(ctx);"]
)
def test_the_pattern_leaves_tables_and_calls_alone(text: str) -> None:
    assert not list(c_statements(f"code = {text!r}"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_algorithm_is_written_in_a_string(path: Path) -> None:
    assert not list(c_statements(path.read_text("utf-8")))
