"""What a page shows first of a comparison: what changed, the segments behind it, and the signs of doubt."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from fastmetrics.base.display import p_value
from fastmetrics.base.notes import Figure, Note, interval_notes, mark_of
from fastmetrics.base.specs import Better
from fastmetrics.reporting.overview import by_concern
from fastmetrics.reporting.readings import turn
from fastmetrics.results.compare import compare
from fastmetrics.results.comparison_result import (
    HEADED_SEGMENTS,
    Compared,
    Comparison,
    could_turn,
    p_mark,
    verdict_word,
)
from fastmetrics.results.heat_maps import HeatMap, scale_of
from fastmetrics.results.main_metric import Lead
from fastmetrics.results.score_table import ScoreTable
from fastmetrics.stats.significance import compact_letters

VERDICTS = ("worse", "better", "lower", "higher", "–")
"""The verdicts in their order on the page."""
_MANY_ROWS = 100_000
_HEAT_CELLS = 6_000
"""Number of cells of heat maps from which on further pairs of systems have none, to keep the page small."""
SHOWN = 6
"""Maximum number of systems that the chart of differences draws: the best ones."""


def compared(systems: Sequence[ScoreTable], options: Any) -> PageComparison | None:
    """The first system against the others, and these among each other; None where one has no rows."""
    sizes = [run.read([]).num_rows for run in systems]
    if not all(sizes):
        return None
    large = max(sizes) >= _MANY_ROWS
    found = compare(
        list(systems),
        by=[[name] for name in options.by] or None,
        tests="t" if large else "fisher",
        resamples=options.resamples,
        allow_differences=options.allow_differences,
        seed=options.seed,
        threads=options.threads,
        main=options.main,
    )
    return PageComparison(found)


class PageComparison:
    """A comparison, in the order in which a page shows it: what changed, where, and what is not decided."""

    def __init__(self, found: Comparison) -> None:
        self.found = found
        self.systems = found.systems
        self._some = [one for one in found if one.n_paired]
        self._segments = [one for one in self._some if one.segment is not None]
        self._whole = [one for one in self._some if one.segment is None]
        self._whole = self._ordered(self._whole)

    def _ordered(self, some: Sequence[Compared]) -> list[Compared]:
        """The main metric first, then those with a verdict, then the largest on the scale of their bounds."""

        def place(one: Compared) -> tuple[bool, int, float]:
            verdict = self.found.verdict(one)
            size = abs(one.delta) / (self.reach(one) or 1.0) if verdict == "–" else 0.0
            return one.metric != self.found.main, VERDICTS.index(verdict), -size if size == size else 0.0  # noqa: PLR0124

        return sorted(some, key=place)

    @property
    def _first(self) -> str:
        return self.systems[0]

    @cached_property
    def lead(self) -> Lead | None:
        """The systems by the main metric; None without one, and where no row has its score of two systems."""
        return self.found.lead if any(one.metric == self.found.main for one in self._whole) else None

    @property
    def best_first(self) -> Sequence[str]:
        """The systems, the best by the main metric first, where there is one."""
        return list(dict.fromkeys([*([] if self.lead is None else self.lead.means), *self.systems]))

    @cached_property
    def equal(self) -> Sequence[str]:
        """The metrics by which all systems have the same score in every row."""
        of_metric: dict[str, bool] = {}
        for one in self._whole:
            of_metric[one.metric] = of_metric.get(one.metric, True) and one.is_equal
        return [name for name in self.found.better if of_metric.get(name)]

    @property
    def differences(self) -> Sequence[Compared]:
        """Of the first system and the others over all rows, those with a verdict first; none that are equal."""
        return [one for one in self._whole if one.baseline == self._first and one.metric not in self.equal]

    @property
    def further(self) -> Sequence[Compared]:
        """Of the other systems among each other."""
        return [one for one in self._whole if one.baseline != self._first and one.metric not in self.equal]

    @property
    def charted(self) -> Sequence[str]:
        """The systems whose differences from the first one are drawn, the best first."""
        return [name for name in self.best_first if name != self._first][:SHOWN]

    @property
    def chart(self) -> list[tuple[str, list[tuple[str, list[Compared]]]]]:
        """The differences of the charted systems by concern and metric; those with a verdict first."""
        of_metric: dict[str, dict[str, Compared]] = {}
        for one in self.differences:
            of_metric.setdefault(one.metric, {})[one.other] = one
        groups = by_concern(list(of_metric), self.found.concerns, self.found.main)
        own = {name: [some[other] for other in self.charted if other in some] for name, some in of_metric.items()}
        return [(concern, [(name, own[name]) for name in names]) for concern, names in groups]

    @property
    def decisive(self) -> Compared:
        """The first difference by the main metric over all rows; there is a lead."""
        return next(one for one in self._whole if one.metric == self.found.main)

    @property
    def n_compared(self) -> int:
        """The rows behind the lead: those of which all systems have a score."""
        ranked = (ranking.n for ranking in self.found.rankings if ranking.metric == self.found.main)
        return next(ranked, self.decisive.n_paired)

    def others_of(self, some: Sequence[Compared], *verdicts: str) -> list[str]:
        """The systems with one of these verdicts."""
        return [one.other for one in some if self.found.verdict(one) in verdicts]

    @property
    def headed_segments(self) -> Sequence[Compared]:
        """The segments that the headline names: those of its comparison."""
        return self.found.worse_segments[:HEADED_SEGMENTS]

    def has_direction(self, one: Compared) -> bool:
        """Whether more of a metric is better or worse."""
        return self.found.better[one.metric] is not None

    def _decided(self, some: Sequence[Compared]) -> list[Compared]:
        return [one for one in some if self.found.verdict(one) != "–" and self.has_direction(one)]

    def _clearest(self, some: Sequence[Compared]) -> list[Compared]:
        """Pairs of the first system before the others, by verdict, the clearest of chance first."""

        def place(one: Compared) -> tuple[bool, int, float]:
            width = one.high - one.low
            clear = 0.0 if math.isnan(width) else 2 * abs(one.delta) / width if width else math.inf
            return one.baseline != self._first, VERDICTS.index(self.found.verdict(one)), -clear

        return sorted(some, key=place)

    @cached_property
    def places(self) -> Sequence[Compared]:
        """The segments with a verdict: losses of the first system's pairs first, the clearest first."""
        return self._clearest(self._decided(self._segments))

    @property
    def unscored(self) -> Sequence[str]:
        """The metrics without a row of two systems."""
        scored = {one.metric for one in self._some}
        return [name for name in self.found.better if name not in scored]

    # What stands beside a difference: its colour, its drawn interval, and the signs of doubt.

    def turn(self, one: Compared) -> str:
        """``gain``, ``loss``, ``change`` or ``same``, from the verdict."""
        return "same" if self.found.verdict(one) == "–" else turn(self.found.better[one.metric], one.delta)

    def _scale(self, one: Compared) -> Any:
        return one.segment is None, scale_of(one.metric, self.found.bounds)

    @cached_property
    def _reached(self) -> Mapping[Any, float]:
        """The farthest end of an interval on each scale: over all rows, and in the segments that are shown."""
        reached: dict[Any, float] = {}
        decided = [one for one in self._segments if self.found.verdict(one) != "–"]
        whole = [one for one in self._whole if one.metric not in self.equal]
        for one in [*whole, *(decided or filter(self.has_direction, self._segments))]:
            ends = [abs(value) for value in (one.low, one.delta, one.high) if math.isfinite(value)]
            reached[self._scale(one)] = max([reached.get(self._scale(one), 0.0), *ends])
        return reached

    def reach(self, one: Compared) -> float:
        """The value at the ends of the line on which the interval is drawn."""
        return self._reached.get(self._scale(one), 0.0)

    def drawn(self, one: Compared) -> tuple[float, ...] | None:
        """Low, Δ and high in percent of a line with 0 in the middle, one scale for metrics of the same bounds."""
        reach = self.reach(one)
        if math.isnan(one.delta):
            return None
        ends = (one.low, one.delta, one.high) if not math.isnan(one.low) else (one.delta,) * 3
        return tuple(round(50 + 46 * (value / reach if reach else 0), 2) for value in ends)

    def alone(self, one: Compared) -> str:
        """Without a verdict: the verdict that an interval without 0 would give by itself; empty if it holds 0."""
        if self.found.verdict(one) != "–" or not (one.low > 0 or one.high < 0):
            return ""
        return verdict_word(self.found.better[one.metric], one.delta)

    def by_p(self, one: Compared) -> bool:
        """Whether the test gives a verdict although the interval holds 0."""
        return self.found.verdict(one) != "–" and one.low <= 0 <= one.high

    def reversible(self, one: Compared) -> bool:
        """Whether there is a verdict that the missing scores of rows with a score of one system only could reverse."""
        return self.found.verdict(one) != "–" and could_turn(one, self.found.bounds.get(one.metric)) is not None

    @property
    def n_reversible(self) -> int:
        """Number of verdicts over all rows, of metrics with a direction, that missing scores could reverse."""
        return sum(map(self.reversible, self._decided(self._whole)))

    def having(self, some: Sequence[Compared], sign: Callable[[Compared], Any]) -> bool:
        """Whether one of the differences has a sign."""
        return any(map(sign, some))

    def doubt(self, one: Compared) -> str | None:
        """The note on the p of a verdict where no p is shown."""
        return None if self.found.verdict(one) == "–" else p_mark(one)

    def marks(self, some: Sequence[Compared], *, chart: bool = False) -> list[str]:
        """The notes on the intervals and p values of these differences; below a chart, those with a sign in it."""
        if not chart:
            own = {note for one in some for note in (one.interval_note, p_mark(one))}
            of_figures = [note for note in self.found.notes if isinstance(note, Note) and note.id == "of_figures"]
            return [note for note in of_figures if note.values["note"] in own]
        single = len(self.systems) == 2
        noted = [(one.metric, one.interval_note) for one in some if single and mark_of(one.interval_note)]
        noted += [(one.metric, self.doubt(one)) for one in some]
        return interval_notes([Figure.of(name, note) for name, note in noted], self.found.confidence)

    # Several systems: each against each, letters, and heat maps of their segments.

    @property
    def matrix(self) -> Sequence[str]:
        """For more than two systems with a main metric, the systems of its matrix, the best first."""
        return list(self.lead.means) if self.lead is not None and len(self.systems) > 2 else []

    def cell(self, own: str, other: str) -> tuple[float, str, Better]:
        """The difference of a system from another one by the main metric, its colour, and the metric's direction."""
        assert self.lead is not None
        worse = self.lead.worse
        colour = "loss" if (own, other) in worse else "gain" if (other, own) in worse else "same"
        return self.lead.means[own] - self.lead.means[other], colour, self.found.better[self.lead.metric]

    @property
    def rankings(self) -> Iterator[tuple[str, int, Mapping[str, tuple[float, str, bool]]]]:
        """For each metric but equal ones its rows, and of each system the mean, letters, and whether it shares one with
        the best.

        Two systems share a letter where their difference has no verdict.
        """
        whole, scored = self._whole, {one.metric for one in self._some}
        apart = {(one.metric, frozenset((one.baseline, one.other))) for one in whole if self.found.verdict(one) != "–"}
        for ranking in self.found.rankings:
            if ranking.metric in scored and ranking.metric not in self.equal:
                order = ranking.systems
                pairs = [[(ranking.metric, frozenset((one, other))) in apart for other in order] for one in order]
                letters = compact_letters(len(order), lambda a, b: pairs[a][b])  # noqa: B023
                directed = self.found.better[ranking.metric] is not None
                best = [directed and not is_apart for is_apart in pairs[0]]
                cells = zip(order, zip(ranking.means, letters, best, strict=True), strict=True)
                yield ranking.metric, ranking.n, dict(cells)

    @property
    def n_pairs(self) -> int:
        """Number of pairs of systems."""
        return len(self.systems) * (len(self.systems) - 1) // 2

    @cached_property
    def heats(self) -> Sequence[tuple[str, str, HeatMap]]:
        """The heat maps of the pairs of systems, as many as a page holds; those of the first system all."""
        heats, cells = [], 0
        for pair in itertools.combinations(self.systems, 2):
            if pair[0] != self._first and cells > _HEAT_CELLS:
                break
            heat = self.found.heat_map(pair)
            if heat is not None:
                cells += len(heat.lines) * len(heat.metrics)
                heats.append((*pair, heat))
        return heats

    @property
    def limits(self) -> list[tuple[str, Mapping[str, str]]]:
        """What no difference can reach after the correction: p has a least value for so many resamples and rows."""
        found, sizes = self.found, self.found.families
        if any(one.test == "t" for one in found):
            return []
        family, resamples = max(sizes.values(), default=1), found.resamples
        limits: list[tuple[str, Mapping[str, str]]] = []
        if family > found.alpha * (resamples + 1):
            p = p_value(family / (resamples + 1))
            limits.append(("limit_correction", {"n": f"{resamples:,}", "family": f"{family:,}", "p": p}))
        least = {name: 1 + math.ceil(math.log2(size / found.alpha)) for name, size in sizes.items()}
        short = {found.family_of(one) for one in found if 0 < one.n_paired < least[found.family_of(one)]}
        if short:
            name = max(short, key=lambda name: sizes[name])
            given = {"n": str(least[name]), "family": f"{sizes[name]:,}", "p": f"{found.alpha:.2g}"}
            limits.append(("limit_rows", given))
        return limits
