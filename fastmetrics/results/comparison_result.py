"""The result of comparing systems: figures of each pair, rankings, notes; as text, JSON, Markdown and LaTeX."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, TypeAlias

from fastmetrics.base.display import HIDDEN, Grid, OwnName, ShownSequence, interval, lines_of, number, p_value
from fastmetrics.base.drawing import MOST, Forest, Picture, Plotted, label, left_out
from fastmetrics.base.errors import one_line
from fastmetrics.base.notes import Figure, Note, interval_notes, mark_of, said
from fastmetrics.base.score_metadata import MissingQueries
from fastmetrics.base.specs import Better
from fastmetrics.results.heat_maps import HeatMap, heat_map, heat_picture, scale_of
from fastmetrics.results.main_metric import CONCERNS, Change, Concern, Lead, headline
from fastmetrics.results.row_groups import FEW_ROWS, few_rows_note, worst_first
from fastmetrics.stats.significance import least_p

HEADED_SEGMENTS = 2
"""The segments that a headline names."""

# The figures of one metric of two systems over one segment, and the ranking of several systems.


@dataclass(frozen=True, slots=True)
class Compared:
    """One metric of two systems over one segment (None: all rows), by one test."""

    metric: str
    baseline: str
    other: str
    segment: str | None
    n_paired: int
    """Rows where both have a score; all figures except the other counts use these rows."""
    n_only_baseline: int
    n_only_other: int
    mean_baseline: float
    mean_other: float
    delta: float
    """mean_other − mean_baseline."""
    low: float
    high: float
    interval: str
    """The kind of interval: a key of :data:`fastmetrics.base.notes.NAMES`."""
    interval_note: str | None
    """Why the interval may hold another level, or why there is none."""
    n_clusters: int | None
    """The number of clusters, if rows are clustered."""
    d_z: float
    wins: int | None
    ties: int | None
    losses: int | None
    test: str
    p: float
    p_corrected: float
    detectable: float
    all_baseline: float
    """The mean over all rows where the baseline has a score."""
    all_other: float
    n_missing_baseline: int | None = None
    """Judged queries that the baseline lacks; None for scores that are not of an evaluated run, and for segments."""
    n_missing_other: int | None = None
    p_equivalent: float | None = None
    """With a margin: the p of two one-sided tests that |Δ| is at least the margin, corrected like ``p_corrected``."""
    p_not_worse: float | None = None
    """With a margin: the p of the one-sided test that the other system is worse by the margin or more."""
    p_note: str | None = None
    """Why p may not hold its level."""

    @property
    def is_equal(self) -> bool:
        """Whether each row has the same score, or none, in both systems; of corpus metrics, whether figures agree."""
        agree = self.delta == 0 if self.ties is None else self.ties == self.n_paired > 0
        return agree and not self.n_only_baseline and not self.n_only_other

    def to_dict(self) -> dict[str, Any]:
        """The figures by name, except those of unpaired rows."""
        return {name: getattr(self, name) for name in self.__slots__ if not name.startswith("all_")}


@dataclass(frozen=True)
class Ranking:
    """The systems by one metric, best first, over the ``n`` rows where all have a score.

    Systems with a common letter are not significantly different by the largest of all pairs' statistics under random
    signs; ``p`` has the p value of each pair.
    """

    metric: str
    n: int
    systems: Sequence[str]
    means: Sequence[float]
    letters: Sequence[str]
    p: Sequence[Sequence[float]]


Family: TypeAlias = Literal["main metric", "all rows", "segments"]
"""Comparisons whose p values are corrected together: of the main metric over all rows, of the others, of segments."""


def family_of(metric: str, segment: str | None, main: str | None) -> Family:
    """The family of a metric over all rows (None) or over a segment."""
    if segment is not None:
        return "segments"
    return "main metric" if metric == main else "all rows"


def least_rows(pair: Compared) -> int:
    """The paired rows; of independent runs, the rows of the smaller one."""
    return pair.n_paired or min(pair.n_only_baseline, pair.n_only_other)


def smallest_p(pair: Compared, resamples: int) -> float:
    """The smallest p that the test of a comparison can give for its number of rows or clusters; 0 if there is none."""
    least = least_p(pair.test, pair.n_clusters or pair.n_paired, resamples) if least_rows(pair) else 0.0
    return min(least, pair.p)  # p of flags has no patterns


def could_turn(pair: Compared, bounds: tuple[float, float] | None) -> tuple[float, float] | None:
    """The ends of Δ if the rows with one score only could reverse it, for any values of the missing scores; else None.

    They are NaN for a metric without bounds.
    """
    if not (pair.n_only_baseline + pair.n_only_other) or not pair.n_paired or pair.delta == 0:
        return None
    if bounds is None or not all(map(math.isfinite, bounds)):
        return math.nan, math.nan
    low, high = (_extreme(pair, bounds[0], bounds[1]), _extreme(pair, bounds[1], bounds[0]))
    return None if low * high > 0 else (low, high)


def _reversible(pair: Compared, low: float, high: float) -> Note:
    """The note on a difference that could be reversed, up to these ends."""
    where = {"metric": pair.metric, "part": "" if pair.segment is None else f" ({pair.segment})"}
    where |= {"baseline": pair.baseline, "other": pair.other}
    note = Note("reversible", first=pair.n_only_baseline, second=pair.n_only_other, **where)
    return note if math.isnan(low) else Note("reversible_to", note=note, low=low, high=high)


def _extreme(pair: Compared, missing_other: float, missing_baseline: float) -> float:
    """Δ over all rows with any score if the missing scores had these values."""
    total = pair.n_paired * pair.delta
    for alone, paired_mean, all_mean, sign, missing in (
        (pair.n_only_baseline, pair.mean_baseline, pair.all_baseline, -1, missing_other),
        (pair.n_only_other, pair.mean_other, pair.all_other, 1, missing_baseline),
    ):
        if alone:
            mean_alone = (all_mean * (pair.n_paired + alone) - paired_mean * pair.n_paired) / alone
            total += sign * alone * (mean_alone - missing)
    return total / (pair.n_paired + pair.n_only_baseline + pair.n_only_other)


# The tables of comparisons: cells as text, and LaTeX tables of systems and metrics, as in papers on retrieval.


def compared_rows(pair: Compared) -> str:
    """The number of paired rows, or of both systems' rows if they are independent."""
    return number(pair.n_paired) if pair.n_paired else f"{pair.n_only_baseline:,} + {pair.n_only_other:,}"


