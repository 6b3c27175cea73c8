"""The interface of the clients that send calls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from fastmetrics.derive.calls.call import Call, Model


@dataclass(frozen=True)
class Failure:
    """The failure of a request.

    ``retry_after`` is the waiting time requested by the server, in seconds; ``passing`` faults are transient, ``fatal``
    ones affect every other call too.  ``limited`` is a refusal for too many requests.
    """

    outcome: str
    reason: str
    retry_after: float | None = None
    passing: bool = True
    fatal: bool = False
    limited: bool = False


@dataclass(frozen=True)
class Reply:
    """The body of a reply, a chat completion as JSON, and its latency."""

    body: str
    latency_ms: float


@dataclass(frozen=True)
class Connection:
    """What a client is made for: a model at an address, and the limits of a call."""

    model: Model
    base_url: str | None
    timeout: float
    max_reply_bytes: int
    concurrency: int = 1


class Client(Protocol):
    """The interface of clients; ``structured`` says whether replies are requested in the form of a schema."""

    structured: bool

    async def send(self, call: Call) -> Reply | Failure:
        """Send one call and wait for its reply."""
        ...

    async def close(self) -> None:
        """Release all resources."""
        ...
