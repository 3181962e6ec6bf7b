"""Compile a model to a shared object with the system's compiler and call it in this process.

This is the quickest way from an ONNX model to numbers: no bundle, no emulator; the C is built with the warnings users
build with, as errors.
"""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnx.helper as oh

from codegen_c.c_model import emit
from codegen_c.embed import EmbedStyle
from codegen_c.names import model_prefix
from packager.config.isa import Isa
from packager.frontend.load import load_model
from packager.lower.lower import lower, supported
from packager.memory.planner import plan
from packager.passes.layout import assign_layout
from packager.passes.optimize import optimize
from packager.program import DType, Program

RUNTIME = Path(__file__).parents[2] / "runtime_c"
WARNINGS = (
    "-Wall -Wextra -Werror -Wconversion -Wsign-conversion -Wshadow -Wcast-align -Wcast-qual -Wundef -Wvla "
    "-Wstrict-prototypes -Wmissing-prototypes -Wdouble-promotion -pedantic"
).split()

ISAS = {
    "scalar": (Isa("scalar", 1, 16), ["-DEP_F32_LANES=1"]),
    "sse": (Isa("sse", 4, 16), ["-DEP_F32_LANES=4"]),
    "avx2": (Isa("avx2", 8, 16), ["-march=x86-64-v3"]),
    "avx512": (Isa("avx512", 16, 32), ["-march=x86-64-v4", "-mprefer-vector-width=512"]),
}
"""Instruction sets this process may try, with the flags that select them also for hand-written C."""

Array = npt.NDArray[Any]


def best_isa() -> str:
    """The widest instruction set this machine runs."""
    flags = Path("/proc/cpuinfo").read_text()
    return "avx512" if "avx512vl" in flags else "avx2" if "avx2" in flags else "sse"


def node_model(
    op_type: str,
    inputs: Mapping[str, Array],
    outputs: Sequence[str] = ("y",),
    *,
    constants: Mapping[str, Array] | None = None,
    order: Sequence[str] | None = None,
    opset: int = 21,
    domain: str = "",
    **attributes: Any,
) -> onnx.ModelProto:
    """A model of one node; ``constants`` become initializers, ``order`` lists the inputs ('' leaves one out)."""
    constants = constants or {}
    names = list(order) if order is not None else [*inputs, *constants]
    node = oh.make_node(op_type, names, list(outputs), name="node", domain=domain, **attributes)
    graph = oh.make_graph(
        [node],
        "graph",
        [oh.make_tensor_value_info(n, oh.np_dtype_to_tensor_dtype(a.dtype), a.shape) for n, a in inputs.items()],
        [onnx.ValueInfoProto(name=name) for name in outputs if name],
        [onnx.numpy_helper.from_array(a, n) for n, a in constants.items()],
    )
    model = oh.make_model(graph, opset_imports=[oh.make_opsetid("", opset)], ir_version=10)
    return onnx.shape_inference.infer_shapes(model, data_prop=True)


def compile_program(
    model: onnx.ModelProto | Path,
    *,
    isa: str = "avx2",
    dims: Mapping[str, int] | None = None,
    fuse: bool = True,
    states: Mapping[str, str] | None = None,
    name: str = "network",
) -> Program:
    """The planned Program of ``model``."""
    loaded = load_model(model, dims=dims or {}, supported=supported)
    if fuse:
        optimize(loaded.model)
    assign_layout(loaded.model, ISAS[isa][0], halos=True)
    program = lower(loaded.model, name=name, isa=ISAS[isa][0], sha256=loaded.sha256, states=states or {})
    return plan(program)[0]


class _Port(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("dtype", ctypes.c_char_p),
        ("rank", ctypes.c_int),
        ("dims", ctypes.c_void_p),
        ("bytes", ctypes.c_size_t),
    )


class _Model(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("sha256", ctypes.c_char_p),
        *((field, ctypes.c_size_t) for field in ("ctx_bytes", "arena_bytes", "arena_align", "weights_bytes")),
        *((field, ctypes.c_int) for field in ("input_count", "output_count", "step_count")),
        ("inputs", ctypes.POINTER(_Port)),
        ("outputs", ctypes.POINTER(_Port)),
        ("steps", ctypes.c_void_p),
        ("init", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)),
        ("set_pool", ctypes.c_void_p),
        ("invoke", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)),
        ("step", ctypes.c_void_p),
        ("input", ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int)),
        ("output", ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int)),
        ("reset", ctypes.CFUNCTYPE(None, ctypes.c_void_p)),
    )


