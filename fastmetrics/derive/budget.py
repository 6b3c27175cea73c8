"""The spending of a run, and its limits."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from fastmetrics.core.prices import Price, estimated_tokens
from fastmetrics.derive.call import Answer, Call

LONGEST_REPLY = 4_096
"""The tokens of the longest reply, if the parameters of the call do not limit them."""

LONG_WAIT = 5.0
"""Seconds of a wait from which on it is announced."""

_MARKUP = 16
"""The highest number of tokens that a server adds to a message, such as its role."""


@dataclass
class Spending:
    """The spending of a run so far: requests, answers from the store, failures by kind, tokens and cost.

    The cost is that of the tokens of all replies that this run received, as the server counts them.  Every other cost
    (of judged rows, of a store) is the same sum over other replies: each call counts once, however many rows share it,
    with all its replies.
    """

    requests: int = 0
    replies: int = 0
    found: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float | None = None
    """None without prices."""
    uncounted: int = 0
    """Replies whose tokens the server did not count; their cost is unknown and not included."""
    refusal: str | None = None
    """Why the budget refused a call; no call is sent after that."""
    waits_until: float = 0.0
    """Until when the server asks to send nothing, by ``time.monotonic``."""
    on_wait: Callable[[float], None] | None = None
    """Receives the seconds of each wait of ``LONG_WAIT`` or more."""
    unstructured: bool = False
    """Whether the server refused structured output and was asked without it."""

    @property
    def ended(self) -> bool:
        """Whether the budget refused a call."""
        return self.refusal is not None

    def wait(self, seconds: float) -> None:
        """Record that the server asks to send nothing for so many seconds."""
        now = time.monotonic()
        is_new, self.waits_until = self.waits_until <= now, max(self.waits_until, now + seconds)
        if is_new and seconds >= LONG_WAIT and self.on_wait is not None:
            self.on_wait(seconds)


class Budget:
    """Allows calls until ``max_calls`` requests were sent, or until one more call might exceed ``max_cost``.

    A call in progress counts with its highest possible cost: one token per byte of its messages, and a reply of
    ``reply_tokens``.  A reply without token counts keeps counting so.  Use a budget within one event loop.
    """

    def __init__(
        self, max_calls: int | None, max_cost: float | None, price: Price | None, reply_tokens: int = LONGEST_REPLY
    ) -> None:
        self._max_calls, self._max_cost = max_calls, max_cost
        self._price, self._reply_tokens = price, reply_tokens
        self._in_progress = 0
        self._reserved = 0.0
        self._returned = asyncio.Event()
        self.spending = Spending(cost=None if price is None else 0.0)

    async def take(self, call: Call) -> bool:
        """Whether one more request may be sent, which is then counted.

        If only calls in progress leave too little, their cost is waited for: it may be lower than reserved.
        """
        spending = self.spending
        while not spending.ended:
            highest = self._highest_cost(call)
            if self._max_calls is not None and spending.requests >= self._max_calls:
                spending.refusal = f"the limit of {self._max_calls:,} requests is reached"
            elif self._max_cost is None or (spending.cost or 0.0) + self._reserved + highest <= self._max_cost:
                spending.requests += 1
                self._in_progress += 1
                self._reserved += highest
                return True
            elif self._in_progress:
                await self._returned.wait()
            else:
                spending.refusal = (
                    f"one more call may cost {highest:,.4g} (a reply of {self._reply_tokens:,} tokens), which might "
                    f"exceed the limit of {self._max_cost:,.4g}"
                )
        return False

    def back(self, call: Call, answer: Answer | None) -> None:
        """Record that a request returned, with an answer or not."""
        self._in_progress -= 1
        spending = self.spending
        if answer is not None:
            spending.replies += 1
            spending.prompt_tokens += answer.prompt_tokens or 0
            spending.completion_tokens += answer.completion_tokens or 0
            if self._price is not None:
                spending.cost = self._price.cost(spending.prompt_tokens, spending.completion_tokens)
        if answer is not None and None in (answer.prompt_tokens, answer.completion_tokens):
            spending.uncounted += 1
        else:
            self._reserved -= self._highest_cost(call)
        self._returned.set()  # wakes all that wait
        self._returned.clear()

    def _highest_cost(self, call: Call) -> float:
        if self._max_cost is None or self._price is None:
            return 0.0
        schema = "" if call.schema is None else json.dumps(call.schema)
        texts = [schema, *(message.content for message in call.messages)]
        prompt = sum(_MARKUP + len(text.encode("utf-8", "surrogatepass")) for text in texts)
        return self._price.cost(prompt, self._reply_tokens)


def tokens_of(call: Call) -> int:
    """The approximate number of tokens in the messages of a call."""
    return sum(estimated_tokens(message.content) for message in call.messages)
