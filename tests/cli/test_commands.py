"""build, verify, run, bench and inspect on a small trained model, end to end on this machine."""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict
from pathlib import Path

import numpy as np
import onnx
import pytest

from packager.bundle.bundle import describe_file
from packager.cli.main import main
from tests.cli.conftest import Edgepack

DIGITS = Path(__file__).parents[2] / "examples" / "digits"
MODEL = DIGITS / "digits.onnx"


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle of the digits example for this machine; tests leave it as it is."""
    bundle = tmp_path_factory.mktemp("cli") / "digits-host"
    with pytest.raises(SystemExit) as ended:
        main(["build", str(MODEL), "--threads", "1", "-o", str(bundle)])
    assert ended.value.code in (None, 0)
    return bundle


def test_build_says_what_a_person_wants_to_know(edgepack: Edgepack) -> None:
    ran = edgepack("build", MODEL, "--target", "host", "--threads", "1")
    assert ran.code == 0
    words = ["kernel calls", "MACs", "84.22 k", "parameters", "flash", "RAM", "lower bound", "2x Conv + Relu"]
    assert [word for word in words if word not in ran.out] == []
    assert ran.out.splitlines()[-2:] == ["bundle: digits-host", "next:   edgepack verify digits-host"]
    assert Path("digits-host/report/report.html").is_file()


def test_the_same_parameters_are_counted_everywhere(edgepack: Edgepack, built: Path) -> None:
    counts = {edgepack("inspect", MODEL, "--json").json["model"]["parameters"]}
    counts.add(edgepack("inspect", built, "--json").json["manifest"]["parameters"])
    counts.add(edgepack("build", MODEL, "-t", "rpi4", "-o", "pi", "--json").json["manifest"]["parameters"])
    assert len(counts) == 1


def test_build_tells_the_threads_and_the_stack_of_the_program_it_made(edgepack: Edgepack, built: Path) -> None:
    ran = edgepack("build", MODEL, "--threads", "2", "-o", "out")
    manifest = json.loads(Path("out/manifest.json").read_text())
    assert f"{manifest['profile']['threads']} thread" in ran.out
    assert f"#define DIGITS_STACK_MAX {manifest['stack_max']}\n" in Path("out/include/digits_stack.h").read_text()
    assert "at most" in next(line for line in edgepack("inspect", built).out.splitlines() if "stack" in line)


def test_more_threads_than_a_program_has_is_refused_with_the_way_out(edgepack: Edgepack, built: Path) -> None:
    ran = edgepack("bench", built, "--threads", "2", "--runs", "1", "--json")
    assert ran.code == 1
    (problem,) = ran.json["problems"]
    assert problem["code"] == "EP0720"
    assert "--threads 2" in problem["hint"]


@pytest.mark.parametrize("columns", [80, 100])
def test_reports_fit_a_terminal(edgepack: Edgepack, built: Path, monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    out = edgepack("bench", built, "--runs", 5, "--warmup", 1, "--per-layer").out
    table = out[out.index("layer") :].splitlines()
    assert len([line for line in table if "%" in line]) == len([line for line in table[2:] if line.strip()])
    assert max(map(len, table)) <= columns
    verified = edgepack("verify", built).out
    assert "probabilities" in verified
    assert "1.000000000" in verified


def test_build_as_json_has_the_manifest_and_the_memory_plan(edgepack: Edgepack) -> None:
    document = edgepack("build", MODEL, "--threads", "1", "-o", "out", "--name", "net", "--json").json
    manifest = json.loads(Path("out/manifest.json").read_text())
    assert (document["kind"], document["bundle"]) == ("build", str(Path("out").absolute()))
    assert document["manifest"]["name"] == manifest["name"] == "net"
    assert document["memory"]["arena_bytes"] == manifest["arena_bytes"]
    assert manifest["profile"]["threads"] == 1


def test_verify_agrees_and_says_with_what(edgepack: Edgepack, built: Path) -> None:
    ran = edgepack("verify", built, "--inputs", "random:3")
    assert ran.code == 0
    assert "agrees with" in ran.out
    assert "3 samples" in ran.out
    document = edgepack("verify", built, "--json").json
    assert document["passed"]
    assert document["outputs"][0]["max_abs"] < 1e-5


def test_verify_takes_inputs_from_files(edgepack: Edgepack, built: Path) -> None:
    Path("samples/a").mkdir(parents=True)
    shutil.copy(DIGITS / "images" / "7.npy", "samples/a/image.npy")
    ran = edgepack("verify", built, "--inputs", "samples", "--json")
    assert ran.json["samples"] == 1, ran.err


def test_verify_of_a_model_builds_it_first_and_leaves_nothing(edgepack: Edgepack) -> None:
    assert edgepack("verify", MODEL, "--json").json["target"] == "host"
    assert list(Path().iterdir()) == []


@pytest.fixture
def wrong(built: Path, tmp_path: Path) -> Path:
    """A bundle whose program computes something else than the model that lies in it."""
    bundle = tmp_path / "wrong"
    shutil.copytree(built, bundle)
    model = onnx.load(bundle / "model" / "model.onnx")
    weights = max(model.graph.initializer, key=lambda tensor: tensor.ByteSize())
    changed = onnx.numpy_helper.to_array(weights) * np.float32(1.01)
    weights.CopyFrom(onnx.numpy_helper.from_array(changed, weights.name))
    onnx.save(model, bundle / "model" / "model.onnx")
    manifest = json.loads((bundle / "manifest.json").read_text())
    listed = {row["path"]: row for row in manifest["files"]}
    listed["model/model.onnx"].update(asdict(describe_file(bundle / "model" / "model.onnx", bundle)))
    (bundle / "manifest.json").write_text(json.dumps(manifest))
    return bundle


def test_outputs_outside_the_tolerance_are_exit_code_1(edgepack: Edgepack, wrong: Path) -> None:
    ran = edgepack("verify", wrong, "--inputs", "random:3")
    assert ran.code == 1
    assert "DISAGREES" in ran.out
    assert "x the tolerance" in ran.out
    assert edgepack("verify", wrong, "--json").json["passed"] is False
    assert edgepack("verify", wrong, "--rtol", "0.5", "--atol", "0.5").code == 0


def test_figures_of_a_program_with_wrong_outputs_are_exit_code_1(edgepack: Edgepack, wrong: Path) -> None:
    ran = edgepack("bench", wrong, "--runs", 3, "--warmup", 1)
    assert ran.code == 1
    assert "DO NOT match the reference" in ran.out
    assert edgepack("bench", wrong, "--runs", 3, "--warmup", 1, "--no-check").code == 0


def test_run_prints_the_outputs(edgepack: Edgepack, built: Path) -> None:
    image = DIGITS / "images" / "7.npy"
    (row,) = edgepack("run", built, "--input", image, "--json").json["outputs"]
    assert row["name"] == "probabilities"
    assert np.argmax(row["values"]) == 7
    assert "probabilities" in edgepack("run", built, "--input", f"image={image}").out


def test_run_writes_the_outputs_as_arrays(edgepack: Edgepack, built: Path) -> None:
    ran = edgepack("run", built, "-i", DIGITS / "images" / "4.npy", "-o", "out")
    assert ran.code == 0
    assert [file.name for file in Path("out").iterdir()] == ["probabilities.npy"]
    assert np.load("out/probabilities.npy").argmax() == 4


def test_bench_measures_checks_and_reports(edgepack: Edgepack, built: Path) -> None:
    ran = edgepack("bench", built, "--runs", 20, "--warmup", 3, "--per-layer", "--html", "report.html", "--json")
    document = ran.json
    assert ran.code == 0
    assert document["schema"] == 1
    assert document["runs"] == len(document["samples"]) == 20
    assert document["outputs_match"] is True
    assert 0 < document["minimum"] <= document["median"] <= document["maximum"]
    assert any("conv1" in layer["source"] for layer in document["layers"])
    assert "Time by layer" in Path("report.html").read_text()


def test_bench_prints_a_table(edgepack: Edgepack, built: Path) -> None:
    out = edgepack("bench", built, "--runs", 10, "--warmup", 3, "--per-layer").out
    words = ["median", "p99", "stdev", "GMAC/s", "match the reference", "arena", "share"]
    assert [word for word in words if word not in out] == []


def test_inspect_shows_a_model_and_what_it_costs(edgepack: Edgepack) -> None:
    ran = edgepack("inspect", MODEL, "--target", "rpi4")
    assert ran.code == 0
    assert [word for word in ("image", "Conv", "yes", "MACs", "84.22 k", "peak at") if word not in ran.out] == []
    document = edgepack("inspect", MODEL, "--target", "rpi4", "--json").json
    assert document["cost"]["macs"] == 84224
    assert sum(step["macs"] for step in document["cost"]["steps"]) == 84224
    assert {row["name"]: row["count"] for row in document["model"]["operators"]}["Conv"] == 2


def test_inspect_shows_a_bundle(edgepack: Edgepack, built: Path) -> None:
    assert "digits for host" in edgepack("inspect", built).out
    assert edgepack("inspect", built, "--json").json["manifest"]["macs"] == 84224


def test_inspect_shows_what_is_not_supported_and_what_has_to_be_given(edgepack: Edgepack) -> None:
    helper = onnx.helper
    x = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["batch", 4])
    y = helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, ["batch", 4])
    nodes = [helper.make_node("Foo", ["x"], ["t"], domain="com.acme"), helper.make_node("Relu", ["t"], ["y"])]
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.acme", 1)]
    onnx.save(helper.make_model(helper.make_graph(nodes, "g", [x], [y]), opset_imports=opsets), "foo.onnx")
    ran = edgepack("inspect", "foo.onnx")
    assert ran.code == 0
    assert "--dim batch=N" in ran.out
    operators = edgepack("inspect", "foo.onnx", "--json").json["model"]["operators"]
    assert {row["name"]: row["support"] for row in operators} == {"Foo": "none", "Relu": "lowering"}


@pytest.mark.parametrize(
    "arguments",
    [
        ("build", MODEL, "--dim", "batch"),
        ("build", MODEL, "--dim", "batch=0"),
        ("build", MODEL, "--dim", "a=1", "--dim", "a=2"),
        ("build", MODEL, "--optimize", "magic"),
        ("build", MODEL, "--name", "9bad-name"),
        ("build",),
        ("verify", MODEL, "--inputs", "random:x"),
        ("verify", MODEL, "--inputs", "random:99999999999999999999"),
        ("run", "bundle"),
        ("bench", MODEL, "--seconds", "0"),
        ("deploy", "--device", "x"),
        ("deploy", "bundle", "--device", "x", "--list"),
    ],
    ids=lambda arguments: " ".join(Path(word).name for word in arguments),
)
def test_wrong_usage_is_exit_code_2(edgepack: Edgepack, arguments: tuple[object, ...]) -> None:
    ran = edgepack(*arguments)
    assert ran.code == 2, ran.err
    assert ran.out == ""


def test_a_bundle_takes_no_target(edgepack: Edgepack, built: Path) -> None:
    assert edgepack("verify", built, "--target", "host").code == 2


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("build", "none.onnx"), "EP0101"),
        (("build", MODEL, "--target", "rpi6"), "EP0301"),
        (("build", MODEL, "--board", "rpi"), "EP0301"),
        (("verify", "nosuch"), "EP0601"),
        (("build", MODEL, "--target", "wasm32-wasi", "--threads", "2"), "EP0304"),
        (("run", "none", "--input", "x.npy"), "EP0601"),
        (("bench", MODEL, "--device", "a b"), "EP0311"),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(Path(word).name for word in value),
)
def test_what_the_user_can_act_on_is_exit_code_1(edgepack: Edgepack, arguments: tuple[object, ...], code: str) -> None:
    ran = edgepack(*arguments, "--json")
    assert ran.code == 1
    assert [problem["code"] for problem in ran.json["problems"]] == [code]
    assert list(Path().iterdir()) == []


def test_a_damaged_bundle_is_refused(edgepack: Edgepack, built: Path) -> None:
    shutil.copytree(built, "copy")
    (program,) = Path("copy/bin").glob("*-run")
    program.write_bytes(program.read_bytes()[:-1] + b"x")
    ran = edgepack("verify", "copy", "--json")
    assert ran.code == 1
    assert ran.json["problems"][0]["code"] == "EP0602"


@pytest.mark.qemu_system
def test_emulated_instructions_are_never_called_time(edgepack: Edgepack) -> None:
    ran = edgepack("bench", MODEL, "--target", "cortex-m4f", "--runs", 2, "--warmup", 1, "--per-layer")
    assert ran.code == 0, ran.err
    assert ", in instructions" in ran.out
    assert "instructions/MAC (emulated" in ran.out
    assert "for one inference" in ran.out
    assert not [word for word in ("p99", "stdev", "load ") if word in ran.out]
    assert "settled" not in ran.err
    assert "busy" not in ran.err
    assert "GMAC/s" not in ran.out
    assert " ms" not in ran.out
    assert "match the reference" in ran.out


@pytest.mark.qemu
def test_a_bundle_for_another_machine_runs_in_its_emulator(edgepack: Edgepack) -> None:
    assert edgepack("build", MODEL, "-t", "rpi4", "-o", "pi").code == 0
    assert edgepack("verify", "pi", "--json").json["passed"]
    document = edgepack("bench", "pi", "--runs", 3, "--warmup", 1, "--json").json
    assert document["emulated"]
    assert any("emulator" in warning for warning in document["warnings"])


def test_a_folder_of_arrays_is_one_sample_each_for_a_model_with_one_input(edgepack: Edgepack, built: Path) -> None:
    ran = edgepack("verify", built, "--inputs", DIGITS / "images", "--json")
    assert ran.code == 0, ran.err
    assert ran.json["samples"] == len(list((DIGITS / "images").glob("*.npy")))
