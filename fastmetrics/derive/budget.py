"""The spending of a run, and its limits."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass, field

from fastmetrics.core.prices import REPLY_TOKENS, Price, estimated_tokens
from fastmetrics.derive.call import Answer, Call


@dataclass
class Spending:
    """The spending of a run so far: requests, answers from the store, failures by kind, tokens and cost."""

    requests: int = 0
    replies: int = 0
    found: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float | None = None
    """None without prices."""
    ended: bool = False
    """Whether the budget refused a call; no call is sent after that."""
    unstructured: bool = False
    """Whether the server refused structured output and was asked without it."""


class Budget:
    """Allows calls until ``max_calls`` requests were sent or ``max_cost`` might be exceeded, then none.

    A call in progress counts with its estimated cost, a finished call with its actual cost.
    """

    def __init__(self, max_calls: int | None, max_cost: float | None, price: Price | None) -> None:
        self._max_calls = max_calls
        self._max_cost = max_cost
        self._price = price
        self._reserved = 0.0
        self._lock = threading.Lock()
        self.spending = Spending(cost=None if price is None else 0.0)

    def take(self, call: Call) -> bool:
        """Whether one more request may be sent; if so, it is counted."""
        with self._lock:
            spent = self.spending
            cost = self._estimated(call)
            many = self._max_calls is not None and spent.requests >= self._max_calls
            dear = self._max_cost is not None and (spent.cost or 0.0) + self._reserved + cost > self._max_cost
            if spent.ended or many or dear:
                spent.ended = True
                return False
            spent.requests += 1
            self._reserved += cost
            return True

    def back(self, call: Call, answer: Answer | None) -> None:
        """Record that a request returned, with an answer or not."""
        with self._lock:
            self._reserved -= self._estimated(call)
            if answer is None:
                return
            spent = self.spending
            prompt, completion = answer.prompt_tokens or 0, answer.completion_tokens or 0
            spent.replies += 1
            spent.prompt_tokens += prompt
            spent.completion_tokens += completion
            if self._price is not None:
                spent.cost = (spent.cost or 0.0) + self._price.cost(prompt, completion)

    def _estimated(self, call: Call) -> float:
        if self._max_cost is None or self._price is None:
            return 0.0
        return self._price.cost(tokens_of(call), REPLY_TOKENS)


def tokens_of(call: Call) -> int:
    """The approximate number of tokens in the messages of a call."""
    return sum(estimated_tokens(message.content) for message in call.messages)
