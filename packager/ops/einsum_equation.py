"""Einsum equations: labels instead of dots, and which labels meet where."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


class EquationError(ValueError):
    """The equation does not fit its operands; the message says why."""


@dataclass(frozen=True)
class Term:
    """One operand: element step of each of its labels (a label that comes twice is a diagonal: its steps add up)."""

    steps: dict[str, int]

    @classmethod
    def dense(cls, labels: str, extents: dict[str, int]) -> Term:
        """A row-major tensor with one axis for each label."""
        return cls({label: math.prod(extents[later] for later in labels[at + 1 :]) for at, label in enumerate(labels)})


@dataclass(frozen=True)
class Equation:
    """``terms`` are summed over all labels that are not in ``output``; ``extents`` gives every label its size."""

    terms: tuple[Term, ...]
    output: str
    extents: dict[str, int]


def parse(text: str, shapes: Sequence[tuple[int, ...]]) -> Equation:
    """Read an equation, with or without ``->`` and ``...``, for operands of the given shapes."""
    left, arrow, right = text.replace(" ", "").partition("->")
    parts = left.split(",")
    if len(parts) != len(shapes):
        raise EquationError(f"equation '{text}' has {len(parts)} terms for {len(shapes)} inputs")
    dots = _ellipsis_labels(text, parts, shapes)
    terms = [_spell(part, len(shape), dots) for part, shape in zip(parts, shapes, strict=True)]
    extents = _extents(text, terms, shapes)
    if arrow:
        output = right.replace("...", dots)
    else:
        named = "".join(parts).replace("...", "")
        output = dots + "".join(sorted(label for label in set(named) if named.count(label) == 1))
    if len(set(output)) != len(output) or not set(output) <= set(extents):
        raise EquationError(f"the output of equation '{text}' names a label twice or one that no input has")
    made = [_term(labels, shape, extents) for labels, shape in zip(terms, shapes, strict=True)]
    return Equation(tuple(made), output, extents)


def _ellipsis_labels(text: str, parts: Sequence[str], shapes: Sequence[tuple[int, ...]]) -> str:
    """Fresh labels for the axes that ``...`` stands for, as many as the widest one needs."""
    counts = [
        len(shape) - len(part.replace("...", "")) for part, shape in zip(parts, shapes, strict=True) if "..." in part
    ]
    free = [letter for letter in _LETTERS if letter not in text]
    return "".join(free[: max(counts, default=0)])


def _spell(part: str, rank: int, dots: str) -> str:
    """One term without dots: they stand for the last of the broadcast axes."""
    count = rank - len(part.replace("...", ""))
    labels = part.replace("...", dots[len(dots) - count :] if count > 0 else "")
    if len(labels) != rank or (labels and not labels.isalpha()):
        raise EquationError(f"term '{part}' does not fit an input of rank {rank}")
    return labels


def _extents(text: str, terms: Sequence[str], shapes: Sequence[tuple[int, ...]]) -> dict[str, int]:
    """The size of each label; 1 is repeated against any size."""
    extents: dict[str, int] = {}
    for labels, shape in zip(terms, shapes, strict=True):
        for label, extent in zip(labels, shape, strict=True):
            known = extents.get(label, 1)
            if 1 not in (known, extent) and known != extent:
                raise EquationError(f"label {label} of equation '{text}' is {known} and {extent}")
            extents[label] = max(known, extent)
    return extents


def _term(labels: str, shape: tuple[int, ...], extents: dict[str, int]) -> Term:
    steps: dict[str, int] = {}
    for axis, label in enumerate(labels):
        step = 0 if shape[axis] == 1 and extents[label] != 1 else math.prod(shape[axis + 1 :])
        steps[label] = steps.get(label, 0) + step
    return Term(steps)


@dataclass(frozen=True)
class MatrixForm:
    """Two terms as a batched product: the output is batch, then rows (of a only), then columns (of b only)."""

    batch: str
    rows: str
    columns: str
    summed: str


def matrix_form(equation: Equation) -> MatrixForm | None:
    """The product form of an equation of two terms, None when it has none.

    Labels summed in one term alone have no place in it, nor has a group that takes more than one step.
    """
    a, b = (term.steps for term in equation.terms)
    summed = "".join(sorted((s for s in equation.extents if s not in equation.output), key=lambda s: -a.get(s, 0)))
    if any(s not in a or s not in b for s in summed) or not _joins(summed, equation, (0, 1)):
        return None
    columns = _trailing(equation.output, equation, own=1)
    rows = _trailing(equation.output[: len(equation.output) - len(columns)], equation, own=0)
    batch = equation.output[: len(equation.output) - len(columns) - len(rows)]
    return MatrixForm(batch, rows, columns, summed)


def _trailing(output: str, equation: Equation, *, own: int) -> str:
    """The longest end of ``output`` that only term ``own`` has and walks with one step."""
    end = ""
    for label in reversed(output):
        alone = label in equation.terms[own].steps and label not in equation.terms[1 - own].steps
        if not alone or not _joins(label + end, equation, (own,)):
            break
        end = label + end
    return end


def _joins(labels: str, equation: Equation, terms: Sequence[int]) -> bool:
    """Whether the axes ``labels`` are one axis in all of ``terms``."""
    for outer, inner in itertools.pairwise(labels):
        for term in terms:
            steps = equation.terms[term].steps
            if steps[outer] != steps[inner] * equation.extents[inner]:
                return False
    return True
