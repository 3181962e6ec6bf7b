"""Does the built program compute what the model says?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from packager.bundle.tensors import check_feeds
from packager.errors import Problem, VerifyError
from packager.progress import Progress, silent
from packager.verify.compare import Array, OutputReport, Tolerance, VerifyReport, merge, verify_outputs
from packager.verify.feeds import check_finite, feeds_for, input_ports, load_feeds, random_feeds
from packager.verify.reference import Reference, reference_outputs
from packager.verify.stream import StreamReference, first_call

if TYPE_CHECKING:
    import onnx

__all__ = [
    "OutputReport",
    "Reference",
    "Tolerance",
    "VerifyReport",
    "check_outputs",
    "feeds_for",
    "first_call",
    "input_ports",
    "load_feeds",
    "random_feeds",
    "reference_outputs",
    "verify",
    "verify_outputs",
]


NO_STATES: Mapping[str, str] = MappingProxyType({})


def verify(
    model: onnx.ModelProto,
    run: Callable[[Mapping[str, Array]], Mapping[str, Array]],
    samples: Sequence[Mapping[str, Array]],
    *,
    tolerance: Tolerance | None = None,
    states: Mapping[str, str] = NO_STATES,
    progress: Progress = silent,
) -> VerifyReport:
    """Compare ``run`` with the reference of ``model`` on every sample.

    With ``states`` (outputs that are inputs of the next call) the samples are the frames of one stream.

    ``model`` is the original with its dimensions pinned; ``run`` executes the built program, wherever that is, and
    returns outputs by name.  Outputs outside the tolerance are in the report, they raise nothing.  VerifyError when
    the samples do not fit the model, hold NaN, or the reference cannot run them.
    """
    if not samples:
        raise VerifyError(Problem("EP0802", "there are no samples to verify with"))
    ports = [port for port in input_ports(model) if port.name not in states.values()]
    for feeds in samples:
        check_feeds(ports, feeds)
        problems = check_finite(feeds)
        if problems:
            raise VerifyError(problems)
    progress("preparing the reference")
    reference = StreamReference(model, states) if states else Reference(model)
    reports = []
    for number, feeds in enumerate(samples):
        progress(f"verifying sample {number + 1} of {len(samples)}", number / len(samples))
        reports.append(check_outputs(reference, feeds, run(feeds), tolerance))
    return replace(merge(reports), reference=reference.name)


def check_outputs(
    reference: Reference | StreamReference,
    feeds: Mapping[str, Array],
    actual: Mapping[str, Array],
    tolerance: Tolerance | None = None,
) -> VerifyReport:
    """Compare ``actual`` with what the reference computes from ``feeds``.

    Where they disagree the reference is computed in a second way, with its own optimisations: some networks amplify
    rounding (and quantized ones round either way at a tie) so much that the two are further apart than the tolerance.
    """
    expected = reference.run(feeds)
    report = verify_outputs(expected, actual, tolerance)
    if report.passed:
        return report
    second = reference.second_opinion(feeds)
    return report if second is None else verify_outputs(expected, actual, tolerance, second=second)
