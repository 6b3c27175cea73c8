"""Search runs against each other: every query scored by the judgements, then compared as any systems are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from fastmetrics.core.threads import cores
from fastmetrics.errors import InputError, OptionError
from fastmetrics.results.comparison import compare
from fastmetrics.results.comparison_result import Comparison
from fastmetrics.retrieval.evaluate import MEASURES, rank
from fastmetrics.retrieval.judgements import judgements
from fastmetrics.retrieval.measures import measures as named
from fastmetrics.tables.remote.addresses import last_name, shown


def compare_rankings(
    runs: Any,
    qrels: Any,
    measures: str | Sequence[str] = MEASURES,
    *,
    baseline: str | None = None,
    tests: Sequence[str] | str = "fisher",
    correction: str = "holm",
    resamples: int = 10_000,
    bootstrap: int = 2_000,
    confidence: float = 0.95,
    interval: str = "percentile",
    relevance_level: float = 1,
    missing: Literal["zero", "skip"] = "zero",
    no_relevant: Literal["zero", "undefined"] = "zero",
    duplicates: Literal["error", "first"] = "error",
    depth: int | None = None,
    seed: int = 0,
    threads: int | None = None,
) -> Comparison:
    """Compare search runs query by query: every measure of :func:`fastmetrics.rank`, tested as ``compare`` does.

    ``runs`` maps names to what ``rank`` takes as a run, or is a list of files, which go by their names.  ``qrels``,
    ``measures``, ``relevance_level``, ``missing``, ``no_relevant``, ``duplicates`` and ``depth`` are those of ``rank``,
    the others those of :func:`fastmetrics.compare`; the judgements are read once.  Of three runs or more each measure
    has a ranking by Tukey's test too, and ``to_latex`` gives the table of runs × measures with the letters of those
    that a run beats.

    >>> import fastmetrics as fm
    >>> good = {f"q{n}": {"a": 2.0, "b": 1.0} for n in range(8)}
    >>> bad = {f"q{n}": {"a": 1.0, "b": 2.0} for n in range(8)}
    >>> found = fm.compare_rankings({"bad": bad, "good": good}, {f"q{n}": {"a": 1} for n in range(8)}, "mrr")["mrr"]
    >>> found.mean_baseline, found.mean_other, found.p
    (0.5, 1.0, 0.0078125)

    Raises ``InputError`` for fewer than two runs and for data that cannot be scored, ``UnknownNameError`` for an
    unknown measure or baseline, ``OptionError`` for an option's value and for a run named twice.

    Sources: trec_eval 10; Smucker, Allan and Carterette 2007; Carterette 2012.
    """
    cores(threads)  # before anything is read
    given = dict(runs) if isinstance(runs, Mapping) else _by_name(runs)
    if len(given) < 2:
        raise InputError(f"two runs or more can be compared; there {'is one' if given else 'is none'}")
    judged = judgements(qrels, duplicates)
    results = {
        name: rank(
            run,
            judged,
            measures,
            relevance_level=relevance_level,
            missing=missing,
            no_relevant=no_relevant,
            duplicates=duplicates,
            depth=depth,
            threads=threads,
        )
        for name, run in given.items()
    }
    return compare(
        results,
        baseline=baseline,
        metrics=[one.name for one in named(measures)],
        tests=tests,
        correction=correction,
        resamples=resamples,
        bootstrap=bootstrap,
        confidence=confidence,
        interval=interval,
        better={one.name: "higher" for one in named(measures)},
        seed=seed,
        threads=threads,
    )


def _by_name(paths: Any) -> dict[str, Any]:
    """Files by their names, or by their paths where two have one name."""
    if isinstance(paths, str | Path) or not all(isinstance(path, str | Path) for path in paths):
        raise InputError("expected the runs as a list of files, or as a dict of name and run")
    if len({str(path) for path in paths}) < len(paths):
        raise OptionError("a run is named twice")
    counts = Counter(map(last_name, paths))
    return {last_name(path) if counts[last_name(path)] == 1 else shown(path): path for path in paths}
