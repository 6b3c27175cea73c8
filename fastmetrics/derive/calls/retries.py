"""How often and when a failed call is repeated."""

from __future__ import annotations

import random
from dataclasses import dataclass

from fastmetrics.derive.clients.reply_limits import LONGEST_WAIT


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
