"""Rate limits: concurrent calls, adapted to the server's refusals, and requests and tokens per minute."""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque
from collections.abc import Awaitable, Callable

_MINUTE = 60.0
_LEAST_BETWEEN_CUTS = 1.0
"""Minimum seconds between reductions: refusals of calls sent together count as one."""


class RateLimits:
    """Controls when calls may be sent, within one event loop.

    At most ``most`` calls are in progress.  A refusal for too many requests halves that number, at most once a second,
    and each reply raises it again by a fraction, so that it grows by one per round (additive increase, multiplicative
    decrease).  ``requests`` and ``tokens`` are those per minute, sent evenly.  ``clock`` and ``sleep`` return the
    time and wait, in seconds.
    """

    def __init__(
        self,
        most: int,
        requests: float | None = None,
        tokens: float | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._most = most
        self._clock, self._sleep = clock, sleep
        self._pace = 0.0 if requests is None else _MINUTE / requests
        self._per_token = 0.0 if tokens is None else _MINUTE / tokens
        self.allowed = float(most)
        """The current maximum of concurrent calls."""
        self._under_way = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._next = self._blocked_until = 0.0
        self._cut = -math.inf

    async def enter(self, tokens: float) -> None:
        """Wait until a call of about this many tokens may be sent; call ``leave`` when it has returned."""
        while self._under_way >= int(self.allowed):
            turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            await turn
        self._under_way += 1
        try:
            await self._wait_for_turn(tokens)
        except BaseException:
            self.leave()
            raise

    async def _wait_for_turn(self, tokens: float) -> None:
        now = self._clock()
        start = max(now, self._next, self._blocked_until)
        if self._pace or self._per_token:
            self._next = max(now, self._next) + max(self._pace, tokens * self._per_token)
        while start > now:
            await self._sleep(start - now)
            now = self._clock()
            start = max(start, self._blocked_until)

    def leave(self) -> None:
        """Record that a call is no longer in progress."""
        self._under_way -= 1
        self._wake()

    def _wake(self) -> None:
        room = int(self.allowed) - self._under_way
        while room > 0 and self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                room -= 1

    def used(self, guessed: float, tokens: float) -> None:
        """Record the actual tokens of a call, in place of the estimate."""
        self._next += (tokens - guessed) * self._per_token

    def worked(self) -> None:
        """Record a reply: raise the limit slightly."""
        self.allowed = min(self._most, self.allowed + 1 / self.allowed)
        self._wake()

    def limited(self, retry_after: float | None) -> None:
        """Record a refusal for too many requests: reduce the limit, and send nothing for the requested time."""
        now = self._clock()
        if now - self._cut >= _LEAST_BETWEEN_CUTS:
            self._cut = now
            self.allowed = max(1.0, self.allowed / 2)
        if retry_after is not None:
            self._blocked_until = max(self._blocked_until, now + retry_after)
