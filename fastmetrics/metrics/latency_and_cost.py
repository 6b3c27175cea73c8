"""The logged cost of a call, time and tokens, with percentiles in summaries (the QA framework, the RAG project).

**Rounds.** Token counts of several rounds are a list, and their sum is used. Where each round is its own row, each row
is scored separately, and a column ``round`` says that summaries and comparisons are to add up the rows of one id.
A sum that lacks a round would be too small, and fewer tokens are better, so an empty list, a list with a null and a
round without tokens count as missing.

**Cached tokens and reasoning** belong to prompt and completion. Servers count them within these or apart, and their
names mostly say which; where they do not, the logged total decides, or that no part can be more than the whole. What
neither tells is undefined. A total that is not prompt + completion is noted, and taken as logged unless it lacks just
the parts that are counted apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
import pyarrow as pa

from fastmetrics.base.arrays import Flags, Floats, decoded, is_text, numpy_values
from fastmetrics.base.errors import Argument, ColumnError, OptionError
from fastmetrics.base.options import Optional
from fastmetrics.base.token_counts import COMPLETION, COUNTS, PROMPT, READ, REASONING, TOTAL, WRITTEN
from fastmetrics.metrics.batch import Batch, Caution, Number, Numbers, NumbersIn, Options, Unread, need
from fastmetrics.metrics.metric import RowHooks, metric
from fastmetrics.metrics.parameters import Either
from fastmetrics.metrics.prices import MILLION, PriceTable, prices_of


@dataclass(frozen=True)
class LatencyIn:
    """Milliseconds, which are unread where nothing tells what they are."""

    def of(self, batch: Batch, column: str, options: Options) -> Numbers:
        """The column's numbers."""
        return batch.numbers(column)

    def unread(self, batch: Batch, column: str, options: Options) -> Iterator[Unread]:
        """The rows of no latency."""
        values = batch.numbers(column).values
        yield from NumbersIn().unread(batch, column, options)
        yield Unread("have a negative latency", values < 0)
        yield Unread(
            "have a start or an end that is no time, or only one of them has a time zone",
            np.isnan(values),
            "give both a zone, or neither",
        )
        if not batch.told.latency:
            yield Unread(
                "have a latency of milliseconds or seconds, which no name tells",
                values != 0,
                "name its unit: columns={'latency_s': NAME} or {'latency_ms': NAME}, --columns latency_s=NAME",
            )


@metric(
    bounds=(0, np.inf),
    better="lower",
    source="S0 and S1, latency",
    statistics=("p50", "p90", "p95", "p99"),
    labels={"p50": "P50 Latency (ms)"},
    aliases=["latency"],
)
def latency_ms(latency_ms: Annotated[Numbers, LatencyIn()]) -> Floats:
    """Milliseconds from request to answer, as logged; a column that is named so, such as ``latency_s``, has seconds.

    Undefined is a negative latency, a time between moments of which one alone has a zone, and each of a column
    ``latency`` whose first thousand values are mostly below 100, until ``latency_ms`` or ``latency_s`` names it.  A
    summary adds the 50th, 90th, 95th and 99th percentile, interpolated linearly as NumPy does.

    >>> import fastmetrics as fm
    >>> fm.latency_ms([120, 80.5, None])
    array([120. ,  80.5,   nan])
    """
    return latency_ms.values


# Counts of tokens: what belongs to a prompt, a completion and their total.


