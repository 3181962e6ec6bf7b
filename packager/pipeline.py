"""The order of the stages: from an ONNX model to a bundle, from a bundle to numbers.  Start reading here."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from packager.progress import Progress, silent

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import onnx

    from packager.bench.report import BenchReport
    from packager.bench.run import BenchOptions
    from packager.build.artifact import Artifact
    from packager.bundle.bundle import Bundle
    from packager.bundle.manifest import Manifest
    from packager.config.board import Board
    from packager.config.device import Device
    from packager.config.target import Target
    from packager.deploy.ssh import SshTransport
    from packager.deploy.transport import Transport
    from packager.memory.report import MemoryReport
    from packager.program import Program
    from packager.verify.verify import Tolerance, VerifyReport

    Array = npt.NDArray[np.generic]
    Feeds = Mapping[str, Array]

NO_DIMS: Mapping[str, int] = {}
NO_STATES: Mapping[str, str] = {}
_SELF_TEST_CASES = 2
_FEWEST_FRAMES = 4
MEMORY_GOAL = 1.10
"""Arena over lower bound, beyond which a layout without padded lanes is tried."""
SMALL_CODE = ("-Os",)
"""What ``optimize="size"`` adds to the compiler's flags; the last level given counts."""
MODEL_FILE = "model/model.onnx"
"""The original model in a bundle, dimensions pinned, external data inside."""


@dataclass(frozen=True)
class Compiled:
    """A model as C sources for one target, before any compiler has seen them.

    ``sources`` maps paths in the bundle to bytes; ``original`` is the model as given, for verification; ``fused`` says
    what the passes did; ``parameters`` counts the values the model stores, the same for every target.
    """

    program: Program
    memory: MemoryReport
    sources: Mapping[str, bytes]
    original: onnx.ModelProto
    sha256: str
    fused: tuple[str, ...]
    warnings: tuple[str, ...]
    parameters: int


@dataclass(frozen=True)
class Extras:
    """What a bundle holds on request: the model as one ``.c`` and one ``.h``, a self-test, packages of frameworks."""

    single_file: bool = False
    self_test: bool = False
    exports: tuple[str, ...] = ()


NO_EXTRAS = Extras()


@dataclass(frozen=True)
class Built:
    """A bundle on disk and what was learned on the way."""

    bundle: Bundle
    compiled: Compiled


def compile_model(
    model: Path | onnx.ModelProto,
    target: Target,
    *,
    dims: Mapping[str, int] = NO_DIMS,
    states: Mapping[str, str] = NO_STATES,
    name: str | None = None,
    optimize: str = "speed",
    progress: Progress = silent,
) -> Compiled:
    """``model`` as C for ``target``: load, fuse, lay out, lower, plan, print.

    ``dims`` gives dynamic dimensions their values; ``states`` maps outputs to the inputs they are at the next call;
    ``optimize`` is speed, size or ram.  Raises ConfigError for a ``name`` that is no prefix of C names, ModelError for
    what the model asks for and no kernel does, BudgetError when the plan does not fit.
    """
    from codegen_c.c_model import emit
    from codegen_c.names import check_prefix
    from packager.build.toolchain import embed_style
    from packager.frontend.load import load_model
    from packager.frontend.summary import count_parameters
    from packager.lower.lower import lower, supported
    from packager.memory.planner import plan
    from packager.memory.report import check_budget
    from packager.passes.layout import assign_layout
    from packager.passes.optimize import optimize as run_passes

    if name is not None:
        check_prefix(name)
    loaded = load_model(model, dims=dims, supported=supported, progress=progress)
    progress("fusing operators")
    fused = run_passes(loaded.model)

    def arrange(exact: bool) -> tuple[Program, MemoryReport]:
        graph = loaded.model.clone()
        halos = target.halos and optimize != "ram"
        assign_layout(graph, target.vector_isa(), halos=halos, exact=exact)
        progress("lowering to kernels")
        lowered = lower(
            graph,
            name=name or loaded.name,
            isa=target.vector_isa(),
            threads=target.threads,
            sha256=loaded.sha256,
            states=states,
        )
        return plan(lowered, progress=progress)

    program, memory = arrange(exact=optimize == "ram")
    if memory.ratio > MEMORY_GOAL:
        program, memory = min((program, memory), arrange(exact=True), key=lambda found: found[1].arena_bytes)
    check_budget(memory, target.budget.ram, target.name)
    progress("printing C")
    return Compiled(
        program=program,
        memory=memory,
        sources=emit(program, embed=embed_style(target)),
        original=loaded.original,
        sha256=loaded.sha256,
        fused=fused,
        warnings=loaded.warnings,
        parameters=count_parameters(loaded.original),
    )


