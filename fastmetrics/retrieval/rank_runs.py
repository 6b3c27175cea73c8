"""Evaluating several runs: a table of means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import pyarrow as pa

from fastmetrics.core.threads import cores
from fastmetrics.retrieval.evaluate import MEASURES, rank
from fastmetrics.retrieval.judgements import judgements
from fastmetrics.retrieval.measures import measures as named


def rank_runs(
    runs: Mapping[str, Any],
    qrels: Any,
    measures: str | Sequence[str] = MEASURES,
    *,
    relevance_level: float = 1,
    missing: Literal["zero", "skip"] = "zero",
    no_relevant: Literal["zero", "undefined"] = "zero",
    duplicates: Literal["error", "first"] = "error",
    depth: int | None = None,
    threads: int | None = None,
) -> pa.Table:
    """Evaluate several runs: a table with one row per run, its name, counts of queries, and the mean of each measure.

    ``runs`` maps names to runs as in :func:`rank`, whose options these are, with another default of ``missing``: a
    query that a run lacks scores 0, so that no run gains by failing.  ``n`` is the number of queries in the means,
    ``n_missing`` the number of judged queries that the run lacks, and ``missing`` the rule for them.

    >>> runs = {"good": {"q": {"a": 2, "b": 1}, "p": {"a": 1}}, "bad": {"q": {"a": 1, "b": 2}}}
    >>> table = rank_runs(runs, {"q": {"a": 1}, "p": {"a": 1}}, "mrr")
    >>> table.select(["run", "n", "n_missing", "missing", "mrr"]).to_pylist()[1]
    {'run': 'bad', 'n': 2, 'n_missing': 1, 'missing': 'zero', 'mrr': 0.25}

    Raises the errors of :func:`rank`.
    """
    cores(threads)  # checked before any input is read
    judged = judgements(qrels, duplicates)
    options: dict[str, Any] = {
        "relevance_level": relevance_level,
        "missing": missing,
        "no_relevant": no_relevant,
        "duplicates": duplicates,
        "depth": depth,
        "threads": threads,
    }
    results = {name: rank(run, judged, measures, **options) for name, run in runs.items()}
    counts = {
        "n": pa.array([result.n for result in results.values()], pa.int64()),
        "n_missing": pa.array([len(result.missing) for result in results.values()], pa.int64()),
        "missing": pa.array([result.settings.missing for result in results.values()], pa.string()),
    }
    means = {
        one.name: pa.array([result.mean[one.name] for result in results.values()], pa.float64())
        for one in named(measures)
    }
    return pa.table({"run": pa.array(list(results), pa.string()), **counts, **means})
