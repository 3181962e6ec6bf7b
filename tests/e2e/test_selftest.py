"""``edgepack build --selftest``: a program that says PASS or FAIL where it runs."""

from __future__ import annotations

import subprocess
from pathlib import Path

import onnx
import pytest

import edgepack
from codegen_c.selftest import self_test_source
from packager import pipeline
from packager.bundle.bundle import Bundle
from packager.verify.selftest import self_test_cases
from tests.support import compile_program
from tests.support.streaming import STATES, recurrent_model

DIGITS = Path(__file__).parents[2] / "examples" / "digits" / "digits.onnx"


def outcome(bundle: Bundle) -> tuple[int, str]:
    """Exit code and words of the self-test, on this machine or in the target's emulator."""
    with pipeline.transport_of(bundle).workspace() as workspace:
        workspace.put("selftest", bundle.program("selftest"), executable=True)
        done = workspace.run(["selftest"], timeout=120)
    return done.exit_code, done.stdout.decode()


def test_a_bundle_tests_itself(tmp_path: Path) -> None:
    bundle = edgepack.build(DIGITS, "host", out=tmp_path / "bundle", selftest=True)
    assert outcome(bundle) == (0, "PASS digits case 0\nPASS digits case 1\n")


def test_the_frames_of_a_stream_follow_one_another(tmp_path: Path) -> None:
    model = recurrent_model()
    bundle = edgepack.build(model, "host", out=tmp_path / "bundle", states=STATES, name="net", selftest=True)
    assert outcome(bundle) == (0, "PASS net case 0\nPASS net case 1\n")
    cases = self_test_cases(model, compile_program(model, isa="scalar", states=STATES), 3)
    assert [case.expected[1] for case in cases] == [(1.0,), (2.0,), (3.0,)]


def test_a_wrong_result_fails(tmp_path: Path) -> None:
    """The cases of a network with other weights."""
    bundle = edgepack.build(
        recurrent_model(), "host", out=tmp_path / "bundle", states=STATES, name="net", selftest=True
    )
    other = recurrent_model()
    other.graph.initializer[0].raw_data = bytes(reversed(other.graph.initializer[1].raw_data))
    program = compile_program(other, isa="scalar", states=STATES)
    cases = self_test_source(program, "net", self_test_cases(other, program, 2))
    (bundle.directory / "test/net_selftest.c").write_text(cases)
    sources = ["ep_selftest_main", "ep_selftest", "ep_session", "ep_text", "ep_port_posix"]
    command = ["gcc", "-std=gnu11", "-Iruntime/include", "-Iruntime/src", "-DEP_NO_THREADS", "-DEP_MODEL=net_model"]
    command += ["-DEP_SELFTEST=net_selftest", *(f"runtime/src/{name}.c" for name in sources), "test/net_selftest.c"]
    subprocess.run([*command, "lib/libnet.a", "-o", "wrong"], cwd=bundle.directory, check=True)
    done = subprocess.run([bundle.directory / "wrong"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stdout.startswith('FAIL net case 0: output "y", element ')


@pytest.mark.qemu_system
def test_a_microcontroller_tests_itself(tmp_path: Path) -> None:
    bundle = edgepack.build(DIGITS, "cortex-m4f", out=tmp_path / "bundle", selftest=True)
    assert outcome(bundle) == (0, "PASS digits case 0\nPASS digits case 1\n")


def test_inputs_and_outputs_of_every_type_are_stored_exactly() -> None:
    import numpy as np
    import onnx.helper as oh

    from packager.verify.selftest import _values

    assert _values(np.array([1.5, np.inf], np.float16)) == (0x3E00, 0x7C00)
    assert _values(np.array([True, False])) == (True, False)
    graph = oh.make_graph(
        [oh.make_node("Neg", ["x"], ["y"])],
        "g",
        [oh.make_tensor_value_info("x", onnx.TensorProto.INT64, [2])],
        [oh.make_tensor_value_info("y", onnx.TensorProto.INT64, [2])],
    )
    model = oh.make_model(graph, opset_imports=[oh.make_opsetid("", 17)], ir_version=8)
    [case] = self_test_cases(model, compile_program(model, isa="scalar"), 1)
    assert case.absolute == (0.0,)
    assert case.expected[0] == tuple(-value for value in case.inputs[0])
