"""What a page shows at first glance: means in one chart, the worst rows with their texts, rows without a score."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fastmetrics.base.arrays import Floats
from fastmetrics.base.display import number
from fastmetrics.base.errors import visible
from fastmetrics.base.specs import Better
from fastmetrics.plans.stored_metadata import Stored
from fastmetrics.reporting.page_rows import least
from fastmetrics.reporting.readings import reading
from fastmetrics.reporting.report_options import RowLinks
from fastmetrics.reporting.rows import PairedRows
from fastmetrics.results.by_segment import MeanInterval
from fastmetrics.results.comparison_result import signed
from fastmetrics.results.heat_maps import HeatMap
from fastmetrics.results.main_metric import CONCERNS, Concern, concerns_of
from fastmetrics.results.score_columns import declared_better, declared_bounds
from fastmetrics.results.score_table import ScoreTable
from fastmetrics.results.summary import Summary

# The figures of each metric.


LACKING = 0.05
"""The share of rows without a score from which on a report points at it."""
CAUSES = ("error", "unread", "missing", "undefined")
"""Why a row has no score, in the order of their weight."""


@dataclass(frozen=True)
class MetricLine:
    """A metric: its figures, reading, direction and histogram."""

    name: str
    figures: Any
    reading: str | None
    better: Better
    counts: Sequence[int] | None

    @property
    def lacks_rows(self) -> bool:
        """Whether calls failed, or a share of the rows that matters has no score."""
        n_lacking = sum(getattr(self.figures, f"n_{cause}") for cause in CAUSES)
        return bool(self.figures.n_error or n_lacking > LACKING * (self.figures.n + n_lacking))


def metric_lines(summary: Summary, drawn: Mapping[str, Any], stored: Stored) -> list[MetricLine]:
    """The lines of all metrics of rows."""
    better = declared_better(summary.metrics, stored)
    return [
        MetricLine(
            name,
            figures,
            reading(name, figures.mean, stored, figures.max),
            better.get(name),
            list(drawn[name].counts) if name in drawn and drawn[name].n else None,
        )
        for name, figures in summary.metrics.items()
    ]


def named_figures(summary: Summary, stored: Stored) -> list[tuple[str, str, float, str | None]]:
    """The figures of the whole table: name, statistic, value and reading."""
    return [
        (name, of, value, reading((of or name).removesuffix(".mean"), value, stored))
        for name, value, of in summary.further
    ]


# The chart of one system: the mean of each metric with its interval, on the scale of its bounds.


@dataclass(frozen=True)
class DrawnMean:
    """A mean with its interval, where these stand in percent of the chart, and the reading of the mean."""

    figure: MeanInterval
    drawn: tuple[float, ...]
    reading: str | None
    better: Better


def by_concern(names: Sequence[str], concerns: Mapping[str, Concern], main: str | None) -> list[tuple[str, list[str]]]:
    """The metrics of each concern: that of the main metric first, quality before cost; the main metric leads its own.

    >>> by_concern(["latency_ms", "bleu", "token_f1"], concerns_of(["latency_ms", "bleu", "token_f1"], str), "token_f1")
    [('quality', ['token_f1', 'bleu']), ('cost', ['latency_ms'])]
    """
    order = sorted(CONCERNS, key=lambda concern: concern != concerns.get(main or ""))
    first = sorted(names, key=lambda name: name != main)
    groups = [(concern, [name for name in first if concerns[name] == concern]) for concern in order]
    return [(concern, some) for concern, some in groups if some]


def drawn_means(
    means: Iterable[MeanInterval], run: ScoreTable, corpus: Mapping[str, float], main: str | None
) -> list[tuple[str, list[DrawnMean]]]:
    """The means of all rows, and the corpus metrics, which have no interval, by concern."""
    nothing: dict[str, Any] = dict.fromkeys(("interval_note", "n_clusters"))
    figures = {one.metric: one for one in means if one.segment is None and one.n}
    for name, value in corpus.items():
        figures[name] = MeanInterval(name, None, 0, 0, value, math.nan, math.nan, "none", **nothing)
    bounds = declared_bounds(list(figures), run.declared)
    better = declared_better(list(figures), run.declared)

    def drawn(name: str) -> DrawnMean:
        one = figures[name]
        place = places_between(one, *(bounds.get(name) or (math.nan, math.nan)))
        return DrawnMean(one, place, reading(name, one.mean, run.declared), better.get(name))

    groups = by_concern(list(figures), concerns_of(figures, run.spec), main)
    return [(concern, list(map(drawn, names))) for concern, names in groups]


def places_between(one: Any, low: float, high: float) -> tuple[float, ...]:
    """Where the ends of an interval and its mean stand, in percent; bounds that are not finite are 0 and the ends.

    >>> from types import SimpleNamespace as Mean
    >>> places_between(Mean(low=0.25, mean=0.5, high=0.75), 0, 1)
    (26.0, 50.0, 74.0)
    >>> places_between(Mean(low=1, mean=2, high=4), 0, math.inf)
    (26.0, 50.0, 98.0)
    """
    ends = [one.mean if math.isnan(end) else end for end in (one.low, one.mean, one.high)]
    low, high = (low, high) if math.isfinite(low) and math.isfinite(high) else (min(0, *ends), max(0, *ends))
    size = max(abs(low), abs(high)) or 1.0  # ends as far apart as numbers can be have a distance nevertheless
    wide = high / size - low / size or 1.0
    return tuple(round(2 + 96 * min(max((end / size - low / size) / wide, 0.0), 1.0), 2) for end in ends)


@dataclass(frozen=True)
class Place:
    """A segment whose mean is below that of all rows: its metric, name and mean."""

    metric: str
    segment: str
    text: str


def low_places(heat: HeatMap | None, most: int) -> list[Place]:
    """The segments whose interval leaves out the mean of all rows on the worse side, the lowest first."""
    low = [
        (cell.level, Place(metric, segment, cell.text))
        for segment, cells in (heat.lines if heat is not None else ())
        for metric, cell in zip(heat.metrics if heat is not None else (), cells, strict=True)
        if cell is not None and cell.marked and cell.level is not None and cell.level < 0
    ]
    return [place for _, place in sorted(low, key=lambda entry: entry[0])[:most]]


# The worst rows by one metric: those that fell most from another system, else the lowest scores.


WORST = 3
"""Maximum number of rows."""


@dataclass(frozen=True)
class WorstRow:
    """A row: its id, its score or its change, its scores before and after, its address, and its texts by title."""

    id: str
    value: str
    scores: str
    href: str
    question: str | None
    references: Sequence[str]
    answers: Sequence[tuple[str, str | None]]
    """Each system whose answers are known, with its answer; None without one."""


@dataclass(frozen=True)
class WorstRows:
    """The worst rows of a system, with the address of all of its rows, and the system that they are compared with."""

    metric: str
    system: str
    against: str | None
    rows: Sequence[WorstRow]
    href: str
    n_tied: int
    """Number of further rows with the value of the last one."""


def worst_of(
    rows: PairedRows,
    name: str,
    better: Better,
    of: tuple[str, str],
    links: RowLinks,
    described: Callable[[Sequence[int]], Mapping[int, Mapping[str, Any]]],
) -> WorstRows | None:
    """The worst rows of the second system ``of`` two, which may be one; None where no row is worse than another.

    ``described`` gives the rows at these places that the page has, in the form that its script reads.
    """
    first, system = of
    own, earlier = _scores(rows, name, system), None if first == system else _scores(rows, name, first)
    if own is None:
        return None
    sign = -1.0 if better == "lower" else 1.0
    change = None if earlier is None else own - earlier
    fell = change is not None and bool((sign * change < 0).any())
    if not fell and not np.nanmin(own, initial=np.inf) < np.nanmax(own, initial=-np.inf):
        return None
    values = change if fell and change is not None else own
    places = [int(at) for at in least(sign * values, WORST) if not fell or sign * values[at] < 0]
    found = described(places)
    places = [at for at in places if at in found]
    if not places:
        return None
    address = _address(links, name, system, of if fell else None)
    shown = []
    for at in places:
        scores = f"{number(float(earlier[at]))} → {number(float(own[at]))}" if fell and earlier is not None else ""
        value = (signed if fell else number)(float(values[at]))
        shown.append(WorstRow(rows.label(at), value, scores, f"{address}&row={at}", *_texts(found[at], rows, links)))
    last = values[places[-1]]
    n_tied = int((values == last).sum() - (values[places] == last).sum())
    return WorstRows(name, system, first if fell else None, shown, address, n_tied)


def _scores(rows: PairedRows, name: str, system: str) -> Floats | None:
    """The scores of the rows by a system, None if it has none."""
    every = zip((rows.main, rows.base, *(one.run for one in rows.further)), rows.systems, strict=True)
    found = (one for run, one in every if run is not None and one is not None and run.name == system)
    return next((one.scores(name) for one in found if rows.n and one.has(name)), None)


def _texts(
    row: Mapping[str, Any], rows: PairedRows, links: RowLinks
) -> tuple[str | None, Sequence[str], list[tuple[str, str | None]]]:
    """The question, the references, and the answers by system, in the order of the systems."""
    answers = {visible(rows.main.name): row["t"].get("answer")} | dict(row.get("o", ()))
    if rows.base is not None:
        answers[visible(rows.base.name)] = row.get("other")
    order = map(visible, sorted(links.systems, key=lambda name: links.systems[name]))
    known = [name for name in order if name in rows.answering]
    return row["t"].get("question"), row["t"].get("reference", ()), [(name, answers.get(name)) for name in known]


def _address(links: RowLinks, metric: str, system: str, pair: tuple[str, str] | None) -> str:
    if pair is not None:
        return str(links.to(metric, None, pair))
    at = links.systems[system]
    alone = "" if links.shown[0] is None else "&against=none"
    own = "" if at == links.shown[1] else f"&system={at}"
    return f"{links.to(metric)}{own}{alone}"


# How many rows have no score, and why.


@dataclass(frozen=True)
class Lacking:
    """Rows without a score: their number by cause, what was not read, of how many rows, the metrics, the systems."""

    causes: Sequence[tuple[str, int]]
    reasons: Sequence[tuple[str, int]]
    """What could not be read, with the number of rows."""
    of: int
    metrics: Sequence[str]
    systems: Sequence[str]

    @property
    def n(self) -> int:
        """The number of rows."""
        return sum(n for _, n in self.causes)


def lacking(summaries: Mapping[str, Summary]) -> list[Lacking]:
    """The rows without a score; metrics and systems alike in all counts stand together, failed and unread ones first.

    >>> from fastmetrics.results.summary import summarize
    >>> [found] = lacking({"new": summarize({"token_f1": [0.5, None], "bleu": [1.0, None], "chrf": [1.0, 2.0]})})
    >>> found.n, found.of, found.causes, found.metrics
    (1, 2, (('missing', 1),), ('token_f1', 'bleu'))
    """
    systems: dict[Any, list[str]] = {}
    for system, summary in summaries.items():
        alike: dict[Any, list[str]] = {}
        for name, one in summary.metrics.items():
            counts = {cause: getattr(one, f"n_{cause}") for cause in CAUSES}
            counts |= {"error": one.n_error - summary.n_rejected, "rejected": summary.n_rejected}
            causes = [(cause, n) for cause, n in counts.items() if n]
            reasons = [(visible(reason), some["rows"]) for reason, some in one.unread.items()]
            if causes or reasons:
                of = one.n + sum(n for _, n in causes)
                alike.setdefault((tuple(causes), tuple(reasons), of), []).append(name)
        for key, names in alike.items():
            systems.setdefault((*key, tuple(names)), []).append(system)
    found = [Lacking(causes, reasons, of, names, some) for (causes, reasons, of, names), some in systems.items()]
    return sorted(
        found, key=lambda one: (not one.reasons and one.causes[0][0] not in (*CAUSES[:2], "rejected"), -one.n)
    )
