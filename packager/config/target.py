"""``Target``: what code to make (``targets/<name>.yaml``)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
    model_validator,
)

from packager.config import host
from packager.config.isa import Isa, architectures_of, isa_table, known_features
from packager.config.schema import Command, Profile, Strict, did_you_mean
from packager.config.sizes import Size
from packager.errors import ConfigError, Problem


def _known_isas(names: tuple[str, ...]) -> tuple[str, ...]:
    for name in names:
        if name not in isa_table():
            raise ValueError(
                f"'{name}' is not an instruction set of runtime_c/isa.yaml\n{did_you_mean(name, isa_table())}"
            )
    return names


def _known_features(names: tuple[str, ...]) -> tuple[str, ...]:
    for name in names:
        if name not in known_features():
            raise ValueError(f"'{name}' is not a CPU feature kernels know\n{did_you_mean(name, known_features())}")
    return names


def _zig_spelling(cpu: str) -> str:
    if cpu.startswith("cortex-"):
        wanted = cpu.replace("-", "_", cpu.split("+", maxsplit=1)[0].count("-"))
        raise ValueError(f"'{cpu}' would be read as CPU 'cortex' without a feature\nwrite '{wanted}'")
    return cpu


def _named_toolchain(value: object) -> object:
    return {"name": value} if isinstance(value, str) else value


def _has_threads(triple: str) -> bool:
    return "freestanding" not in triple.split("-") and not triple.startswith("wasm")


class Toolchain(Strict):
    """Which compiler makes the code; ``toolchain: zig`` is short for ``toolchain: {name: zig}``.

    ``cc`` and ``ar`` are commands; empty: what the name says (zig: the ``ziglang`` wheel; cc: ``$CC``, else ``cc``).
    """

    name: Literal["zig", "gcc", "clang", "cc"] = Field(default="cc", description="how the compiler takes its flags")
    cc: Command = Field(default=(), description="the compiler's command, such as aarch64-linux-gnu-gcc")
    ar: Command = Field(default=(), description="the archiver's command")
    cflags: tuple[str, ...] = Field(default=(), description="flags this compiler needs, before the target's")
    ldflags: tuple[str, ...] = Field(default=(), description="flags for linking programs, before the target's")


class Precision(Strict):
    """Arithmetic of the generated code."""

    default: Literal["float32"] = "float32"


class Budget(Strict):
    """What the result may occupy, in bytes; None: no limit."""

    flash: Size | None = Field(default=None, description="code and weights")
    ram: Size | None = Field(default=None, description="arena, context and static data")


class Run(Strict):
    """How programs of this target run on the build machine; empty: directly."""

    emulator: Command = Field(default=(), description="command put before the program's path")


_NATIVE_OR_ISAS = WithJsonSchema(
    {"type": "array", "items": {"type": "string"}, "description": "rows of runtime_c/isa.yaml, or [native]"}
)
_THREADS = WithJsonSchema({"anyOf": [{"type": "integer", "minimum": 1, "maximum": 256}, {"const": "auto"}]})


class Target(Profile):
    """A target profile; ``native`` and ``auto`` entries are already replaced by the build machine's values."""

    backend: Literal["c"] = Field(default="c", description="the code generator")
    triple: str = Field(pattern=r"^[a-z0-9_]+(-[a-z0-9_.]+){0,3}$", description="as zig writes it, or native")
    cpu: Annotated[str, AfterValidator(_zig_spelling)] = Field(
        pattern=r"^[A-Za-z0-9_]+([+-][A-Za-z0-9_.]+)*$",
        description="as zig writes it: cortex_a72, cortex_m4+vfp4d16sp; baseline, or native",
    )
    isa: Annotated[tuple[str, ...], AfterValidator(_known_isas), _NATIVE_OR_ISAS] = Field(min_length=1)
    features: Annotated[tuple[str, ...], AfterValidator(_known_features)] = Field(
        default=(), description="CPU features beyond what the instruction set implies"
    )
    threads: Annotated[int, _THREADS] = Field(default=1, ge=1, le=256, description="threads of one inference, or auto")
    toolchain: Annotated[Toolchain, BeforeValidator(_named_toolchain)] = Field(
        default_factory=lambda: Toolchain(name="zig")
    )
    linkage: Literal["static", "dynamic"] = Field(default="static", description="how programs are linked")
    precision: Precision = Precision()
    budget: Budget = Budget()
    run: Run = Run()
    halos: bool = Field(default=True, description="pad by zeroed borders around buffers: faster, more RAM")
    cflags: tuple[str, ...] = ()
    ldflags: tuple[str, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _resolve_native(cls, data: Any) -> Any:
        return host.resolve_native(data) if isinstance(data, dict) else data

    @field_validator("isa")
    @classmethod
    def _isa_fits_the_triple(cls, names: tuple[str, ...], known: ValidationInfo) -> tuple[str, ...]:
        architecture = str(known.data.get("triple", host.NATIVE)).split("-", maxsplit=1)[0]
        for name in names:
            fitting = architectures_of(name)
            if fitting and architecture not in {*fitting, host.NATIVE}:
                others = [other for other in isa_table() if architecture in architectures_of(other)]
                hint = f"it goes with {', '.join(others) or 'scalar'}"
                raise ValueError(f"{name} does not go with a triple of {architecture}\n{hint}")
        return names

    @field_validator("threads")
    @classmethod
    def _threads_need_a_system(cls, threads: int, known: ValidationInfo) -> int:
        triple = str(known.data.get("triple", ""))
        if threads > 1 and not _has_threads(triple):
            raise ValueError(f"{threads}, but programs for {triple} have no threads\nwrite 1")
        return threads

    def vector_isa(self) -> Isa:
        """The widest instruction set of ``isa``, with the target's own features added."""
        widest = max((isa_table()[name] for name in self.isa), key=lambda isa: isa.lanes)
        return Isa(widest.name, widest.lanes, widest.registers, widest.features | frozenset(self.features))

    def with_threads(self, threads: int) -> Target:
        """This target for another number of threads; ConfigError (EP0304) when its programs have none."""
        if threads > 1 and not self.has_threads:
            what = f"{threads} threads were asked for, but programs for {self.triple} have no threads"
            raise ConfigError(Problem("EP0304", what, f"target {self.name}", "leave --threads out"))
        return self.model_copy(update={"threads": threads})

    @property
    def architecture(self) -> str:
        """The first part of the triple: ``aarch64``, ``thumb`` ...; the build machine's when it is native."""
        return host.architecture() if self.triple == host.NATIVE else self.triple.split("-")[0]

    @property
    def emulator_here(self) -> tuple[str, ...]:
        """The command that runs its programs on this machine; empty on a machine of its own architecture."""
        return () if self.architecture == host.architecture() else self.run.emulator

    @property
    def is_freestanding(self) -> bool:
        """No operating system: programs need a board's start-up code and linker script."""
        return "freestanding" in self.triple.split("-")

    @property
    def is_wasm(self) -> bool:
        """Programs are WebAssembly modules."""
        return self.architecture.startswith("wasm")

    @property
    def has_threads(self) -> bool:
        """Programs can start threads."""
        return _has_threads(self.triple)
