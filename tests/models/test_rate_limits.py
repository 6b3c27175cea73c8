"""How much is asked at a time: the number of calls under way, requests and tokens a minute, and holds."""

from __future__ import annotations

import asyncio

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


def limits(most, **options):
    """Limits under a clock of their own."""
    clock = Clock()
    return RateLimits(most, clock=clock, sleep=clock.sleep, **options), clock


def test_concurrent_calls_stay_below_the_limit():
    async def run():
        allowed, _ = limits(3)
        seen, now = [], 0

        async def one():
            nonlocal now
            await allowed.enter(1)
            now += 1
            seen.append(now)
            await asyncio.sleep(0)
            now -= 1
            allowed.leave()

        await asyncio.gather(*(one() for _ in range(20)))
        return seen

    seen = asyncio.run(run())
    assert (len(seen), max(seen)) == (20, 3)


def test_refusal_halves_concurrency_and_replies_raise_it_by_one():
    allowed, clock = limits(16)
    allowed.limited(None)
    allowed.limited(None)  # a refusal at the same moment
    assert allowed.allowed == 8
    for _ in range(8):
        allowed.worked()
    assert 8.8 < allowed.allowed <= 9
    for _ in range(10):
        clock.now += 2
        allowed.limited(None)
    assert allowed.allowed == 1
    for _ in range(1000):
        allowed.worked()
    assert allowed.allowed == 16


def times(count, **options):
    """When so many calls of 100 tokens may be sent that come back at once."""

    async def run():
        allowed, clock = limits(8, **options)
        found = []
        for _ in range(count):
            await allowed.enter(100)
            found.append(clock.now - 1000)
            allowed.leave()
        return found

    return [round(at, 6) for at in asyncio.run(run())]


def test_requests_and_tokens_per_minute_are_limited():
    assert times(4) == [0, 0, 0, 0]
    assert times(4, requests=30) == [0, 2, 4, 6]
    assert times(4, tokens=6000) == [0, 1, 2, 3]
    assert times(4, requests=30, tokens=6000) == [0, 2, 4, 6]


def test_wrong_token_estimates_are_corrected():
    async def run():
        allowed, clock = limits(8, tokens=6000)
        await allowed.enter(100)
        allowed.used(100, 400)
        await allowed.enter(100)
        return clock.now - 1000

    assert asyncio.run(run()) == 4


def test_retry_after_delays_all_calls():
    async def run():
        allowed, clock = limits(8)
        allowed.limited(7.0)
        await asyncio.gather(*(allowed.enter(1) for _ in range(4)))
        return clock.now - 1000

    assert asyncio.run(run()) >= 7


def test_cancelled_call_frees_its_slot():
    async def run():
        allowed = RateLimits(1, requests=0.01)
        await allowed.enter(1)
        waiting = [asyncio.ensure_future(allowed.enter(1)) for _ in range(3)]
        await asyncio.sleep(0)
        for one in waiting:
            one.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        allowed.leave()
        assert allowed._in_progress == 0

    asyncio.run(run())


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
    return [suspicion(breaker, given_up, **kind) for _ in range(count)]


def suspicion(breaker, given_up, **kind):
    """What a breaker suspects after a failed request, or call."""
    failure = Failure("http", "why", **kind)
    breaker.failed(failure)
    if given_up:
        breaker.gave_up()
    return breaker.suspicion(failure, given_up=given_up)


def test_run_with_only_failures_stops():
    assert [error is not None for error in failing(FIRST)] == [False] * (FIRST - 1) + [True]
    assert str(failing(FIRST)[-1]) == f"here: no reply to {FIRST} requests: why"
    assert failing(1, given_up=True)[0] is not None
    assert failing(1000, worked=True) == [None] * 1000
    after = failing(IN_A_ROW, given_up=True, worked=True)
    assert [error is not None for error in after] == [False] * (IN_A_ROW - 1) + [True]
    assert failing(IN_A_ROW - 1, given_up=True, passing=False) == [None] * (IN_A_ROW - 1)
    assert str(failing(1, worked=True, fatal=True, passing=False)[0]) == "here refuses all calls: why"
    assert failing(1000, limited=True) == [None] * 1000


def test_one_reply_resets_the_failure_count():
    breaker = CircuitBreaker("here")
    for _ in range(100):
        assert suspicion(breaker, False) is None
        assert suspicion(breaker, False) is None
        breaker.worked()


def test_checks_of_a_server_that_answers_come_after_twice_as_many_failures():
    """Of calls that always fail, the checks are few; a reply begins anew."""
    breaker = CircuitBreaker("here")

    def failures_until_check():
        count = 1
        while suspicion(breaker, True, passing=False) is None:
            count += 1
        return count

    breaker.worked()
    counts = []
    for _ in range(4):
        counts.append(failures_until_check())
        breaker.is_alive()
    assert counts == [IN_A_ROW, 2 * IN_A_ROW, 4 * IN_A_ROW, 8 * IN_A_ROW]
    breaker.worked()
    assert failures_until_check() == IN_A_ROW


def test_the_longest_wait_that_a_server_asks_for_holds():
    """A later reply that asks for less does not shorten it."""

    async def run(waits):
        allowed, clock = limits(4)
        for seconds in waits:
            allowed.limited(seconds)
        await allowed.enter(1)
        return clock.now - 1000.0

    assert [asyncio.run(run(waits)) for waits in ([60.0, 1.0], [1.0, 60.0], [5.0], [None])] == [60.0, 60.0, 5.0, 0.0]
