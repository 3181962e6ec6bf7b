"""How far two sets of outputs are apart, and whether that is within tolerance."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.generic]

SCHEMA = 1
_HALF_STEPS = 2 * 2.0**-10
_RESOLUTION = 2.0**-22
_RESOLUTION_SHARE = 0.03


@dataclass(frozen=True)
class Tolerance:
    """A float may differ from the reference r by ``rtol * |r| + atol * max|r|`` over its output.

    A float16 output is allowed at least two of its own steps.  The references compute sigmoids to 2^-22 only, whatever
    their size: outputs of tiny values may be off by that, but by no more than 3 % of their range.  Integers and
    booleans must be equal.  Where two ways to compute the reference differ (``spread``), all of them may by as much.
    """

    rtol: float = 1e-4
    atol: float = 1e-5


@dataclass(frozen=True)
class OutputReport:
    """One output over all samples: the worst value of each measure.

    ``max_rel`` divides by the reference where it is not negligible against its output.  ``max_ulp`` counts steps of the
    output's own type.  ``excess`` is the largest difference over what the tolerance allows: at most 1 passes.
    ``spread`` is how far two ways to compute the reference are apart, where that was asked for.
    ``top1`` is how often the largest value of the last axis is at the same place (None where there is no such axis).
    ``fault`` says what cannot be compared at all.
    """

    name: str
    dtype: str
    dims: tuple[int, ...]
    max_abs: float = 0.0
    max_rel: float = 0.0
    max_ulp: int = 0
    cosine: float = 1.0
    excess: float = 0.0
    spread: float = 0.0
    top1: float | None = None
    fault: str = ""

    @property
    def passed(self) -> bool:
        """Within tolerance."""
        return not self.fault and self.excess <= 1.0


@dataclass(frozen=True)
class VerifyReport:
    """The comparison of all outputs; ``reference`` names what they were compared with."""

    outputs: tuple[OutputReport, ...]
    tolerance: Tolerance
    samples: int = 1
    reference: str = ""

    @property
    def passed(self) -> bool:
        """Every output is within tolerance."""
        return all(output.passed for output in self.outputs)

    def to_json(self) -> dict[str, object]:
        """Plain data of a versioned schema, fit for strict JSON."""
        return {
            "schema": SCHEMA,
            "passed": self.passed,
            "reference": self.reference,
            "samples": self.samples,
            "tolerance": asdict(self.tolerance),
            "outputs": [{**asdict(output), **_finite(output), "passed": output.passed} for output in self.outputs],
        }


def verify_outputs(
    reference: Mapping[str, Array],
    actual: Mapping[str, Array],
    tolerance: Tolerance | None = None,
    *,
    second: Mapping[str, Array] | None = None,
) -> VerifyReport:
    """Compare one sample; outputs that only ``actual`` has are ignored.

    ``second`` is the reference computed in another way: where the two differ, nobody knows better.
    """
    tolerance = tolerance or Tolerance()
    rows = []
    for name, expected in reference.items():
        spread = _spread(expected, second[name]) if second is not None else 0.0
        rows.append(_compare(name, expected, actual.get(name), (tolerance, spread)))
    return VerifyReport(tuple(rows), tolerance)


def merge(reports: Sequence[VerifyReport]) -> VerifyReport:
    """The worst of several samples of one model."""
    first = reports[0]
    outputs = tuple(_worst(rows) for rows in zip(*(report.outputs for report in reports), strict=True))
    return replace(first, outputs=outputs, samples=sum(report.samples for report in reports))


def _worst(rows: Sequence[OutputReport]) -> OutputReport:
    tops = [row.top1 for row in rows if row.top1 is not None]
    return replace(
        rows[0],
        max_abs=max(row.max_abs for row in rows),
        max_rel=max(row.max_rel for row in rows),
        max_ulp=max(row.max_ulp for row in rows),
        cosine=min(row.cosine for row in rows),
        excess=max(row.excess for row in rows),
        spread=max(row.spread for row in rows),
        top1=sum(tops) / len(tops) if tops else None,
        fault=next((row.fault for row in rows if row.fault), ""),
    )


def allowance(expected: Array, second: Array, tolerance: Tolerance) -> float:
    """The part of the tolerance for one output that does not grow with its values; 0 for integers that must be equal.

    ``second`` is the reference computed in another way.
    """
    spread = _spread(expected, second)
    if not np.issubdtype(expected.dtype, np.floating):
        return spread
    exact = expected.astype(np.float64)
    scale = float(np.abs(exact[np.isfinite(exact)]).max(initial=0.0)) or 1.0
    steps = _HALF_STEPS * scale if expected.dtype == np.float16 else 0.0
    return max(tolerance.atol * scale, min(_RESOLUTION, _RESOLUTION_SHARE * scale), steps) + spread


def _spread(one: Array, two: Array) -> float:
    """The largest difference of finite values."""
    a, b = one.astype(np.float64), two.astype(np.float64)
    finite = np.isfinite(a) & np.isfinite(b)
    return float(np.abs(a[finite] - b[finite]).max(initial=0.0))


def _compare(name: str, expected: Array, actual: Array | None, limits: tuple[Tolerance, float]) -> OutputReport:
    tolerance, spread = limits
    row = OutputReport(name, expected.dtype.name, expected.shape, spread=spread)
    if actual is None:
        return replace(row, fault="the output is missing")
    if actual.shape != expected.shape:
        return replace(row, fault=f"shape {list(actual.shape)} instead of {list(expected.shape)}")
    if actual.dtype != expected.dtype:
        return replace(row, fault=f"dtype {actual.dtype.name} instead of {expected.dtype.name}")
    if expected.size == 0:
        return row
    row = replace(row, top1=_top1(expected, actual))
    if np.issubdtype(expected.dtype, np.floating):
        return _compare_floats(row, expected, actual, tolerance)
    differ = expected != actual
    wrong = int(differ.sum())
    # Python integers: the difference of two int64 values may need 65 bits
    distance = max((abs(int(a) - int(b)) for a, b in zip(expected[differ], actual[differ], strict=True)), default=0)
    fault = f"{wrong} of {expected.size} values differ" if distance > spread else ""
    return replace(row, max_abs=float(distance), max_ulp=distance, cosine=1.0 if not wrong else math.nan, fault=fault)


def _compare_floats(row: OutputReport, expected: Array, actual: Array, tolerance: Tolerance) -> OutputReport:
    exact, found = expected.astype(np.float64), actual.astype(np.float64)
    strange = ~np.isfinite(exact)
    misplaced = (strange | ~np.isfinite(found)) & ~((exact == found) | (np.isnan(exact) & np.isnan(found)))
    if misplaced.any():
        at = tuple(int(index) for index in np.argwhere(misplaced)[0])
        count = int(misplaced.sum())
        return replace(row, fault=f"{count} values are {found[at]} where {exact[at]} is expected, first at {list(at)}")
    exact, found = exact[~strange], found[~strange]
    if exact.size == 0:
        return row
    with np.errstate(over="ignore"):  # values near the largest float64 may be infinitely far apart
        difference, size = np.abs(found - exact), np.abs(exact)
    steps = _HALF_STEPS if expected.dtype == np.float16 else 0.0
    scale = float(size.max()) or 1.0
    allowed = max(tolerance.rtol, steps) * size + tolerance.atol * scale
    allowed = np.maximum(allowed, min(_RESOLUTION, _RESOLUTION_SHARE * scale)) + row.spread
    return replace(
        row,
        max_abs=float(difference.max()),
        max_rel=float((difference / np.maximum(size, tolerance.atol * scale)).max()),
        max_ulp=_ulps(expected[~strange], actual[~strange]),
        cosine=_cosine(exact, found),
        excess=float((difference / allowed).max()),
    )


def _ulps(expected: Array, actual: Array) -> int:
    """The most representable values between the two, in their own type."""
    integers = np.dtype(f"int{8 * expected.dtype.itemsize}")

    def ranks(array: Array) -> npt.NDArray[Any]:
        bits = np.ascontiguousarray(array).view(integers).astype(np.int64)
        ordered = np.where(bits < 0, np.iinfo(integers).min - bits, bits)
        # the distance of two float64 ranks may need 65 bits
        return ordered.astype(object) if expected.dtype.itemsize == 8 else ordered

    return int(np.abs(ranks(expected) - ranks(actual)).max())


def _cosine(expected: npt.NDArray[np.float64], actual: npt.NDArray[np.float64]) -> float:
    largest, largest_found = float(np.abs(expected).max()), float(np.abs(actual).max())
    if largest == 0.0 or largest_found == 0.0:
        return 1.0 if largest == largest_found else 0.0
    one, two = expected / largest, actual / largest_found  # neither squares nor tiny values leave the range
    return min(1.0, float(np.dot(one, two) / (np.linalg.norm(one) * np.linalg.norm(two))))


def _top1(expected: Array, actual: Array) -> float | None:
    if expected.ndim == 0 or expected.shape[-1] < 2 or expected.dtype.kind != "f":
        return None
    return float((expected.argmax(-1) == actual.argmax(-1)).mean())


def _finite(output: OutputReport) -> dict[str, float | None]:
    measures = {"max_abs": output.max_abs, "max_rel": output.max_rel, "cosine": output.cosine, "excess": output.excess}
    return {name: value if math.isfinite(value) else None for name, value in measures.items()}