def build(
    model: Path | onnx.ModelProto,
    target: Target,
    out: Path | None = None,
    *,
    board: Board | None = None,
    dims: Mapping[str, int] = NO_DIMS,
    states: Mapping[str, str] = NO_STATES,
    name: str | None = None,
    optimize: str = "speed",
    extras: Extras = NO_EXTRAS,
    progress: Progress = silent,
) -> Built:
    """A bundle of ``model`` for ``target`` at ``out`` (default: ``<name>-<target>`` here).

    Nothing half-written is left behind, whatever fails.  A target without an operating system needs a ``board``;
    the first that is made for it is the default.
    """
    from packager.build.compile import compile_bundle
    from packager.bundle.write import publish, staging

    board = board or _default_board(target)
    compiled = compile_model(model, target, dims=dims, states=states, name=name, optimize=optimize, progress=progress)
    destination = out or Path(f"{compiled.program.name}-{target.name}")
    target = _adapted(target, compiled.program.threads, optimize)
    sources = {**compiled.sources, **extra_sources(compiled, extras, progress)}
    with staging(destination) as directory:
        artifact = compile_bundle(
            sources, target, name=compiled.program.name, directory=directory, board=board, progress=progress
        )
        manifest = manifest_of(compiled, target, board, artifact)
        write_model(compiled, directory, model if isinstance(model, Path) and not dims else None)
        write_reports(compiled, manifest, directory)
        bundle = publish(directory, destination, manifest)
    return Built(bundle, compiled)


def _adapted(target: Target, threads: int, optimize: str) -> Target:
    """The profile as this model is compiled with it: without threads that nothing uses, with small code on request."""
    cflags = (*target.cflags, *SMALL_CODE) if optimize == "size" else target.cflags
    return target.model_copy(update={"threads": threads, "cflags": cflags})


def extra_sources(compiled: Compiled, extras: Extras, progress: Progress = silent) -> dict[str, bytes]:
    """The files that ``extras`` asks for."""
    from codegen_c.c_model import emit, serial
    from codegen_c.embed import EmbedStyle
    from codegen_c.firmware import export_files
    from codegen_c.names import model_prefix
    from codegen_c.selftest import self_test_source
    from packager.build.single_file import single_file
    from packager.verify.selftest import self_test_cases

    program, prefix = compiled.program, model_prefix(compiled.program.name)
    sources = export_files(prefix, extras.exports)
    if extras.single_file or "platformio" in extras.exports:
        made = emit(serial(program), embed=EmbedStyle.ARRAY)
        texts = [made[path].decode() for path in (f"src/{prefix}.c", f"src/{prefix}_weights.c")]
        sources |= single_file(prefix, made[f"include/{prefix}.h"].decode(), texts)
    if extras.self_test:
        progress("computing the self-test's outputs")
        cases = self_test_cases(compiled.original, program, _SELF_TEST_CASES)
        sources[f"test/{prefix}_selftest.c"] = self_test_source(program, prefix, cases).encode()
    return sources