@dataclass(frozen=True, eq=False)
class TokenCounts:
    """The tokens of each row, NaN where they are not known; ``prompt`` and ``completion`` have all their parts."""

    prompt: Floats
    completion: Floats
    total: Floats
    read: Floats
    written: Floats
    differs: Flags
    """Whether the logged total is not prompt + completion."""
    unsaid: Flags
    """Whether nothing tells if cached tokens are within the prompt."""
    negative: Flags
    """Whether a count is negative."""

    @classmethod
    def of(cls, batch: Batch) -> TokenCounts:
        """The counts of a batch, computed once for all metrics."""
        return batch.remember("token counts", lambda: cls._of(batch))

    @classmethod
    def _of(cls, batch: Batch) -> TokenCounts:
        prompt, completion, total = (_whole(batch, column) for column in (PROMPT, COMPLETION, TOTAL))
        read, written, reasoning = (_part(batch, column) for column in (READ, WRITTEN, REASONING))
        cached = read + written
        ends = [completion + reasoning] if batch.told.reasoning is False else [completion, completion + reasoning]
        fits, fits_apart = (
            np.logical_or.reduce([front + end == total for end in ends]) for front in (prompt, prompt + cached)
        )
        apart = (cached > prompt) | (fits_apart & ~fits) | (batch.told.cache is False)
        unsaid = np.full(batch.n_rows, batch.told.cache is None) & (cached > 0) & ~apart & ~(fits & ~fits_apart)
        whole = np.where(unsaid, np.nan, prompt + cached * apart)
        thought = (reasoning > completion) | ((whole + completion != total) & (whole + completion + reasoning == total))
        answer = completion + reasoning * (thought | (batch.told.reasoning is False))
        both = whole + answer
        differs = ~np.isnan(total) & ~np.isnan(both) & (total != both)
        is_short = np.isnan(total) | (differs & (total == prompt + completion))
        total = np.where(is_short, both, total)
        counts = prompt, completion, total, read, written, reasoning
        negative = np.logical_or.reduce([count < 0 for count in counts])
        return cls(whole, answer, total, read, written, differs, unsaid, negative)


def _whole(batch: Batch, column: str) -> Floats:
    return batch.numbers(column).values if column in batch.columns else np.full(batch.n_rows, np.nan)


def _part(batch: Batch, column: str) -> Floats:
    """The tokens of a part, none where nothing says how many."""
    if column not in batch.columns:
        return np.zeros(batch.n_rows)
    return np.where(numpy_values(batch.columns[column].is_valid()), batch.numbers(column).values, 0.0)


@dataclass(frozen=True)
class CountsIn:
    """The counts of tokens, which are read from all columns of them."""

    figure: str
    """The one that a metric needs, which is undefined where it is NaN."""
    columns: ClassVar[Mapping[str, Any]] = dict.fromkeys(COUNTS, Number)

    def unread(self, batch: Batch, column: str, options: Options) -> Iterator[Unread]:
        """The rows whose counts cannot be told."""
        counts = TokenCounts.of(batch)
        yield Unread("have a negative count of tokens", counts.negative)
        if self.figure != "completion":
            yield Unread(
                "have cached tokens that may be within the prompt or beside it, which no name or total tells",
                counts.unsaid & np.isnan(getattr(counts, self.figure)),
                "log total_tokens beside them, or call their column cache_read_tokens if they are within the prompt",
            )

    def of(self, batch: Batch, column: str, options: Options) -> TokenCounts:
        """The counts of the batch."""
        return TokenCounts.of(batch)


PromptCount = Annotated[TokenCounts, CountsIn("prompt")]
CompletionCount = Annotated[TokenCounts, CountsIn("completion")]
TotalCount = Annotated[TokenCounts, CountsIn("total")]


@metric(bounds=(0, np.inf), better="lower", source="S1, total tokens")
def prompt_tokens(prompt_tokens: PromptCount) -> Floats:
    """Tokens of the prompt with those of a cache, as logged; for a list of rounds, their sum.

    ``cache_read_tokens`` and ``cache_write_tokens`` are added where the log counts them apart: by their names
    (Anthropic's ``cache_read_input_tokens``, Langfuse's ``input_cached_tokens``, Bedrock's ``cacheReadInputTokens``),
    by the total, or because they are more than the prompt.  Where none of these tells, the row is undefined.

    >>> import fastmetrics as fm
    >>> fm.prompt_tokens([512, 86], cache_read_tokens=[500, 17817])
    array([  512., 17903.])
    """
    return prompt_tokens.prompt


