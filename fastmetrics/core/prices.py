"""The cost of calls: a user's table of prices, and estimates of tokens before any call."""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fastmetrics.errors import FileFormatError, UnknownNameError

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


def price_of(model: str, prices: Mapping[str, Any] | str | Path) -> Price:
    """The price of a model from a table ``{model: {"input": …, "output": …}}``, or from a TOML or JSON file of it.

    Raises ``FileFormatError`` for a file that cannot be read or has another structure, ``UnknownNameError`` for a model
    that is not in it.
    """
    where = "prices" if isinstance(prices, Mapping) else str(prices)
    table = prices if isinstance(prices, Mapping) else _read(Path(prices))
    if model not in table:
        raise UnknownNameError(f"{where}: ", UnknownNameError.of("model", model, map(str, table)).message)
    entry = table[model]
    found = [entry.get(name) if isinstance(entry, Mapping) else None for name in ("input", "output")]
    if not all(isinstance(one, int | float) and not isinstance(one, bool) and 0 <= one < math.inf for one in found):
        expected = 'expected {"input": number, "output": number}, the price of a million tokens'
        raise FileFormatError(f"{where}: the price of {model!r}: {expected}")
    return Price(float(entry["input"]), float(entry["output"]))


def _read(path: Path) -> Mapping[str, Any]:
    try:
        text = path.read_text(encoding="utf-8")
        found = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except OSError as error:
        raise FileFormatError(f"{path}: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise FileFormatError(f"{path}: not a table of prices: {error}") from error
    if not isinstance(found, dict):
        raise FileFormatError(f"{path}: expected a table of prices by model")
    return found
