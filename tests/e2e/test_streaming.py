"""A streaming model from ``edgepack build --state`` to verification and measurement."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import onnx
import pytest

import edgepack
from packager.bench.run import BenchOptions
from tests.support.streaming import STATES, recurrent_model


def test_a_streaming_bundle_is_verified_and_measured_from_the_start_of_a_stream(tmp_path: Path) -> None:
    bundle = edgepack.build(recurrent_model(), "host", out=tmp_path / "bundle", states=STATES, name="recurrent")
    assert [port.name for port in bundle.manifest.inputs] == ["x"]
    assert [port.name for port in bundle.manifest.outputs] == ["y", "calls"]
    assert edgepack.load(bundle.directory).manifest.states == STATES
    report = edgepack.verify(bundle)
    assert report.passed
    assert report.samples == 4
    measured = edgepack.bench(bundle, options=BenchOptions(runs=3, warmup=1, per_layer=True))
    assert measured.outputs_match is True
    assert edgepack.run(bundle, {"x": np.zeros((1, 6), np.float32)})["calls"] == 1


def test_verification_sees_what_only_a_state_that_is_not_zero_shows(tmp_path: Path) -> None:
    bundle = edgepack.build(recurrent_model(), "host", out=tmp_path / "bundle", states=STATES, name="recurrent")
    other = recurrent_model()
    other.graph.initializer[1].CopyFrom(onnx.numpy_helper.from_array(np.ones((6, 6), np.float32), "u"))
    onnx.save(other, bundle.directory / "model/model.onnx")
    frames = [{"x": np.full((1, 6), 0.5, np.float32)}] * 2
    assert edgepack.verify(bundle, frames[:1]).passed
    report = edgepack.verify(bundle, frames)
    assert [output.name for output in report.outputs if not output.passed] == ["y"]


def test_a_stream_of_no_whole_frames_is_refused(tmp_path: Path) -> None:
    bundle = edgepack.build(recurrent_model(), "host", out=tmp_path / "bundle", states=STATES, name="recurrent")
    program = bundle.program("run")
    for size, frames in ((0, None), (23, None), (24, 1), (72, 3), (73, None)):
        done = subprocess.run([program, "-", "-"], input=bytes(size), capture_output=True, check=False)
        assert done.returncode == (0 if frames else 1)
        assert frames is None or len(done.stdout) == frames * 28
        assert frames is not None or b"does not have the size of the inputs" in done.stderr
    done = subprocess.run([program, "-", "/dev/full"], input=bytes(24), capture_output=True, check=False)
    assert (done.returncode, b"cannot write the outputs" in done.stderr) == (1, True)


def test_the_command_line_takes_states(tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from packager.cli.main import app

    onnx.save(recurrent_model(), tmp_path / "stream.onnx")
    words = ["build", str(tmp_path / "stream.onnx"), "-o", str(tmp_path / "out"), "--state", "h_out:h_in"]
    result = CliRunner().invoke(app, [*words, "--state", "count_out:count_in"])
    assert result.exit_code == 0, result.output
    assert edgepack.load(tmp_path / "out").manifest.states == STATES
    result = CliRunner().invoke(app, [*words, "--state", "h_out"])
    assert result.exit_code == 2


@pytest.mark.qemu_system
def test_a_microcontroller_runs_a_stream(tmp_path: Path) -> None:
    bundle = edgepack.build(recurrent_model(), "cortex-m4f", out=tmp_path / "bundle", states=STATES, name="recurrent")
    assert edgepack.verify(bundle, count=6).passed