def run(bundle: Bundle, feeds: Feeds, *, transport: Transport | None = None) -> dict[str, Array]:
    """One inference of a built model on this machine (or in the target's emulator), or on ``transport``."""
    from packager.deploy.execute import runner

    with runner(bundle, transport or transport_of(bundle)) as call:
        return bundle.run(feeds, lambda _, data: call(data))


def verify(
    bundle: Bundle,
    samples: Sequence[Feeds] | None = None,
    *,
    count: int = 1,
    seed: int = 0,
    tolerance: Tolerance | None = None,
    transport: Transport | None = None,
    progress: Progress = silent,
) -> VerifyReport:
    """Compare a bundle's outputs with the reference implementation of its own model.

    ``samples`` default to ``count`` random ones with a fixed ``seed``.  For a model with states they are the frames of
    one stream, and at least four random ones: zeros, which a stream begins with, would hide faults.
    """
    import onnx

    from packager.deploy.execute import runner
    from packager.verify.verify import first_call, random_feeds
    from packager.verify.verify import verify as compare

    model, states = onnx.load(bundle.directory / MODEL_FILE), bundle.manifest.states
    count = max(count, _FEWEST_FRAMES) if states else count
    chosen = list(samples) if samples is not None else random_feeds(first_call(model, states), count, seed)
    with runner(bundle, transport or transport_of(bundle)) as call:
        run = _stream(bundle, chosen, call) if states else _each(bundle, call)
        return compare(model, run, chosen, tolerance=tolerance, states=states, progress=progress)


def _each(bundle: Bundle, call: Callable[[bytes], bytes]) -> Callable[[Feeds], Mapping[str, Array]]:
    return lambda feeds: bundle.run(feeds, lambda _, data: call(data))


def _stream(
    bundle: Bundle, frames: Sequence[Feeds], call: Callable[[bytes], bytes]
) -> Callable[[Feeds], Mapping[str, Array]]:
    """What a bundle with states gives for ``frames``, in their order: they run in one call of its program."""
    from packager.bundle.tensors import pack, unpack_frames

    packed = b"".join(pack(bundle.manifest.inputs, frame) for frame in frames)
    outputs = iter(unpack_frames(bundle.manifest.outputs, call(packed), len(frames)))
    return lambda _: next(outputs)


def bench(
    bundle: Bundle,
    *,
    transport: Transport | None = None,
    options: BenchOptions | None = None,
    feeds: Feeds | None = None,
    check: bool = True,
    timeout: float | None = None,
    progress: Progress = silent,
) -> BenchReport:
    """Measure a bundle on ``transport`` (default: this machine or the target's emulator); outputs are checked there."""
    import onnx

    from packager.bench.run import bench as measure
    from packager.bundle.tensors import pack, unpack
    from packager.verify.verify import Reference, check_outputs, first_call, random_feeds

    _check_threads(bundle, options)
    model = first_call(onnx.load(bundle.directory / MODEL_FILE), bundle.manifest.states)
    chosen = feeds or random_feeds(model, 1, 0)[0]

    def matches(data: bytes) -> tuple[bool, float]:
        progress("checking the outputs against the reference")
        report = check_outputs(Reference(model), chosen, unpack(bundle.manifest.outputs, data))
        return report.passed, max((output.max_abs for output in report.outputs), default=0.0)

    return measure(
        bundle.program("bench"),
        transport or transport_of(bundle),
        target=bundle.target_name,
        macs=bundle.manifest.macs,
        inputs=pack(bundle.manifest.inputs, chosen),
        check_outputs=matches if check else None,
        options=options,
        timeout=timeout,
        progress=progress,
    )


def _check_threads(bundle: Bundle, options: BenchOptions | None) -> None:
    """DeviceError when more threads are asked for than the program knows of."""
    from packager.errors import DeviceError, Problem

    wanted = options.threads if options else None
    if wanted is None or wanted == 1 or bundle.target().threads > 1:
        return
    what = f"the program runs on one thread, not on {wanted}"
    hint = f"build it with --threads {wanted}; a model without a step worth sharing always runs on one"
    raise DeviceError(Problem("EP0720", what, str(bundle.directory), hint))


