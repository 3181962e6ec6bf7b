"""The same programs on other machines: Arm Linux and bare Cortex-M under QEMU, WebAssembly in wasmtime."""

from __future__ import annotations

import hashlib
import json
import subprocess
from pathlib import Path

import pytest

from packager.build.artifact import Artifact
from tests.build.tiny import build_tiny, tiny_input, tiny_output


def build(target: str, factory: pytest.TempPathFactory) -> Artifact:
    return build_tiny(target, factory.mktemp(target))


@pytest.fixture
def inputs(tmp_path: Path) -> Path:
    path = tmp_path / "in.bin"
    path.write_bytes(tiny_input())
    return path


@pytest.fixture(scope="module")
def aarch64(tmp_path_factory: pytest.TempPathFactory) -> Artifact:
    return build("rpi4", tmp_path_factory)


@pytest.mark.qemu
def test_aarch64_runs_with_its_threads(aarch64: Artifact, inputs: Path, tmp_path: Path) -> None:
    subprocess.run(["qemu-aarch64", aarch64.run, inputs, tmp_path / "out.bin"], check=True)
    assert (tmp_path / "out.bin").read_bytes() == tiny_output()


@pytest.mark.qemu
def test_aarch64_names_itself(aarch64: Artifact) -> None:
    result = subprocess.run(["qemu-aarch64", aarch64.bench, "--arch"], capture_output=True, check=True)
    assert result.stdout.split()[0] == b"aarch64"


# -- bare metal --------------------------------------------------------------------------------------------------------


def semihosted(program: Path, *arguments: object, cwd: Path) -> subprocess.CompletedProcess[bytes]:
    """Run a bare-metal program; its arguments are the words of the semihosting command line."""
    words = ["program", *map(str, arguments)]
    options = ",".join(["enable=on", "target=native", *(f"arg={word}" for word in words)])
    machine = "qemu-system-arm -M mps2-an386 -icount shift=0 -nographic -monitor none -serial none".split()
    command = [*machine, "-kernel", str(program), "-semihosting-config", options]
    return subprocess.run(command, cwd=cwd, capture_output=True, check=False, timeout=60, stdin=subprocess.DEVNULL)


@pytest.fixture(scope="module")
def cortex_m(tmp_path_factory: pytest.TempPathFactory) -> Artifact:
    return build("cortex-m4f", tmp_path_factory)


@pytest.mark.qemu_system
def test_cortex_m_reads_and_writes_files_by_semihosting(cortex_m: Artifact, inputs: Path, tmp_path: Path) -> None:
    result = semihosted(cortex_m.run, inputs.name, "out.bin", cwd=tmp_path)
    assert (result.returncode, result.stdout, result.stderr) == (0, b"", b"")
    assert (tmp_path / "out.bin").read_bytes() == tiny_output()


@pytest.mark.qemu_system
def test_cortex_m_fails_with_a_line_and_an_exit_code(cortex_m: Artifact, inputs: Path, tmp_path: Path) -> None:
    result = semihosted(cortex_m.run, "missing.bin", "out.bin", cwd=tmp_path)
    assert (result.returncode, result.stderr.count(b"\n")) == (1, 1)
    assert b"missing.bin" in result.stderr
    assert semihosted(cortex_m.run, cwd=tmp_path).returncode == 2
    inputs.write_bytes(tiny_input(index=-1))
    assert b"out of range" in semihosted(cortex_m.run, inputs.name, "out.bin", cwd=tmp_path).stderr


@pytest.mark.qemu_system
def test_cortex_m_counts_instructions_repeatably(cortex_m: Artifact, inputs: Path, tmp_path: Path) -> None:
    options = ["--input", inputs.name, "--runs", 3, "--per-layer", "--samples", "--json"]
    reports = [json.loads(semihosted(cortex_m.bench, *options, cwd=tmp_path).stdout) for _ in range(2)]
    assert reports[0] == reports[1]
    assert (reports[0]["unit"], reports[0]["machine"]) == ("instructions", "arm")
    assert len(set(reports[0]["samples"])) == 1
    assert 64 * 5 < reports[0]["min"] < 64 * 60  # two loops of 64 elements
    assert reports[0]["output_sha256"] == hashlib.sha256(tiny_output()).hexdigest()


