"""The comparison of a report: verdicts, differences with their intervals on common scales, letters, segments."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fastmetrics.base.display import number
from fastmetrics.base.errors import visible
from fastmetrics.base.notes import interval_notes, mark_of
from fastmetrics.base.specs import Better
from fastmetrics.reporting.readings import turn
from fastmetrics.results.compare import compare
from fastmetrics.results.comparison import (
    Compared,
    Comparison,
    bounds,
    could_turn,
    family_of,
    p_mark,
    p_value,
    signed,
    verdict_word,
)
from fastmetrics.results.heat_maps import HeatMap, scale_of
from fastmetrics.results.main_metric import Change, Lead
from fastmetrics.results.score_table import ScoreTable
from fastmetrics.stats.significance import compact_letters

# A difference of two systems as a line of a report, and which differences of segments an overview shows.


VERDICTS = ("worse", "better", "lower", "higher", "–")
"""The verdicts in their order on the page."""
_NEAREST = 3


@dataclass(frozen=True)
class DifferenceLine:
    """A metric of two systems over all rows or a segment: its figures as text, its verdict, its drawn interval."""

    metric: str
    segment: str | None
    baseline: str
    other: str
    cells: Sequence[str]
    """The two means, Δ, its interval, the corrected p, and the number of rows."""
    counts: Sequence[str]
    """Rows with a score of one system only, rows won, tied and lost, and d_z."""
    verdict: str
    turn: str
    """gain, loss, change or same, from the test's verdict."""
    drawn: tuple[float, float, float] | None
    """Low, Δ and high in percent of a line with 0 in the middle."""
    scale: str
    """The largest value of the line."""
    has_direction: bool
    alone: str = ""
    """Without a verdict: the verdict that an interval without 0 would give by itself; empty if it holds 0."""
    by_p: bool = False
    """Whether the test gives a verdict although the interval holds 0."""
    least_p: bool = False
    """Whether no resample is as far apart, so that p is at most what is shown."""
    reversible: bool = False
    """Whether there is a verdict that the missing scores of rows with a score of one system only could reverse."""
    interval_note: str | None = None
    p_note: str | None = None

    @property
    def size(self) -> float:
        """The absolute difference as a share of its scale."""
        return 0.0 if self.drawn is None else abs(self.drawn[1] - 50)

    @property
    def clearness(self) -> float:
        """The absolute difference by half the width of its interval, which metrics of all units have in common."""
        if self.drawn is None:
            return 0.0
        width = self.drawn[2] - self.drawn[0]
        return 2 * self.size / width if width > 0 else math.inf if self.size else 0.0


def by_clearness(lines: Sequence[DifferenceLine], first: str) -> list[DifferenceLine]:
    """Pairs of the system ``first`` before the others, by verdict, the clearest of chance first."""
    return sorted(lines, key=lambda line: (line.baseline != first, VERDICTS.index(line.verdict), -line.clearness))


def of_each_pair(lines: Sequence[DifferenceLine], most: int) -> list[DifferenceLine]:
    """At most ``most`` lines in their order: the first of each pair of systems, then the second of each, and so on."""
    pairs: dict[tuple[str, str], list[int]] = {}
    for at, line in enumerate(lines):
        pairs.setdefault((line.baseline, line.other), []).append(at)
    turns = itertools.chain.from_iterable(itertools.zip_longest(*pairs.values()))
    places = itertools.islice((at for at in turns if at is not None), most)
    return [lines[at] for at in sorted(places)]


def nearest_segments(lines: Sequence[tuple[DifferenceLine, Compared]]) -> list[DifferenceLine]:
    """Of the segments with the least p the difference that has it."""
    of_segment: dict[str | None, DifferenceLine] = {}
    for line, difference in sorted(lines, key=lambda entry: entry[1].p):
        if not math.isnan(difference.p):
            of_segment.setdefault(line.segment, line)
    return list(of_segment.values())[:_NEAREST]


# The comparison of a report: verdicts, differences with their intervals on common scales, letters, segments.


_MANY_ROWS = 100_000
_HEAT_CELLS = 6_000
"""Number of cells of heat maps from which on further pairs of systems have none, to keep the page small."""
_LEAST_SHOWN = 0.0001
"""Smaller values of p are shown as smaller than this."""
SHOWN_PLACES = 12
"""Maximum number of segments of the overview."""


