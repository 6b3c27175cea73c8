"""The cost of calls: a user's table of prices, the price of a model, and estimates of tokens before any call.

**What a call costs.** One definition everywhere: the tokens of all replies to it, as the server counts them, by a table
of prices, each call once. Rows that share a call have one call in common, whose key stands beside their replies;
metadata hold no sums of tokens, which would count shared calls repeatedly. A limit is kept by reserving the highest
possible cost of a call until it returns. The dry run uses the code of the run, with a sender that records calls instead
of making them. A judge without a score in its first replies stops: the first judgements are made before the others, so
that this costs twenty replies, whatever the concurrency.
"""

from __future__ import annotations

import json
import math
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from fastmetrics.base.errors import FileFormatError, UnknownNameError
from fastmetrics.tables.addresses import last_name, shown_address
from fastmetrics.tables.file_formats import without_compression
from fastmetrics.tables.input_files import read_text

# The cost of calls: the price of a model, and estimates of tokens before any call.


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


# A user's table of prices: a mapping, or a TOML or JSON file of it.


Prices: TypeAlias = Mapping[str, Any] | str | os.PathLike[str]


def price_of(model: str, prices: Prices) -> Price:
    """The price of a model from a table ``{model: {"input": …, "output": …}}``, or from a TOML or JSON file of it.

    Raises ``FileFormatError`` for a file that cannot be read or has another structure, ``UnknownNameError`` for a model
    that is not in it.
    """
    where = (
        "prices" if isinstance(prices, Mapping) else shown_address(prices if isinstance(prices, str) else Path(prices))
    )
    table = price_table(prices)
    if model not in table:
        raise UnknownNameError(f"{where}: ", UnknownNameError.of("model", model, map(str, table)).message)
    entry = table[model]
    numbers = [entry.get(name) if isinstance(entry, Mapping) else None for name in ("input", "output")]
    if not all(
        isinstance(price, int | float) and not isinstance(price, bool) and 0 <= price < math.inf for price in numbers
    ):
        expected = 'expected {"input": number, "output": number}, the price of a million tokens'
        raise FileFormatError(f"{where}: the price of {model!r}: {expected}")
    return Price(float(entry["input"]), float(entry["output"]))


def price_table(prices: Prices) -> Mapping[str, Any]:
    """The table itself, or the contents of its file; raises ``FileFormatError`` for a file that cannot be read."""
    if isinstance(prices, Mapping):
        return prices
    if isinstance(prices, str) and prices.lstrip().startswith("{"):  # the prices themselves, on the command line
        text, where, is_json = prices, "prices", True
    else:
        path = prices if isinstance(prices, str) else Path(prices)
        text, where = read_text(path), shown_address(path)
        is_json = without_compression(last_name(path))[0].endswith(".json")
    try:
        table = json.loads(text) if is_json else tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise FileFormatError(f"{where}: not a table of prices: {error}") from error
    if not isinstance(table, dict):
        raise FileFormatError(f"{where}: expected a table of prices by model")
    return table