def signed(value: float) -> str:
    """A difference with its sign.

    >>> signed(0.25), signed(-0.25), signed(math.nan)
    ('+0.2500', '-0.2500', '–')
    """
    return "–" if math.isnan(value) else ("+" if value > 0 else "") + number(value)


def bounds(low: float, high: float, mark: str = "") -> str:
    """The interval of a difference, and a mark.

    >>> bounds(-0.5, 0.25, "*")
    '[-0.5000, +0.2500]*'
    """
    return interval(low, high, "+") + mark


def p_mark(pair: Compared) -> str | None:
    """The note on p among the notes on intervals: none if it is that of the interval, or on a width only."""
    return Note("on_p", note=pair.p_note) if mark_of(pair.p_note) and pair.p_note != pair.interval_note else None


def latex_table(
    systems: Sequence[str],
    metrics: Sequence[str],
    means: Mapping[tuple[str, str], float],
    beaten: Mapping[tuple[str, str], Sequence[str]],
    rows: Mapping[str, str],
    better: Mapping[str, str | None],
    notes: Sequence[str] = (),
) -> str:
    """Means by (system, metric), with superscript letters of the systems that are significantly worse.

    The best mean of a metric, by the direction in ``better``, is bold; the rules are those of the package booktabs.
    ``rows`` has the number of rows behind the means of each metric; notes come last.
    """
    marks = dict(zip(systems, map(_mark, range(len(systems))), strict=True))
    lines = [f"\\begin{{tabular}}{{ll{'r' * len(metrics)}}}", "\\toprule"]
    lines += [" & ".join(["", "System", *map(_escaped, metrics)]) + " \\\\", "\\midrule"]
    best = {metric: _best([means[name, metric] for name in systems], better.get(metric)) for metric in metrics}
    for name in systems:
        cells = [
            _cell(
                means[name, metric],
                [marks[other] for other in beaten.get((name, metric), ())],
                bold=means[name, metric] == best.get(metric),
            )
            for metric in metrics
        ]
        lines.append(" & ".join([marks[name], _escaped(name), *cells]) + " \\\\")
    lines += ["\\midrule", " & ".join(["", "$n$", *(_escaped(rows[metric]) for metric in metrics)]) + " \\\\"]
    wide = f"\\multicolumn{{{2 + len(metrics)}}}{{l}}"
    below = [f"{wide}{{\\footnotesize {_escaped(note)}}} \\\\" for note in notes]
    return "\n".join([*lines, "\\bottomrule", *below, "\\end{tabular}"]) + "\n"


