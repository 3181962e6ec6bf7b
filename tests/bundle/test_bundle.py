"""Bundles: what is written is what is opened, and damage is told apart from everything else."""

from __future__ import annotations

import json
import os
import resource
import signal
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from packager.bundle.bundle import Bundle
from packager.bundle.manifest import Manifest, PortInfo
from packager.bundle.write import publish, staging, write_bundle
from packager.errors import BundleError, DeviceError, VerifyError

FILES = {"include/net.h": b"/* api */\n", "bin/net-run": b"\x7fELF", "weights/ab12.bin": bytes(range(256))}


def manifest(**changes: object) -> Manifest:
    base: dict[str, object] = {
        "name": "net",
        "target": "host",
        "edgepack": "0.1.0",
        "model_sha256": "ab" * 32,
        "inputs": (PortInfo("image", "float32", (1, 2), 8), PortInfo("k", "int64", (), 8)),
        "outputs": (PortInfo("größe", "float32", (2,), 8),),
        "macs": 12,
        "parameters": 3,
        "arena_bytes": 128,
        "arena_lower_bound": 100,
        "weights_bytes": 256,
        "programs": {"run": "bin/net-run"},
        "warnings": ("float16 tensors are computed in float32",),
    }
    return Manifest(**{**base, **changes})  # type: ignore[arg-type]  # a test's shorthand


def built(where: Path) -> Bundle:
    return write_bundle(where, FILES, manifest())


def leftovers(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def test_a_written_bundle_opens_with_the_same_manifest(tmp_path: Path) -> None:
    written = built(tmp_path / "net-host")
    opened = Bundle.open(tmp_path / "net-host")
    assert opened.manifest == written.manifest
    assert {info.path for info in opened.manifest.files} == set(FILES)
    assert opened.program("run").read_bytes() == FILES["bin/net-run"]
    assert leftovers(tmp_path) == ["net-host"]


def test_a_bundle_prints_as_one_short_line(tmp_path: Path) -> None:
    assert repr(built(tmp_path / "net-host")) == f"<Bundle net for host at {tmp_path / 'net-host'}>"


def test_equal_contents_give_equal_bytes(tmp_path: Path) -> None:
    one, two = built(tmp_path / "one"), write_bundle(tmp_path / "two", dict(reversed(FILES.items())), manifest())
    assert (one.directory / "manifest.json").read_bytes() == (two.directory / "manifest.json").read_bytes()
    assert str(tmp_path) not in (one.directory / "manifest.json").read_text("utf-8")


def test_modes_of_copied_programs_are_kept(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_bytes(b"#!/bin/sh\n")
    program.chmod(0o755)
    bundle = write_bundle(tmp_path / "out", {"bin/net-run": program}, manifest())
    assert os.access(bundle.program("run"), os.X_OK)


def test_a_bundle_replaces_a_bundle_and_an_empty_directory(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    built(tmp_path / "out")
    write_bundle(tmp_path / "out", {"other": b"x"}, manifest(name="second", programs={}))
    assert Bundle.open(tmp_path / "out").name == "second"
    assert leftovers(tmp_path) == ["out"]
    assert not (tmp_path / "out" / "bin").exists()


def test_a_link_to_a_directory_stays_one_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "out").symlink_to("disk")
    for _ in range(2):
        assert built(tmp_path / "out").directory == tmp_path / "out"
    assert (tmp_path / "out").is_symlink()
    assert Bundle.open(tmp_path / "disk").name == "net"
    assert leftovers(tmp_path) == ["disk", "out"]


def test_other_directories_and_files_are_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "thesis.txt").write_text("years of work")
    (tmp_path / "file").write_text("precious")
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "manifest.json").write_text('{"name": "web app"}')
    for name in ("home", "file", "site"):
        with pytest.raises(BundleError, match="EP0604"):
            built(tmp_path / name)
    assert leftovers(tmp_path) == ["file", "home", "site"]
    assert (tmp_path / "home" / "thesis.txt").read_text() == "years of work"


