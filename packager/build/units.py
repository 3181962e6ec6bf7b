"""What is compiled with which flags."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from packager.build import runtime_files as runtime
from packager.build.toolchain import Toolchain
from packager.config.target import Target


@dataclass(frozen=True)
class Unit:
    """One translation unit: a source of the bundle and the flags it is compiled with."""

    source: str
    flags: tuple[str, ...]

    @property
    def object_name(self) -> str:
        """A file name for the object, distinct within a build."""
        return self.source.rpartition("/")[2].rpartition(".")[0] + ".o"


@dataclass(frozen=True)
class Units:
    """The units of a build by where they go: the model's library, one of the programs, or all programs."""

    model: tuple[Unit, ...]
    support: tuple[Unit, ...]
    programs: tuple[Unit, ...]
    run: tuple[Unit, ...]
    bench: tuple[Unit, ...]
    self_test: tuple[Unit, ...] = ()

    def all(self) -> tuple[Unit, ...]:
        """Every unit, those that take longest first."""
        return (*self.model, *self.support, *self.run, *self.bench, *self.self_test, *self.programs)


def units_of(sources: Mapping[str, bytes], target: Target, toolchain: Toolchain, prefix: str) -> Units:
    """The units for the model ``prefix``: its own sources, the library's support, the programs."""
    includes = tuple(f"-I{directory}" for directory in runtime.INCLUDES)
    model_flags = (*toolchain.model_flags, *includes)
    program_flags = (*toolchain.program_flags, *includes)
    if target.threads == 1:
        program_flags = (*program_flags, "-DEP_NO_THREADS")
    main_flags = (*program_flags, f"-DEP_MODEL={prefix}_model", f"-DEP_THREADS={target.threads}")
    own = sorted(path for path in sources if path.startswith("src/") and path.endswith((".c", ".S")))
    return Units(
        model=tuple(Unit(path, model_flags) for path in own),
        support=(
            Unit(runtime.parallel_source(target), program_flags),
            Unit(runtime.status_source(), program_flags),
        ),
        programs=(
            *(Unit(path, program_flags) for path in (*runtime.common_sources(), *runtime.port_sources(target))),
            Unit(runtime.built_for_source(), model_flags),
        ),
        run=(Unit(runtime.main_source("run"), main_flags),),
        bench=(
            Unit(runtime.main_source("bench"), main_flags),
            *(Unit(path, main_flags) for path in runtime.bench_sources()),
        ),
        self_test=_self_test(sources, prefix, main_flags),
    )


def _self_test(sources: Mapping[str, bytes], prefix: str, flags: tuple[str, ...]) -> tuple[Unit, ...]:
    cases = runtime.self_test_cases(sources)
    if cases is None:
        return ()
    paths = (cases, runtime.main_source("selftest"), *runtime.self_test_sources())
    return tuple(Unit(path, (*flags, f"-DEP_SELFTEST={prefix}_selftest")) for path in paths)