@metric(bounds=(0, np.inf), better="lower", source="S1, total tokens")
def completion_tokens(completion_tokens: CompletionCount) -> Floats:
    """Tokens of the answer with those of reasoning, as logged; for a list of rounds, their sum.

    ``reasoning_tokens`` are added where the log counts them apart: by their names (Gemini's ``thoughtsTokenCount``), by
    the total, or because they are more than the answer.

    >>> import fastmetrics as fm
    >>> fm.completion_tokens([24, 31], reasoning_tokens=[0, 94])
    array([ 24., 125.])
    """
    return completion_tokens.completion


def _counted(batch: Batch, options: Options) -> Flags:
    """The rows with known tokens, as a total or as both components."""
    complete = [
        np.logical_and.reduce([batch.present(column) for column in columns])
        for columns in _TOTALS
        if set(columns) <= set(batch.columns)
    ]
    return np.logical_or.reduce(complete)


_TOTALS = ((TOTAL,), (PROMPT, COMPLETION))


def _differs(batch: Batch, options: Options, columns: Iterable[str]) -> Flags | None:
    return TokenCounts.of(batch).differs if {TOTAL, PROMPT, COMPLETION} <= batch.columns.keys() else None


@metric(
    bounds=(0, np.inf),
    better="lower",
    source="S1, total tokens",
    labels={"mean": "Avg Total Tokens"},
    cues=["tokens"],
    rows=RowHooks(either=Either(_TOTALS, _counted)),
    caution=Caution(
        "have a total of tokens that is not prompt + completion",
        "it counts as logged, unless it lacks cached or reasoning tokens that are logged beside it",
        _differs,
        least=0.0,
    ),
)
def total_tokens(
    total_tokens: TotalCount = None,  # type: ignore[assignment]
    prompt_tokens: TotalCount = None,  # type: ignore[assignment]
    completion_tokens: TotalCount = None,  # type: ignore[assignment]
) -> Floats:
    """Tokens of prompt and answer together: as logged, otherwise ``prompt_tokens`` + ``completion_tokens``.

    Cached and reasoning tokens belong to them, as in these metrics.  A total that is not their sum is noted.

    For a list with a number for each round of a question, the sum; null if the list is empty or contains null, because
    a sum without some round would be too small.  Rounds may also be rows: summaries and comparisons add those of one id
    (and ``repeat``) if a column ``round`` numbers them, and say so.  Other rows of one id are several answers.

    >>> import fastmetrics as fm
    >>> fm.total_tokens([536, None], prompt_tokens=[[512], [498, 20]], completion_tokens=[[24], [31, 1]])
    array([536., 550.])
    """
    counts = next(one for one in (total_tokens, prompt_tokens, completion_tokens) if one is not None)
    return counts.total


# The cost of a row, as logged or by the prices of its model.


def models_in(batch: Batch, column: str, options: Options) -> pa.DictionaryArray:
    """The names of models, each once."""
    models = decoded(batch.columns[column])
    if not is_text(models.type):
        raise ColumnError(f"column {column!r}: expected names of models, got {models.type}")
    return models.dictionary_encode()


_MODELS = need(models_in)


def _priced(batch: Batch, options: Options) -> Flags:
    """The rows with a logged cost, or with tokens and, if there are models, a model."""
    found = np.zeros(batch.n_rows, np.bool_)
    if "cost" in batch.columns:
        found |= batch.present("cost")
    if options["prices"] is not None and {PROMPT, COMPLETION} <= batch.columns.keys():
        needed = [PROMPT, COMPLETION, *({"model"} & batch.columns.keys())]
        found |= np.logical_and.reduce([batch.present(column) for column in needed])
    return found


class _Paid(NamedTuple):
    """The cost of rows by prices, NaN where it is not known, and the rows of a model without a price."""

    cost: Floats
    unpriced: Flags


