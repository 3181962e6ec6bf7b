"""edgepack's Python interface: ONNX model in, measured latency on the device out.

    import edgepack

    bundle = edgepack.build("model.onnx", target="rpi4")
    outputs = edgepack.run(bundle, {"image": pixels})
    print(edgepack.verify(bundle).passed)
    report = edgepack.bench(bundle, device="pi@raspberrypi.local")
    print(report.median_ms)

Everything raises :class:`EdgepackError` subclasses that say what, where and the way out.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from packager import __version__
from packager.errors import (
    BudgetError,
    BuildError,
    BundleError,
    ConfigError,
    DeviceError,
    EdgepackError,
    ModelError,
    VerifyError,
)
from packager.progress import Progress, silent

if TYPE_CHECKING:
    import numpy.typing as npt
    import onnx

    from packager.bench.report import BenchReport
    from packager.bench.run import BenchOptions
    from packager.bundle.bundle import Bundle
    from packager.deploy.transport import Transport
    from packager.verify.verify import Tolerance, VerifyReport

    Feeds = Mapping[str, npt.NDArray[Any]]

__all__ = [
    "BudgetError",
    "BuildError",
    "BundleError",
    "ConfigError",
    "DeviceError",
    "EdgepackError",
    "ModelError",
    "VerifyError",
    "__version__",
    "bench",
    "build",
    "load",
    "run",
    "verify",
]

PathLike = str | os.PathLike[str]


def build(
    model: PathLike | onnx.ModelProto,
    target: str = "host",
    *,
    out: PathLike | None = None,
    board: str | None = None,
    dims: Mapping[str, int] | None = None,
    states: Mapping[str, str] | None = None,
    name: str | None = None,
    threads: int | None = None,
    optimize: str = "speed",
    single_file: bool = False,
    selftest: bool = False,
    exports: Sequence[str] = (),
    progress: Progress = silent,
) -> Bundle:
    """Compile ``model`` for ``target`` into a bundle directory and return it.

    ``out`` defaults to ``<name>-<target>`` in the current directory; an older bundle there is replaced.  ``dims`` gives
    dynamic dimensions their values, ``{"batch": 1}``.  ``states`` makes outputs of a streaming model the inputs of its
    next call, ``{"h_out": "h_in"}``; neither is a port then.  ``threads`` of one inference default to the target's.
    ``optimize`` is ``speed``, ``size`` or ``ram``.
    ``single_file`` adds the model as one ``.c`` and one ``.h``, ``selftest`` a program that checks itself, ``exports``
    the package files of frameworks: ``zephyr``, ``platformio``, ``esp-idf``.
    Raises ModelError, ConfigError, BudgetError, BuildError, BundleError.
    """
    from packager import pipeline
    from packager.config.load import load_board, load_target

    source = model if not isinstance(model, str | os.PathLike) else Path(model)
    profile = load_target(target)
    built = pipeline.build(
        source,
        profile.with_threads(threads) if threads else profile,
        Path(out) if out is not None else None,
        board=load_board(board) if board else None,
        dims=dims or {},
        states=states or {},
        name=name,
        optimize=optimize,
        extras=pipeline.Extras(single_file, selftest, tuple(exports)),
        progress=progress,
    )
    return built.bundle


def load(path: PathLike) -> Bundle:
    """The bundle at ``path``, its files checked against the manifest; BundleError when something is wrong with it."""
    from packager.bundle.bundle import Bundle

    return Bundle.open(Path(path))


def run(
    bundle: Bundle | PathLike, feeds: Feeds, *, device: str | None = None, accept_new_host_key: bool = False
) -> dict[str, npt.NDArray[Any]]:
    """One inference: outputs by name, on this machine (in the target's emulator where needed) or on ``device``."""
    from packager import pipeline

    with _transport(device, accept_new_host_key, silent) as transport:
        return dict(pipeline.run(_bundle(bundle), feeds, transport=transport))


def verify(
    bundle: Bundle | PathLike,
    samples: Sequence[Feeds] | None = None,
    *,
    count: int = 1,
    seed: int = 0,
    tolerance: Tolerance | None = None,
    device: str | None = None,
    accept_new_host_key: bool = False,
    progress: Progress = silent,
) -> VerifyReport:
    """Compare a bundle with the reference implementation of its model on ``samples``, or on ``count`` random ones.

    The samples of a model with states are the frames of one stream, at least four random ones.
    """
    from packager import pipeline

    with _transport(device, accept_new_host_key, progress) as transport:
        return pipeline.verify(
            _bundle(bundle),
            samples,
            count=count,
            seed=seed,
            tolerance=tolerance,
            transport=transport,
            progress=progress,
        )


def bench(
    bundle: Bundle | PathLike,
    *,
    device: str | None = None,
    options: BenchOptions | None = None,
    feeds: Feeds | None = None,
    check: bool = True,
    accept_new_host_key: bool = False,
    progress: Progress = silent,
) -> BenchReport:
    """Measure a bundle: upload, warm up, run, check its outputs there, clean up.

    ``device`` is a name of devices.yaml or ``user@host[:port]``; without one it is measured on this machine, or in the
    target's emulator, whose times are marked as emulated.
    """
    from packager import pipeline

    with _transport(device, accept_new_host_key, progress) as transport:
        return pipeline.bench(
            _bundle(bundle), transport=transport, options=options, feeds=feeds, check=check, progress=progress
        )


def __dir__() -> list[str]:
    """The public names alone."""
    return sorted(__all__)


def _bundle(bundle: Bundle | PathLike) -> Bundle:
    return load(bundle) if isinstance(bundle, str | os.PathLike) else bundle


@contextlib.contextmanager
def _transport(device: str | None, accept_new_host_key: bool, progress: Progress) -> Iterator[Transport | None]:
    from packager import pipeline

    if device is None:
        yield None
        return
    with pipeline.open_device(device, accept_new_host_key=accept_new_host_key, progress=progress) as (transport, _, _):
        yield transport
