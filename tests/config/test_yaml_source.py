"""The YAML reader: positions, and an error (never a crash or a hang) for whatever is in the file."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packager import resources
from packager.config.load import load_target
from packager.config.yaml_source import MAX_BYTES, Position, read_document
from packager.errors import ConfigError


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "x.yaml"


def test_keys_and_items_know_their_lines(file: Path) -> None:
    file.write_text("# comment\na: 1\nb:\n  c: [x,\n      y]\n")
    document = read_document(file)
    assert document.data == {"a": 1, "b": {"c": ("x", "y")}}
    assert document.position(("b", "c", 1)) == Position(file, 5)
    assert document.position(("b", "unknown")) == Position(file, 3)


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("a: 1\nb: [1, 2\n", 3, "not valid YAML"),
        ("a: 1\nb: 2\na: 3\n", 3, "'a' is given twice"),
        ("a: &x [1]\nb: 2\nc: *x\n", 3, "aliases (*name) are not supported"),
        ("a: !!python/object:os.system x\n", 1, "is neither text, a number"),
        ("a: !!bool x\n", 1, "'x' is not a bool"),
        ("a: 2020-01-01\n", 1, "quote it"),
        ("1: x\n", 1, "keys must be plain names"),
        ("- a\n", 1, "must be a mapping"),
        ("", 1, "must be a mapping"),
        ("a: 1\n---\nb: 2\n", 2, "not valid YAML"),
        ("a: " + "[" * 40 + "]" * 40, 1, "nested deeper"),
        ("a: " + "[" * 5000, 1, "not valid YAML"),
        ("a: " + "9" * 5000, 1, "is not a int"),
        ("a: \x01\n", 1, "not valid YAML"),
    ],
)
def test_what_is_not_plain_data_is_refused_with_its_line(file: Path, text: str, line: int, what: str) -> None:
    file.write_text(text)
    with pytest.raises(ConfigError) as caught:
        read_document(file)
    (problem,) = caught.value.problems
    assert (problem.code, problem.where) == ("EP0302", f"{file}:{line}")
    assert what in problem.what


def test_unreadable_files_are_reported(file: Path) -> None:
    with pytest.raises(ConfigError, match="cannot read the file: No such file"):
        read_document(file)
    file.write_bytes(b"a: \xff\n")
    with pytest.raises(ConfigError, match="not UTF-8"):
        read_document(file)
    file.write_bytes(b"#" * (MAX_BYTES + 1))
    with pytest.raises(ConfigError, match="larger than"):
        read_document(file)


RPI4 = (resources.directory("targets") / "rpi4.yaml").read_text(encoding="utf-8")


@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    cut=st.integers(0, len(RPI4)),
    length=st.integers(0, 30),
    junk=st.text(alphabet="{}[]:,&*!|>-#'\"%@` \n\tabc019.\x00é", max_size=12),
)
def test_a_mutated_profile_loads_or_gives_a_config_error(
    tmp_path_factory: pytest.TempPathFactory, cut: int, length: int, junk: str
) -> None:
    file = tmp_path_factory.getbasetemp() / "rpi4.yaml"
    file.write_text(RPI4[:cut] + junk + RPI4[cut + length :], encoding="utf-8")
    with contextlib.suppress(ConfigError):
        load_target(file)
