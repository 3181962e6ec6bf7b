"""Build the digits network for this machine and for a Raspberry Pi 4, recognise digits with both, measure both.

``make demo`` runs it.  The Raspberry Pi program runs under ``qemu-aarch64``; without it that half is left out.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console
from rich.table import Table

import edgepack
from packager.config.sizes import format_size

if TYPE_CHECKING:
    from packager.bench.report import BenchReport
    from packager.bundle.bundle import Bundle

HERE = Path(__file__).parent
FOLDER = HERE.parents[1] / "build/demo"
SHADES = " .:-=+*#%@"
console = Console()


def drawing(image: np.ndarray) -> str:
    """An 8x8 image in characters, two a pixel."""
    return "\n".join("".join(2 * SHADES[int(value * 9)] for value in row) for row in image[0, 0])


def build(folder: Path, target: str) -> Bundle:
    """The bundle for ``target``, with what is going on shown."""
    with console.status(f"building for {target}") as status:

        def progress(message: str, fraction: float | None = None) -> None:
            share = "" if fraction is None else f" {fraction:.0%}"
            status.update(f"building for {target}: {message}{share}")

        return edgepack.build(HERE / "digits.onnx", target, out=folder / f"digits-{target}", progress=progress)


def predictions(bundles: dict[str, Bundle]) -> Table:
    """What every program says of every image."""
    table = Table("image", *bundles, title="Predictions", show_lines=True)
    for file in sorted((HERE / "images").glob("*.npy")):
        image = np.load(file)
        cells = [drawing(image)]
        for bundle in bundles.values():
            scores = edgepack.run(bundle, {"image": image})["probabilities"][0]
            digit = int(scores.argmax())
            mark = "[green]" if digit == int(file.stem) else "[red]"
            cells.append(f"\n\n\n{mark}{digit}[/]  {scores[digit]:.1%}")
        table.add_row(*cells)
    return table


def sizes_and_times(bundles: dict[str, Bundle], reports: dict[str, BenchReport]) -> Table:
    """Footprint and time of every program."""
    table = Table("target", "MACs", "weights", "arena", "outputs", "median", "p99", title="Size and time")
    for target, bundle in bundles.items():
        report, manifest = reports[target], bundle.manifest
        table.add_row(
            target,
            f"{manifest.macs:,}",
            format_size(manifest.weights_bytes),
            format_size(manifest.arena_bytes),
            "checked" if report.outputs_match else "WRONG",
            f"{report.median * 1e-3:.1f} us",
            f"{report.p99 * 1e-3:.1f} us",
        )
    if any(report.emulated for report in reports.values()):
        table.caption = "rpi4 was emulated here: that is not a Raspberry Pi's latency"
    return table


def main() -> None:
    """Build, recognise, measure; the bundles stay in ``build/demo``."""
    targets = ["host", "rpi4"]
    if shutil.which("qemu-aarch64") is None:
        console.print("qemu-aarch64 is not installed (apt install qemu-user): the Raspberry Pi half is left out")
        targets.remove("rpi4")
    FOLDER.mkdir(parents=True, exist_ok=True)
    bundles = {target: build(FOLDER, target) for target in targets}
    console.print(predictions(bundles))
    reports = {target: edgepack.bench(bundle) for target, bundle in bundles.items()}
    console.print(sizes_and_times(bundles, reports))
    shown = FOLDER.relative_to(Path.cwd()) if FOLDER.is_relative_to(Path.cwd()) else FOLDER
    for bundle in bundles.values():
        console.print(f"bundle: {shown / bundle.directory.name}", highlight=False)
    device = f".venv/bin/edgepack bench {shown / 'digits-rpi4'} --device pi@raspberrypi.local"
    console.print(f"next, with a Raspberry Pi: [bold]{device}[/]", soft_wrap=True)


if __name__ == "__main__":
    main()
