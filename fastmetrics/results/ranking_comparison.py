"""Comparing rankings: every query is scored against the judgements, then compared like other systems."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from fastmetrics.base import shared_parameters as shared
from fastmetrics.base.errors import InputError
from fastmetrics.base.shared_parameters import Help, also_named
from fastmetrics.base.threads import cores
from fastmetrics.results.compare import compare
from fastmetrics.results.comparison_result import Comparison
from fastmetrics.retrieval.measures import measures as measures_of
from fastmetrics.retrieval.rank import MEASURES, RankingNames, by_path, rank
from fastmetrics.retrieval.rankings import judgements
from fastmetrics.tables.addresses import last_name
from fastmetrics.tables.opening import is_paths


@also_named(metrics="measures")
def compare_rankings(
    rankings: Annotated[Any, Help("The rankings, in a list or by name in a dict.")],
    qrels: Annotated[Any, Help("The judgements.")],
    measures: shared.Measures = MEASURES,
    *,
    baseline: shared.Baseline = None,
    tests: Annotated[Sequence[str] | str, Help("fisher (the default: random signs), t, wilcoxon.")] = "fisher",
    confidence: shared.Confidence = 0.95,
    interval: shared.Interval = "auto",
    bootstrap: shared.Bootstrap = 2_000,
    seed: shared.Seed = 0,
    threads: shared.Threads = None,
    correction: shared.Correction = "holm",
    resamples: shared.Resamples = None,
    relevance_level: shared.RelevanceLevel = 1,
    no_relevant: shared.NoRelevant = "undefined",
    duplicates: shared.Duplicates = "error",
    depth: shared.Depth = None,
    drop_self: shared.DropSelf = False,
    missing: Annotated[
        Literal["zero", "skip"],
        Help(
            "Judged queries that a ranking lacks: skip (left out, as by trec_eval; the default for one "
            "ranking), or zero (score 0, as by trec_eval -c; the default for several)."
        ),
    ] = "zero",
    columns: RankingNames = None,
) -> Comparison:
    """Compare rankings query by query: every measure of :func:`fastmetrics.rank`, tested as in ``compare``.

    ``rankings`` maps names to rankings as in ``rank``, or is a list of files, named by file name.  ``qrels``,
    ``measures`` (also ``metrics=``), ``relevance_level``, ``no_relevant``, ``duplicates``, ``depth``, ``drop_self`` and
    ``columns`` are as in ``rank``, the others as in :func:`fastmetrics.compare`; the judgements are read once.
    ``missing`` is the rule for judged queries that a ranking lacks: ``"zero"`` (trec_eval's -c) scores them 0, so that
    no ranking gains by failing; ``"skip"`` compares the queries that both rankings have.  Tables, notes and
    ``missing_queries`` of the result count them under either rule.  For three rankings or more, each measure also has
    an order by the test of all pairs, and ``to_latex`` gives the table of rankings × measures with the letters of the
    rankings that each ranking beats.

    >>> import fastmetrics as fm
    >>> good = {f"q{n}": {"a": 2.0, "b": 1.0} for n in range(8)}
    >>> bad = {f"q{n}": {"a": 1.0, "b": 2.0} for n in range(8)}
    >>> qrels = {f"q{n}": {"a": 1} for n in range(8)}
    >>> found = fm.results.compare_rankings({"bad": bad, "good": good}, qrels, "mrr")["mrr"]
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
    judged = judgements(qrels, duplicates, columns)
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
            columns=columns,
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
