"""The cost of calls: a user's table of prices, the price of a model, and estimates of tokens before any call.

**What a call costs.** One definition everywhere: the tokens of all replies to it, as the server counts them, by a table
of prices, each call once. Rows that share a call have one call in common, whose key stands beside their replies;
metadata hold no sums of tokens, which would count shared calls repeatedly. A limit is kept by reserving the highest
possible cost of a call until it returns. The dry run uses the code of the run, with a sender that records calls instead
of making them. A judge without a score in its first replies stops: the first judgements are made before the others, so
that this costs twenty replies, whatever the concurrency.
"""

from __future__ import annotations

import functools
import json
import math
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, TypeAlias

from fastmetrics.base.errors import FileFormatError, UnknownNameError
from fastmetrics.base.options import NotAllowedError
from fastmetrics.tables.addresses import last_name, shown_address
from fastmetrics.tables.formats import without_compression
from fastmetrics.tables.input_files import read_text

# The cost of calls: the price of a model, and estimates of tokens before any call.


_BYTES_A_TOKEN = 4
"""Approximate bytes per token of UTF-8 text; a little less for text that is not English."""

_TOKENS_A_MESSAGE = 4
REPLY_TOKENS = 120
"""Approximate tokens of a score and its reason."""

MILLION = 1_000_000
"""The tokens that a price is of."""


@dataclass(frozen=True)
class Price:
    """The price of a model in any currency, per million tokens of each kind; None is unknown.

    ``cached_input`` and ``cache_write`` are those of prompt tokens that were read from a cache, and written to one.
    """

    input: float
    output: float
    cached_input: float | None = None
    cache_write: float | None = None

    def cost(self, prompt_tokens: float, completion_tokens: float) -> float:
        """The cost of these numbers of tokens, none of them cached.

        >>> Price(input=0.5, output=2.0).cost(1_000_000, 500_000)
        1.5
        """
        return (prompt_tokens * self.input + completion_tokens * self.output) / MILLION


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

    ``"cached_input"`` and ``"cache_write"`` may be there too.

    Raises ``FileFormatError`` for a file that cannot be read or has another structure, ``UnknownNameError`` for a model
    that is not in it.
    """
    where = (
        "prices" if isinstance(prices, Mapping) else shown_address(prices if isinstance(prices, str) else Path(prices))
    )
    table = price_table(prices)
    if model not in table:
        raise UnknownNameError(f"{where}: ", UnknownNameError.of("model", model, map(str, table)).message)
    return _price(model, table[model], where)


_KINDS = tuple(kind.name for kind in fields(Price))


def _price(model: str, entry: Any, where: str) -> Price:
    """The price of an entry of a table; raises ``FileFormatError`` for another structure."""
    numbers = entry if isinstance(entry, Mapping) else {}
    if not {"input", "output"} <= numbers.keys() <= {*_KINDS} or not all(
        isinstance(price, int | float) and not isinstance(price, bool) and 0 <= price < math.inf
        for price in numbers.values()
    ):
        expected = (
            'expected {"input": number, "output": number}, and "cached_input" and "cache_write" if tokens are cached: '
            "the prices of a million tokens"
        )
        raise FileFormatError(f"{where}: the price of {model!r}: {expected}")
    return Price(**{kind: float(price) for kind, price in numbers.items()})


@functools.lru_cache(maxsize=8)
def prices_of(text: str) -> Mapping[str, Price]:
    """The prices of a table by model, from its text in JSON."""
    return {model: _price(model, entry, "prices") for model, entry in json.loads(text).items()}


@dataclass(frozen=True)
class PriceTable:
    """Tables of prices, or files of them, as their text in JSON."""

    def take(self, value: Any) -> str:
        """The text; raises ``FileFormatError`` for a file that cannot be read or has another structure."""
        if not isinstance(value, str | os.PathLike | Mapping):
            raise NotAllowedError
        text = json.dumps({str(model): entry for model, entry in price_table(value).items()}, sort_keys=True)
        prices_of(text)
        return text

    def __str__(self) -> str:
        return "prices of a million tokens by model, or a TOML or JSON file of them"


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
    of_client = table.get("prices")  # the settings of a client have them under this name, or the place of their file
    if isinstance(of_client, str) and of_client != last_name(where):
        return price_table(os.path.join(os.path.dirname(where), of_client))
    return of_client if isinstance(of_client, dict) and not {"input", "output"} <= of_client.keys() else table
