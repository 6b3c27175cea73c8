"""A circuit breaker that stops a run whose calls keep failing."""

from __future__ import annotations

from fastmetrics.derive.chat_client import Failure
from fastmetrics.errors import ServiceError

FIRST = 20
"""Number of failed requests before any reply after which a server counts as unavailable."""

IN_A_ROW = 20
"""Number of consecutive failed calls, each with several attempts, that stops a run."""


class CircuitBreaker:
    """Counts consecutive failures; a reply resets the count."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._requests = 0
        self._calls = 0
        self._has_worked = False

    def worked(self) -> None:
        """A reply came."""
        self._has_worked = True
        self._requests = self._calls = 0

    def failed(self, failure: Failure, *, given_up: bool) -> ServiceError | None:
        """Record a failed request, or with the last attempt a failed call; the error that ends the run, if due."""
        self._requests += not failure.limited
        self._calls += given_up
        if failure.fatal:
            return ServiceError(f"{self._address} refuses all calls: {failure.reason}")
        nothing_yet = not self._has_worked and failure.passing
        if nothing_yet and (self._requests >= FIRST or (given_up and self._requests)):
            return ServiceError(f"{self._address}: no reply to {self._requests} requests: {failure.reason}")
        if self._calls >= IN_A_ROW:
            return ServiceError(f"{self._address}: {self._calls} consecutive calls failed: {failure.reason}")
        return None
