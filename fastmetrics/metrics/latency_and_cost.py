"""The logged cost of a call, time and tokens, with percentiles in summaries (the QA framework, the RAG project).

**Rounds.** Token counts of several rounds are a list, and their sum is used. Where each round is its own row, each row
is scored separately, and summaries and comparisons add up the rows of one id. A column ``round`` says that rows are
rounds, and ``repeat`` that they are other answers; without either, ids with different numbers of rows have rounds,
since repeats are as many for each question. A sum that lacks a round would be too small, and fewer tokens are better,
so an empty list, a list with a null and a round without tokens count as missing.
"""

from __future__ import annotations

import numpy as np

from fastmetrics.base.arrays import Flags, Floats
from fastmetrics.metrics.batch import Batch, Number, Options
from fastmetrics.metrics.metric import RowHooks, metric
from fastmetrics.metrics.parameters import Either


@metric(
    bounds=(0, np.inf),
    better="lower",
    source="S0 and S1, latency",
    statistics=("p50", "p90", "p95", "p99"),
    labels={"p50": "P50 Latency (ms)"},
    aliases=["latency"],
)
def latency_ms(latency_ms: Number) -> Floats:
    """Milliseconds from request to answer, as logged.

    A summary adds the 50th, 90th, 95th and 99th percentile, interpolated linearly as NumPy does.

    >>> import fastmetrics as fm
    >>> fm.latency_ms([120, 80.5, None])
    array([120. ,  80.5,   nan])
    """
    return latency_ms.values


@metric(bounds=(0, np.inf), better="lower", source="S1, total tokens")
def prompt_tokens(prompt_tokens: Number) -> Floats:
    """Tokens of the prompt, as logged; for a list of rounds, their sum.

    >>> import fastmetrics as fm
    >>> fm.prompt_tokens([512, 498])
    array([512., 498.])
    """
    return prompt_tokens.values


@metric(bounds=(0, np.inf), better="lower", source="S1, total tokens")
def completion_tokens(completion_tokens: Number) -> Floats:
    """Tokens of the answer, as logged; for a list of rounds, their sum.

    >>> import fastmetrics as fm
    >>> fm.completion_tokens([24, 31])
    array([24., 31.])
    """
    return completion_tokens.values


def _counted(batch: Batch, options: Options) -> Flags:
    """The rows with known tokens, as a total or as both components."""
    complete = [
        np.logical_and.reduce([batch.present(column) for column in columns])
        for columns in _TOTALS
        if set(columns) <= set(batch.columns)
    ]
    return np.logical_or.reduce(complete)


_TOTALS = (("total_tokens",), ("prompt_tokens", "completion_tokens"))


@metric(
    bounds=(0, np.inf),
    better="lower",
    source="S1, total tokens",
    labels={"mean": "Avg Total Tokens"},
    cues=["tokens"],
    rows=RowHooks(either=Either(_TOTALS, _counted)),
)
def total_tokens(
    total_tokens: Number = None,  # type: ignore[assignment]
    prompt_tokens: Number = None,  # type: ignore[assignment]
    completion_tokens: Number = None,  # type: ignore[assignment]
) -> Floats:
    """Tokens of prompt and answer together: as logged, otherwise ``prompt_tokens`` + ``completion_tokens``.

    For a list with a number for each round of a question, the sum; null if the list is empty or contains null, because
    a sum without some round would be too small.  Rounds may also be rows: summaries and comparisons add those of one id
    if a column ``round`` numbers them, or the ids have different numbers of rows, and say so.  Rows with different
    numbers in a column ``repeat`` are several answers to a question, and so are rows of ids that all have as many.

    >>> import fastmetrics as fm
    >>> fm.total_tokens([536, None], prompt_tokens=[[512], [498, 20]], completion_tokens=[[24], [31, 1]])
    array([536., 550.])
    """
    parts = (
        None if prompt_tokens is None or completion_tokens is None else prompt_tokens.values + completion_tokens.values
    )
    if parts is None:
        return total_tokens.values
    return parts if total_tokens is None else np.where(np.isnan(total_tokens.values), parts, total_tokens.values)
