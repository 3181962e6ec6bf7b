"""A whole generated network and the run program under gcc's sanitizers: no access outside arena or weights, no
undefined behaviour, no data race between threads.  The arena is one heap block: a step beyond its end is seen.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import numpy as np
import onnx
import onnx.reference
import pytest

from codegen_c.c_model import emit
from codegen_c.embed import EmbedStyle
from codegen_c.names import model_prefix
from packager.build.runtime_files import common_sources, main_source, parallel_source, port_sources, runtime_files
from packager.config.load import load_target
from packager.frontend.load import load_model
from packager.lower.lower import lower, supported
from packager.memory.planner import plan
from packager.passes.layout import assign_layout
from packager.passes.optimize import optimize
from packager.program import Program
from tests.support import ISAS
from tests.support.harness import best_isa

DIGITS = Path(__file__).parents[2] / "examples" / "digits" / "digits.onnx"
FLAGS = "-std=gnu11 -O1 -g -ffp-contract=fast -fno-strict-aliasing -pthread -fno-sanitize-recover=all".split()
ENVIRONMENT = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0"}  # the program's memory lives as long as it does


def digits_program(isa: str, threads: int) -> Program:
    loaded = load_model(DIGITS, supported=supported)
    optimize(loaded.model)
    assign_layout(loaded.model, ISAS[isa][0], halos=True)
    program = lower(loaded.model, name="digits", isa=ISAS[isa][0], sha256=loaded.sha256, threads=threads)
    return plan(program)[0]


def run_sanitized(program: Program, isa: str, sanitizer: str, data: bytes, directory: Path) -> bytes:
    """Compile the network with the run program and call it once."""
    target = load_target("x86_64-linux").model_copy(update={"threads": program.threads})
    sources = emit(program, embed=EmbedStyle.ARRAY)
    for path, text in {**runtime_files(sources, target), **sources}.items():
        (directory / path).parent.mkdir(parents=True, exist_ok=True)
        (directory / path).write_bytes(text)
    prefix = model_prefix(program.name)
    units = [f"src/{prefix}.c", f"src/{prefix}_weights.c", *common_sources(), "runtime/src/ep_status.c"]
    units += [main_source("run"), parallel_source(target), *port_sources(target), "runtime/src/ep_built_for.c"]
    includes = ["-Iinclude", "-Iruntime/include", "-Iruntime/src"]
    defines = [f"-DEP_MODEL={prefix}_model", f"-DEP_THREADS={program.threads}"]
    defines += ["-DEP_NO_THREADS"] if program.threads == 1 else []
    command = ["gcc", *FLAGS, f"-fsanitize={sanitizer}", *ISAS[isa][1], *includes, *defines, *units, "-o", "run"]
    subprocess.run(command, cwd=directory, check=True)
    done = subprocess.run([directory / "run", "-", "-"], input=data, env=ENVIRONMENT, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()[-4000:]
    return done.stdout


def reference(
    x: np.ndarray[tuple[int, ...], np.dtype[np.float32]],
) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    model = onnx.load(DIGITS)
    (result,) = onnx.reference.ReferenceEvaluator(model).run(None, {model.graph.input[0].name: x})
    return np.asarray(result, np.float32)


def some_digit(program: Program) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    shape = tuple(int(dim) for dim in program.inputs[0].dims if isinstance(dim, int))
    return np.random.default_rng(5).random(shape, np.float32)


@pytest.mark.parametrize("isa", ["scalar", best_isa()])
def test_a_network_stays_within_its_memory_and_the_language(isa: str, tmp_path: Path) -> None:
    program = digits_program(isa, threads=1)
    x = some_digit(program)
    output = run_sanitized(program, isa, "address,undefined", x.tobytes(), tmp_path)
    expected = reference(x)
    np.testing.assert_allclose(
        np.frombuffer(output, np.float32).reshape(expected.shape), expected, rtol=1e-4, atol=1e-5
    )


def test_threads_of_a_network_do_not_race(tmp_path: Path) -> None:
    program = digits_program(best_isa(), threads=3)
    x = some_digit(program)
    output = run_sanitized(program, best_isa(), "thread", x.tobytes(), tmp_path)
    expected = reference(x)
    np.testing.assert_allclose(
        np.frombuffer(output, np.float32).reshape(expected.shape), expected, rtol=1e-4, atol=1e-5
    )
