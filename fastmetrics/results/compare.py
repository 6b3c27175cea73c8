"""Comparing systems by their scores on the same rows, segment by segment."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np
import pyarrow.compute as pc

from fastmetrics.base import shared_parameters as shared
from fastmetrics.base.arrays import Ints, narrowest
from fastmetrics.base.column_names import distinct, listed
from fastmetrics.base.errors import Argument, ColumnError, OptionError, UnknownNameError
from fastmetrics.base.notes import Note
from fastmetrics.base.options import Choice, Optional, Real, Seed, Whole, argument, check_names
from fastmetrics.base.progress import reported
from fastmetrics.base.score_metadata import MissingQueries, counts_column
from fastmetrics.base.shared_parameters import Help
from fastmetrics.base.specs import Better
from fastmetrics.base.threads import cores
from fastmetrics.results.aligned_scores import PAIRINGS, AlignedScores, align, by_position, check_settings
from fastmetrics.results.comparison_result import Compared, Comparison, Family, Ranking, family_of
from fastmetrics.results.main_metric import concerns_of, first_metrics, is_own
from fastmetrics.results.opening_scores import open_runs, open_scores, read_table, run_named
from fastmetrics.results.quantities import Counts, Method, PairedMeans, SampledMeans, Scores
from fastmetrics.results.score_columns import belonging, directions, stated_better
from fastmetrics.results.score_table import (
    ScoreTable,
    bounds_of,
    first_declared,
    lacking_metrics,
    own_numbers,
    shared_metrics,
)
from fastmetrics.stats.mean_interval import INTERVALS
from fastmetrics.stats.significance import (
    CORRECTIONS,
    TESTS,
    UNPAIRED_TESTS,
    compact_letters,
    corrected,
    least_p,
    max_t_p,
)
from fastmetrics.stats.sums import exact_mean
from fastmetrics.tables.opening import is_paths

# The options of a comparison, checked: tests, intervals, resamples, and which of them fit together.


_PATTERNS, _MOST_PATTERNS = 10_000, 200_000
_OF_CLUSTERS = {"fisher", "t", *UNPAIRED_TESTS}
"""The tests that rows which depend on each other allow."""


@dataclass(frozen=True, kw_only=True)
class HowToCompare(Method):
    """The settings of a comparison, common to all metrics, segments and pairs."""

    tests: Sequence[str]
    margin: float | None = None
    """The difference that does not matter, for the tests of equivalence."""
    family: int = 1
    """The number of comparisons that are corrected together."""

    @property
    def corrected_alpha(self) -> float:
        """The level at which a single difference among the family is sure to be significant."""
        return (1 - self.confidence) / self.family

    def patterns(self, family: int) -> int:
        """The random patterns for each p: by default so many that the smallest p is half of the corrected level."""
        least = math.ceil(2 * family / (1 - self.confidence))
        return self.resamples or min(_MOST_PATTERNS, max(_PATTERNS, least))


# One metric over one segment: tests of every pair of systems, and their ranking.


@dataclass(frozen=True)
class Cell:
    """One metric in one segment."""

    metric: str
    segment: str | None
    better: Better
    data: Scores | Counts
    worst: Scores | None = None
    """The scores with the worst where one run missed one, if any did."""

    def compared(self, systems: Sequence[str], how: HowToCompare) -> Iterator[Compared]:
        """The comparisons of every pair of systems, one for each test."""
        for a, b in combinations(range(len(systems)), 2):
            change = self.data.change(a, b)
            interval = change.interval(how)
            has_a, has_b = self.data.has[a], self.data.has[b]
            n_paired = len(change.first) if isinstance(change, PairedMeans) else int((has_a & has_b).sum())
            n_paired = change.both.n if isinstance(change, SampledMeans) else n_paired
            alone, others = int((has_a & ~has_b).sum()), int((has_b & ~has_a).sum())
            all_a, all_b = change.before, change.after
            if alone or others:
                all_a, all_b = self.data.value(a), self.data.value(b)
            figures: dict[str, Any] = {
                "n_paired": n_paired,
                "n_only_baseline": alone,
                "n_only_other": others,
                "mean_baseline": change.before,
                "mean_other": change.after,
                "delta": change.delta,
                "low": interval.low,
                "high": interval.high,
                "interval": interval.kind,
                "interval_note": interval.note,
                "n_clusters": change.n_clusters,
                "all_baseline": all_a,
                "all_other": all_b,
                **change.signs(self.better),
                **({} if how.margin is None else change.margins(self.better, how.margin)),
            }
            units = change.n_clusters or n_paired
            for test in how.tests:
                p, is_within = change.p(test, how), least_p(test, units, how.resamples) <= how.corrected_alpha
                tested: dict[str, Any] = {"test": test, "p": p, "p_corrected": p, "p_note": change.p_note(test)}
                tested["detectable"] = change.detectable(how.corrected_alpha) if is_within else math.nan
                yield Compared(self.metric, systems[a], systems[b], self.segment, **tested, **figures)

    def ranking(self, scores: Scores, systems: Sequence[str], how: HowToCompare) -> Ranking:
        """The systems sorted by their means over the rows where all have a score, with letters by ``max_t_p``."""
        has_all = np.logical_and.reduce(scores.has)
        table = np.ascontiguousarray(scores.values[:, has_all].T)
        means = [exact_mean(column) for column in table.T]
        sign = 1 if self.better == "lower" else -1
        order = sorted(range(len(systems)), key=lambda at: (sign * means[at] if len(table) else 0, at))
        clusters = scores.clusters_of(has_all)
        p = max_t_p(table, how.resamples, how.seed, how.threads, clusters, scores.rounding)
        alpha = 1 - how.confidence
        letters = compact_letters(len(order), lambda first, second: bool(p[order[first], order[second]] <= alpha))
        return Ranking(
            metric=self.metric,
            n=len(table),
            systems=[systems[at] for at in order],
            means=[means[at] for at in order],
            letters=letters,
            p=[[float(p[first, second]) for second in order] for first in order],
        )


# Comparing systems by their scores on the same rows.


def compare(
    runs: Annotated[Any, Help("The runs, in a list or by name in a dict.")],
    *,
    metrics: shared.OnlyMetrics = None,
    by: Annotated[
        Sequence[str] | str | Sequence[Sequence[str]] | None,
        Help("Columns whose values define segments: language,topic; repeatable, for several divisions of the rows."),
    ] = None,
    segments: Annotated[Any, Help("A table with ids and the columns of by.")] = None,
    cluster: shared.Cluster = None,
    tests: Annotated[
        Sequence[str] | str | None,
        Help("fisher (the default: random signs), t, wilcoxon; of runs that share no rows welch."),
    ] = None,
    confidence: shared.Confidence = 0.95,
    interval: shared.Interval = "auto",
    bootstrap: shared.Bootstrap = 2_000,
    seed: shared.Seed = 0,
    threads: shared.Threads = None,
    correction: shared.Correction = "holm",
    resamples: shared.Resamples = None,
    baseline: shared.Baseline = None,
    system: shared.System = None,
    on: shared.On = None,
    pairing: Annotated[
        Literal["id", "position", "none"],
        Help(
            "What pairs the rows: id (or the column of on), position (row i of each run is the same "
            "question), or none: runs that share no rows, as independent samples."
        ),
    ] = "id",
    missing: Annotated[
        Literal["ignore", "worst"],
        Help("Rows that one run alone scores: left out, or the other counts as the worst score of the metric."),
    ] = "ignore",
    allow_differences: shared.AllowDifferences = False,
    margin: shared.Margin = None,
    better: shared.Better = None,
    main: shared.Main = None,
    flags: shared.Flags = None,
) -> Comparison:
    """Compare systems by their existing scores on the same rows.

    ``runs`` are paths or tables of scores, in a list or by name in a dict, or one table with a column ``system``.  A
    question with several answers counts once, with their mean.

    For each metric, over the n rows where both systems have a score: Δ = mean(other − baseline) with its interval, d_z
    = mean/sd of the differences, rows won, tied and lost, p of each of the ``tests``, corrected over metrics and pairs,
    and ``detectable``, the smallest true difference that n such rows detect with power 0.8; NaN where no p can be small
    enough.  Rows with a score of one
    system only are counted.  The verdict on the ``main`` metric is the headline.  Corpus metrics need
    ``keep_counts=True`` of ``score``.  docs/comparing.md has the rest.  The same ``seed`` gives the same bits for any
    order of rows and number of ``threads``.

    >>> import fastmetrics as fm
    >>> a = {"id": range(8), "token_f1": [0.1, 0.4, 0.5, 0.3, 0.2, 0.6, 0.4, 0.0]}
    >>> b = {"id": range(8), "token_f1": [0.3, 0.6, 0.5, 0.4, 0.5, 0.7, 0.6, 0.2]}
    >>> found = fm.compare({"old": a, "new": b})["token_f1"]
    >>> round(found.delta, 4), found.wins, found.ties, found.p
    (0.1625, 7, 1, 0.015625)

    Raises ``ColumnError`` for runs without ids or without a common metric, ``InputError`` for ids that are missing,
    duplicated or not shared, ``UnknownNameError`` for unknown names; unless ``allow_differences``, also for other
    questions under an id and other options of a metric.

    Sources: Smucker, Allan and Carterette 2007; Carterette 2012; Holm 1979; Piepho 2004.
    """
    check_names(cluster=cluster, system=system, on=on, main=main)
    argument("pairing", pairing, Choice(*PAIRINGS))
    argument("missing", missing, Choice("ignore", "worst"))
    unpaired = pairing == "none"
    chosen, allowed = distinct(tests, "tests"), UNPAIRED_TESTS if unpaired else TESTS
    for name in chosen:
        if name not in allowed:
            raise UnknownNameError.of("test", name, allowed)
    if margin is not None:
        argument("margin", margin, Real(0.0, 1e300, above=True))
    argument("resamples", resamples, Optional(Whole(1, 100_000_000)))
    argument("bootstrap", bootstrap, Whole(1, 10_000_000))
    argument("confidence", confidence, Real(0.0, 1.0, above=True, below=True))
    argument("interval", interval, Choice(*INTERVALS))
    argument("seed", seed, Seed)
    cores(threads)
    drawn: dict[str, Any] = {"resamples": resamples or 0, "bootstrap": bootstrap, "seed": seed, "threads": threads}
    kind: dict[str, Any] = {"confidence": confidence, "interval": interval}
    how = HowToCompare(tests=chosen or [allowed[0]], margin=margin, **drawn, **kind)
    if cluster is not None and not set(how.tests) <= _OF_CLUSTERS:
        raise OptionError(Argument("cluster", cluster), " needs the tests fisher or t")
    argument("correction", correction, Choice(*CORRECTIONS))
    flagged, chosen_metrics = distinct(flags, "flags"), listed(metrics, "metrics")
    opened = open_runs(runs, system, asked=[*chosen_metrics, *flagged, *([main] if main else [])])
    first_run = run_named(opened, baseline, "baseline")
    opened.sort(key=lambda run: run is not first_run)
    groupings = _groupings(by)
    beside = [name for grouping in groupings for name in grouping] + ([cluster] if cluster else [])
    names = shared_metrics(opened, chosen_metrics, counted=True, beside=[*beside, on], flags=flagged)
    names = names if metrics else [name for name in names if name not in (*beside, on)]
    counted = [name for name in names if name not in opened[0].scores]
    columns = [counts_column(name) if name in counted else name for name in names]
    keys = [name for run in opened for name in run.keys(on)]
    loaded = [run.by_column([*columns, *keys, *beside, *belonging(run.columns)]).with_flags(flagged) for run in opened]
    notes = check_settings(loaded, names, allow_differences)
    if unpaired and segments is not None:
        raise OptionError(Argument("segments"), " needs paired rows, but there is ", Argument("pairing", "none"))
    if unpaired and counted:
        advice = "; leave it out with ", Argument("metrics"), ", or pair the runs"
        raise OptionError(f"{counted[0]} is compared over paired rows only", *advice)
    paired = align(loaded, on, pairing, allow_differences, repeats=True)
    stored = first_declared(loaded)
    ways = directions(names, stored, stated_better(better))
    bounds = bounds_of(loaded, names)
    if segments is not None:
        paired = replace(paired, side=_side_table(paired, segments, on))
    units = replace(paired, cluster=cluster)
    if units.clusters_of(slice(None)) is not None and not set(how.tests) <= _OF_CLUSTERS:
        raise OptionError(Argument("tests"), ": rows of one id depend on each other; they need fisher or t")
    parts: list[_Part] = [(units, None, slice(None))]
    for grouping in groupings:
        divided, segments_by = units.divided(grouping)
        parts += [(divided, segment.name, segment.rows) for segment in segments_by]
    concerns = concerns_of(names, loaded[0].spec)
    first = first_metrics(concerns, loaded[0].spec, ways, main)
    main = next((name for name in first.values() if ways[name] is not None), None)
    sizes = _sizes_of_families(len(names), len(parts) - 1, len(loaded), main is not None)
    how = replace(how, resamples=how.patterns(1 if correction == "none" else max(sizes.values())))
    how_of = {name: replace(how, family=1 if correction == "none" else size) for name, size in sizes.items()}
    comparisons: list[Compared] = []
    others: list[Compared] = []
    """The same by the other reading of rows that one run alone scores."""
    rankings: list[Ranking] = []
    estimated: list[str] = []
    systems = [run.name for run in loaded]
    lacking = {run.name: queries for run in loaded if (queries := run.metadata.missing_queries) is not None}
    cells = (cell for name in names for cell in _cells(parts, name, name in counted, ways[name], bounds.get(name)))
    for cell in reported(cells, "comparing", "comparisons", len(names) * len(parts)):
        corrected_how = how_of[family_of(cell.metric, cell.segment, main)]
        own = [_with_missing(pair, lacking) for pair in cell.compared(systems, corrected_how)]
        other = own if cell.worst is None else [*replace(cell, data=cell.worst).compared(systems, corrected_how)]
        comparisons += other if missing == "worst" else own
        others += own if missing == "worst" else other
        if not isinstance(cell.data, Scores) or cell.segment is not None:
            continue
        estimated += (cell.worst if cell.worst and missing == "worst" else cell.data).notes(cell.metric, systems)
        if len(loaded) > 2 and cell.data.drawn is None and not unpaired:
            rankings.append(cell.ranking(cell.data, systems, how))
    found = Comparison(
        systems=systems,
        joined_by=paired.joined_by,
        n_rows={run.name: int((rows >= 0).sum()) for run, rows in zip(loaded, paired.rows, strict=True)},
        comparisons=_corrected(comparisons, correction, main),
        rankings=rankings,
        better=ways,
        bounds={name: None if name in counted else bounds.get(name) for name in names},
        correction=correction,
        confidence=confidence,
        cluster=cluster,
        resamples=how.resamples,
        differences=[
            *notes,
            *([] if metrics else own_numbers(loaded, [*beside, on, *flagged])),
            *([] if metrics else lacking_metrics(opened, [*beside, on, *flagged])),
            *paired.notes,
            *_rounded_notes(loaded, [name for name in names if name in counted or paired.precision(name)]),
            *_segment_notes(paired, groupings),
            *estimated,
            *paired.repeat_notes,
            *paired.infinite_notes,
            *(Note("of_run", run=run.name, note=note) for run in loaded for note in run.rejected_notes),
            *(note for run in loaded for note in run.drift_notes),
        ],
        counted=counted,
        interval=interval,
        missing_queries=lacking,
        margin=margin,
        first_metrics=first,
        main=main,
        concerns=concerns,
        own=[name for name in names if is_own(name, loaded[0].spec(name))],
        missing=missing,
    )
    return replace(found, turned=found.turned_by(_corrected(others, correction, main)))


def _with_worst(units: AlignedScores, name: str, scores: Scores, better: Better) -> Scores | None:
    """The scores of a metric with the worst where a run missed one; None where none can count or none is missed.

    A run missed a score where it has no row, or an input is missing or unread; not where the metric is undefined.
    """
    lacks = ~scores.has if scores.independent else scores.has.any(axis=0) & ~scores.has
    worst = None if scores.bounds is None or better is None else scores.bounds[better == "lower"]
    if worst is None or not math.isfinite(worst) or not (lacks.any() or scores.drawn is not None):
        return None
    states, rows = [units.states(at, name) for at in range(len(units.runs))], np.arange(units.n)
    values = np.stack([np.where(state.has, state.counting(worst, rows), np.nan) for state in states])
    absent = np.stack([state.answers == 0 for state in states])
    failed = np.stack([(state.failed > 0) | state.doubtful for state in states])
    if scores.drawn is not None:
        missed = failed | (absent & scores.has.any(axis=0))
        return scores.counting(worst, missed) if missed.any() else None
    missed = lacks & (failed if scores.independent else failed | absent)
    has_any = missed.any() or (values != scores.values)[scores.has].any()
    return replace(scores, values=values).counting(worst, missed) if has_any else None


def _with_missing(pair: Compared, lacking: Mapping[str, MissingQueries]) -> Compared:
    """The comparison with the numbers of judged queries that its runs lack."""
    if pair.segment is not None or not lacking:
        return pair
    first, second = (lacking[name].count if name in lacking else None for name in (pair.baseline, pair.other))
    return replace(pair, n_missing_baseline=first, n_missing_other=second)


_Part: TypeAlias = "tuple[AlignedScores, str | None, Ints | slice]"
"""The paired units, and a segment of them: its name (None: all of them) and rows."""


def _cells(
    parts: Sequence[_Part],
    name: str,
    counted: bool,
    better: Better,
    bounds: tuple[float, float] | None,
) -> Iterator[Cell]:
    """One cell per part of a metric, from its scores or from the counts of rows."""
    units: AlignedScores | None = None
    data: Scores | Counts | None = None
    worst: Scores | None = None
    for of, segment, rows in parts:
        if of is not units:
            units, data = of, Counts.of(of, name, bounds) if counted else Scores.of(of, name, bounds)
            worst = _with_worst(of, name, data, better) if isinstance(data, Scores) else None
        assert data is not None
        clusters = of.clusters_of(rows)
        counting = None if worst is None else worst.part(rows, clusters)
        yield Cell(name, segment, better, data.part(rows, clusters), counting)


def _rounded_notes(runs: Sequence[ScoreTable], names: Sequence[str]) -> list[str]:
    """Notes on metrics that one run stores in a narrower type than another, whose scores are compared in it."""
    notes: list[str] = []
    for name in names:
        kinds = [(run, run.type_of(name)) for run in runs if name in run.scores]
        narrow = narrowest([kind for _, kind in kinds])
        rounded = [run.name for run, kind in kinds if narrow is not None and narrowest([kind]) == narrow]
        if rounded and len(rounded) < len(kinds):
            notes.append(Note("rounded_to", name=name, type=np.dtype(narrow).name, runs=rounded))
    return notes


def _segment_notes(paired: AlignedScores, groupings: Sequence[Sequence[str]]) -> list[str]:
    """Notes on segments by a score, and on columns of segments in which the runs differ."""
    notes: list[str] = []
    for name in dict.fromkeys(column for grouping in groupings for column in grouping):
        scored = [run.name for run in paired.runs if name in run.scores]
        if scored:
            notes.append(Note("segments_by_score", name=name, run=scored[0]))
        notes += paired.disagreements(name) if paired.side is None and not paired.varying([name]) else []
    return notes


def _groupings(by: Any) -> list[list[str]]:
    if not isinstance(by, Sequence) or all(isinstance(columns, str) for columns in by):
        return [columns] if (columns := distinct(by, "by")) else []
    return list(map(list, dict.fromkeys(tuple(distinct(columns, "by")) for columns in by)))


def _side_table(paired: AlignedScores, table: Any, on: str | None) -> tuple[ScoreTable, Ints]:
    """A table beside the runs, and its row for each question, or −1."""
    # a file without scores is no run
    side = open_scores(read_table(table, ()) if is_paths(table) else table, table="segments")
    if paired.ids is None:
        return side, by_position([*paired.runs, side]).rows[-1]
    key = on or side.id_column
    if key is None:
        raise ColumnError("the table of segments has no id column to match rows by; set one with ", Argument("on"))
    rows = pc.index_in(paired.ids, value_set=side.ids(key)).fill_null(-1)
    return side, rows.to_numpy().astype(np.int64)


def _corrected(compared: Sequence[Compared], correction: str, main: str | None) -> list[Compared]:
    """The comparisons with the p values of each test and family corrected together, and so those of equivalence."""
    together = list(compared)
    families: dict[tuple[str, Family], list[int]] = {}
    for place, pair in enumerate(compared):
        families.setdefault((pair.test, family_of(pair.metric, pair.segment, main)), []).append(place)
    for places in families.values():
        for name, target in (("p", "p_corrected"), ("p_equivalent", "p_equivalent"), ("p_not_worse", "p_not_worse")):
            p_values = [getattr(compared[place], name) for place in places]
            if None not in p_values:
                for place, p in zip(places, corrected(p_values, correction), strict=True):
                    figure: dict[str, Any] = {target: p}
                    together[place] = replace(together[place], **figure)
    return together


def _sizes_of_families(metrics: int, segments: int, systems: int, has_main: bool) -> dict[Family, int]:
    """The numbers of comparisons whose p values are corrected together."""
    pairs = systems * (systems - 1) // 2
    return {
        "main metric": max(1, pairs),
        "all rows": max(1, (metrics - has_main) * pairs),
        "segments": max(1, metrics * segments * pairs),
    }