@dataclass(frozen=True)
class PairCell:
    """The main metric of a system against another one: the difference, its verdict, and the metric's direction."""

    baseline: str
    other: str
    text: str
    turn: str
    """gain, loss or same."""
    better: Better


@dataclass(frozen=True)
class RankedMetric:
    """The means of all systems in one metric, with the letters of the verdicts, and which of them have the best one."""

    metric: str
    cells: Mapping[str, tuple[str, str, bool]]
    """By system its mean, its letters, and whether it shares a letter with the best system."""
    n: int
    """Number of rows of which all systems have a score."""


@dataclass(frozen=True)
class Against:
    """The contents of the comparison page."""

    systems: Sequence[str]
    """In the order given."""
    changes: Sequence[Change]
    """What the headline on two systems says: the change of the main metric, then those of other concerns."""
    dissent: Mapping[str, int]
    """The verdicts of other metrics of the main one's concern, where they are not all its own; empty else."""
    lead: Lead | None
    """The systems by the main metric; None without one."""
    differences: Sequence[DifferenceLine]
    """Of the first system and the others over all rows, those with a verdict first."""
    further: Sequence[DifferenceLine]
    """Of the other systems among each other."""
    places: Sequence[DifferenceLine]
    """The segments with a verdict: losses of the first system's pairs first, the clearest first."""
    nearest: Sequence[DifferenceLine]
    """Of three segments without a verdict the difference with the least p, where no segment has a verdict."""
    matrix: Sequence[tuple[str, Sequence[PairCell | None]]]
    """For more than two systems, each against each by the main metric; the best system first."""
    rankings: Sequence[RankedMetric]
    heats: Sequence[tuple[str, str, HeatMap]]
    """The segments of each pair of systems, those of the first one first."""
    n_pairs: int
    unscored: Sequence[str]
    """The metrics without a row of two systems."""
    limits: Sequence[tuple[str, Mapping[str, str]]]
    """What no difference can reach after the correction of p: labels and the values in them."""
    notes: Sequence[str]
    confidence: float = 0.95
    """The level of each interval by itself."""
    resamples: int = 0
    shifted_places: Sequence[DifferenceLine] = ()
    """The differences of segments beyond chance, of metrics without a direction."""
    is_identical: bool = False
    """Whether two systems have the same scores by every metric."""

    def marks(self, lines: Sequence[DifferenceLine]) -> list[str]:
        """What the marks of the intervals and p values of these lines mean."""
        notes = [(line.metric, note) for line in lines for note in (line.interval_note, p_mark(line.p_note))]
        return interval_notes(notes, self.confidence)

    @property
    def best_first(self) -> Sequence[str]:
        """The systems, the best by the main metric first, where there is one."""
        return list(dict.fromkeys([*([] if self.lead is None else self.lead.means), *self.systems]))

    @property
    def shown_places(self) -> Sequence[DifferenceLine]:
        """The segments of the overview, of each pair of systems alike."""
        return of_each_pair(self.places, SHOWN_PLACES)

    @property
    def n_reversible(self) -> int:
        """Number of verdicts over all rows, of metrics with a direction, that missing scores could reverse."""
        return sum(line.reversible for line in [*self.differences, *self.further] if line.has_direction)

    @property
    def changed(self) -> Sequence[DifferenceLine]:
        """The differences with a verdict, of metrics with a direction."""
        return [line for line in self.differences if line.verdict != "–" and line.has_direction]

    @property
    def shifted(self) -> Sequence[DifferenceLine]:
        """The differences with a verdict, of metrics without a direction."""
        return [line for line in self.differences if line.verdict != "–" and not line.has_direction]


