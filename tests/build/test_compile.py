"""Sources become a library and programs: the same everywhere, quickly the second time, or an error that says why."""

from __future__ import annotations

import os
import platform
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import pytest

from packager import pipeline
from packager.build.cache import Cache
from packager.build.compile import compile_bundle
from packager.config.load import load_target
from packager.config.target import Target
from packager.errors import BudgetError, BuildError, EdgepackError
from tests.build.tiny import build_tiny, tiny_input, tiny_output, tiny_sources
from tests.support import node_model

GCC = {
    "schema": 1,
    "name": "gcc-here",
    "description": "the system's gcc",
    "triple": "native",
    "cpu": "baseline",
    "isa": ("sse2",),
    "threads": 2,
    "toolchain": "gcc",
}


def target_with(base: str, **changes: object) -> Target:
    fields = load_target(base).model_dump(by_alias=True)
    return Target.model_validate({**fields, **changes})


def script(path: Path, body: str) -> str:
    path.write_text(f"#!/bin/bash\n{body}\n")
    path.chmod(0o755)
    return str(path)


def run_tiny(program: Path, tmp_path: Path) -> bytes:
    (tmp_path / "in.bin").write_bytes(tiny_input())
    subprocess.run([program, tmp_path / "in.bin", tmp_path / "out.bin"], check=True)
    return (tmp_path / "out.bin").read_bytes()


def files_under(directory: Path) -> dict[str, bytes]:
    return {str(p.relative_to(directory)): p.read_bytes() for p in sorted(directory.rglob("*")) if p.is_file()}


def problem_codes(error: pytest.ExceptionInfo[EdgepackError]) -> set[str]:
    return {problem.code for problem in error.value.problems}


def test_the_program_for_this_machine_computes_what_the_network_says(tmp_path: Path) -> None:
    artifact = build_tiny("host", tmp_path / "bundle")
    assert run_tiny(artifact.run, tmp_path) == tiny_output()


def test_the_artifact_tells_sizes_stack_and_compiler(tmp_path: Path) -> None:
    artifact = build_tiny("host", tmp_path)
    assert artifact.sections.weights == 16
    assert artifact.sections.text > 500
    assert artifact.sections.flash == sum((artifact.sections.text, artifact.sections.rodata, 16))
    assert artifact.compiler.startswith("zig ")
    assert artifact.stack_max is not None
    assert 16 <= artifact.stack_max < 1024
    assert f"TINY_STACK_MAX {artifact.stack_max}" in (tmp_path / "include/tiny_stack.h").read_text()
    assert artifact.relative(artifact.library) == "lib/libtiny.a"


def test_gcc_builds_the_same_network(tmp_path: Path) -> None:
    target = Target.model_validate(GCC)
    artifact = compile_bundle(tiny_sources(target), target, name="tiny", directory=tmp_path / "bundle")
    assert run_tiny(artifact.run, tmp_path) == tiny_output()
    assert artifact.stack_max is not None
    assert "gcc" in artifact.compiler


def test_any_compiler_builds_the_portable_target(tmp_path: Path) -> None:
    artifact = build_tiny("portable-c", tmp_path / "bundle")
    assert run_tiny(artifact.run, tmp_path) == tiny_output()


