"""Comparing rankings: every query is scored against the judgements, then compared like other systems."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from fastmetrics.base.errors import InputError
from fastmetrics.base.threads import cores
from fastmetrics.results.compare import compare
from fastmetrics.results.comparison import Comparison
from fastmetrics.retrieval.measures import measures as measures_of
from fastmetrics.retrieval.rank import MEASURES, by_path, rank
from fastmetrics.retrieval.rankings import judgements
from fastmetrics.tables.addresses import last_name
from fastmetrics.tables.opening import is_paths


def compare_rankings(
    rankings: Any,
    qrels: Any,
    measures: str | Sequence[str] = MEASURES,
    *,
    baseline: str | None = None,
    tests: Sequence[str] | str = "fisher",
    confidence: float = 0.95,
    interval: Literal["auto", "t", "percentile", "bca", "studentised"] = "auto",
    bootstrap: int = 2_000,
    seed: int = 0,
    threads: int | None = None,
    correction: Literal["holm", "bh", "none"] = "holm",
    resamples: int | None = None,
    relevance_level: float = 1,
    no_relevant: Literal["zero", "undefined"] = "undefined",
    duplicates: Literal["error", "first"] = "error",
    depth: int | None = None,
    drop_self: bool = False,
    missing: Literal["zero", "skip"] = "zero",
) -> Comparison:
    """Compare rankings query by query: every measure of :func:`fastmetrics.rank`, tested as in ``compare``.

    ``rankings`` maps names to rankings as in ``rank``, or is a list of files, named by file name.  ``qrels``,
    ``measures``, ``relevance_level``, ``no_relevant``, ``duplicates``, ``depth`` and ``drop_self`` are as in
    ``rank``, the others as in :func:`fastmetrics.compare`; the judgements are read once.  ``missing`` is the rule for
    judged queries that a ranking lacks: ``"zero"`` (trec_eval's -c) scores them 0, so that no ranking gains by
    failing; ``"skip"`` compares the queries that both rankings have.  Tables, notes and ``missing_queries`` of the
    result count them under either rule.  For three rankings or more, each measure also has an order by the test of all
    pairs, and ``to_latex`` gives the table of rankings × measures with the letters of the rankings that each ranking
    beats.

    Parameters:

    - ``rankings``: The rankings, in a list or by name in a dict.
    - ``qrels``: The judgements.
    - ``measures``: Measures: ndcg@10,mrr,RBP(p=0.8).
    - ``baseline``: The name of the baseline run; by default the first.
    - ``tests``: fisher (the default), t, mcnemar, wilcoxon; of runs that share no rows interval, welch.
    - ``confidence``: Confidence level of the intervals.
    - ``interval``: Kind of the intervals; auto chooses the one that fits the data.
    - ``bootstrap``: Samples for each bootstrap interval.
    - ``seed``: Random seed.
    - ``threads``: Number of threads, from 1 to 1,024; by default one for each core available to this process, of
      profile one.
    - ``correction``: Correction of p for the number of comparisons.
    - ``resamples``: Random sign patterns for each p; by default 10,000, or as many more as a verdict needs.
    - ``relevance_level``: The lowest grade that counts as relevant.
    - ``no_relevant``: Score of a row or query without relevant documents: undefined (excluded from the mean), or zero,
      as in trec_eval.
    - ``duplicates``: A document listed twice for one query: error, or first (keep the first).
    - ``depth``: Use only this many documents of each query.
    - ``drop_self``: Leave out documents whose id is that of the query.
    - ``missing``: Judged queries that a ranking lacks: skip (left out, as by trec_eval; the default for one ranking),
      or zero (score 0, as by trec_eval -c; the default for several).

    >>> import fastmetrics as fm
    >>> good = {f"q{n}": {"a": 2.0, "b": 1.0} for n in range(8)}
    >>> bad = {f"q{n}": {"a": 1.0, "b": 2.0} for n in range(8)}
    >>> found = fm.compare_rankings({"bad": bad, "good": good}, {f"q{n}": {"a": 1} for n in range(8)}, "mrr")["mrr"]
    >>> found.mean_baseline, found.mean_other, found.p
    (0.5, 1.0, 0.0078125)

    Raises ``InputError`` for fewer than two rankings and for data that cannot be scored, ``UnknownNameError`` for an
    unknown measure or baseline, ``OptionError`` for an invalid option and for two rankings of the same name.

    Sources: trec_eval 10; Smucker, Allan and Carterette 2007; Carterette 2012.
    """
    cores(threads)  # checked before any input is read
    rankings = dict(rankings) if isinstance(rankings, Mapping) else _by_name(rankings)
    if len(rankings) < 2:
        raise InputError(f"a comparison needs at least two rankings, got {'one' if rankings else 'none'}")
    judged = judgements(qrels, duplicates)
    results = {
        name: rank(
            ranking,
            judged,
            measures,
            relevance_level=relevance_level,
            missing=missing,
            no_relevant=no_relevant,
            duplicates=duplicates,
            depth=depth,
            drop_self=drop_self,
            threads=threads,
        )
        for name, ranking in rankings.items()
    }
    return compare(
        results,
        baseline=baseline,
        metrics=[measure.name for measure in measures_of(measures)],
        tests=tests,
        correction=correction,
        resamples=resamples,
        bootstrap=bootstrap,
        confidence=confidence,
        interval=interval,
        better={measure.name: measure.family.better for measure in measures_of(measures) if measure.family.better},
        seed=seed,
        threads=threads,
    )


def _by_name(paths: Any) -> dict[str, Any]:
    """Files by name, or by path if two have the same name."""
    if isinstance(paths, str | Path) or (paths and not is_paths(paths)):
        raise InputError("rankings: expected a list of files, or a dict of names and rankings")
    counts = Counter(map(last_name, paths))
    return {path if counts[last_name(file)] > 1 else last_name(file): file for path, file in by_path(paths).items()}
