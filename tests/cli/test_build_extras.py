"""What ``edgepack build`` adds to a bundle on request."""

from __future__ import annotations

from pathlib import Path

import onnx

from tests.cli.conftest import Edgepack
from tests.support.streaming import STATES, recurrent_model

DIGITS = Path(__file__).parents[2] / "examples" / "digits" / "digits.onnx"


def test_a_bundle_holds_what_was_asked_for_and_nothing_more(edgepack: Edgepack) -> None:
    assert edgepack("build", DIGITS, "-o", "plain", "--json").code == 0
    wanted = ["--single-file", "--selftest", "--export", "zephyr", "--export", "esp-idf"]
    made = edgepack("build", DIGITS, "-o", "full", "--json", *wanted)
    assert made.code == 0
    programs = made.json["manifest"]["programs"]
    assert programs["selftest"] == "bin/digits-selftest"
    extra = {"single/digits.c", "single/digits.h", "test/digits_selftest.c", programs["selftest"]}
    extra |= {"zephyr/module.yml", "idf_component.yml"}
    assert all((Path("full") / name).is_file() for name in extra)
    assert not any((Path("plain") / name).exists() for name in extra)
    assert not Path("full/library.json").exists()


def test_all_exports_every_package(edgepack: Edgepack) -> None:
    assert edgepack("build", DIGITS, "-o", "out", "--export", "all").code == 0
    assert all(Path("out", name).is_file() for name in ("zephyr/module.yml", "idf_component.yml", "library.json"))


def test_wrong_words_are_refused_before_anything_is_built(edgepack: Edgepack) -> None:
    for words in (["--export", "make"], ["--state", "h_out"], ["--state", "a:b", "--state", "a:c"]):
        ran = edgepack("build", DIGITS, "-o", "out", *words)
        assert ran.code == 2
        assert words[-1].split(":")[0] in ran.err
    assert not Path("out").exists()


def test_the_summary_says_which_states_are_kept(edgepack: Edgepack, tmp_path: Path) -> None:
    onnx.save(recurrent_model(), tmp_path / "stream.onnx")
    words = [word for output, target in STATES.items() for word in ("--state", f"{output}:{target}")]
    ran = edgepack("build", tmp_path / "stream.onnx", "-o", "out", *words)
    assert ran.code == 0
    assert "h_out is h_in of the next call" in ran.out


def test_a_state_that_does_not_exist_is_named(edgepack: Edgepack) -> None:
    ran = edgepack("build", DIGITS, "-o", "out", "--state", "scores:image:0")
    assert ran.code == 2
    ran = edgepack("build", DIGITS, "-o", "out", "--state", "nope:image")
    assert ran.code == 1
    assert "error[EP0214]" in ran.err
    assert "nope" in ran.err
