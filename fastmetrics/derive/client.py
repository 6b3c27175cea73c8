"""The interface of the clients that send calls, and how often and when a failed call is repeated."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Protocol

from fastmetrics.derive.call import Call
from fastmetrics.derive.chat_client import Failure, Reply
from fastmetrics.derive.reply_limits import LONGEST_WAIT


class Client(Protocol):
    """The interface of clients; ``structured`` says whether replies are requested in the form of a schema."""

    structured: bool

    async def send(self, call: Call) -> Reply | Failure:
        """Send one call and wait for its reply."""
        ...

    async def close(self) -> None:
        """Release all resources."""
        ...


@dataclass(frozen=True)
class Retries:
    """The maximum attempts of a call, and the waiting time between them, doubled each time, with jitter."""

    tries: int = 5
    pause: float = 0.5

    def wait(self, failures: int, retry_after: float | None) -> float:
        """Seconds before the next attempt, as the server requests, or after this many failures."""
        jitter = 1 + random.random() / 4
        if retry_after is not None:
            return min(retry_after, LONGEST_WAIT) * jitter
        return min(self.pause * 2 ** (failures - 1), LONGEST_WAIT) * jitter
