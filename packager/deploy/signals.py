"""Interrupts that leave devices clean: each ends the work once, none ends the cleaning up."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType

_QUIET = 2.0
"""Seconds after an interrupt in which more of them change nothing: people press Ctrl-C more than once."""

_SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))

_Handler = Callable[[int, FrameType | None], object]


class _Once:
    """Raises KeyboardInterrupt for the first of several signals."""

    def __init__(self) -> None:
        self._raised: float | None = None

    def __call__(self, number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        if self._raised is None or now - self._raised > _QUIET:
            self._raised = now
            raise KeyboardInterrupt


@contextlib.contextmanager
def interrupt_once() -> Iterator[None]:
    """Let SIGINT, SIGTERM and SIGHUP unwind as KeyboardInterrupt, once for several; only in the main thread."""
    if not _in_main_thread() or isinstance(signal.getsignal(signal.SIGINT), _Once):
        yield
        return
    with _handling(_Once()):
        yield


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Hold signals back to the end: for steps that are short and must not be left half done."""
    if not _in_main_thread():
        yield
        return
    held: list[int] = []
    try:
        with _handling(lambda number, _: held.append(number)):
            yield
    finally:
        if held:
            signal.raise_signal(held[0])


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


@contextlib.contextmanager
def _handling(handler: _Handler) -> Iterator[None]:
    """``handler`` for all signals but those somebody ignores, as nohup does."""
    previous: dict[int, _Handler | int] = {}
    try:
        for number in _SIGNALS:
            current = signal.getsignal(number)
            if current is not None and current != signal.SIG_IGN:
                previous[number] = current
                signal.signal(number, handler)
        yield
    finally:
        for number, old in previous.items():
            signal.signal(number, old)
