"""Profiles: what ships is sound, errors say file, line and the way out, inheritance and the search path work."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from packager.config.load import available, load_board, load_target
from packager.config.target import Target
from packager.errors import ConfigError, Problem

Write = Callable[[str, str], Path]

BASE = """\
schema: 1
name: {name}
description: a test target
triple: aarch64-linux-musl
cpu: cortex_a72
isa: [neon]
"""


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Write ``targets/<name>.yaml`` in a project directory that is the current one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))

    def write_file(name: str, text: str) -> Path:
        file = tmp_path / f"{name}.yaml" if "/" in name else tmp_path / "targets" / f"{name}.yaml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file

    return write_file


def problems_of(name: str | Path) -> tuple[Problem, ...]:
    with pytest.raises(ConfigError) as caught:
        load_target(name)
    return caught.value.problems


@pytest.mark.parametrize("name", [found.name for found in available("targets")])
def test_every_shipped_target_loads(name: str) -> None:
    target = load_target(name)
    assert target.name == name
    assert target.vector_isa().lanes in {1, 4, 8, 16}


@pytest.mark.parametrize("name", [found.name for found in available("targets")])
def test_a_target_survives_the_way_through_json(name: str) -> None:
    target = load_target(name)
    assert Target.model_validate(json.loads(json.dumps(target.model_dump(mode="json")))) == target


@pytest.mark.parametrize("name", [found.name for found in available("boards")])
def test_every_shipped_board_names_a_target_that_loads(name: str) -> None:
    board = load_board(name)
    assert load_target(board.target).is_freestanding == bool(board.memory)


def test_all_problems_of_a_file_are_reported_at_once_with_their_lines(write: Write) -> None:
    file = write("bad", BASE.format(name="bad") + "thread: 4\nbudget:\n  flash: lots\n  rom: 3\nhalos: 1\n")
    found = problems_of("bad")
    assert [(problem.code, problem.where) for problem in found] == [
        ("EP0303", f"{file}:7"),
        ("EP0304", f"{file}:9"),
        ("EP0303", f"{file}:10"),
        ("EP0304", f"{file}:11"),
    ]
    assert found[0].hint == "did you mean 'threads'?"
    assert "'lots' is not a size" in found[1].what
    assert found[2].what == "unknown key 'budget.rom'"
    assert "ram" in found[2].hint


def test_missing_keys_are_named(write: Write) -> None:
    write("bad", "schema: 1\nname: bad\ndescription: d\ncpu: x\nisa: [neon]\n")
    assert [(p.code, p.what) for p in problems_of("bad")] == [("EP0305", "key 'triple' is missing")]


@pytest.mark.parametrize(
    ("line", "what", "hint"),
    [
        ("isa: [neno]", "isa: 'neno' is not an instruction set of runtime_c/isa.yaml", "did you mean 'neon'?"),
        ("features: [dotpord]", "features: 'dotpord' is not a CPU feature kernels know", "did you mean 'dotprod'?"),
        ("cpu: cortex-a72", "cpu: 'cortex-a72' would be read as CPU 'cortex' without a feature", "write 'cortex_a72'"),
        ("toolchain: zag", "toolchain.name: 'zag' is not one of the choices", "did you mean 'zig'?"),
        ("threads: 0", "threads: input should be greater than or equal to 1, got 0", ""),
        ("threads: '4'", "threads: input should be a valid integer, got '4'", ""),
    ],
)
def test_wrong_values_say_what_would_be_right(write: Write, line: str, what: str, hint: str) -> None:
    key = line.split(":", maxsplit=1)[0]
    kept = [row for row in BASE.format(name="bad").splitlines() if not row.startswith(key + ":")]
    write("bad", "\n".join([*kept, line]) + "\n")
    (problem,) = problems_of("bad")
    assert (problem.what, problem.hint) == (what, hint)


def test_a_target_without_an_operating_system_cannot_have_threads(write: Write) -> None:
    write("bad", "schema: 1\nname: bad\nextends: cortex-m4f\nthreads: 2\n")
    (problem,) = problems_of("bad")
    assert problem.what == "threads: 2, but programs for thumb-freestanding-eabihf have no threads"
    assert problem.where.endswith("bad.yaml:4")
    assert problem.hint == "write 1"


def test_an_instruction_set_of_another_architecture_is_refused(write: Write) -> None:
    write("bad", "schema: 1\nname: bad\nextends: rpi4\nisa: [avx2]\n")
    (problem,) = problems_of("bad")
    assert problem.what == "isa: avx2 does not go with a triple of aarch64"
    assert problem.hint == "it goes with neon"


@pytest.mark.parametrize(("text", "code"), [("name: old\n", "EP0306"), ("schema: 2\nname: old\n", "EP0306")])
def test_the_schema_version_is_checked(write: Write, text: str, code: str) -> None:
    write("old", text)
    assert [p.code for p in problems_of("old")] == [code]


def test_an_unknown_target_suggests_a_near_name(write: Write) -> None:
    (problem,) = problems_of("rpi6")
    assert problem.code == "EP0301"
    assert "did you mean 'rpi" in problem.hint


def test_the_name_in_the_file_is_the_name_of_the_file(write: Write) -> None:
    write("one", BASE.format(name="other"))
    (problem,) = problems_of("one")
    assert problem.hint == "write 'one'"


def test_extends_merges_mappings_and_replaces_the_rest(write: Write) -> None:
    write("mine", "schema: 1\nname: mine\nextends: rpi4\nbudget: {ram: 64MiB}\nfeatures: [fp16]\n")
    mine, base = load_target("mine"), load_target("rpi4")
    assert mine.budget.ram == 64 << 20
    assert mine.budget.flash == base.budget.flash
    assert mine.vector_isa().features == base.vector_isa().features | {"fp16"}
    assert mine.cpu == base.cpu


def test_a_project_profile_hides_and_may_extend_the_shipped_one_of_its_name(write: Write) -> None:
    write("rpi4", "schema: 1\nname: rpi4\nextends: rpi4\nthreads: 2\n")
    assert load_target("rpi4").threads == 2
    assert load_target("rpi5").threads == 2


def test_the_users_directory_comes_between_project_and_package(write: Write, tmp_path: Path) -> None:
    write("xdg/edgepack/targets/rpi4", "schema: 1\nname: rpi4\nextends: rpi4\nthreads: 3\n")
    assert load_target("rpi4").threads == 3
    write("rpi4", "schema: 1\nname: rpi4\nextends: rpi4\nhalos: false\n")
    target = load_target("rpi4")
    assert (target.threads, target.halos) == (3, False)


def test_profiles_that_extend_each_other_are_refused(write: Write) -> None:
    write("a", "schema: 1\nname: a\nextends: b\n")
    file = write("b", "schema: 1\nname: b\nextends: a\n")
    (problem,) = problems_of("a")
    assert (problem.code, problem.where) == ("EP0307", f"{file}:3")
    assert problem.what.endswith("a -> b -> a")


def test_an_unknown_base_is_reported_where_it_is_named(write: Write) -> None:
    file = write("a", "schema: 1\nname: a\nextends: rpi44\n")
    (problem,) = problems_of("a")
    assert (problem.code, problem.where, problem.hint) == ("EP0308", f"{file}:3", "did you mean 'rpi4'?")


def test_an_error_in_an_inherited_value_points_into_the_base_file(write: Write) -> None:
    base = write("base", BASE.format(name="base") + "halos: maybe\n")
    write("child", "schema: 1\nname: child\nextends: base\nthreads: 0\n")
    assert {problem.where for problem in problems_of("child")} == {f"{base}:7", f"{base.parent / 'child.yaml'}:4"}


def test_a_target_may_be_given_as_a_path(write: Write, tmp_path: Path) -> None:
    file = write("elsewhere/mine", BASE.format(name="mine"))
    assert load_target(file).name == "mine"
    assert load_target(str(file)).name == "mine"
    (problem,) = problems_of(tmp_path / "none.yaml")
    assert problem.code == "EP0301"


def test_files_named_by_a_board_are_found_beside_it(write: Write, tmp_path: Path) -> None:
    boards = tmp_path / "boards"
    boards.mkdir()
    board = "schema: 1\nname: mine\nextends: mps2-an386\nstartup: start.c\nlinker_script: mine.ld\n"
    (boards / "mine.yaml").write_text(board)
    (boards / "start.c").touch()
    with pytest.raises(ConfigError) as caught:
        load_board("mine")
    assert [(p.code, p.where) for p in caught.value.problems] == [("EP0309", f"{boards / 'mine.yaml'}:5")]
    (boards / "mine.ld").touch()
    assert load_board("mine").linker_script == boards / "mine.ld"