def _mark(place: int) -> str:
    """a to z, then a1 to z1 and so on."""
    return chr(ord("a") + place % 26) + (str(place // 26) if place >= 26 else "")


def _best(means: Sequence[float], better: str | None) -> float | None:
    """The best of several means; None without a direction, and where no mean differs.

    >>> [_best([0.1, 0.3, math.nan], way) for way in ("higher", "lower")], _best([1, 1], "lower")
    ([0.3, 0.1], None)
    """
    values = [mean for mean in means if not math.isnan(mean)]
    if better is None or len(set(values)) < 2:
        return None
    return max(values) if better == "higher" else min(values)


def _cell(mean: float, beaten: Sequence[str], *, bold: bool) -> str:
    if math.isnan(mean):
        return "--"
    shown = f"\\textbf{{{mean:.4f}}}" if bold else f"{mean:.4f}"
    return shown + (f"$^{{{''.join(sorted(beaten))}}}$" if beaten else "")


def _escaped(text: str) -> str:
    special = {"\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}"}
    return "".join(special.get(c, f"\\{c}" if c in "&%$#_{}" else c) for c in one_line(text))


# The result of comparing systems: figures of each pair, rankings, notes; as text, JSON, Markdown and LaTeX.


_NOTED = 8
_CORRECTED = {"holm": "corrected by Holm", "bh": "corrected by Benjamini and Hochberg", "none": "not corrected"}
_OF_FAMILY: Mapping[Family, str] = {
    "main metric": "of {main}",
    "all rows": "of other metrics",
    "segments": "in segments",
}
_OPPOSITE = {"better": "worse", "worse": "better", "higher": "lower", "lower": "higher", "not worse": "–"}
"""The verdicts on the baseline against the other system."""


def verdict_word(better: Better, delta: float) -> str:
    """The word for a difference other than 0 that is more than chance.

    >>> verdict_word("lower", -0.25), verdict_word(None, -0.25)
    ('better', 'lower')
    """
    words = {"higher": ("better", "worse"), "lower": ("worse", "better"), None: ("higher", "lower")}
    return words[better][0 if delta > 0 else 1]


@dataclass(frozen=True)
class Comparison(ShownSequence[Compared], Plotted, of="comparisons"):
    """Systems compared by each metric; prints as tables; indexed by metric name or position."""

    systems: Sequence[str]
    joined_by: str
    """What pairs the rows: a column, the position, or none for runs that share no rows."""

    n_rows: Mapping[str, int]
    """The number of rows of each system."""
    comparisons: Sequence[Compared] = field(metadata=HIDDEN)
    rankings: Sequence[Ranking]
    better: Mapping[str, Better]
    bounds: Mapping[str, tuple[float, float] | None]
    correction: str
    confidence: float
    cluster: str | None = None
    resamples: int = 10_000
    """The random patterns behind each p of a randomisation test."""
    differences: Sequence[str] = ()
    """The differences in the settings of the runs."""
    counted: Sequence[str] = ()
    """The corpus metrics among the metrics."""
    interval: str = "auto"
    """The kind of intervals asked for."""
    margin: float | None = None
    """The difference that does not matter."""
    missing_queries: Mapping[str, MissingQueries] = field(default_factory=dict)
    """The judged queries that each evaluated run lacks, and the rule for them."""
    first_metrics: Mapping[Concern, str] = field(default_factory=dict)
    """The metric that stands for each concern: quality, retrieval, cost and form."""
    main: str | None = None
    """The metric that decides; None if no metric has a direction."""
    concerns: Mapping[str, Concern] = field(default_factory=dict)
    """What each metric is about."""
    own: Collection[str] = field(default=(), metadata=HIDDEN)
    """The columns of no known metric, which do not count as others of a concern."""
    missing: str = "ignore"
    """How rows count that one run alone scores: ``ignore``, or as the ``worst`` score of the other."""
    turned: Sequence[str] = ()
    """The verdicts that the other reading of such rows changes."""

    @property
    def unpaired(self) -> bool:
        """Whether the runs are independent samples that share no rows."""
        return self.joined_by == "none"

    def __getitem__(self, key: Any) -> Any:
        """The comparison at a position, or the first one of a metric over all rows; raises ``KeyError``."""
        if not isinstance(key, str):
            return self.comparisons[key]
        for pair in self._whole:
            if pair.metric == key:
                return pair
        raise KeyError(key)

    def family_of(self, pair: Compared) -> Family:
        """The comparisons whose p values are corrected together with that of this one."""
        return family_of(pair.metric, pair.segment, self.main)

    @property
    def families(self) -> dict[Family, int]:
        """The number of comparisons in each family that there is."""
        found = Counter(self.family_of(pair) for pair in self._once)
        return {name: found[name] for name in _OF_FAMILY if name in found}

    @property
    def _whole(self) -> list[Compared]:
        """The comparisons over all rows."""
        return [pair for pair in self.comparisons if pair.segment is None]

    @property
    def alpha(self) -> float:
        """The significance level: 1 − confidence."""
        return 1 - self.confidence

    def verdict(self, pair: Compared) -> str:
        """``better``, ``worse`` (``higher``, ``lower`` without a declared direction) or ``–`` if not significant.

        With a margin, a difference that is not significant is ``equivalent`` if it is shown to lie within the margin,
        or ``not worse`` if it is shown not to be worse by the margin.
        """
        if math.isnan(pair.p_corrected) or pair.p_corrected > self.alpha or pair.delta == 0:
            shown = (("equivalent", pair.p_equivalent), ("not worse", pair.p_not_worse))
            return next((word for word, p in shown if p is not None and p <= self.alpha), "–")
        return verdict_word(self.better[pair.metric], pair.delta)

    def turned_by(self, others: Sequence[Compared]) -> list[str]:
        """Notes on the verdicts that the same comparisons have by the other reading of rows that one run scores."""
        ways = ("over the rows that both score", "with the worst score where one run has none (missing=worst)")
        own, other = ways if self.missing == "ignore" else ways[::-1]
        notes = []
        for pair, turned in zip(self.comparisons, others, strict=True):
            here, there = self.verdict(pair), self.verdict(turned)
            if here != there:
                where = f"{pair.metric}{'' if pair.segment is None else f' ({pair.segment})'}"
                verdicts = [f"{word if word != '–' else 'undecided'}" for word in (here, there)]
                p = [f"p {p_value(each.p_corrected)}" for each in (pair, turned)]
                notes.append(
                    f"{where}, {pair.other} against {pair.baseline}: {verdicts[0]} ({p[0]}) {own}, but {verdicts[1]} "
                    f"({p[1]}) {other}"
                )
        return notes

    def change(self, concern: Concern, metric: str, baseline: str, other: str) -> Change | None:
        """The change of a metric between two systems over all rows, in either order of them; None without values."""
        for pair in self._whole:
            if pair.metric == metric and {pair.baseline, pair.other} == {baseline, other}:
                break
        else:
            return None
        if math.isnan(pair.delta):
            return None
        means = (pair.mean_baseline, pair.mean_other)
        verdict = "equal" if pair.is_equal else self.verdict(pair)
        if pair.baseline != baseline:
            means, verdict = means[::-1], _OPPOSITE.get(verdict, verdict)
        return Change(concern, metric, *means, verdict)

    def changes(self, baseline: str, other: str) -> list[Change]:
        """What a headline on two systems says: the change of the main metric, then those of the other concerns."""
        order = sorted(CONCERNS, key=lambda concern: self.first_metrics.get(concern) != self.main)
        of_concerns = [(concern, self.first_metrics[concern]) for concern in order if concern in self.first_metrics]
        found = [self.change(concern, metric, baseline, other) for concern, metric in of_concerns]
        said = (change for change in found if change is not None)
        return [each for each in said if each.metric == self.main or each.concern != "form" or each.is_decided]

    def dissent(self, baseline: str, other: str) -> dict[str, int]:
        """The better and worse of the other known metrics of the main one's concern; empty if none differs from it."""
        main = None if self.main is None else self.change("quality", self.main, baseline, other)
        names = [name for name in self.better if self.concerns.get(name) == self.concerns.get(self.main or "")]
        others = [self.change("quality", name, baseline, other) for name in names if name not in (self.main, *self.own)]
        counts = Counter(change.verdict for change in others if change and change.verdict in ("better", "worse"))
        if main is None or not set(counts) - {main.verdict}:
            return {}
        return {word: counts[word] for word in ("better", "worse")}

    @property
    def lead(self) -> Lead | None:
        """The systems by the main metric, the best first; None without one, and where it has no values."""
        means: dict[str, float] = {}
        worse: set[tuple[str, str]] = set()
        for pair in self._whole:
            if pair.metric == self.main and not math.isnan(pair.delta):
                means = {pair.baseline: pair.mean_baseline, pair.other: pair.mean_other, **means}
                verdict = self.verdict(pair)
                worse |= {(pair.other, pair.baseline)} if verdict == "worse" else set()
                worse |= {(pair.baseline, pair.other)} if verdict == "better" else set()
        for ranking in self.rankings:
            if ranking.metric == self.main:
                means = dict(zip(ranking.systems, ranking.means, strict=True))
        if self.main is None or not means:
            return None
        sign = 1 if self.better[self.main] == "lower" else -1
        return Lead(self.main, dict(sorted(means.items(), key=lambda entry: sign * entry[1])), worse)

    @property
    def is_identical(self) -> bool:
        """Whether two systems have the same scores by every metric."""
        return len(self.systems) == 2 and bool(self._whole) and all(pair.is_equal for pair in self._whole)

    @property
    def headline(self) -> str | None:
        """The verdict by the main metric, with cost and form beside it; of several systems, which of them leads."""
        if self.is_identical:
            return f"{self.systems[1]} has the same scores as {self.systems[0]} in every row"
        if self.lead is None:
            return None
        pair = (self.systems[0], self.systems[1])
        told = str(self.lead)
        if len(self.systems) == 2:
            told = headline(*pair, self.changes(*pair), self.dissent(*pair))
        segments = []
        for one in self.worse_segments[:HEADED_SEGMENTS]:
            means = Change("quality", one.metric, one.mean_baseline, one.mean_other, "worse").means
            who = "" if len(self.systems) == 2 else f"{one.other} "
            segments.append(f"{who}worse in {one.segment} ({means})")
        more = len(self.worse_segments) - HEADED_SEGMENTS
        return "; ".join([told, *segments, *([f"worse in {more:,} more segments"] if more > 0 else [])])

    @property
    def worse_segments(self) -> list[Compared]:
        """The segments in which a system that is not worse than the first over all rows is worse: by the main metric,
        then by the others of its concern.
        """
        concern = self.concerns.get(self.main or "")
        worse = [pair for pair in self._once if pair.baseline == self.systems[0] and self.verdict(pair) == "worse"]
        whole = {(pair.metric, pair.other) for pair in worse if pair.segment is None}
        some = [pair for pair in worse if pair.segment is not None and (pair.metric, pair.other) not in whole]
        found: dict[tuple[str, str | None], Compared] = {}
        for name in sorted(self.better, key=lambda name: name != self.main):
            pairs = [pair for pair in some if pair.metric == name and self.concerns.get(name) == concern]
            for pair in worst_first(pairs, "delta", self.better[name]):
                found.setdefault((pair.other, pair.segment), pair)
        return list(found.values())

    @property
    def notes(self) -> list[str]:
        """How rows were paired, missing scores that could reverse a difference, and the correction of p values."""
        of = "" if self.cluster is None else Note("clustered", column=self.cluster)
        judged = (pair for pair in self._once if pair.segment is not None and self.verdict(pair) != "–")
        marks = (Figure.of(pair.metric, p_mark(pair)) for pair in (*self._whole, *judged))
        tests = list(dict.fromkeys(pair.test for pair in self.comparisons))
        sizes = self.families
        family = sum(sizes.values())
        over = Note("over", n=family)
        if len(sizes) > 1:
            over = Note(
                "over_groups", parts=[f"{n:,} {_OF_FAMILY[name].format(main=self.main)}" for name, n in sizes.items()]
            )
        by = Note("by_interval") if self.unpaired else Note("by_test" if len(tests) == 1 else "by_tests", tests=tests)
        uncounted = [name for name, better in self.better.items() if better is None or not self._is_bounded(name)]
        worst = self.missing == "worst"
        few = {str(pair.segment) for pair in self._once if pair.segment and least_rows(pair) < FEW_ROWS}
        undirected = [name for name, better in self.better.items() if better is None]
        return said(
            Note(
                "independent_rows" if self.unpaired else "rows_paired",
                by=self.joined_by,
                counts=[f"{name} {count:,}" for name, count in self.n_rows.items()],
            ),
            [Note("of_run", run=name, note=note) for name, one in self.missing_queries.items() for note in one.notes],
            interval_notes((*self.record(), *marks), self.confidence, of),
            Note("p_values", by=by, how=_CORRECTED[self.correction], over=over, of=of),
            family > 1 and self.correction != "none" and Note("levels_alone"),
            (unlike := self._disagreeing()) and Note("disagree", pairs=unlike),
            self.margin is not None and Note("margin", margin=self.margin),
            self.turned[:_NOTED],
            len(self.turned) > _NOTED and Note("more_turned", n=len(self.turned) - _NOTED),
            worst and Note("missing_worst"),
            worst and uncounted and Note("missing_uncounted", names=uncounted),
            not worst and not self.unpaired and self._turned(),
            self._out_of_reach(),
            few_rows_note(few),
            undirected and Note("undirected", names=undirected),
            self.counted and Note("counted", names=list(self.counted)),
            list(self.differences),
        )

    def remarks(self) -> Sequence[str]:
        """How rows were paired, what could reverse a difference, and how p values are corrected."""
        return self.notes

    def _disagreeing(self) -> list[str]:
        """The comparisons in which the interval and p do not decide alike, nor would without the correction of p."""
        systems = len(self.systems) > 2
        return [
            pair.metric
            + (f" ({pair.segment})" if pair.segment is not None else "")
            + (f", {pair.other} against {pair.baseline}" if systems else "")
            for pair in self._once
            if (pair.segment is None or self.verdict(pair) != "–") and not math.isnan(pair.low + pair.high + pair.p)
            if (pair.low > 0 or pair.high < 0) not in (pair.p <= self.alpha, pair.p_corrected <= self.alpha)
        ]

    def _is_bounded(self, metric: str) -> bool:
        """Whether the worst score of a metric is known."""
        limits = self.bounds.get(metric)
        return limits is not None and math.isfinite(limits[0 if self.better[metric] == "higher" else 1])

    def record(self) -> Sequence[Figure]:
        """The differences of the systems, by the first test."""
        return [Figure.of(one.metric, one, n=one.n_paired, system=one.other) for one in self._once]

    def _turned(self) -> list[str]:
        """The differences that unpaired rows could reverse: the first ones, and the number of the others."""
        every = [(pair, ends) for pair in self._once if (ends := could_turn(pair, self.bounds.get(pair.metric)))]
        first = [_reversible(pair, *ends) for pair, ends in every[:_NOTED]]
        return said(first, len(every) > _NOTED and Note("more_reversible", n=len(every) - _NOTED))

    def _out_of_reach(self) -> list[str]:
        """The numbers of rows that can have no verdict, since the smallest p that the test can give is not significant.

        Holm multiplies the smallest p by the size of the family.
        """
        sizes = self.families if self.correction == "holm" else {}
        reached: dict[tuple[str, int], dict[int, float]] = {}
        for pair in self.comparisons:
            p, times = smallest_p(pair, self.resamples), sizes.get(self.family_of(pair), 1)
            if p * times > self.alpha:
                reached.setdefault((pair.test, times), {})[pair.n_clusters or least_rows(pair)] = p
        unit = "clusters" if self.cluster else "rows"
        return [
            Note(
                "out_of_reach",
                rows=f"{' to '.join(f'{n:,}' for n in sorted({min(few), max(few)}))} {unit}",
                test=test,
                p=p_value(min(1.0, times * min(few.values()))),
                times=Note("times", n=times) if times > 1 else "",
            )
            for (test, times), few in reached.items()
        ]

    @cached_property
    def _once(self) -> list[Compared]:
        """The comparisons by the first test, whose verdicts tables of several tests show."""
        return [pair for pair in self.comparisons if pair.test == self.comparisons[0].test]

    def to_dict(self) -> dict[str, Any]:
        """``{"comparisons": [{"metric", "baseline", …}], "rankings": […], "notes": […]}`` and the settings."""
        return {
            "headline": self.headline,
            "comparisons": list(self.records()),
            **super().to_dict(),
            "unpaired": self.unpaired,
        }

    def records(self) -> Sequence[Mapping[str, Any]]:
        """One row per comparison: its figures, the verdict, the direction of the metric."""
        return [{**pair.to_dict(), "verdict": self.verdict(pair), "better": self.better[pair.metric]} for pair in self]

    def heat_map(self, pair: tuple[str, str] | None = None) -> HeatMap | None:
        """The differences of the second system of a pair from its first, by default of the first two, by segment.

        The maps of all pairs have one scale of colours, and metrics without a row of both are left out.
        """
        pair = pair or (self.systems[0], self.systems[1])
        own = [one for one in self if (one.baseline, one.other) == pair]
        scored = {one.metric for one in own if one.segment is not None and one.n_paired}
        cells = {
            (one.segment, one.metric): (one.delta, signed(one.delta), one.n_paired, self.verdict(one) != "–")
            for one in own
            if one.segment is not None and one.metric in scored
        }
        every = [(one.metric, one.delta) for one in self if one.segment is not None]
        decided = {one.metric for one in own if self.verdict(one) != "–"}
        return heat_map(cells, self.better, self.bounds, every, decided)

    def picture(self) -> Picture:
        """The differences of all systems from the first with intervals, or heat maps of segments."""
        baseline, *others = self.systems
        notes = said(len(others) > 1 and Note("all_with", baseline=label(baseline)))
        heats = {other: heat for other in others if (heat := self.heat_map((baseline, other))) is not None}
        if heats:
            titles = [f"{label(other)} – {label(baseline)}" if len(heats) > 1 else "" for other in heats]
            return heat_picture(dict(zip(titles, heats.values(), strict=True)), "a verdict", notes)
        whole = [change for change in self._whole if change.baseline == baseline]
        metrics = list(dict.fromkeys(change.metric for change in whole))
        title = f"difference of {label(others[0]) if len(others) == 1 else 'each'} from {label(baseline)}"
        return Forest(
            rows=[Figure.of(one.metric, one, system=one.other) for one in whole if one.metric in metrics[:MOST]],
            scales={metric: scale_of(metric, self.bounds) for metric in metrics},
            zero=True,
            hollow={(one.metric, one.other) for one in whole if self.verdict(one) == "–"},
            title=f"{title}, {self.confidence * 100:g} % intervals; filled: significant",
            notes=[*left_out(metrics, "metrics"), *notes],
        )

    def to_latex(self) -> str:
        """A table of means by system and metric, with superscript letters of significantly worse systems.

        The best mean of each metric is bold; the rules are those of the LaTeX package booktabs.

        Means are over the rows that are compared: those where all systems have a score.  Their number is in the last
        row, with a star if a system has other rows; of independent runs, each system's rows are its own.  Notes name
        the test of the letters and the kind of the differences' intervals.
        """
        whole = [pair for pair in self._once if pair.segment is None]
        means: dict[tuple[str, str], float] = {}
        rows: dict[str, str] = {}
        for pair in reversed(whole):
            means |= {(pair.baseline, pair.metric): pair.mean_baseline, (pair.other, pair.metric): pair.mean_other}
            alone = pair.n_only_baseline + pair.n_only_other
            rows[pair.metric] = compared_rows(pair) + ("*" if alone and not self.unpaired else "")
        for ranking in self.rankings:
            means |= {
                (system, ranking.metric): mean for system, mean in zip(ranking.systems, ranking.means, strict=True)
            }
            others = any(count != ranking.n for count in self.n_rows.values())
            rows[ranking.metric] = number(ranking.n) + ("*" if others else "")
        beaten: dict[tuple[str, str], list[str]] = {}
        for pair in whole:
            verdict = self.verdict(pair)
            if verdict in ("better", "higher"):
                beaten.setdefault((pair.other, pair.metric), []).append(pair.baseline)
            elif verdict in ("worse", "lower"):
                beaten.setdefault((pair.baseline, pair.metric), []).append(pair.other)
        kinds = [row._replace(note=None) for row in self.record() if row.segment is None]
        notes = said(
            [f"{name}: {queries.brief}" for name, queries in self.missing_queries.items() if queries.count],
            Note("superscripts", test=whole[0].test, level=self.alpha),
            interval_notes(kinds, self.confidence, " of differences"),
            any(count.endswith("*") for count in rows.values()) and Note("rows_of_others"),
        )
        metrics = list(dict.fromkeys(pair.metric for pair in whole))
        return latex_table(self.systems, metrics, means, beaten, rows, self.better, notes)

    def grids(self) -> list[Grid]:
        """Differences with their intervals, counts, segments (worst first), rankings, and variances of repeats."""
        whole, several = self._whole, len(self.systems) > 2
        names: tuple[Any, ...] = ("baseline", "other") if several else ()
        own = map(OwnName, self.systems)
        means = () if several else tuple(zip(own, ("mean_baseline", "mean_other"), strict=True))
        delta = ("Δ", lambda pair: signed(pair.delta))
        told = (*names, ("verdict", self.verdict), *means, delta, ("interval", _interval))
        test = ("test",) if len({pair.test for pair in whole}) > 1 else ()
        p = ("p", lambda pair: p_value(pair.p_corrected, pair.p_note))
        grids = [lines_of(whole, "metric", *told, *test, p, labels=3 if several else 1), self._counts(names)]
        segments: dict[str, list[Compared]] = {metric: [] for metric in self.better}
        for pair in self._once:
            if pair.segment is not None:
                segments[pair.metric].append(pair)
        if any(segments.values()):
            for metric, pairs in segments.items():
                ordered = worst_first(pairs, "delta", self.better[metric])
                told = (*names, ("verdict", self._marked), *means, delta, ("interval", _interval))
                grids.append(
                    lines_of(ordered, (OwnName(metric), "segment"), *told, ("n", _rows), labels=3 if several else 1)
                )
        rankings = [
            lines_of(
                zip(ranking.systems, ranking.means, ranking.letters, strict=True),
                *((f"{ranking.metric}, {ranking.n:,} rows of all", "0"), "mean=1"),
                "group=2",
            )
            for ranking in self.rankings
        ]
        return [*grids, *rankings]

    def _marked(self, pair: Compared) -> str:
        """A verdict where no p is shown, with the sign of the note on p."""
        verdict = self.verdict(pair)
        return verdict if verdict == "–" else verdict + mark_of(p_mark(pair))

    def _counts(self, names: Sequence[Any]) -> Grid:
        pairs = {(pair.metric, pair.baseline, pair.other): pair for pair in self._whole}.values()
        lacking = ("missing base=n_missing_baseline", "missing other=n_missing_other")
        return lines_of(
            *(pairs, "metric", *names, "n=n_paired", "only base=n_only_baseline"),
            *("only other=n_only_other", *(lacking if self.missing_queries else ())),
            *(("won/tied/lost", _won), "d_z", "detectable"),
            labels=3 if names else 1,
        )


def _interval(pair: Compared) -> str:
    return bounds(pair.low, pair.high, mark_of(pair.interval_note))


def _rows(pair: Compared) -> str:
    return compared_rows(pair) + "*" * (least_rows(pair) < FEW_ROWS)


def _won(pair: Compared) -> str:
    return "–" if pair.wins is None else f"{pair.wins:,}/{pair.ties:,}/{pair.losses:,}"
