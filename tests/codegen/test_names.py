"""ONNX names become identifiers: total, injective, stable, safe in every language the files meet."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegen_c.names import RESERVED, c_string, check_prefix, comment, identifiers, model_prefix
from packager.errors import ConfigError

IDENTIFIER = re.compile(r"[A-Za-z0-9_]+")


@given(st.lists(st.text(), unique=True))
def test_identifiers_are_distinct_also_as_macros(names: list[str]) -> None:
    found = identifiers(names)
    assert set(found) == set(names)
    assert all(IDENTIFIER.fullmatch(identifier) for identifier in found.values())
    assert len({identifier.upper() for identifier in found.values()}) == len(names)


@given(st.text())
def test_a_model_prefix_is_an_identifier_and_no_reserved_word(name: str) -> None:
    prefix = model_prefix(name)
    assert re.fullmatch(r"[a-z_][a-z0-9_]*", prefix)
    assert prefix not in RESERVED


@pytest.mark.parametrize(
    ("name", "prefix"),
    [("main", "main_model"), ("ResNet-8", "resnet_8"), ("8bit", "model_8bit"), ("", "unnamed"), ("é", "u00e9")],
)
def test_prefixes_stay_readable(name: str, prefix: str) -> None:
    assert model_prefix(name) == prefix


@pytest.mark.parametrize("name", ["ep", "EP", "ep_x", "Ep_Model", "_ep_", "ep-run"])
def test_no_public_name_of_a_model_is_the_runtimes(name: str) -> None:
    assert model_prefix(name).startswith("model_ep")


@pytest.mark.parametrize("name", ["../../esc", "-rf", "a\nb", "a\n", "", "Net", "8bit", "ep", "int", "a b", "é"])
def test_a_name_that_would_be_changed_is_refused_with_one_that_is_not(name: str) -> None:
    with pytest.raises(ConfigError, match=f"EP0304(.|\n)*'{model_prefix(name)}'"):
        check_prefix(name)
    check_prefix(model_prefix(name))


def test_names_equal_up_to_case_get_stable_suffixes() -> None:
    assert identifiers(["x", "X", "x/"]) == {"x": "x", "X": "X_2", "x/": "x_3"}


@given(st.text())
def test_comments_cannot_be_ended_from_inside(text: str) -> None:
    shown = comment(text)
    assert "*/" not in shown
    assert "/*" not in shown
    assert "??" not in shown
    assert "\n" not in shown
    assert not shown.endswith("\\")


@given(st.text(alphabet=st.characters(codec="utf-8")))
def test_string_literals_hold_the_same_bytes(text: str) -> None:
    literal = c_string(text)
    assert literal.isascii()
    assert "??" not in literal
    body = literal[1:-1]
    decoded = re.sub(
        rb"\\([0-7]{3}|.)",
        lambda m: bytes([int(m[1], 8)]) if len(m[1]) == 3 else {b"n": b"\n", b"r": b"\r", b"t": b"\t"}.get(m[1], m[1]),
        body.encode(),
    )
    assert decoded == text.encode()
