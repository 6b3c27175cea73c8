"""A circuit breaker that tells a server that is down from calls that always fail."""

from __future__ import annotations

from fastmetrics.base.errors import ServiceError
from fastmetrics.derive.clients.client import Failure

FIRST = 20
"""Number of failed requests before any reply after which a server is checked."""

IN_A_ROW = 20
"""Number of consecutive failed calls, each with several attempts, after which a server is checked."""


class CircuitBreaker:
    """Counts consecutive failures; a reply resets the count.

    Failures alone do not tell whether the server or the calls are at fault.  An error of ``failed`` is therefore a
    suspicion: the caller checks the server with another call, and reports the result with ``is_alive`` or by raising
    the error.
    """

    def __init__(self, address: str) -> None:
        self._address = address
        self._requests = 0
        self._calls = 0
        self._most = IN_A_ROW
        self._has_worked = False
        self._refuses_some = False

    def worked(self) -> None:
        """A reply came."""
        self._has_worked = True
        self._requests = self._calls = 0
        self._most = IN_A_ROW

    def is_alive(self) -> None:
        """The server answered a check, so the calls are at fault; the next check comes after twice as many."""
        self._has_worked = self._refuses_some = True
        self._requests = self._calls = 0
        self._most *= 2

    def failed(self, failure: Failure, *, given_up: bool) -> ServiceError | None:
        """Record a failed request, or with the last attempt a failed call; the error to check for, if due."""
        self._requests += not failure.limited
        self._calls += given_up
        return self.suspicion(failure, given_up=given_up)

    def suspicion(self, failure: Failure, *, given_up: bool) -> ServiceError | None:
        """The error that ends the run, unless the server answers a check."""
        if failure.fatal and not self._refuses_some:
            return ServiceError(f"{self._address} refuses all calls: {failure.reason}")
        nothing_yet = not self._has_worked and failure.passing
        if nothing_yet and (self._requests >= FIRST or (given_up and self._requests)):
            return ServiceError(f"{self._address}: no reply to {self._requests} requests: {failure.reason}")
        if self._calls >= self._most:
            return ServiceError(f"{self._address}: {self._calls} consecutive calls failed: {failure.reason}")
        return None
