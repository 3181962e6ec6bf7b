"""What the build stage hands on."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True)
class SectionSizes:
    """Bytes of a model library: code, read-only data beside the weights, weights, initialised and zeroed variables."""

    text: int = 0
    rodata: int = 0
    weights: int = 0
    data: int = 0
    bss: int = 0

    @property
    def flash(self) -> int:
        """What the model adds to the read-only memory of a program; initialised variables have their image there."""
        return self.text + self.rodata + self.weights + self.data

    @property
    def ram(self) -> int:
        """Static variables; arena and context are the application's."""
        return self.data + self.bss

    def as_dict(self) -> dict[str, int]:
        """The sizes by name, for manifests."""
        return asdict(self)


@dataclass(frozen=True)
class Artifact:
    """Compiled programs of one model, in the directory given to :func:`packager.build.compile.compile_bundle`.

    ``stack_max`` bounds the stack of one inference in bytes; None where the compiler does not tell.  ``compiler`` has
    name and version, ``flags`` are those the model was compiled with.
    """

    directory: Path
    library: Path
    run: Path
    bench: Path
    sections: SectionSizes
    stack_max: int | None
    compiler: str
    flags: tuple[str, ...]
    self_test: Path | None = None

    def relative(self, path: Path) -> str:
        """A path as the manifest writes it: from the bundle's directory, with forward slashes."""
        return path.relative_to(self.directory).as_posix()
