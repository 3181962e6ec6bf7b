"""Signals around work that must be cleaned up after."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

from packager.deploy.signals import interrupt_once, uninterrupted

ALL = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


@pytest.fixture(autouse=True)
def unchanged_handlers() -> Iterator[None]:
    """Contexts put back what they found."""
    before = [signal.getsignal(number) for number in ALL]
    yield
    assert [signal.getsignal(number) for number in ALL] == before


@pytest.mark.parametrize("number", ALL)
def test_every_signal_unwinds_as_an_interrupt(number: signal.Signals) -> None:
    with pytest.raises(KeyboardInterrupt), interrupt_once():
        signal.raise_signal(number)


def test_only_the_first_of_several_does() -> None:
    steps: list[str] = []

    def work() -> None:
        try:
            signal.raise_signal(signal.SIGINT)
        finally:
            signal.raise_signal(signal.SIGTERM)
            signal.raise_signal(signal.SIGINT)
            steps.append("cleaned")

    with pytest.raises(KeyboardInterrupt), interrupt_once():
        work()
    assert steps == ["cleaned"]


def test_an_inner_context_does_not_forget_the_outers_interrupt() -> None:
    steps: list[str] = []

    def work() -> None:
        try:
            with interrupt_once():
                signal.raise_signal(signal.SIGTERM)
        finally:
            signal.raise_signal(signal.SIGTERM)
            steps.append("cleaned")

    with pytest.raises(KeyboardInterrupt), interrupt_once():
        work()
    assert steps == ["cleaned"]


def test_a_short_step_ends_before_the_signal_counts() -> None:
    steps: list[str] = []

    def work() -> None:
        with uninterrupted():
            signal.raise_signal(signal.SIGTERM)
            steps.append("whole")
        steps.append("not reached")

    with pytest.raises(KeyboardInterrupt), interrupt_once():
        work()
    assert steps == ["whole"]


def test_a_signal_that_is_ignored_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with interrupt_once():
            signal.raise_signal(signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)