@pytest.mark.qemu_system
def test_cortex_m_hashes_files(cortex_m: Artifact, inputs: Path, tmp_path: Path) -> None:
    result = semihosted(cortex_m.bench, "--sha256", inputs.name, cwd=tmp_path)
    assert result.stdout.split()[0].decode() == hashlib.sha256(tiny_input()).hexdigest()


@pytest.mark.qemu_system
def test_cortex_m_refuses_threads_it_does_not_have(cortex_m: Artifact, tmp_path: Path) -> None:
    result = semihosted(cortex_m.bench, "--threads", 2, cwd=tmp_path)
    assert result.returncode == 1
    assert b"threads or processors are not available" in result.stderr


def test_cortex_m_keeps_the_weights_in_flash_and_the_vectors_at_its_start(cortex_m: Artifact) -> None:
    from packager.build.objects import open_elf

    elf = open_elf(cortex_m.run.read_bytes())
    text, rodata = elf.get_section_by_name(".text"), elf.get_section_by_name(".rodata")
    assert text is not None
    assert rodata is not None
    assert text["sh_addr"] == 0
    stack_top, entry = (int.from_bytes(text.data()[i : i + 4], "little") for i in (0, 4))
    assert stack_top == 0x20400000
    assert entry == elf["e_entry"]
    assert rodata["sh_addr"] + rodata["sh_size"] < 0x400000
    assert tiny_weights() in rodata.data()


def tiny_weights() -> bytes:
    from tests.build.tiny import PATTERN

    return PATTERN.tobytes()


# -- WebAssembly -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def wasm(tmp_path_factory: pytest.TempPathFactory) -> Artifact:
    return build("wasm32-wasi", tmp_path_factory)


def in_wasmtime(program: Path, *arguments: object, directory: Path) -> tuple[int, bytes, bytes]:
    """Exit code, standard output and error of a WASI command that sees ``directory`` as its own."""
    import wasmtime

    engine = wasmtime.Engine()
    store = wasmtime.Store(engine)
    config = wasmtime.WasiConfig()
    config.argv = [program.name, *map(str, arguments)]
    config.preopen_dir(str(directory), ".")
    config.stdout_file = str(directory / "stdout")
    config.stderr_file = str(directory / "stderr")
    store.set_wasi(config)
    linker = wasmtime.Linker(engine)
    linker.define_wasi()
    instance = linker.instantiate(store, wasmtime.Module(engine, program.read_bytes()))
    start = instance.exports(store)["_start"]
    assert isinstance(start, wasmtime.Func)
    code = 0
    try:
        start(store)
    except wasmtime.ExitTrap as trap:
        code = trap.code
    return code, (directory / "stdout").read_bytes(), (directory / "stderr").read_bytes()


@pytest.mark.wasm
def test_wasm_reads_and_writes_files_of_its_directory(wasm: Artifact, inputs: Path, tmp_path: Path) -> None:
    assert in_wasmtime(wasm.run, inputs.name, "out.bin", directory=tmp_path) == (0, b"", b"")
    assert (tmp_path / "out.bin").read_bytes() == tiny_output()


@pytest.mark.wasm
def test_wasm_fails_with_a_line_and_an_exit_code(wasm: Artifact, tmp_path: Path) -> None:
    code, _, stderr = in_wasmtime(wasm.run, "missing.bin", "out.bin", directory=tmp_path)
    assert (code, stderr.count(b"\n")) == (1, 1)
    assert b"missing.bin" in stderr


@pytest.mark.wasm
def test_wasm_bench_reports_json(wasm: Artifact, inputs: Path, tmp_path: Path) -> None:
    options = ["--json", "--runs", 4, "--warmup", 0, "--input", inputs.name]
    code, stdout, _ = in_wasmtime(wasm.bench, *options, directory=tmp_path)
    report = json.loads(stdout)
    assert (code, report["machine"], report["unit"], report["runs"]) == (0, "wasm32", "ns", 4)
    assert report["output_sha256"] == hashlib.sha256(tiny_output()).hexdigest()


def test_wasm_modules_import_only_wasi(wasm: Artifact) -> None:
    from packager.build.wasm_check import WASI, imports

    assert {module for module, _ in imports(wasm.run.read_bytes())} == {WASI}
    assert wasm.sections.weights == 16
