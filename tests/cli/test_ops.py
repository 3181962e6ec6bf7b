"""ops."""

from __future__ import annotations

from tests.cli.conftest import Edgepack


def test_operators_are_listed_with_what_they_do(edgepack: Edgepack) -> None:
    rows = {row["name"]: row for row in edgepack("ops", "--json").json["operators"]}
    assert {"Conv", "Gemm", "Reshape"} <= rows.keys()
    assert all(row["summary"] for row in rows.values())
    assert rows["Conv"]["layout"] == "spatial"


def test_operators_can_be_looked_up_by_a_part_of_their_name(edgepack: Edgepack) -> None:
    names = {row["name"] for row in edgepack("ops", "shape", "--json").json["operators"]}
    assert "Reshape" in names
    assert "Gemm" not in names
    assert "Reshape" in edgepack("ops", "shape").out


def test_operators_the_optimizer_makes_are_not_listed(edgepack: Edgepack) -> None:
    assert {row["domain"] for row in edgepack("ops", "--json").json["operators"]} <= {"ai.onnx", "com.microsoft"}
