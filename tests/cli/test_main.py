"""What all commands share: start-up, exit codes, errors as text and as JSON."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import packager
from packager.cli.main import main
from tests.cli.conftest import Edgepack

HEAVY = (
    "onnx",
    "onnx_ir",
    "onnxscript",
    "numpy",
    "paramiko",
    "pydantic",
    "yaml",
    "elftools",
    "onnxruntime",
    "wasmtime",
)


def test_help_imports_nothing_heavy() -> None:
    program = (
        "import sys\n"
        "from packager.cli.main import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        f"print(','.join(name for name in {HEAVY!r} if name in sys.modules), file=sys.stderr)\n"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "targets" in ended.stdout
    assert ended.stderr.strip() == ""


@pytest.mark.parametrize("name", ["größe", os.fsdecode(b"\xff")])
def test_names_that_the_output_cannot_encode_are_escaped(name: str) -> None:
    command = [sys.executable, "-c", "from packager.cli.main import main; main()", "targets", name]
    ended = subprocess.run(command, capture_output=True, check=False, env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert ended.returncode == 1
    assert ended.stderr.startswith(b"error[EP0301]: there is no target '")
    assert name.encode("ascii", "backslashreplace") in ended.stderr


def test_a_machine_without_room_for_temporary_files_is_no_bug(tmp_path: Path) -> None:
    """No file may hold a byte, as on a full disk."""
    digits = Path(__file__).parents[2] / "examples" / "digits" / "digits.onnx"
    program = (
        "import resource, signal\n"
        "from packager.cli.main import main\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\n"
        f"main(['verify', {str(digits)!r}])\n"
    )
    command = [sys.executable, "-c", program]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert ended.returncode == 1, ended.stderr
    assert ended.stderr.startswith("error[EP0605]: No usable temporary directory found")
    assert "hint: free some space, or set TMPDIR" in ended.stderr


def test_too_little_memory_is_no_bug(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def exhausted(name: str) -> None:
        raise MemoryError(f"Unable to allocate 9 PiB for {name}")

    monkeypatch.setattr("packager.config.load.load_target", exhausted)
    with pytest.raises(SystemExit) as ended:
        main(["targets", "rpi4"])
    assert ended.value.code == 1
    assert "error[EP0404]: this machine has too little memory for it: Unable to allocate" in capfd.readouterr().err


def test_the_version_is_printed(edgepack: Edgepack) -> None:
    assert edgepack("--version").out == f"edgepack {packager.__version__}\n"


@pytest.mark.parametrize("arguments", [("tragets",), ("targets", "--jsn"), ("schema", "car")])
def test_wrong_usage_is_exit_code_2(edgepack: Edgepack, arguments: tuple[str, ...]) -> None:
    ran = edgepack(*arguments)
    assert ran.code == 2
    assert ran.out == ""


def test_an_error_is_one_line_what_one_line_hint_and_exit_code_1(edgepack: Edgepack) -> None:
    ran = edgepack("targets", "rpi44")
    assert ran.code == 1
    assert ran.err.splitlines() == [
        "error[EP0301]: there is no target 'rpi44'",
        "  hint: did you mean 'rpi4'? `edgepack targets` lists them",
    ]


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (("build", "x.onnx", "--board", "rpi4"), "'rpi4' is a target: write `--target rpi4`"),
        (("build", "x.onnx", "--target", "raspberry-pi-4b"), "write `--board raspberry-pi-4b`"),
        (("targets", "zzzz"), "x86_64-linux-avx512; `edgepack targets` lists them"),
        (("ops", "Convv"), "did you mean 'Conv'?"),
        (("ops", "zzzz"), "`edgepack ops` lists all"),
    ],
)
def test_a_name_that_is_none_comes_with_the_way_out(edgepack: Edgepack, arguments: tuple[str, ...], hint: str) -> None:
    ran = edgepack(*arguments)
    assert ran.code == 1
    assert hint in ran.err


def test_a_misspelt_device_is_not_taken_for_a_host(edgepack: Edgepack) -> None:
    file = Path("config/edgepack/devices.yaml")
    file.parent.mkdir(parents=True)
    file.write_text("schema: 1\ndevices:\n  kitchen: {host: 10.0.0.7}\n")
    ran = edgepack("deploy", "--device", "kitchne", "--list")
    assert ran.code == 1
    assert "error[EP0311]: 'kitchne' is neither" in ran.err
    assert "did you mean 'kitchen'?" in ran.err


def test_flags_are_shown_without_a_value(edgepack: Edgepack) -> None:
    for command in ("build", "bench", "deploy", "inspect"):
        assert "<bool>" not in edgepack(command, "--help").out


def test_with_json_an_error_is_a_document_too(edgepack: Edgepack) -> None:
    ran = edgepack("targets", "rpi44", "--json")
    assert ran.code == 1
    assert ran.json["kind"] == "error"
    assert [problem["code"] for problem in ran.json["problems"]] == ["EP0301"]


def test_a_bug_is_exit_code_70_without_a_traceback(edgepack: Edgepack, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_name: str) -> None:
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr("packager.config.load.load_target", broken)
    ran = edgepack("targets", "rpi4")
    assert ran.code == 70
    assert "internal error: ZeroDivisionError: by zero" in ran.err
    assert "Traceback" not in ran.err


@pytest.mark.parametrize("arguments", [["--traceback", "targets", "rpi44"], ["targets", "rpi44", "--traceback"]])
def test_traceback_shows_where_an_error_was_raised(arguments: list[str]) -> None:
    program = f"from packager.cli.main import main; main({arguments!r})"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert "Traceback" in ended.stderr
    assert "config/load.py" in ended.stderr


def test_interrupting_a_command_is_exit_code_130(edgepack: Edgepack, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_name: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("packager.config.load.load_target", interrupted)
    assert edgepack("targets", "rpi4").code == 130
