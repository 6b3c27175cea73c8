"""Comparing systems by their scores on the same rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, cast, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.core.allowed_values import Choice, Real, Seed, Whole, argument
from fastmetrics.core.arrays import Ints
from fastmetrics.core.corpus_counts import counts_column
from fastmetrics.core.name_lists import listed
from fastmetrics.core.threads import cores
from fastmetrics.declaration.metric import Better, Side
from fastmetrics.errors import ColumnError, OptionError, UnknownNameError
from fastmetrics.errors.messages import Argument
from fastmetrics.metrics import lookup
from fastmetrics.plan.corpus_values import many_values
from fastmetrics.results.compared_cell import Cell, HowToCompare
from fastmetrics.results.comparison_result import Compared, Comparison, Ranking
from fastmetrics.results.counted_cell import CountedCell
from fastmetrics.results.declared_metrics import declared_better
from fastmetrics.results.pairing import PairedRuns, check_settings, pair_runs
from fastmetrics.results.score_runs import ScoreRun, open_run, open_runs, shared_metrics
from fastmetrics.results.segments import Segment, cluster_numbers, segments_of
from fastmetrics.stats.multiple_tests import CORRECTIONS, corrected
from fastmetrics.stats.paired_tests import TESTS


def compare(
    runs: Any,
    *,
    baseline: str | None = None,
    metrics: Sequence[str] | str | None = None,
    by: Sequence[str] | str | Sequence[Sequence[str]] | None = None,
    cluster: str | None = None,
    tests: Sequence[str] | str = "fisher",
    correction: str = "holm",
    resamples: int = 10_000,
    bootstrap: int = 2_000,
    confidence: float = 0.95,
    interval: str = "percentile",
    system: str | None = None,
    on: str | None = None,
    by_position: bool = False,
    segments: Any = None,
    better: Mapping[str, str] | None = None,
    allow_differences: bool = False,
    seed: int = 0,
    threads: int | None = None,
) -> Comparison:
    """Compare systems by their existing scores on the same rows.

    ``runs`` are score files, folders, addresses, tables of scores or results of ``fm.rank``, in a list or by name in a
    dict; or one table with a column ``system`` that names the systems.  Rows are paired by the column ``on``, by
    default the id; with ``by_position=True``, row i is paired with row i.  All pairs of systems are compared, pairs
    with the ``baseline`` (by default the first run) first.

    For each metric, over the n rows where both systems have a score: Δ = mean(other − baseline); its interval, from
    ``bootstrap`` samples of rows (``interval="bca"`` corrects for bias and skewness; ``interval="t"`` is mean ± t·s/√n,
    sufficient for many rows, without samples); d_z = mean/sd of the differences; rows won, tied and lost, by the
    direction of the metric (as declared, or ``better={"name": "lower"}``; otherwise higher); the p of each of the
    ``tests``; and ``detectable``, the smallest true difference that n such rows detect with power 0.8.  Rows with a
    score of one system only are counted, and a note says where they could reverse Δ.

    ``tests``: ``fisher``, the randomisation test with ``resamples`` random sign patterns (all 2ⁿ up to 20 rows); ``t``,
    the paired t-test; ``mcnemar``, exact, for scores of 0 and 1; ``wilcoxon``, the signed-rank test.  The p values of a
    test are corrected together over metrics, segments and pairs: ``holm``, ``bh`` (Benjamini and Hochberg) or
    ``none``.  For three systems or more, each metric also has a ranking by the randomised Tukey HSD test, which already
    corrects for the pairs: systems with a common letter are not significantly different.

    Corpus metrics (``corpus_bleu``, ``corpus_chrf``, …) are compared if the runs store the counts of their rows
    (``keep_counts=True``).  The means are the metric's values and Δ their difference.  The interval is a bootstrap over
    rows, and p comes from approximate randomisation (the ``fisher`` test): rows are swapped between systems, and p = (1
    + #{|Δ*| ≥ |Δ|})/(1 + N), or the share of all patterns if there are no more than N.  Statistics of single rows (d_z,
    wins, ``detectable``, other tests, rankings) do not exist for them.

    ``by`` names columns whose values define segments: ``"language"``, ``["language", "length"]`` for each combination,
    ``[["language"], ["length"]]`` for one after the other.  They are columns that a run kept, or columns of the table
    ``segments`` with ids; numeric columns with more than 12 values are divided into quartiles.  ``cluster`` names the
    column with the document, session or question that rows share: such rows are flipped and resampled together.

    The same ``seed`` gives the same bits for any order of the rows and any number of ``threads``.

    >>> import fastmetrics as fm
    >>> a = {"id": range(8), "token_f1": [0.1, 0.4, 0.5, 0.3, 0.2, 0.6, 0.4, 0.0]}
    >>> b = {"id": range(8), "token_f1": [0.3, 0.6, 0.5, 0.4, 0.5, 0.7, 0.6, 0.2]}
    >>> found = fm.compare({"old": a, "new": b})["token_f1"]
    >>> round(found.delta, 4), found.wins, found.ties, found.p
    (0.1625, 7, 1, 0.015625)

    Raises ``ColumnError`` for runs without ids or without a common metric, ``InputError`` for ids that are missing,
    duplicated or not shared, and ``UnknownNameError`` for unknown names.  Unless ``allow_differences`` is set,
    different questions under the same id are an ``InputError``, and different options or versions of a metric an
    ``OptionError``.

    Sources: Smucker, Allan and Carterette 2007; Carterette 2012; Efron 1987; Holm 1979; Piepho 2004.
    """
    how = _how(tests, resamples, bootstrap, confidence, interval, seed, threads)
    if cluster is not None and not {"fisher", "t"} >= set(how.tests):
        raise OptionError(Argument("cluster", cluster), " needs the tests fisher or t")
    argument("correction", correction, Choice(*CORRECTIONS))
    opened = baseline_first(open_runs(runs, system), baseline)
    names = shared_metrics(opened, listed(metrics))
    groupings = _groupings(by)
    beside = [name for grouping in groupings for name in grouping] + ([cluster] if cluster else [])
    names = names if metrics else [name for name in names if name not in (*beside, on)]
    counted = [name for name in names if name not in opened[0].scores]
    columns = [counts_column(name) if name in counted else name for name in names]
    keys = [one for run in opened for one in (run.id_column, run.question_column, on) if one]
    held = [run.held([*columns, *keys, *beside]) for run in opened]
    notes = check_settings(held, names, allow_differences)
    paired = pair_runs(held, on, by_position, allow_differences)
    side = None if segments is None else _side_table(paired, segments, on)
    clusters = None if cluster is None else cluster_numbers(cluster, _column(paired, cluster, side))
    directions = _directions(names, better or {})
    parts = [Segment(None, np.arange(paired.n))]
    for grouping in groupings:
        parts += segments_of([(name, _column(paired, name, side)) for name in grouping])
    found: list[Compared] = []
    rankings: list[Ranking] = []
    systems = [run.name for run in held]
    for name in names:
        for cell in _cells(paired, name, name in counted, directions[name], parts, clusters):
            found += cell.compared(systems, how)
            if len(held) > 2 and isinstance(cell, Cell) and cell.segment is None:
                rankings.append(cell.ranking(systems, how))
    return Comparison(
        systems=systems,
        joined_by=paired.joined_by,
        n_rows={run.name: int((rows >= 0).sum()) for run, rows in zip(held, paired.rows, strict=True)},
        comparisons=_corrected(found, how.tests, correction),
        rankings=rankings,
        better=directions,
        bounds={name: None if name in counted else _bounds(name) for name in names},
        correction=correction,
        confidence=confidence,
        cluster=cluster,
        differences=[*notes, *paired.notes],
        counted=counted,
        interval=interval,
    )


def _how(
    tests: Sequence[str] | str,
    resamples: int,
    bootstrap: int,
    confidence: float,
    interval: str,
    seed: int,
    threads: Any,
) -> HowToCompare:
    chosen = listed(tests)
    for name in chosen:
        if name not in TESTS:
            raise UnknownNameError.of("test", name, TESTS)
    argument("resamples", resamples, Whole(1, 100_000_000))
    argument("bootstrap", bootstrap, Whole(1, 10_000_000))
    argument("confidence", confidence, Real(0.0, 1.0, above=True, below=True))
    argument("interval", interval, Choice("percentile", "bca", "t"))
    argument("seed", seed, Seed)
    cores(threads)
    return HowToCompare(chosen or ["fisher"], resamples, bootstrap, confidence, interval, seed, threads)


def baseline_first(runs: list[ScoreRun], baseline: str | None) -> list[ScoreRun]:
    """The runs with the named baseline first; raises ``UnknownNameError`` for an unknown name."""
    names = [run.name for run in runs]
    if baseline is None:
        return runs
    if baseline not in names:
        raise UnknownNameError.of("run", baseline, names)
    return sorted(runs, key=lambda run: run.name != baseline)


def _cells(
    paired: PairedRuns, name: str, counted: bool, better: Better, parts: Sequence[Segment], clusters: Ints | None
) -> Iterator[Cell | CountedCell]:
    """One cell per segment of a metric, from its scores or from the counts of rows."""
    counts, has = paired.counts(name) if counted else (None, None)
    scores = np.stack([np.zeros(0) if counted else paired.scores(at, name) for at in range(len(paired.runs))])
    for part in parts:
        some = None if clusters is None else clusters[part.rows]
        if counts is None or has is None:
            yield Cell(name, part.name, better, scores[:, part.rows], some)
        else:
            formula = partial(many_values, name)
            yield CountedCell(name, part.name, counts[:, part.rows], has[:, part.rows], formula, some)


def _groupings(by: Any) -> list[list[str]]:
    if by is None or isinstance(by, str):
        return [listed(by)] if by else []
    nested = [one for one in by if not isinstance(one, str)]
    return [listed(one) for one in by] if nested else [listed(by)] if len(by) else []


def _side_table(paired: PairedRuns, table: Any, on: str | None) -> tuple[ScoreRun, Ints]:
    """A table beside the runs, and its row for each question, or −1."""
    side = open_run(table)
    if paired.ids is None:
        raise OptionError(Argument("segments"), " needs rows with ids; ", Argument("by_position"), " has none")
    key = on or side.id_column
    if key is None:
        raise ColumnError("the table of segments has no id column to match rows by; set one with ", Argument("on"))
    rows = pc.index_in(paired.ids, value_set=side.ids(key)).fill_null(-1)
    return side, rows.to_numpy().astype(np.int64)


def _column(paired: PairedRuns, name: str, side: tuple[ScoreRun, Ints] | None) -> pa.Array:
    if side is None or name not in side[0].columns:
        return paired.column(name)
    table, rows = side
    return table.column(name, "").take(pa.array(rows, mask=rows < 0))


def _directions(names: Sequence[str], given: Mapping[str, str]) -> dict[str, Better]:
    known: dict[str, Better] = {**dict.fromkeys(names), **declared_better(names)}
    for name, direction in given.items():
        if name not in names:
            raise UnknownNameError.of("metric", name, names)
        if direction not in get_args(Side):
            raise OptionError(Argument("better", {name: direction}), ": expected higher or lower")
        known[name] = cast(Side, direction)
    return known


def _bounds(name: str) -> tuple[float, float] | None:
    declared = lookup(name.split("@", maxsplit=1)[0].split("(", maxsplit=1)[0])
    return None if declared is None or declared.bounds is None else (declared.bounds[0], declared.bounds[1])


def _corrected(found: Sequence[Compared], tests: Sequence[str], correction: str) -> list[Compared]:
    """The comparisons with the p values of each test corrected together."""
    better: dict[int, float] = {}
    for test in tests:
        places = [place for place, one in enumerate(found) if one.test == test]
        better |= dict(zip(places, corrected([found[place].p for place in places], correction), strict=True))
    return [replace(one, p_corrected=better[place]) for place, one in enumerate(found)]
