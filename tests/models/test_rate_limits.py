"""How much is asked at a time: requests and tokens a minute, and holds; and when a run ends."""

import asyncio

from fastmetrics.base.errors import ServiceError
from fastmetrics.models.call_sender import FIRST, IN_A_ROW, CircuitBreaker, RateLimits, Retries
from fastmetrics.models.calls import Failure


class Clock:
    """A time that passes by sleeping only."""

    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now

    async def sleep(self, seconds):
        """Let the time pass, and others run."""
        self.now += seconds
        await asyncio.sleep(0)


def limits(**options):
    """Limits under a clock of their own."""
    clock = Clock()
    return RateLimits(clock=clock, sleep=clock.sleep, **options), clock


def times(count, **options):
    """When so many calls of 100 tokens may be sent that come back at once."""

    async def run():
        allowed, clock = limits(**options)
        found = []
        for _ in range(count):
            await allowed.wait(100)
            found.append(clock.now - 1000)
        return found

    return [round(at, 6) for at in asyncio.run(run())]


def test_requests_and_tokens_per_minute_are_limited():
    assert times(4) == [0, 0, 0, 0]
    assert times(4, requests=30) == [0, 2, 4, 6]
    assert times(4, tokens=6000) == [0, 1, 2, 3]
    assert times(4, requests=30, tokens=6000) == [0, 2, 4, 6]


def test_wrong_token_estimates_are_corrected():
    async def run():
        allowed, clock = limits(tokens=6000)
        await allowed.wait(100)
        allowed.used(100, 400)
        await allowed.wait(100)
        return clock.now - 1000

    assert asyncio.run(run()) == 4


def test_retry_after_delays_all_calls():
    async def run():
        allowed, clock = limits()
        allowed.limited(7.0)
        await asyncio.gather(*(allowed.wait(1) for _ in range(4)))
        return clock.now - 1000

    assert asyncio.run(run()) >= 7


def test_waits_double_unless_the_server_sets_them():
    retries = Retries(tries=5, pause=1.0)
    for failures, least in ((1, 1), (2, 2), (3, 4), (4, 8)):
        assert least <= retries.wait(failures, None) <= 1.25 * least
    assert 3 <= retries.wait(4, 3.0) <= 3.75
    assert retries.wait(60, None) <= 375
    assert retries.wait(1, 1e9) <= 375


def failing(count, *, given_up=False, worked=False, **kind):
    """What a breaker says of so many failures in a row."""
    breaker = CircuitBreaker("here")
    if worked:
        breaker.worked()
    return [said(breaker, given_up, **kind) for _ in range(count)]


def said(breaker, given_up, last=False, **kind):
    """The error that a breaker raises after a failed request, or call."""
    try:
        breaker.failed(Failure("http", "why", **kind), given_up=given_up, last=last)
    except ServiceError as error:
        return str(error)
    return None


def test_run_with_only_failures_stops():
    assert [error is not None for error in failing(FIRST)] == [False] * (FIRST - 1) + [True]
    assert failing(FIRST)[-1] == f"here: no reply to {FIRST} requests: why"
    assert failing(1000, worked=True) == [None] * 1000
    after = failing(IN_A_ROW, given_up=True, worked=True)
    assert [error is not None for error in after] == [False] * (IN_A_ROW - 1) + [True]
    assert failing(1, last=True) == ["here: no reply to 1 requests: why"]
    assert failing(2, last=True, worked=True) == [None] * 2
    assert failing(FIRST, fatal=True, passing=False)[-2:] == [None, "here refuses all calls: why"]
    assert failing(1, fatal=True, passing=False, last=True) == ["here refuses all calls: why"]
    assert failing(IN_A_ROW - 1, worked=True, fatal=True, passing=False, given_up=True) == [None] * (IN_A_ROW - 1)
    assert failing(1000, limited=True) == [None] * 1000


def test_a_reply_and_a_refusal_of_one_call_reset_the_count():
    assert failing(1000, given_up=True, passing=False) == [None] * 1000
    refused = failing(IN_A_ROW, given_up=True, passing=False, last=True)
    assert [error is not None for error in refused] == [False] * (IN_A_ROW - 1) + [True]
    breaker = CircuitBreaker("here")
    breaker.worked()
    for turn in range(20):
        assert [said(breaker, True) for _ in range(IN_A_ROW - 1)] == [None] * (IN_A_ROW - 1)
        assert turn % 2 or said(breaker, True, passing=False, last=True) is None
        if turn % 2:
            breaker.worked()


def test_the_longest_wait_that_a_server_asks_for_holds():
    """A later reply that asks for less does not shorten it."""

    async def run(waits):
        allowed, clock = limits()
        for seconds in waits:
            allowed.limited(seconds)
        await allowed.wait(1)
        return clock.now - 1000.0

    assert [asyncio.run(run(waits)) for waits in ([60.0, 1.0], [1.0, 60.0], [5.0], [])] == [60.0, 60.0, 5.0, 0.0]
