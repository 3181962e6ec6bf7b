"""GFLOP/s of every layer of a network: where a kernel or a register tile falls short of the machine's peak.

    python benchmarks/kernels/layers.py MODEL.onnx ... [--target host] [--seconds 2] [--all]

Figures are minima over the runs of one program on one thread.  ``benchmarks/networks.py`` makes the networks.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import edgepack
from packager.bench.report import Layer
from packager.bench.run import BenchOptions


def layers_of(model: Path, target: str, seconds: float) -> tuple[Layer, ...]:
    """Per-layer times of ``model`` built for ``target``."""
    with tempfile.TemporaryDirectory() as folder:
        bundle = edgepack.build(model, target=target, out=Path(folder) / model.stem)
        report = edgepack.bench(bundle, options=BenchOptions(seconds=seconds, per_layer=True, threads=1), check=False)
    return report.layers


def table(layers: Sequence[Layer], *, everything: bool) -> list[str]:
    """One line a layer, those without multiply-accumulates only on demand, and a total."""
    lines = [
        f"{1e-3 * layer.minimum:10.2f} us {2 * layer.macs / max(layer.minimum, 1):7.1f} GFLOP/s  "
        f"{layer.kernel:24} {layer.source}"
        for layer in layers
        if layer.macs or everything
    ]
    total = sum(layer.minimum for layer in layers)
    macs = sum(layer.macs for layer in layers)
    return [*lines, f"{1e-3 * total:10.2f} us {2 * macs / max(total, 1):7.1f} GFLOP/s  all steps"]


def main(arguments: Sequence[str]) -> None:
    """Print one table a model."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", type=Path)
    parser.add_argument("--target", default="host")
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--all", action="store_true", help="also steps without multiply-accumulates")
    options = parser.parse_args(arguments)
    for model in options.models:
        print(f"{model.stem} on {options.target}")
        print("\n".join(table(layers_of(model, options.target, options.seconds), everything=options.all)))


if __name__ == "__main__":
    main(sys.argv[1:])