def compared(systems: Sequence[ScoreTable], options: Any) -> Against:
    """The first system against the others, and these among each other."""
    names = [visible(run.name) for run in systems]
    if any(run.read([]).num_rows == 0 for run in systems):
        return Against(names, [], {}, None, [], [], [], [], [], [], [], 0, [], [("limit_no_rows", {})], [])
    large = max(run.read([]).num_rows for run in systems) >= _MANY_ROWS
    comparison = compare(
        list(systems),
        by=[[name] for name in options.by] or None,
        tests="t" if large else "fisher",
        resamples=options.resamples,
        allow_differences=options.allow_differences,
        seed=options.seed,
        threads=options.threads,
        main=options.main,
    )
    resamples = comparison.resamples
    some = [difference for difference in comparison if difference.n_paired]
    whole = [difference for difference in some if difference.segment is None]
    scored = {difference.metric for difference in some}
    segments = [difference for difference in some if difference.segment is not None]
    decided = [difference for difference in segments if comparison.verdict(difference) != "–"]
    directed = [
        difference
        for difference in segments
        if comparison.better[difference.metric] is not None and not difference.is_equal
    ]
    in_segments = by_clearness(
        [line for line, _ in _lines(comparison, decided, resamples)], visible(comparison.systems[0])
    )
    places = [line for line in in_segments if line.has_direction]
    lines = _lines(comparison, whole, resamples)
    first = comparison.systems[0]
    lead = _lead(comparison)
    return Against(
        [visible(name) for name in comparison.systems],
        _changes(comparison) if lead is not None else [],
        comparison.dissent(first, comparison.systems[1]),
        lead,
        [line for line, difference in lines if difference.baseline == first],
        [line for line, difference in lines if difference.baseline != first],
        places,
        [] if places else nearest_segments(_lines(comparison, directed, resamples)),
        _matrix(comparison, lead) if len(systems) > 2 and lead is not None else [],
        [_ranked(comparison, whole, ranking) for ranking in comparison.rankings if ranking.metric in scored],
        _heats(comparison),
        len(systems) * (len(systems) - 1) // 2,
        [visible(name) for name in comparison.better if name not in scored],
        [] if large else _impossible(comparison, resamples),
        list(map(visible, comparison.remarks())),
        comparison.confidence,
        resamples,
        [line for line in in_segments if not line.has_direction],
        comparison.is_identical,
    )


def _impossible(comparison: Comparison, resamples: int) -> list[tuple[str, Mapping[str, str]]]:
    """What no difference can reach after the correction: p has a least value for so many resamples and rows."""
    sizes = comparison.families
    family = max(sizes.values(), default=1)
    limits: list[tuple[str, Mapping[str, str]]] = []
    if family > comparison.alpha * (resamples + 1):
        p = f"{family / (resamples + 1):.2g}"
        limits.append(("limit_correction", {"n": f"{resamples:,}", "family": f"{family:,}", "p": p}))
    least = {name: 1 + math.ceil(math.log2(size / comparison.alpha)) for name, size in sizes.items()}
    short = {
        name: size
        for name, size in sizes.items()
        if any(
            0 < difference.n_paired < least[name]
            for difference in comparison
            if family_of(difference, comparison.main) == name
        )
    }
    if short:
        name = max(short, key=lambda name: short[name])
        found = {"n": str(least[name]), "family": f"{short[name]:,}", "p": f"{comparison.alpha:.2g}"}
        limits.append(("limit_rows", found))
    return limits


def _lines(comparison: Comparison, some: Sequence[Compared], resamples: int) -> list[tuple[DifferenceLine, Compared]]:
    """The lines of these differences: the main metric first, those with a verdict, then the largest; the intervals of
    metrics with equal bounds have one scale."""
    reached: dict[Any, float] = {}
    for difference in some:
        scale = scale_of(difference.metric, comparison.bounds)
        ends = [abs(value) for value in (difference.low, difference.delta, difference.high) if math.isfinite(value)]
        reached[scale] = max([reached.get(scale, 0.0), *ends])
    lines = [
        (
            _difference(comparison, difference, reached[scale_of(difference.metric, comparison.bounds)], resamples),
            difference,
        )
        for difference in some
    ]
    return sorted(
        lines,
        key=lambda entry: (
            entry[1].metric != comparison.main,
            VERDICTS.index(entry[0].verdict),
            -entry[0].size if entry[0].verdict == "–" else 0.0,
        ),
    )


