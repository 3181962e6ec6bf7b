"""A streaming model from ``edgepack build --state`` to verification and measurement."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx

import edgepack
from packager.bench.run import BenchOptions
from tests.support.streaming import STATES, recurrent_model


def test_a_streaming_bundle_is_verified_and_measured_from_the_start_of_a_stream(tmp_path: Path) -> None:
    bundle = edgepack.build(recurrent_model(), "host", out=tmp_path / "bundle", states=STATES, name="recurrent")
    assert [port.name for port in bundle.manifest.inputs] == ["x"]
    assert [port.name for port in bundle.manifest.outputs] == ["y", "calls"]
    assert edgepack.load(bundle.directory).manifest.states == STATES
    assert edgepack.verify(bundle, count=2).passed
    report = edgepack.bench(bundle, options=BenchOptions(runs=3, warmup=1, per_layer=True))
    assert report.outputs_match is True
    assert edgepack.run(bundle, {"x": np.zeros((1, 6), np.float32)})["calls"] == 1


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
