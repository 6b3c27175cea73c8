"""The cost of calls: the price of a model, and estimates of tokens before any call."""

from __future__ import annotations

import math
from dataclasses import dataclass

_BYTES_A_TOKEN = 4
"""Approximate bytes per token of UTF-8 text; a little less for text that is not English."""

_TOKENS_A_MESSAGE = 4
REPLY_TOKENS = 120
"""Approximate tokens of a score and its reason."""

_MILLION = 1_000_000


@dataclass(frozen=True)
class Price:
    """The price of a model in any currency, per million prompt tokens and per million completion tokens."""

    input: float
    output: float

    def cost(self, prompt_tokens: float, completion_tokens: float) -> float:
        """The cost of these numbers of tokens.

        >>> Price(input=0.5, output=2.0).cost(1_000_000, 500_000)
        1.5
        """
        return (prompt_tokens * self.input + completion_tokens * self.output) / _MILLION


def estimated_tokens(text: str) -> int:
    """The approximate number of tokens of a message.

    >>> estimated_tokens("a" * 400)
    104
    """
    return _TOKENS_A_MESSAGE + math.ceil(len(text.encode("utf-8", "surrogatepass")) / _BYTES_A_TOKEN)
