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


NODE = "/features/backbone/stage_3/block_12/depthwise/Conv"


@pytest.mark.parametrize("columns", [60, 80, 100])
def test_on_a_narrow_screen_numbers_stay_whole_and_names_lose_their_middle(
    columns: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    numbers = ("115.6 k", "10.71 us", "12.5%", "0.123")
    console.print_table(
        ("layer", "kernel", "a", "b", "c", "d"),
        [(NODE, "ep_conv2d_blocked_f32", *numbers)],
        right=("a", "b", "c", "d"),
        shorten=("layer", "kernel"),
    )
    lines = [line for line in capsys.readouterr().out.splitlines() if line.strip()]
    assert len(lines) == 3, "heading, rule and one row"
    assert all(number in lines[-1] for number in numbers)
    assert lines[-1].startswith("/fea")
    assert "\u2026" in lines[-1]
    assert max(map(len, lines)) <= columns


def test_in_a_file_names_are_whole(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    console.print_table(("layer", "time"), [(NODE * 5, "1 ms")], right=("time",), shorten=("layer",))
    assert NODE * 5 in capsys.readouterr().out


def test_prose_wraps_between_words(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    console.print_table(("name", "what"), [("Conv", "convolution in one, two or three dimensions, grouped or not")])
    out = capsys.readouterr().out
    assert "convolution" in out
    assert max(map(len, out.splitlines())) <= 40