def _paid(counts: TokenCounts, model: pa.DictionaryArray | None, text: str) -> _Paid:
    prices = prices_of(text)
    if model is None and len(prices) != 1:
        raise OptionError(
            f"cost needs the column 'model', since there are prices of {len(prices):,} models; set its name with ",
            Argument("columns", {"model": ...}),
        )
    listed = [*prices.values()] if model is None else [prices.get(name) for name in model.dictionary.to_pylist()]
    kinds = [
        [None] * 4 if price is None else [price.input, price.cached_input, price.cache_write, price.output]
        for price in (*listed, None)
    ]
    rates = np.array(kinds, np.float64)  # None is NaN
    of_row = np.zeros(len(counts.prompt), np.int64) if model is None else numpy_values(model.indices, null=-1)
    fresh = counts.prompt - counts.read - counts.written
    amounts = fresh, counts.read, counts.written, counts.completion
    paid = [np.where(amount == 0, 0.0, amount * rates[of_row, kind]) for kind, amount in enumerate(amounts)]
    unpriced = np.isnan(rates[of_row, 0])
    return _Paid(np.where(unpriced, np.nan, sum(paid)) / MILLION, unpriced)


def _without_price(batch: Batch, options: Options) -> Iterator[Unread]:
    """The rows with tokens that have no price, unless their cost is logged."""
    if options["prices"] is None or not {PROMPT, COMPLETION} <= batch.columns.keys():
        return
    model = _MODELS.of(batch, "model", options) if "model" in batch.columns else None
    paid = _paid(TokenCounts.of(batch), model, options["prices"])
    open_rows = np.isnan(paid.cost)
    if "cost" in batch.columns:
        open_rows &= np.isnan(batch.numbers("cost").values)
    yield Unread("have a model that is not in the prices", open_rows & paid.unpriced, "add it to --prices")
    yield Unread(
        "have cached tokens without a price", open_rows, "add cached_input and cache_write of their model to --prices"
    )


@metric(
    bounds=(0, np.inf),
    better="lower",
    source="S1, tokens",
    statistics=("sum",),
    usual=False,
    unread=_without_price,
    rows=RowHooks(either=Either((("cost",), (PROMPT, COMPLETION)), _priced)),
)
def cost(
    cost: Number = None,  # type: ignore[assignment]
    prompt_tokens: PromptCount = None,  # type: ignore[assignment]
    completion_tokens: PromptCount = None,  # type: ignore[assignment]
    model: Annotated[pa.DictionaryArray, _MODELS] = None,
    *,
    prices: Annotated[str | None, Optional(PriceTable()), "the prices of a million tokens, by model"] = None,
) -> Floats:
    """What the answer cost, by the prices of its ``model``, or else as logged in a column ``cost``.

    cost = (fresh · input + read · cached_input + written · cache_write + completion · output) / 1,000,000, where prompt
    = fresh + read + written.  ``prices`` are a table ``{model: {"input": …, "output": …, "cached_input": …,
    "cache_write": …}}`` or a TOML or JSON file of it; without a column ``model`` it has one model.  A row whose model
    has no price, or whose cached tokens have none, is undefined.  A summary adds the sum.

    >>> import fastmetrics as fm
    >>> prices = {"m": {"input": 2.5, "cached_input": 0.25, "output": 10}}
    >>> fm.cost(prompt_tokens=[1000], completion_tokens=[100], cache_read_tokens=[800], model=["m"], prices=prices)
    array([0.0017])

    Raises ``OptionError`` without prices, unless costs are logged, and for several prices without a column ``model``;
    ``FileFormatError`` for a file that is no table of prices.
    """
    logged = None if cost is None else cost.values
    if prices is None or prompt_tokens is None or completion_tokens is None:
        if logged is None:
            raise OptionError("cost needs ", Argument("prices", "prices.toml"), ", a table of prices by model")
        return logged
    by_tokens = _paid(prompt_tokens, model, prices).cost
    return by_tokens if logged is None else np.where(np.isnan(by_tokens), logged, by_tokens)
