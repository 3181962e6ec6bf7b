"""The comparison of outputs: what passes, what does not, and what is said about it."""

from __future__ import annotations

import json

import numpy as np
import pytest

from packager.verify.compare import Array, OutputReport, Tolerance, merge, verify_outputs


def compare(expected: Array, actual: Array, tolerance: Tolerance | None = None) -> OutputReport:
    return verify_outputs({"y": expected}, {"y": actual}, tolerance).outputs[0]


def floats(*values: float) -> Array:
    return np.array(values, np.float32)


def test_equal_outputs_are_perfect() -> None:
    row = compare(floats(1, -2, 3), floats(1, -2, 3))
    assert row.passed
    assert (row.max_abs, row.max_rel, row.max_ulp, row.cosine, row.excess, row.top1) == (0, 0, 0, 1, 0, 1)


def test_small_values_may_be_off_by_a_share_of_the_outputs_range() -> None:
    assert compare(floats(100, 0), floats(100, 0.0009)).passed
    assert not compare(floats(100, 0), floats(100, 0.0011)).passed
    assert not compare(floats(1, 0), floats(1, 0.0009)).passed


def test_large_values_may_be_off_by_a_share_of_themselves() -> None:
    assert compare(floats(1000), floats(1000.1)).passed
    assert not compare(floats(1000), floats(1000.2)).passed
    assert compare(floats(1000), floats(1000.2), Tolerance(rtol=1e-3)).passed


def test_outputs_far_below_one_are_held_to_their_own_range() -> None:
    assert not compare(floats(1e-6, 2e-6), floats(2e-6, 1e-6)).passed


def test_sigmoids_far_below_one_are_held_to_what_the_reference_resolves() -> None:
    assert compare(floats(4e-5, 1e-7), floats(4e-5, 3e-7)).passed
    assert not compare(floats(4e-5, 1e-7), floats(4e-5, 4e-7)).passed
    assert not compare(floats(1e-6, 1e-7), floats(1e-6, 2e-7)).passed


def test_where_the_reference_is_unsure_the_tolerance_is_wider_by_as_much() -> None:
    expected, second = {"y": floats(1, 2), "k": np.array([1, 2])}, {"y": floats(1, 2.1), "k": np.array([1, 3])}
    near, far = {"y": floats(1.1, 2), "k": np.array([0, 2])}, {"y": floats(1.2, 2), "k": np.array([3, 2])}
    assert [row.passed for row in verify_outputs(expected, near).outputs] == [False, False]
    assert [row.passed for row in verify_outputs(expected, near, second=second).outputs] == [True, True]
    assert [row.passed for row in verify_outputs(expected, far, second=second).outputs] == [False, False]
    assert verify_outputs(expected, near, second=second).outputs[0].spread == pytest.approx(0.1)


def test_infinities_say_nothing_about_the_spread() -> None:
    expected, second = {"y": floats(np.inf, 1)}, {"y": floats(1, 1)}
    assert verify_outputs(expected, expected, second=second).outputs[0].spread == 0


def test_steps_are_counted_across_zero() -> None:
    tiny = 1e-45
    assert compare(floats(1), np.nextafter(floats(1), floats(2))).max_ulp == 1
    assert compare(floats(tiny), floats(-tiny)).max_ulp == 2
    assert compare(np.array([-np.inf, 1e308]), np.array([-np.inf, -1e308])).max_ulp > 2**63


def test_half_precision_is_allowed_two_of_its_steps() -> None:
    one = np.array([1, 3], np.float16)
    near = np.array([1 + 2**-10, 3], np.float16)
    far = np.array([1 + 2**-7, 3], np.float16)
    assert compare(one, near).passed
    assert not compare(one, far).passed


def test_nan_and_infinity_must_be_where_the_reference_has_them() -> None:
    expected = floats(np.nan, np.inf, -np.inf, 1)
    assert compare(expected, floats(np.nan, np.inf, -np.inf, 1)).passed
    row = compare(expected, floats(np.nan, np.inf, np.inf, 1))
    assert row.fault == "1 values are inf where -inf is expected, first at [2]"
    assert not compare(floats(1), floats(np.nan)).passed


def test_integers_and_booleans_must_be_equal() -> None:
    wide = np.array([2**62, -(2**62)], np.int64)
    assert compare(wide, wide).passed
    row = compare(wide, -wide - 1)
    assert row.max_ulp == 2**63 + 1
    assert row.fault == "2 of 2 values differ"
    assert not compare(np.array([True, False]), np.array([True, True])).passed


def test_missing_outputs_and_other_shapes_and_types_are_faults() -> None:
    report = verify_outputs({"a": floats(1), "b": floats(1), "c": floats(1)}, {"b": floats(1, 2), "c": np.ones(1)})
    assert [row.fault for row in report.outputs] == [
        "the output is missing",
        "shape [2] instead of [1]",
        "dtype float64 instead of float32",
    ]
    assert not report.passed


def test_empty_outputs_agree() -> None:
    assert compare(floats(), floats()).passed


def test_the_top_class_is_compared_row_by_row() -> None:
    expected = np.array([[1, 2], [4, 3]], np.float32)
    assert compare(expected, np.array([[1, 2], [3, 4]], np.float32)).top1 == 0.5
    assert compare(expected[:, :1], expected[:, :1]).top1 is None


def test_opposite_outputs_have_cosine_minus_one() -> None:
    assert compare(floats(1, 2), floats(-1, -2)).cosine == pytest.approx(-1)
    assert compare(floats(0, 0), floats(0, 0)).cosine == 1
    assert compare(floats(0, 0), floats(1, 0)).cosine == 0


def test_samples_are_merged_by_their_worst() -> None:
    good = verify_outputs({"y": floats(1, 2)}, {"y": floats(1, 2)})
    bad = verify_outputs({"y": floats(1, 2)}, {"y": floats(2, 1)})
    merged = merge([good, bad])
    assert merged.samples == 2
    assert not merged.passed
    assert merged.outputs[0].max_abs == 1
    assert merged.outputs[0].top1 == 0.5


def test_the_report_is_strict_json_with_a_schema() -> None:
    report = verify_outputs({"y": np.array([1, 2])}, {"y": np.array([1, 3])})
    data = json.loads(json.dumps(report.to_json(), allow_nan=False))
    assert data["schema"] == 1
    assert data["passed"] is False
    assert data["outputs"][0]["name"] == "y"
    assert data["outputs"][0]["cosine"] is None
