"""One model, profile and version give identical bytes, wherever and whenever the bundle is built."""

from __future__ import annotations

from pathlib import Path

import edgepack
from codegen_c.firmware import EXPORTS
from packager.bundle.bundle import Bundle
from tests.support.streaming import STATES, recurrent_model


def build(directory: Path) -> Bundle:
    return edgepack.build(
        recurrent_model(),
        "x86_64-linux",
        out=directory,
        states=STATES,
        name="net",
        single_file=True,
        selftest=True,
        exports=EXPORTS,
    )


def test_two_builds_with_everything_in_them_are_the_same_files(tmp_path: Path) -> None:
    one, two = build(tmp_path / "one"), build(tmp_path / "elsewhere" / "two")
    assert one.manifest.files == two.manifest.files
    assert (one.directory / "manifest.json").read_bytes() == (two.directory / "manifest.json").read_bytes()
    names = {info.path for info in one.manifest.files}
    assert {"single/net.c", "test/net_selftest.c", "bin/net-selftest", "library.json"} <= names


def test_no_file_names_the_machine_it_was_built_on(tmp_path: Path) -> None:
    bundle = build(tmp_path / "bundle")
    for info in bundle.manifest.files:
        assert str(tmp_path).encode() not in (bundle.directory / info.path).read_bytes(), info.path