def _aligned(size: int) -> ctypes.Array[ctypes.c_char]:
    """``size`` bytes at a multiple of 64, filled with a pattern so that reading what nobody wrote shows."""
    raw = ctypes.create_string_buffer(b"\xff" * (size + 64), size + 64)
    shift = -ctypes.addressof(raw) % 64
    return (ctypes.c_char * size).from_buffer(raw, shift)


class KernelStatusError(RuntimeError):
    """The compiled network returned a status other than EP_OK."""

    def __init__(self, status: int) -> None:
        self.status = status
        super().__init__(f"ep_status {status}")


class Network:
    """One context of a compiled network."""

    def __init__(self, model: _Model) -> None:
        self._model = model
        self._ctx, self._arena = _aligned(model.ctx_bytes), _aligned(max(model.arena_bytes, 1))
        self._at = ctypes.addressof(self._ctx)
        status = model.init(self._at, ctypes.addressof(self._arena), model.arena_bytes)
        assert status == 0, f"init: ep_status {status}"

    def run(self, feeds: Mapping[str, Array]) -> dict[str, Array]:
        """One inference."""
        model = self._model
        for index in range(model.input_count):
            port = model.inputs[index]
            data = np.ascontiguousarray(feeds[port.name.decode()])
            assert data.dtype.name == port.dtype.decode()
            assert data.nbytes == port.bytes
            ctypes.memmove(model.input(self._at, index), data.ctypes.data, port.bytes)
        status = model.invoke(self._at)
        if status != 0:
            raise KernelStatusError(status)
        return {model.outputs[index].name.decode(): self._output(index) for index in range(model.output_count)}

    def reset(self) -> None:
        """Clear the states of a streaming network."""
        self._model.reset(self._at)

    def _output(self, index: int) -> Array:
        port = self._model.outputs[index]
        raw = ctypes.string_at(self._model.output(self._at, index), port.bytes)
        dims = (ctypes.c_ssize_t * port.rank).from_address(port.dims) if port.rank else ()
        return np.frombuffer(raw, DType.of(port.dtype.decode()).numpy).reshape(tuple(dims)).copy()


def run_program(
    program: Program, feeds: Mapping[str, Array], *, isa: str = "avx2", flags: Sequence[str] = ("-O1",)
) -> dict[str, Array]:
    """Build ``program`` and run it once."""
    return load_program(program, isa=isa, flags=flags).run(feeds)


def load_program(program: Program, *, isa: str = "avx2", flags: Sequence[str] = ("-O1",)) -> Network:
    """Build ``program`` and load it into this process."""
    prefix = model_prefix(program.name)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for path, data in emit(program, embed=EmbedStyle.INCBIN).items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(data)
        command = [
            "gcc",
            "-std=c99",
            "-shared",
            "-fPIC",
            "-fno-strict-aliasing",
            "-ffp-contract=fast",
            *WARNINGS,
            *flags,
        ]
        command += [*ISAS[isa][1], f"-I{RUNTIME / 'include'}", "-Iinclude", "-o", "network.so"]
        command += [f"src/{prefix}.c", f"src/{prefix}_weights.S"]
        done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[:4000]
        return open_library(root / "network.so", prefix)


def open_library(path: Path, prefix: str) -> Network:
    """A context of the model in a shared object, whose file may go away afterwards."""
    return Network(_Model.in_dll(ctypes.CDLL(str(path)), f"{prefix}_model"))


def run_model(
    model: onnx.ModelProto | Path,
    feeds: Mapping[str, Array],
    *,
    isa: str = "avx2",
    dims: Mapping[str, int] | None = None,
    fuse: bool = True,
    flags: Sequence[str] = ("-O1",),
) -> dict[str, Array]:
    """Outputs of ``model`` on ``feeds``, by name, as the compiled C computes them."""
    return run_program(compile_program(model, isa=isa, dims=dims, fuse=fuse), feeds, isa=isa, flags=flags)
