"""Progress where there is no terminal."""

from __future__ import annotations

import time

import pytest

from packager.cli import console


def test_only_what_takes_long_is_printed_to_a_log(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(console, "SECONDS_BEFORE_A_LINE", 0.2)
    with console.progress() as report:
        report("quick")
        report("slow", 0.1)
        deadline = time.monotonic() + 20
        err = ""
        while "slow" not in err and time.monotonic() < deadline:
            report("slow", 0.5)
            err += capsys.readouterr().err
        report("last")
    time.sleep(0.4)
    assert err == "slow\n"
    assert capsys.readouterr().err == ""


def test_quiet_progress_prints_nothing(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console, "SECONDS_BEFORE_A_LINE", 0.0)
    with console.progress(quiet=True) as report:
        report("anything")
        time.sleep(0.1)
    assert capsys.readouterr().err == ""