def _difference(comparison: Comparison, difference: Compared, reached: float, resamples: int) -> DifferenceLine:
    verdict = comparison.verdict(difference)
    better = comparison.better[difference.metric]
    holds_0 = not (difference.low > 0 or difference.high < 0)
    least_p = difference.test == "fisher" and math.isclose(difference.p * (resamples + 1), 1, rel_tol=1e-9)
    won = "–" if difference.wins is None else f"{difference.wins:,} / {difference.ties:,} / {difference.losses:,}"
    cells = (
        number(difference.mean_baseline),
        number(difference.mean_other),
        signed(difference.delta),
        bounds(difference.low, difference.high, mark_of(difference.interval_note)),
        ("≤ " if least_p and difference.p_corrected >= _LEAST_SHOWN else "")
        + p_value(difference.p_corrected, difference.p_note),
        number(difference.n_paired),
    )
    counts = (number(difference.n_only_baseline), number(difference.n_only_other), won, number(difference.d_z))
    drawn = None
    if reached and not math.isnan(difference.low):
        low, middle, high = (
            round(50 + 46 * value / reached, 2) for value in (difference.low, difference.delta, difference.high)
        )
        drawn = (low, middle, high)
    return DifferenceLine(
        visible(difference.metric),
        None if difference.segment is None else visible(str(difference.segment)),
        visible(difference.baseline),
        visible(difference.other),
        cells,
        counts,
        verdict,
        "same" if verdict == "–" else turn(better, difference.delta),
        drawn,
        number(reached),
        better is not None,
        "" if verdict != "–" or holds_0 else verdict_word(better, difference.delta),
        verdict != "–" and holds_0 and not math.isnan(difference.low),
        least_p,
        verdict != "–" and could_turn(difference, comparison.bounds.get(difference.metric)) is not None,
        difference.interval_note,
        difference.p_note,
    )


def _heats(comparison: Comparison) -> list[tuple[str, str, HeatMap]]:
    """The heat maps of the pairs of systems, as many as a page holds; those of the first system all."""
    heats, cells = [], 0
    for pair in itertools.combinations(comparison.systems, 2):
        if pair[0] != comparison.systems[0] and cells > _HEAT_CELLS:
            break
        heat = comparison.heat_map(pair)
        if heat is not None:
            cells += len(heat.lines) * len(heat.metrics)
            heats.append((visible(pair[0]), visible(pair[1]), heat))
    return heats


def _changes(comparison: Comparison) -> list[Change]:
    """The changes of the second system against the first, under displayed names."""
    changes = comparison.changes(comparison.systems[0], comparison.systems[1])
    return [replace(change, metric=visible(change.metric)) for change in changes]


def _lead(comparison: Comparison) -> Lead | None:
    """The systems by the main metric, under displayed names."""
    lead = comparison.lead
    if lead is None:
        return None
    means = {visible(name): mean for name, mean in lead.means.items()}
    return Lead(visible(lead.metric), means, {(visible(one), visible(other)) for one, other in lead.worse})


def _matrix(comparison: Comparison, lead: Lead) -> list[tuple[str, Sequence[PairCell | None]]]:
    """Each system against each by the main metric, the best first."""
    better = comparison.better[comparison.main or ""]

    def cell(own: str, other: str) -> PairCell | None:
        if own == other:
            return None
        turn = "loss" if (own, other) in lead.worse else "gain" if (other, own) in lead.worse else "same"
        return PairCell(other, own, signed(lead.means[own] - lead.means[other]), turn, better)

    return [(own, [cell(own, other) for other in lead.means]) for own in lead.means]


def _ranked(comparison: Comparison, whole: Sequence[Compared], ranking: Any) -> RankedMetric:
    """The systems in the order of the comparison; two of them share a letter where their difference has no verdict."""
    apart = {
        frozenset((difference.baseline, difference.other))
        for difference in whole
        if difference.metric == ranking.metric and comparison.verdict(difference) != "–"
    }
    order = ranking.systems
    letters = compact_letters(len(order), lambda a, b: frozenset((order[a], order[b])) in apart)
    has_direction = comparison.better[ranking.metric] is not None
    cells: Mapping[str, tuple[str, str, bool]] = {
        system: (number(mean), own, has_direction and frozenset((order[0], system)) not in apart)
        for system, mean, own in zip(order, ranking.means, letters, strict=True)
    }
    return RankedMetric(visible(ranking.metric), {visible(system): cells[system] for system in order}, ranking.n)