def test_a_build_that_fails_leaves_nothing_and_keeps_the_old_bundle(tmp_path: Path) -> None:
    built(tmp_path / "out")

    def failing_build() -> None:
        with staging(tmp_path / "out") as directory:
            (directory / "half").write_bytes(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        failing_build()
    assert leftovers(tmp_path) == ["out"]
    assert Bundle.open(tmp_path / "out").name == "net"


@pytest.fixture
def small_files_only() -> Iterator[None]:
    """Writes beyond 64 KiB fail, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, hard))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    signal.signal(signal.SIGXFSZ, handler)


@pytest.mark.usefixtures("small_files_only")
def test_a_full_disk_is_one_clear_error_and_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match=r"EP0605.*cannot be written: File too large"):
        write_bundle(tmp_path / "out", {**FILES, "weights/big.bin": bytes(1 << 20)}, manifest())
    assert leftovers(tmp_path) == []


def test_publishing_lists_what_the_stage_holds(tmp_path: Path) -> None:
    with staging(tmp_path / "deep" / "out") as directory:
        (directory / "src").mkdir()
        (directory / "src" / "net.c").write_bytes(b"int x;\n")
        bundle = publish(directory, tmp_path / "deep" / "out", manifest(programs={}))
    assert [info.path for info in bundle.manifest.files] == ["src/net.c"]
    with pytest.raises(BundleError, match="no run program"):
        bundle.program("run")


def test_missing_and_changed_files_are_all_named(tmp_path: Path) -> None:
    bundle = built(tmp_path / "out")
    (bundle.directory / "include" / "net.h").unlink()
    (bundle.directory / "bin" / "net-run").write_bytes(b"\x7fELG")
    (bundle.directory / "weights" / "ab12.bin").write_bytes(b"short")
    with pytest.raises(BundleError) as caught:
        Bundle.open(bundle.directory)
    text = str(caught.value)
    assert "'include/net.h' is missing" in text
    assert "'bin/net-run' was changed after the build" in text
    assert "'weights/ab12.bin' has 5 bytes, the manifest says 256" in text
    assert Bundle.open(bundle.directory, check_files=False).name == "net"


def test_what_is_not_a_bundle_is_said_to_be_none(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(b"")
    for path in (tmp_path, tmp_path / "nowhere", tmp_path / "model.onnx"):
        with pytest.raises(BundleError, match="EP0601"):
            Bundle.open(path)


def test_a_program_that_the_manifest_does_not_list_is_not_trusted(tmp_path: Path) -> None:
    bundle = built(tmp_path / "out")
    edit(bundle, files=[])
    with pytest.raises(BundleError, match=r"EP0602.*'bin/net-run' is a program that the manifest has no hash of"):
        Bundle.open(bundle.directory)


def edit(bundle: Bundle, **changes: object) -> None:
    file = bundle.directory / "manifest.json"
    file.write_text(json.dumps({**json.loads(file.read_text("utf-8")), **changes}), "utf-8")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"schema": 2}, "EP0603.*schema 2.*reads schema 1"),
        ({"schema": None}, "EP0602.*no schema number"),
        ({"colour": "red"}, "EP0602.*unknown field 'colour'"),
        ({"inputs": [{"name": "x"}]}, "EP0602.*wrong form"),
        ({"macs": "many"}, "EP0602.*wrong form"),
        ({"files": [{"path": "../../etc/passwd", "bytes": 1, "sha256": ""}]}, "EP0602.*outside the bundle"),
        ({"programs": {"run": "/bin/sh"}}, "EP0602.*outside the bundle"),
    ],
)
def test_a_damaged_manifest_is_refused(tmp_path: Path, changes: dict[str, object], message: str) -> None:
    bundle = built(tmp_path / "out")
    edit(bundle, **changes)
    with pytest.raises(BundleError, match=message):
        Bundle.open(bundle.directory)


def test_a_damaged_profile_is_refused_when_it_is_needed(tmp_path: Path) -> None:
    bundle = built(tmp_path)
    edit(bundle, profile={"schema": 1, "name": "x", "threads": "many"})
    with pytest.raises(BundleError, match="its profile is no target profile"):
        Bundle.open(bundle.directory).target()


def test_a_truncated_manifest_is_refused(tmp_path: Path) -> None:
    file = built(tmp_path / "out").directory / "manifest.json"
    text = file.read_bytes()
    for length in range(0, len(text) - 2, 7):
        file.write_bytes(text[:length])
        with pytest.raises(BundleError, match="EP0602"):
            Bundle.open(tmp_path / "out")


def test_running_passes_raw_little_endian_tensors_in_graph_order(tmp_path: Path) -> None:
    bundle = built(tmp_path / "out")
    seen = []

    def runner(which: Bundle, data: bytes) -> bytes:
        seen.append((which, data))
        return np.array([5, 6], "<f4").tobytes()

    outputs = bundle.run({"k": np.array(7, ">i8"), "image": np.array([[1, 2]], "f4")}, runner)
    assert seen == [(bundle, np.array([1, 2], "<f4").tobytes() + np.array(7, "<i8").tobytes())]
    assert list(outputs) == ["größe"]
    np.testing.assert_array_equal(outputs["größe"], np.array([5, 6], "f4"))


def test_outputs_of_the_wrong_length_are_an_error_of_the_device(tmp_path: Path) -> None:
    feeds = {"k": np.array(7), "image": np.ones((1, 2), "f4")}
    with pytest.raises(DeviceError, match="wrote 3 bytes of outputs instead of 8"):
        built(tmp_path / "out").run(feeds, lambda _, __: b"abc")


def test_inputs_that_do_not_fit_are_all_listed(tmp_path: Path) -> None:
    feeds = {"imag": np.ones(1), "image": np.ones((2, 1), "f4")}
    with pytest.raises(VerifyError) as caught:
        built(tmp_path / "out").run(feeds, lambda _, data: data)
    text = str(caught.value)
    assert "no input 'imag'" in text
    assert "did you mean 'image'?" in text
    assert "input 'image' has shape [2, 1]" in text
    assert "input 'k' is not given" in text
    with pytest.raises(VerifyError, match="input 'k' has dtype int32"):
        built(tmp_path / "out").run({"k": np.array(7, "i4"), "image": np.ones((1, 2), "f4")}, lambda _, data: data)
