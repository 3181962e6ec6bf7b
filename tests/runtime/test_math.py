"""The C harnesses of the mathematical functions and of the element-wise map, for every vector width and compiler."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.harness import ISAS, RUNTIME, WARNINGS, best_isa

HERE = Path(__file__).parent
RUNNABLE = [name for name in ISAS if ISAS[name][0].lanes <= ISAS[best_isa()][0].lanes]
COMPILERS = {"gcc": ["gcc"], "zig": [sys.executable, "-m", "ziglang", "cc"]}
_ZIG_MACHINE = {"-march=x86-64-v3": "-mcpu=x86_64_v3", "-march=x86-64-v4": "-mcpu=x86_64_v4"}


def build(source: str, compiler: str, isa: str, flags: list[str], folder: Path) -> Path:
    program = folder / "program"
    machine = ISAS[isa][1] if isa in ISAS else []
    if compiler == "zig":
        machine = [_ZIG_MACHINE.get(flag, flag) for flag in machine]
    command = [*COMPILERS[compiler], "-O2", "-ffp-contract=fast", *machine, *flags, f"-I{RUNTIME / 'include'}"]
    command += [str(HERE / source), "-o", str(program), "-lm"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:4000]
    return program


def run(program: list[str]) -> str:
    done = subprocess.run(program, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("isa", RUNNABLE)
def test_functions_keep_the_error_bounds_the_header_states(isa: str, compiler: str, tmp_path: Path) -> None:
    program = build("math_test.c", compiler, isa, ["-std=gnu99"], tmp_path)
    assert "exp " in run([str(program), "65521"])  # a prime: every exponent and sign, mantissas all over


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("isa", RUNNABLE)
def test_maps_may_be_cut_anywhere(isa: str, compiler: str, tmp_path: Path) -> None:
    run([str(build("map_test.c", compiler, isa, ["-std=c99", *WARNINGS], tmp_path))])


def test_maps_stay_inside_their_operands(tmp_path: Path) -> None:
    flags = ["-std=c99", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    run([str(build("map_test.c", "gcc", best_isa(), flags, tmp_path))])


EMULATED = {
    "qemu-aarch64": ["-target", "aarch64-linux-musl", "-mcpu=cortex_a72"],
    "qemu-arm": ["-target", "arm-linux-musleabihf", "-mcpu=cortex_a53"],
    "qemu-riscv64": ["-target", "riscv64-linux-musl"],
}


@pytest.mark.qemu
@pytest.mark.slow
@pytest.mark.parametrize("emulator", EMULATED)
def test_functions_and_maps_hold_on_other_architectures(emulator: str, tmp_path: Path) -> None:
    for source, arguments in (("math_test.c", ["1310711"]), ("map_test.c", [])):
        flags = [*EMULATED[emulator], "-static", "-std=gnu99"]
        run([emulator, str(build(source, "zig", "", flags, tmp_path)), *arguments])


@pytest.mark.wasm
@pytest.mark.slow
def test_functions_and_maps_hold_in_webassembly(tmp_path: Path) -> None:
    import wasmtime

    for source, arguments in (("math_test.c", ["1310711"]), ("map_test.c", [])):
        flags = ["-target", "wasm32-wasi", "-mcpu=generic+simd128", "-std=gnu99"]
        engine = wasmtime.Engine()
        linker = wasmtime.Linker(engine)
        linker.define_wasi()
        store = wasmtime.Store(engine)
        wasi = wasmtime.WasiConfig()
        wasi.argv = ["test", *arguments]
        wasi.stdout_file = str(tmp_path / "stdout")
        store.set_wasi(wasi)
        module = wasmtime.Module.from_file(engine, str(build(source, "zig", "", flags, tmp_path)))
        start = linker.instantiate(store, module).exports(store)["_start"]
        assert isinstance(start, wasmtime.Func)
        status = 0
        try:
            start(store)
        except wasmtime.ExitTrap as ended:
            status = ended.code
        assert status == 0, (tmp_path / "stdout").read_text()