def test_equal_sources_give_equal_bytes_in_any_directory(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "a longer name" / "two"
    build_tiny("host", one, cache=Cache(tmp_path / "cache-one"))
    build_tiny("host", two, cache=Cache(tmp_path / "cache-two"))
    assert files_under(one) == files_under(two)


def test_gcc_gives_equal_bytes_in_any_directory(tmp_path: Path) -> None:
    target = Target.model_validate(GCC)
    for where in ("one", "two"):
        cache = Cache(tmp_path / f"cache-{where}")
        compile_bundle(tiny_sources(target), target, name="tiny", directory=tmp_path / where, cache=cache)
    assert files_under(tmp_path / "one") == files_under(tmp_path / "two")


def test_no_file_of_a_bundle_names_the_directory_it_was_built_in(tmp_path: Path) -> None:
    build_tiny("host", tmp_path / "bundle", cache=Cache(tmp_path / "cache"))
    for name, data in files_under(tmp_path / "bundle").items():
        assert str(tmp_path).encode() not in data, name


def test_a_second_build_neither_compiles_nor_links(tmp_path: Path) -> None:
    """The second time the compiler only tells its version: it refuses -o."""
    refuse = 'for word in "$@"; do [ "$word" = -o ] && exit 1; done; '
    for prelude in ("", refuse):
        compiler = script(tmp_path / "gcc", f'{prelude}exec gcc "$@"')
        target = Target.model_validate({**GCC, "toolchain": {"name": "gcc", "cc": (compiler,)}})
        cache = Cache(tmp_path / "cache")
        artifact = compile_bundle(tiny_sources(target), target, name="tiny", directory=tmp_path / "b", cache=cache)
    assert run_tiny(artifact.run, tmp_path) == tiny_output()


def test_objects_for_the_native_cpu_are_not_used_on_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A home directory may be shared by machines; the flag is the same on all of them."""
    from packager.config import host

    cache = Cache(tmp_path / "cache")
    sizes = []
    for flags in (frozenset({"avx2"}), frozenset({"avx2"}), frozenset({"avx2", "avx512f"})):
        target = load_target("host")
        monkeypatch.setattr(host, "cpu_flags", lambda found=flags: found)
        compile_bundle(tiny_sources(target), target, name="tiny", directory=tmp_path / "b", cache=cache)
        monkeypatch.undo()
        sizes.append(len(list((tmp_path / "cache").glob("*/*"))))
    assert sizes[0] == sizes[1] < sizes[2]


@pytest.mark.parametrize("base", ["host", "gcc"])
def test_a_build_with_other_weights_alone_has_the_other_weights(base: str, tmp_path: Path) -> None:
    target = Target.model_validate(GCC) if base == "gcc" else load_target(base)
    cache = Cache(tmp_path / "cache")
    for pattern in (np.array([1, 2, 3, 4], np.float32), np.array([5, 6, 7, 8], np.float32)):
        directory = tmp_path / f"bundle-{pattern[0]:.0f}"
        artifact = compile_bundle(tiny_sources(target, pattern), target, name="tiny", directory=directory, cache=cache)
        assert run_tiny(artifact.run, tmp_path) == tiny_output(pattern)


def test_a_compiler_error_names_the_file_and_shows_what_the_compiler_said(tmp_path: Path) -> None:
    target = load_target("host")
    sources = tiny_sources(target)
    sources["src/tiny.c"] += b"\nint broken(void) { return undeclared; }\n"
    with pytest.raises(BuildError) as error:
        compile_bundle(sources, target, name="tiny", directory=tmp_path)
    (problem,) = error.value.problems
    assert (problem.code, problem.where) == ("EP0506", "src/tiny.c")
    assert "undeclared" in problem.what


def test_all_files_the_compiler_refuses_are_listed_at_once(tmp_path: Path) -> None:
    target = load_target("host")
    sources = {
        path: data + b"\n#error no\n" if path.endswith(".c") else data for path, data in tiny_sources(target).items()
    }
    with pytest.raises(BuildError) as error:
        compile_bundle(sources, target, name="tiny", directory=tmp_path)
    assert {problem.where for problem in error.value.problems} == {"src/tiny.c", "src/tiny_weights.c"}


def test_warnings_of_generated_code_are_errors(tmp_path: Path) -> None:
    target = load_target("host")
    sources = tiny_sources(target)
    sources["src/tiny.c"] += b"\nint narrow(long x);\nint narrow(long x) { return x; }\n"
    with pytest.raises(BuildError, match="shorten-64-to-32"):
        compile_bundle(sources, target, name="tiny", directory=tmp_path)


def test_a_missing_compiler_is_named_with_a_way_out(tmp_path: Path) -> None:
    target = target_with("portable-c", toolchain={"name": "cc", "cc": ("no-such-compiler",)})
    with pytest.raises(BuildError) as error:
        compile_bundle(tiny_sources(target), target, name="tiny", directory=tmp_path)
    (problem,) = error.value.problems
    assert problem.code == "EP0501"
    assert "no-such-compiler" in problem.what
    assert "toolchain: zig" in problem.hint


def test_a_model_larger_than_the_flash_says_by_how_much(tmp_path: Path) -> None:
    target = target_with("host", budget={"flash": 1000})
    with pytest.raises(BudgetError) as error:
        compile_bundle(tiny_sources(target), target, name="tiny", directory=tmp_path)
    assert problem_codes(error) == {"EP0402"}
    assert "more than the 1,000 bytes" in str(error.value)


def test_the_compiler_of_another_architecture_is_refused(tmp_path: Path) -> None:
    target = target_with(
        "rpi4", toolchain={"name": "gcc", "cc": ("gcc",), "cflags": ("-march=x86-64",)}, linkage="dynamic"
    )
    with pytest.raises(BuildError) as error:
        compile_bundle(tiny_sources(target), target, name="tiny", directory=tmp_path)
    assert "EP0510" in problem_codes(error)
    assert "EM_X86_64" in str(error.value)


def test_a_dynamic_program_is_refused_where_the_profile_says_static(tmp_path: Path) -> None:
    """The compiler drops -static, as one without a static C library might be set up."""
    compiler = script(
        tmp_path / "gcc",
        'words=(); for word in "$@"; do [ "$word" = -static ] || words+=("$word"); done; exec gcc "${words[@]}"',
    )
    target = Target.model_validate({**GCC, "toolchain": {"name": "gcc", "cc": (compiler,)}})
    with pytest.raises(BuildError) as error:
        compile_bundle(tiny_sources(target), target, name="tiny", directory=tmp_path / "bundle")
    assert problem_codes(error) == {"EP0514"}
    assert "libc.so.6" in str(error.value)


def test_a_symbol_nobody_defines_is_refused(tmp_path: Path) -> None:
    target = load_target("host")
    sources = tiny_sources(target)
    sources["src/tiny.c"] += b"\nextern int mystery(void);\nint leak(void);\nint leak(void) { return mystery(); }\n"
    with pytest.raises(BuildError) as error:
        compile_bundle(sources, target, name="tiny", directory=tmp_path)
    assert problem_codes(error) == {"EP0512"}
    assert "mystery" in str(error.value)


def test_soft_float_calls_on_a_target_with_fpu_are_refused(tmp_path: Path) -> None:
    """zig's plain cortex_m4 has the hard-float ABI but no FPU instructions."""
    target = target_with("cortex-m4f", cpu="cortex_m4")
    with pytest.raises(BuildError) as error:
        compile_bundle(tiny_sources(target), target, name="tiny", directory=tmp_path)
    assert "EP0511" in problem_codes(error)
    assert "__aeabi_fmul" in str(error.value)


def test_bare_metal_without_a_board_is_refused(tmp_path: Path) -> None:
    target = load_target("cortex-m4f").model_copy(update={"name": "cortex-nobody"})
    with pytest.raises(BuildError) as error:
        compile_bundle(tiny_sources(target), target, name="tiny", directory=tmp_path)
    assert problem_codes(error) == {"EP0505"}


def test_a_program_larger_than_the_boards_flash_says_by_how_much(tmp_path: Path) -> None:
    from packager.config.load import load_board

    board = load_board("mps2-an386")
    flash, ram = board.memory
    small = board.model_copy(update={"memory": (flash.model_copy(update={"size": 2048}), ram)})
    target = load_target("cortex-m4f")
    with pytest.raises(BudgetError) as error:
        compile_bundle(tiny_sources(target), target, name="tiny", directory=tmp_path, board=small)
    assert problem_codes(error) == {"EP0403"}
    assert "bytes too large for the board's FLASH" in str(error.value)


def test_a_read_only_cache_only_makes_builds_slower(tmp_path: Path) -> None:
    blocked = tmp_path / "cache"
    blocked.write_text("a file where the cache's directory would be")
    artifact = build_tiny("host", tmp_path / "bundle", cache=Cache(blocked / "objects"))
    assert run_tiny(artifact.run, tmp_path) == tiny_output()


def test_programs_are_executable_and_have_no_debug_information(tmp_path: Path) -> None:
    artifact = build_tiny("host", tmp_path)
    for program in (artifact.run, artifact.bench):
        assert os.access(program, os.X_OK)
        assert b".debug_info" not in program.read_bytes()
        assert program.stat().st_size < 100_000


def test_a_cpu_the_compiler_does_not_know_is_one_problem_with_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("targets").mkdir()
    Path("targets/mine.yaml").write_text("schema: 1\nextends: rpi4\ncpu: cortex_a72x\n")
    with pytest.raises(BuildError) as caught:
        build_tiny("mine", tmp_path / "out")
    (problem,) = caught.value.problems
    assert (problem.code, problem.where) == ("EP0503", f"{tmp_path}/targets/mine.yaml:3")
    assert problem.hint == "did you mean 'cortex_a72'?"


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the system's gcc is asked for a CPU of x86")
def test_gcc_says_so_in_its_own_words(tmp_path: Path) -> None:
    target = Target.model_validate({**GCC, "cpu": "skylakke"})
    with pytest.raises(BuildError) as caught:
        compile_bundle(tiny_sources(target), target, name="tiny", directory=tmp_path / "out")
    assert [(problem.code, problem.hint) for problem in caught.value.problems] == [
        ("EP0503", "did you mean 'skylake'?")
    ]


def test_vectors_the_cpu_lacks_are_one_problem_in_the_profiles_words(tmp_path: Path) -> None:
    x = np.zeros((1, 8, 4, 4), np.float32)
    target = target_with("x86_64-linux", name="mine", cpu="baseline")
    with pytest.raises(BuildError) as caught:
        pipeline.build(node_model("Relu", {"x": x}), target, tmp_path / "out")
    (problem,) = caught.value.problems
    assert (problem.code, problem.where) == ("EP0508", "target mine: cpu")
    assert "vectors of 8 floats" in problem.what
    assert "x86_64_v3" in problem.hint


@pytest.mark.parametrize("silent_tool", ["cc", "ar"])
def test_a_tool_that_writes_nothing_is_told_from_one_that_fails(tmp_path: Path, silent_tool: str) -> None:
    tools = {"cc": ("gcc",), "ar": ("ar",), silent_tool: ("/bin/true",)}
    target = Target.model_validate({**GCC, "toolchain": {"name": "gcc", **tools}})
    with pytest.raises(BuildError, match=r"wrote no (object|library), though it says that it succeeded"):
        compile_bundle(tiny_sources(target), target, name="tiny", directory=tmp_path / "b", cache=Cache(tmp_path / "c"))


@pytest.mark.slow  # zig builds its C library in it
@pytest.mark.parametrize("home", ["", "/dev/null"])
def test_a_build_without_a_home_directory_has_a_cache_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, home: str
) -> None:
    monkeypatch.setenv("HOME", home)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("ZIG_GLOBAL_CACHE_DIR", raising=False)
    monkeypatch.delenv("EDGEPACK_CACHE", raising=False)
    target, said = load_target("host"), list[str]()
    artifact = compile_bundle(
        tiny_sources(target),
        target,
        name="tiny",
        directory=tmp_path,
        progress=lambda message, _fraction=None: said.append(message),
    )
    assert run_tiny(artifact.run, tmp_path) == tiny_output()
    assert any("ZIG_GLOBAL_CACHE_DIR" in message for message in said)
    assert not Path("/.cache/zig").exists()


def test_a_full_directory_for_temporary_files_comes_with_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler = script(
        tmp_path / "gcc",
        '[[ " $* " == *" -o "* ]] || exec gcc "$@"; echo "error writing: No space left on device" >&2; exit 1',
    )
    target = Target.model_validate({**GCC, "toolchain": {"name": "gcc", "cc": (compiler,)}})
    with pytest.raises(BuildError, match=r"hint: free some space in .*TMPDIR"):
        compile_bundle(tiny_sources(target), target, name="tiny", directory=tmp_path / "b", cache=Cache(tmp_path / "c"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    with pytest.raises(BuildError, match=r"EP0509(.|\n)*TMPDIR"):
        compile_bundle(tiny_sources(target), target, name="tiny", directory=tmp_path / "b", cache=Cache(tmp_path / "c"))
