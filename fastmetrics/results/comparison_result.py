"""The result of comparing systems: figures of each pair, rankings, notes; as text, JSON, Markdown and LaTeX."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import pyarrow as pa

from fastmetrics.core.display import Grid, Shown, number
from fastmetrics.declaration.metric import Better
from fastmetrics.results.comparison_latex import latex_table
from fastmetrics.results.unpaired_rows import could_turn

_FEW = 30
_NOTED = 8


@dataclass(frozen=True)
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

    def to_dict(self) -> dict[str, Any]:
        """The figures by name, except those of unpaired rows."""
        return {name: value for name, value in asdict(self).items() if name not in ("all_baseline", "all_other")}


@dataclass(frozen=True)
class Ranking:
    """The systems by one metric, best first, over the ``n`` rows where all have a score.

    Systems with a common letter are not significantly different by the randomised Tukey HSD test; ``p`` has the p value
    of each pair.
    """

    metric: str
    n: int
    systems: Sequence[str]
    means: Sequence[float]
    letters: Sequence[str]
    p: Sequence[Sequence[float]]


@dataclass(frozen=True)
class Comparison(Shown, Sequence[Compared]):
    """Systems compared by each metric; prints as tables; indexed by metric name or position."""

    systems: Sequence[str]
    joined_by: str
    n_rows: Mapping[str, int]
    """The number of rows of each system."""
    comparisons: Sequence[Compared]
    rankings: Sequence[Ranking]
    better: Mapping[str, Better]
    bounds: Mapping[str, tuple[float, float] | None]
    correction: str
    confidence: float
    cluster: str | None = None
    differences: Sequence[str] = ()
    """The differences in the settings of the runs."""
    counted: Sequence[str] = ()
    """The corpus metrics among the metrics."""
    interval: str = "percentile"
    """The kind of intervals."""

    def __len__(self) -> int:
        return len(self.comparisons)

    def __iter__(self) -> Iterator[Compared]:
        return iter(self.comparisons)

    def __getitem__(self, key: Any) -> Any:
        """The comparison at a position, or the first one of a metric over all rows; raises ``KeyError``."""
        if not isinstance(key, str):
            return self.comparisons[key]
        for one in self.comparisons:
            if one.metric == key and one.segment is None:
                return one
        raise KeyError(key)

    @property
    def alpha(self) -> float:
        """The significance level: 1 − confidence."""
        return 1 - self.confidence

    def verdict(self, one: Compared) -> str:
        """``better``, ``worse`` (``higher``, ``lower`` without a declared direction) or ``–`` if not significant."""
        if math.isnan(one.p_corrected) or one.p_corrected > self.alpha or one.delta == 0:
            return "–"
        words = {"higher": ("better", "worse"), "lower": ("worse", "better"), None: ("higher", "lower")}
        return words[self.better[one.metric]][0 if one.delta > 0 else 1]

    @property
    def notes(self) -> list[str]:
        """How rows were paired, missing scores that could reverse a difference, and the correction of p values."""
        counts = ", ".join(f"{name} {count:,}" for name, count in self.n_rows.items())
        notes = [f"rows paired by {self.joined_by}: {counts}"]
        of = "" if self.cluster is None else f", clustered by {self.cluster!r}"
        how = {"holm": "corrected by Holm", "bh": "corrected by Benjamini and Hochberg", "none": "not corrected"}
        tests = ", ".join(dict.fromkeys(one.test for one in self.comparisons))
        family = len(self.comparisons) // max(1, len(tests.split(", ")))
        notes.append(
            f"{self.confidence * 100:g} % {'t' if self.interval == 't' else 'bootstrap'} intervals; p of {tests}, "
            f"{how[self.correction]} over {family:,} comparison{'s' * (family != 1)}{of}"
        )
        turned = [text for one in self._once() if (text := could_turn(one, self.bounds.get(one.metric)))]
        notes += turned[:_NOTED]
        notes += [f"{len(turned) - _NOTED:,} more differences that unpaired rows could reverse"] * (
            len(turned) > _NOTED
        )
        small = sum(one.segment is not None and one.n_paired < _FEW for one in self._once())
        notes += [f"* fewer than {_FEW} rows: {small:,} segment{'s' * (small != 1)}"] if small else []
        odd = dict.fromkeys(one.metric for one in self._of_rows() if one.test == "mcnemar" and math.isnan(one.p))
        notes += [f"mcnemar needs scores of 0 and 1; not computed for {', '.join(odd)}"] if odd else []
        unsaid = [name for name, better in self.better.items() if better is None]
        notes += [f"assumed to be better when higher (no direction is declared): {', '.join(unsaid)}"] if unsaid else []
        if self.counted:
            notes.append(
                f"computed from the counts of all rows, which are swapped for p and resampled for intervals: "
                f"{', '.join(self.counted)}; wins, d_z, ranking and other tests do not exist for them"
            )
        return [*notes, *self.differences]

    def _of_rows(self) -> list[Compared]:
        """The comparisons of row metrics."""
        return [one for one in self.comparisons if one.metric not in self.counted]

    def _once(self) -> list[Compared]:
        """The comparisons without repeats that differ only in the test."""
        return list({(one.metric, one.baseline, one.other, one.segment): one for one in self.comparisons}.values())

    def to_dict(self) -> dict[str, Any]:
        """``{"comparisons": [{"metric", "baseline", …}], "rankings": […], "notes": […]}`` and the settings."""
        return {
            "comparisons": [one.to_dict() for one in self.comparisons],
            "rankings": [asdict(one) for one in self.rankings],
            "systems": list(self.systems),
            "correction": self.correction,
            "confidence": self.confidence,
            "joined_by": self.joined_by,
            "notes": self.notes,
        }

    def to_arrow(self) -> pa.Table:
        """One row per comparison, with the columns of ``comparisons`` in the JSON."""
        types = {
            "str": pa.string(),
            "str | None": pa.string(),
            "int": pa.int64(),
            "int | None": pa.int64(),
            "float": pa.float64(),
        }
        shown = [one for one in fields(Compared) if not one.name.startswith("all_")]
        schema = pa.schema([(one.name, types[str(one.type)]) for one in shown])
        return pa.Table.from_pylist([one.to_dict() for one in self.comparisons], schema)

    def to_markdown(self) -> str:
        """The tables in GitHub's Markdown, and the notes as a list."""
        tables = [grid.markdown() for grid in self.grids()]
        return "\n\n".join([*tables, "\n".join(f"- {note}" for note in self.notes)]) + "\n"

    def to_latex(self) -> str:
        """A table of means by system and metric, with superscript letters of significantly worse systems."""
        whole = [one for one in self._once() if one.segment is None]
        means = {(one.baseline, one.metric): one.all_baseline for one in whole}
        means |= {(one.other, one.metric): one.all_other for one in whole}
        beaten: dict[tuple[str, str], list[str]] = {}
        for one in whole:
            verdict = self.verdict(one)
            if verdict in ("better", "higher"):
                beaten.setdefault((one.other, one.metric), []).append(one.baseline)
            elif verdict in ("worse", "lower"):
                beaten.setdefault((one.baseline, one.metric), []).append(one.other)
        return latex_table(self.systems, list(dict.fromkeys(one.metric for one in whole)), means, beaten)

    def remarks(self) -> Sequence[str]:
        """The notes."""
        return self.notes

    def grids(self) -> list[Grid]:
        """Differences with their intervals, counts, segments (worst first), rankings."""
        whole = [one for one in self.comparisons if one.segment is None]
        several = len(self.systems) > 2
        found = [self._differences(whole, several), self._counts(whole, several)]
        found += [self._segments(metric) for metric in self.better if any(one.segment for one in self.comparisons)]
        return [*found, *map(_ranked, self.rankings)]

    def _differences(self, whole: Sequence[Compared], several: bool) -> Grid:
        tests = len({one.test for one in whole}) > 1
        first = ("metric", *(("baseline", "other") if several else self.systems), "Δ")
        header = (*first, "interval", *(("test",) if tests else ()), "p", "verdict")
        rows = [
            (
                one.metric,
                *((one.baseline, one.other) if several else map(number, (one.mean_baseline, one.mean_other))),
                _signed(one.delta),
                _interval(one),
                *((one.test,) if tests else ()),
                _p(one.p_corrected),
                self.verdict(one),
            )
            for one in whole
        ]
        return Grid(header, rows)

    def _counts(self, whole: Sequence[Compared], several: bool) -> Grid:
        header = ("metric", *(("baseline", "other") if several else ()), "n", "only base", "only other")
        rows = []
        for one in {(o.metric, o.baseline, o.other): o for o in whole}.values():
            pair = (one.baseline, one.other) if several else ()
            counts = map(number, (one.n_paired, one.n_only_baseline, one.n_only_other))
            won = "–" if one.wins is None else f"{one.wins:,}/{one.ties:,}/{one.losses:,}"
            rows.append((one.metric, *pair, *counts, won, number(one.d_z), number(one.detectable)))
        return Grid((*header, "won/tied/lost", "d_z", "detectable"), rows)

    def _segments(self, metric: str) -> Grid:
        """The segments of a metric, worst for the other system first; small segments are marked."""
        sign = -1 if self.better[metric] == "lower" else 1
        some = [one for one in self._once() if one.metric == metric and one.segment is not None]
        some.sort(key=lambda one: (math.isnan(one.delta), sign * one.delta, one.segment or ""))
        several = len(self.systems) > 2
        rows = [
            (
                str(one.segment),
                *((one.baseline, one.other) if several else map(number, (one.mean_baseline, one.mean_other))),
                _signed(one.delta),
                _interval(one),
                number(one.n_paired) + ("*" if one.n_paired < _FEW else ""),
                self.verdict(one),
            )
            for one in some
        ]
        pair = ("baseline", "other") if several else tuple(self.systems)
        return Grid((metric, *pair, "Δ", "interval", "n", "verdict"), rows)


def _ranked(ranking: Ranking) -> Grid:
    rows = list(zip(ranking.systems, map(number, ranking.means), ranking.letters, strict=True))
    return Grid((f"{ranking.metric}, {ranking.n:,} rows of all", "mean", "group"), rows)


def _signed(value: float) -> str:
    return "–" if math.isnan(value) else ("+" if value > 0 else "") + number(value)


def _interval(one: Compared) -> str:
    return "–" if math.isnan(one.low) else f"[{_signed(one.low)}, {_signed(one.high)}]"


def _p(value: float) -> str:
    return "–" if math.isnan(value) else "<0.0001" if value < 0.0001 else f"{value:.4f}"
