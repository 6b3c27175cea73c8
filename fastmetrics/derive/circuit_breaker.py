"""What stops a run that only fails, before it has spent an hour or a fortune on it."""

from __future__ import annotations

from fastmetrics.derive.chat_client import Failure
from fastmetrics.errors import ServiceError

FIRST = 20
"""Requests that fail before any reply came, from which on a server counts as not there."""

IN_A_ROW = 20
"""Calls that fail one after the other, each of them tried several times, from which on a run stops."""


class CircuitBreaker:
    """Counts failures in a row; a reply makes them forgotten."""

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
        """A request failed, and with the last try its call; the error that ends the run, if it is time for that."""
        self._requests += not failure.limited
        self._calls += given_up
        if failure.fatal:
            return ServiceError(f"{self._address} refuses all calls: {failure.reason}")
        nothing_yet = not self._has_worked and failure.passing
        if nothing_yet and (self._requests >= FIRST or (given_up and self._requests)):
            return ServiceError(f"{self._address}: no reply to {self._requests} requests: {failure.reason}")
        if self._calls >= IN_A_ROW:
            return ServiceError(f"{self._address}: {self._calls} calls in a row failed: {failure.reason}")
        return None
