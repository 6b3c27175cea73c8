"""The spending of a run, and its limits."""

from __future__ import annotations

import asyncio
import json
import math
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from fastmetrics.base.errors import Argument, OptionError
from fastmetrics.derive.calls.call import Answer, Call
from fastmetrics.results.prices import REPLY_TOKENS, Price, estimated_tokens

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
    from_store: int = 0
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

    @property
    def waits(self) -> float:
        """Seconds for which the server still asks to send nothing."""
        return max(0.0, self.waits_until - time.monotonic())

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
        self,
        max_calls: int | None,
        max_cost: float | None,
        price: Price | None,
        reply_tokens: int = LONGEST_REPLY,
        reply_limit: str = "max_tokens",
    ) -> None:
        self._max_calls, self._max_cost = max_calls, max_cost
        self._price, self._reply_tokens, self._reply_limit = price, reply_tokens, reply_limit
        self._in_progress = 0
        self._reserved = 0.0
        self._returned = asyncio.Event()
        self.spending = Spending(cost=None if price is None else 0.0)

    async def take(self, call: Call) -> bool:
        """Whether one more request may be sent, which is then counted.

        If only calls in progress leave too little, their cost is waited for: it may be lower than reserved.  Raises
        ``OptionError`` if the limit of the cost, unless 0, is too low for even the first call.
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
            elif not spending.requests and self._max_cost:
                raise OptionError(*self._too_low(call, highest))
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

    def _too_low(self, call: Call, highest: float) -> tuple[object, ...]:
        """The message for a limit that allows no call, with the settings that would."""
        cost = (
            f"{highest:,.4g} (a prompt of {self._prompt_tokens(call):,} and a reply of {self._reply_tokens:,} tokens)"
        )
        ways: tuple[object, ...] = ("raise the limit to ", Argument("max_cost", _rounded_up(highest)))
        price, most = self._price, self._max_cost or 0.0
        left = 0 if price is None else most - price.cost(self._prompt_tokens(call), 0)
        shorter = 0 if price is None or not price.output else int(left / price.cost(0, 1))
        if shorter >= REPLY_TOKENS:
            parameters = Argument("parameters", {self._reply_limit: shorter})
            ways = (*ways, ", or limit each reply to ", parameters)
        return (Argument("max_cost", most), f": no call was made, since the first one may cost {cost}; ", *ways)

    def _prompt_tokens(self, call: Call) -> int:
        """The highest number of tokens of a call's messages and schema."""
        schema = "" if call.schema is None else json.dumps(call.schema)
        texts = [schema, *(message.content for message in call.messages)]
        return sum(_MARKUP + len(text.encode("utf-8", "surrogatepass")) for text in texts)

    def _highest_cost(self, call: Call) -> float:
        if self._max_cost is None or self._price is None:
            return 0.0
        return self._price.cost(self._prompt_tokens(call), self._reply_tokens)


def _rounded_up(cost: float) -> float:
    """A cost with three significant digits, not lower than the cost."""
    unit = 10.0 ** (math.floor(math.log10(cost)) - 2)
    return float(f"{math.ceil(cost / unit) * unit:.3g}")


def tokens_of(call: Call) -> int:
    """The approximate number of tokens in the messages of a call."""
    return sum(estimated_tokens(message.content) for message in call.messages)