def transport_of(bundle: Bundle) -> Transport:
    """Where a bundle's programs run on this machine."""
    from packager.config.load import load_board
    from packager.deploy.places import local_transport

    board = bundle.manifest.board
    return local_transport(bundle.target(), load_board(board) if board else None)


@contextlib.contextmanager
def open_device(
    spec: str, *, accept_new_host_key: bool = False, progress: Progress = silent
) -> Iterator[tuple[SshTransport, Device, Board | None]]:
    """A connection to the device called ``spec`` (a name of devices.yaml or ``user@host[:port]``), and its profiles."""
    from packager.config.load import load_board, load_device
    from packager.deploy.ssh import open_ssh

    device = load_device(spec)
    board = load_board(device.board) if device.board else None
    with open_ssh(device, accept_new_host_key=accept_new_host_key, progress=progress) as transport:
        yield transport, device, board


def _default_board(target: Target) -> Board | None:
    from packager.config.load import available, load_board

    if not target.is_freestanding:
        return None
    boards = (load_board(found.file) for found in available("boards"))
    return next((board for board in boards if board.target == target.name), None)


def manifest_of(compiled: Compiled, target: Target, board: Board | None, artifact: Artifact) -> Manifest:
    """What the bundle says about itself."""
    from packager import __version__
    from packager.bundle.manifest import Manifest, PortInfo

    program = compiled.program
    paths = {"run": artifact.run, "bench": artifact.bench, "selftest": artifact.self_test}
    programs = {name: artifact.relative(path) for name, path in paths.items() if path is not None}
    return Manifest(
        name=program.name,
        target=target.name,
        edgepack=__version__,
        model_sha256=compiled.sha256,
        inputs=tuple(PortInfo.of(port) for port in program.inputs),
        outputs=tuple(PortInfo.of(port) for port in program.outputs),
        macs=program.macs,
        parameters=compiled.parameters,
        arena_bytes=program.arena_bytes,
        arena_lower_bound=compiled.memory.lower_bound,
        weights_bytes=artifact.sections.weights,
        stack_max=artifact.stack_max or 0,
        board=board.name if board else "",
        profile=target.model_dump(mode="json", by_alias=True),
        flags=artifact.flags,
        sections=artifact.sections.as_dict(),
        programs=programs,
        states={state.output: state.input for state in program.states},
        fused=compiled.fused,
        warnings=compiled.warnings,
    )


def write_model(compiled: Compiled, directory: Path, file: Path | None) -> None:
    """The model as it was given, which ``edgepack verify`` compares with: a copy of ``file`` when that says it all."""
    import shutil

    import onnx

    from packager.bundle.bundle import sha256_of

    (directory / MODEL_FILE).parent.mkdir(exist_ok=True)
    if (
        file is not None and file.is_file() and sha256_of(file) == compiled.sha256
    ):  # no external data, not changed since
        shutil.copyfile(file, directory / MODEL_FILE)
    else:
        onnx.save(compiled.original, directory / MODEL_FILE)


def write_reports(compiled: Compiled, manifest: Manifest, directory: Path) -> None:
    """The memory plan, the steps, and all that as a page."""
    import json

    from packager.bundle.bundle import Bundle
    from packager.report.layers import build_document
    from packager.report.page import page

    (directory / "report").mkdir(exist_ok=True)
    for name, data in {"memory": compiled.memory.to_json(), "build": build_document(compiled.program, {})}.items():
        text = json.dumps(data, indent=2, sort_keys=True)
        (directory / f"report/{name}.json").write_text(text + "\n", "utf-8")
    (directory / "report/report.html").write_text(page(Bundle(directory, manifest)), "utf-8")
