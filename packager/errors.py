"""Errors a person can act on: one line *what*, one *where*, one *way out*.

Every stage raises :class:`EdgepackError` (or a subclass) with one or more :class:`Problem` rows; all problems of one
kind are collected and raised together.  The CLI renders them; nothing below ``cli`` prints.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong: lower case, no full stop.

    ``code`` is ``EPnnnn`` (first two digits: the stage, see docs/errors.md), ``where`` names the file, node, tensor or
    device, ``hint`` is the way out.
    """

    code: str
    what: str
    where: str = ""
    hint: str = ""

    def __str__(self) -> str:
        lines = [f"error[{self.code}]: {self.what}"]
        if self.where:
            lines.append(f"  --> {self.where}")
        if self.hint:
            lines.append(f"  hint: {self.hint}")
        return "\n".join(lines)


class EdgepackError(Exception):
    """Base of everything a user can act on (exit code 1)."""

    def __init__(self, problems: Problem | Sequence[Problem]) -> None:
        self.problems: tuple[Problem, ...] = (problems,) if isinstance(problems, Problem) else tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class ModelError(EdgepackError):
    """The ONNX model cannot be read or is not supported (EP01xx read, EP02xx operators and shapes)."""


class ConfigError(EdgepackError):
    """A target, board or device profile is wrong (EP03xx)."""


class BudgetError(EdgepackError):
    """The result does not fit the target's flash or RAM (EP04xx)."""


class BuildError(EdgepackError):
    """The toolchain is missing or failed, or the binary is not what the profile says (EP05xx)."""


class BundleError(EdgepackError):
    """A bundle is missing, damaged or of another schema version; or cannot be written (EP06xx)."""


class DeviceError(EdgepackError):
    """A device cannot be reached, refuses, disappears or is not what was expected (EP07xx)."""


class VerifyError(EdgepackError):
    """Outputs disagree with the reference, or the inputs given do not fit (EP08xx)."""
