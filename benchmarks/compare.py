"""Latency of edgepack's programs against onnxruntime and OpenVINO, one thread, in one run: A B C A B C ...

    python benchmarks/compare.py MODEL.onnx ... [--target host] [--rounds 5] [--seconds 1] [--json FILE]

Needs the extra ``benchmark``.  Prints minimum and median milliseconds and the ratio to the faster peer, taken within
each round, so that a drifting machine does not decide.  ``benchmarks/networks.py`` makes the networks of the tables.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Feeds = Mapping[str, npt.NDArray[Any]]
Round = Callable[[float], list[float]]
"""Runs for about so many seconds, returns milliseconds per inference."""

_KINDS = {"tensor(float)": "float32", "tensor(int64)": "int64", "tensor(uint8)": "uint8", "tensor(int8)": "int8"}


def feeds_of(model: Path) -> Feeds:
    """Random inputs with a fixed seed."""
    import onnxruntime as ort

    rng = np.random.default_rng(0)
    session = ort.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    return {
        x.name: rng.normal(size=[d if isinstance(d, int) else 1 for d in x.shape]).astype(_KINDS[x.type])
        for x in session.get_inputs()
    }


def timed(call: Callable[[], object]) -> Round:
    """A round of calls in this process."""

    def run(seconds: float) -> list[float]:
        times: list[float] = []
        end = time.perf_counter() + seconds
        while len(times) < 5 or time.perf_counter() < end:
            start = time.perf_counter()
            call()
            times.append(1e3 * (time.perf_counter() - start))
        return times

    return run


def onnxruntime_round(model: Path, feeds: Feeds) -> Round:
    """Inference with onnxruntime on one thread."""
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = ort.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    return timed(lambda: session.run(None, dict(feeds)))


def openvino_round(model: Path, feeds: Feeds) -> Round:
    """OpenVINO on one thread, float32 arithmetic."""
    import openvino as ov

    config = {"INFERENCE_NUM_THREADS": 1, "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32"}
    graph = ov.Core().read_model(str(model))
    graph.reshape({name: list(value.shape) for name, value in feeds.items()})
    request = ov.Core().compile_model(graph, "CPU", config).create_infer_request()
    for name, value in feeds.items():
        request.set_tensor(name, ov.Tensor(value))
    return timed(request.infer)


def edgepack_round(model: Path, feeds: Feeds, target: str, folder: Path) -> Round:
    """The bench program of a bundle built for ``target``."""
    import edgepack

    bundle = edgepack.build(model, target=target, out=folder / f"{model.stem}-{target}")
    inputs = folder / f"{model.stem}.bin"
    inputs.write_bytes(b"".join(np.ascontiguousarray(value).tobytes() for value in feeds.values()))
    command = [str(bundle.program("bench").resolve()), "--input", str(inputs), "--threads", "1", "--json", "--samples"]

    def run(seconds: float) -> list[float]:
        done = subprocess.run([*command, "--seconds", f"{seconds:.2f}"], capture_output=True, check=True)
        return [1e-6 * sample for sample in json.loads(done.stdout)["samples"]]

    return run


def compare(rounds: Mapping[str, Round], count: int, seconds: float) -> dict[str, dict[str, float]]:
    """Minimum, median and ratio to the faster peer for every contestant."""
    times: dict[str, list[list[float]]] = {name: [] for name in rounds}
    for _ in range(count):
        for name, run in rounds.items():
            times[name].append(run(seconds))
    peers = [name for name in rounds if not name.startswith("edgepack")]

    def ratio(name: str, figure: Callable[[list[float]], float]) -> float:
        each = [figure(times[name][i]) / min(figure(times[peer][i]) for peer in peers) for i in range(count)]
        return statistics.median(each)

    return {
        name: {
            "min_ms": min(min(part) for part in parts),
            "median_ms": statistics.median(value for part in parts for value in part),
            "ratio_min": ratio(name, min),
            "ratio_median": ratio(name, statistics.median),
        }
        for name, parts in times.items()
    }


def main(arguments: Sequence[str]) -> None:
    """Time every model and print one table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", type=Path)
    parser.add_argument("--target", action="append", default=None, help="may be given more than once (default host)")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.0, help="of every contestant in every round")
    parser.add_argument("--json", type=Path, help="also write the figures there")
    options = parser.parse_args(arguments)
    results: dict[str, dict[str, dict[str, float]]] = {}
    print(
        f"{'model':22} {'program':28} {'min ms':>9} {'median':>9} {'/peer':>6}   (ratio of medians to the faster peer)"
    )
    with tempfile.TemporaryDirectory() as folder:
        for model in options.models:
            feeds = feeds_of(model)
            contestants = {
                f"edgepack {target}": edgepack_round(model, feeds, target, Path(folder))
                for target in options.target or ["host"]
            }
            contestants |= {"onnxruntime": onnxruntime_round(model, feeds), "openvino": openvino_round(model, feeds)}
            results[model.stem] = compare(contestants, options.rounds, options.seconds)
            for name, row in results[model.stem].items():
                figures = f"{row['min_ms']:9.4f} {row['median_ms']:9.4f} {row['ratio_median']:6.2f}"
                print(f"{model.stem:22} {name:28} {figures}", flush=True)
    if options.json:
        options.json.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
