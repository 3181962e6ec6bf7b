"""Small models that break compilers, one folder each: ``case.yaml`` says what must happen.

``match``: the outputs agree within the tolerance.  ``refuse``: one clear error that mentions certain words.
``either``: one of the two.  ``guard``: indices outside their tensor end the inference with a status.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import yaml

import edgepack
from packager.errors import EdgepackError, ModelError
from tests.support.harness import KernelStatusError, best_isa, compile_program, run_model, run_program

DATA = Path(__file__).parent / "data"
CASES = sorted((path.name for path in DATA.iterdir()), key=lambda name: int(name.split("-")[0]))
PINNED = {"99-dynamic-batch": {"N": 3}}
PUBLIC = (
    "55-rank0-input-output",
    "85-names-digits-unicode-case",
    "87-names-graph-main-opencl",
    "91-output-also-consumed",
    "95-initializer-also-input-ir3",
    "107-external-data-offset",
)
EP_E_INDEX = 5

Array = np.ndarray[Any, np.dtype[Any]]


class Case:
    """A folder of ``data`` as Python objects."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.model = DATA / name / "model.onnx"
        described: dict[str, Any] = yaml.safe_load((DATA / name / "case.yaml").read_text("utf-8"))
        self.expected: dict[str, Any] = described["expected"]
        self.kind: str = self.expected["class"]
        self.feeds = self._arrays(described["inputs"])
        self.outputs = self._arrays(described["outputs"])
        self.dims = PINNED.get(name, {})

    def _arrays(self, rows: list[dict[str, Any]]) -> dict[str, Array]:
        return {row["name"]: np.load(DATA / self.name / row["file"]) for row in rows if "file" in row}

    def check_outputs(self, found: dict[str, Array]) -> None:
        for name, expected in self.outputs.items():
            actual = found[name]
            assert (actual.shape, actual.dtype) == (expected.shape, expected.dtype), name
            self._check_values(name, actual, expected)

    def _check_values(self, name: str, actual: Array, expected: Array) -> None:
        tolerance = self.expected["tolerance"]
        match tolerance["compare"]:
            case "exact":
                np.testing.assert_array_equal(actual, expected, err_msg=name)
            case "steps":
                difference = np.abs(actual.astype(np.float64) - expected.astype(np.float64))
                assert difference.max() <= tolerance["max_abs"] * (1 + 1e-6), name
            case "allclose":
                np.testing.assert_allclose(
                    actual, expected, rtol=tolerance["rtol"], atol=tolerance["atol"], err_msg=name
                )

    def check_refusal(self, error: EdgepackError) -> None:
        assert isinstance(error, ModelError)
        for word in self.expected["error_should_mention"]:
            assert word.lower() in str(error).lower()


@pytest.mark.parametrize("isa", ["scalar", best_isa()])
@pytest.mark.parametrize("name", CASES)
def test_a_case_does_what_its_description_says(name: str, isa: str) -> None:
    case = Case(name)
    if case.kind == "guard":
        with pytest.raises(KernelStatusError) as stopped:
            run_model(
                case.model,
                case.feeds,
                isa=isa,
                flags=("-O1", "-fsanitize=undefined", "-fsanitize-undefined-trap-on-error"),
            )
        assert stopped.value.status == EP_E_INDEX
        return
    found, refusal = outcome(case, isa)
    if refusal is not None:
        assert case.kind != "match", refusal
        case.check_refusal(refusal)
    else:
        assert case.kind != "refuse"
        case.check_outputs(found)


def outcome(case: Case, isa: str) -> tuple[dict[str, Array], EdgepackError | None]:
    """The outputs, or the error that refused the model."""
    try:
        return run_model(case.model, case.feeds, isa=isa, dims=case.dims), None
    except EdgepackError as error:
        return {}, error


@pytest.mark.parametrize("name", PUBLIC)
def test_a_case_works_through_the_public_interface(name: str, tmp_path: Path) -> None:
    case = Case(name)
    bundle = edgepack.build(case.model, target="host", out=tmp_path / "bundle", dims=case.dims)
    case.check_outputs(edgepack.run(bundle, case.feeds))
    assert edgepack.verify(bundle, [case.feeds]).passed


def test_a_dynamic_dimension_without_a_value_is_named_with_the_way_out() -> None:
    with pytest.raises(ModelError) as caught:
        compile_program(DATA / "99-dynamic-batch" / "model.onnx")
    assert "'N'" in str(caught.value)
    assert "--dim N=" in str(caught.value)


def test_missing_external_data_is_refused_with_its_name(tmp_path: Path) -> None:
    source = DATA / "107-external-data-offset" / "model.onnx"
    (tmp_path / "model.onnx").write_bytes(source.read_bytes())
    with pytest.raises(ModelError, match=r"weights\.bin"):
        edgepack.build(tmp_path / "model.onnx", out=tmp_path / "bundle")
    assert [path.name for path in tmp_path.iterdir()] == ["model.onnx"]


def test_a_million_weights_are_no_c_text() -> None:
    """The weights go into the object file as they are; sources stay the size of the graph."""
    from codegen_c.c_model import emit
    from codegen_c.embed import EmbedStyle

    dice = np.random.default_rng(0)
    weights = dice.uniform(-0.2, 0.2, (1024, 1024)).astype(np.float32)
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("MatMul", ["x", "w"], ["y"])],
        "large",
        [onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1, 1024])],
        [onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [1, 1024])],
        [onnx.numpy_helper.from_array(weights, "w")],
    )
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
    isa = best_isa()
    program = compile_program(model, isa=isa)
    files = emit(program, embed=EmbedStyle.INCBIN)
    text = sum(len(data) for path, data in files.items() if not path.endswith(".bin"))
    assert text < 100_000
    x = dice.uniform(-1, 1, (1, 1024)).astype(np.float32)
    found = run_program(program, {"x": x}, isa=isa)["y"]
    np.testing.assert_allclose(found, x.astype(np.float64) @ weights, rtol=1e-3, atol=1e-3)
