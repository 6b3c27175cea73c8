"""Signals wait for the end of work that they must not break off, and are handled then."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest

from fastmetrics.core.process.deferred_signals import deferred_signals

NUMBERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class SignalError(Exception):
    """What the handlers of these tests raise."""


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    def raise_error(number: int, frame: object) -> None:
        raise SignalError(number)

    with ExitStack() as stack:
        for number in NUMBERS:
            stack.callback(signal.signal, number, signal.signal(number, raise_error))
        yield


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("fails", [False, True])
def test_signals_are_handled_after_the_block(number: int, fails: bool) -> None:
    before, steps = [signal.getsignal(number) for number in NUMBERS], []

    def work() -> None:
        with deferred_signals():
            signal.raise_signal(number)
            steps.append("after the signal")
            if fails:
                raise ValueError

    with pytest.raises(SignalError, match=str(int(number))):
        work()
    assert steps == ["after the signal"]
    assert [signal.getsignal(number) for number in NUMBERS] == before


def test_ignored_signals_stay_ignored() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with deferred_signals():
        signal.raise_signal(signal.SIGHUP)
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN


def test_other_threads_change_no_handler() -> None:
    def handler() -> object:
        with deferred_signals():
            return signal.getsignal(signal.SIGINT)

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(handler).result() is signal.getsignal(signal.SIGINT)
