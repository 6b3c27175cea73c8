"""The rows of a page, most informative first, in the form that its script reads, and their strata."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from fastmetrics.base.arrays import Floats
from fastmetrics.base.errors import visible
from fastmetrics.base.specs import Better
from fastmetrics.reporting.report_options import ReportOptions
from fastmetrics.reporting.rows.judged_rows import JudgedRows
from fastmetrics.reporting.rows.paired_rows import PairedRows
from fastmetrics.reporting.rows.row_selection import EACH, Stratum, candidates, changes, least, strata
from fastmetrics.reporting.rows.texts.row_texts import Seen, row_texts
from fastmetrics.reporting.rows.texts.scored_claims import scores_of
from fastmetrics.reporting.script_json import embedded
from fastmetrics.results.distributions import Correlations
from fastmetrics.results.score_file import declared_better

BUDGET = 3_600_000
"""Maximum bytes of the rows in a page."""
POOL = 1_000
"""Number of rows, with the highest hallucination scores, whose unsupported anchors are counted."""


def page_rows(
    rows: PairedRows, paired: Correlations | None, options: ReportOptions, seen: Seen | None = None
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The rows of the page, most informative first, and its strata with the positions of their rows.

    ``seen`` is called with the columns of all rows whose texts are read.
    """
    all_strata, texts, chosen = _strata(rows, paired, options, seen)
    shown_rows: list[dict[str, Any]] = []
    weight = 0
    for row in described_rows(rows, chosen, [texts[at] for at in chosen], options):
        weight += len(embedded(row).encode())
        if weight > BUDGET:
            break
        shown_rows.append(row)
    positions = {row["at"]: at for at, row in enumerate(shown_rows)}
    return shown_rows, [data for stratum in all_strata if (data := _stratum_data(stratum, positions))["rows"]]


def strata_of_all(rows: PairedRows, paired: Correlations | None, options: ReportOptions) -> list[dict[str, Any]]:
    """The strata with the numbers of their rows, for a page with all rows."""
    all_strata, *_ = _strata(rows, paired, options, None)
    return [_stratum_data(stratum, {int(row): int(row) for row in stratum.places}) for stratum in all_strata]


def _strata(
    rows: PairedRows, paired: Correlations | None, options: ReportOptions, seen: Seen | None
) -> tuple[list[Stratum], dict[int, dict[str, Any]], list[int]]:
    """The strata, the texts that were read to find them, and the rows of a page, most informative first."""
    pairs = [(pair.a, pair.b) for pair in paired or () if pair.agreement < 1]
    better = declared_better(rows.names, rows.main.declared)
    all_strata = strata(rows.names, rows.main.values, rows.before, better, pairs)
    pool = _hallucinating(rows)
    chosen = [] if options.folder else candidates([*all_strata, *_changes_of_pairs(rows, better)], rows.n)
    looked = pool if options.folder else list(dict.fromkeys([*chosen, *pool]))
    texts = row_texts(rows.main, rows.ids, looked, rows.texts, seen) if looked or seen else []
    texts_by_row = dict(zip(looked, texts, strict=True))
    unsupported = _unsupported(pool, texts_by_row)
    chosen = list(dict.fromkeys([*(int(row) for stratum in unsupported for row in stratum.places), *chosen]))
    return [*unsupported, *all_strata], texts_by_row, chosen


def _changes_of_pairs(rows: PairedRows, better: Mapping[str, Better]) -> Iterator[Stratum]:
    """The rows that changed most between the further systems, the main run and the baseline: a page has them too."""
    for name in rows.names if rows.further else ():
        systems = [rows.before(name), rows.main.values(name)]
        systems += [system.scores(name) if system.has(name) else None for system in rows.further]
        for before, after in list(itertools.combinations(systems, 2))[1:]:
            if before is not None and after is not None:
                yield from changes(name, after, before, better.get(name))


def described_rows(
    rows: PairedRows, chosen: Sequence[int], texts: Sequence[Mapping[str, Any]], options: ReportOptions
) -> Iterator[dict[str, Any]]:
    """Each row in the form that the script reads: position, id, texts, scores, and the baseline's scores and answer."""
    after = [rows.main.values(name)[list(chosen)] for name in rows.names]
    before = [None if (scores := rows.before(name)) is None else scores[list(chosen)] for name in rows.names]
    further = [
        [system.scores(name)[list(chosen)] if system.has(name) else None for name in rows.names]
        for system in rows.further
    ]
    earlier = rows.earlier_answers(chosen)
    others = rows.others.to(chosen)
    columns = rows.shown_columns.to(chosen)
    judged = (
        [] if options.judged is None else JudgedRows(options.judged, rows.of_system(options)).of(rows.labels, chosen)
    )
    for place, at in enumerate(chosen):
        row: dict[str, Any] = {"at": int(at), "id": rows.label(int(at)), **rows.exact_id(int(at)), "t": texts[place]}
        if columns[place]:
            row["k"] = columns[place]
        row["s"] = [short(float(values[place])) for values in after]
        if further:
            row["x"] = [_scores_at(system, place) for system in further]
        if rows.base is not None:
            row["b"] = _scores_at(before, place)
            row["other"] = earlier[place]
        if others[place]:
            row["o"] = others[place]
        if rows.segments.codes:
            row["g"] = rows.segments.of_row(int(at))
        if judged and judged[place]:
            row["j"] = judged[place]
        yield row


def _scores_at(columns: Sequence[Floats | None], place: int) -> list[float | None]:
    return [None if values is None else short(float(values[place])) for values in columns]


def _hallucinating(rows: PairedRows) -> list[int]:
    """The rows with the highest hallucination scores, if the metric was computed."""
    scores = scores_of(rows.main, "hallucination")
    if not scores:
        return []
    values = rows.main.values(scores[0])
    return [int(row) for row in least(np.where(values > 0, -values, np.nan), POOL)]


def _unsupported(pool: Sequence[int], texts: Mapping[int, Mapping[str, Any]]) -> list[Stratum]:
    """The rows of the pool with the most anchors that no context supports."""
    counts = np.array([sum(not anchor[2] for anchor in texts[row].get("anchors", ())) for row in pool], np.float64)
    places = least(np.where(counts > 0, -counts, np.nan), EACH)
    chosen = np.asarray(pool, np.int64)[places]
    return [Stratum("unsupported_anchors", (), len(pool), chosen)] if len(chosen) else []


def _stratum_data(stratum: Stratum, place: Mapping[int, int]) -> dict[str, Any]:
    positions = [place[int(row)] for row in stratum.places if int(row) in place]
    return {"kind": stratum.kind, "metrics": list(map(visible, stratum.metrics)), "n": stratum.n, "rows": positions}


def short(value: float | None) -> float | None:
    """The value with six significant digits; None if it is not finite."""
    return None if value is None or not np.isfinite(value) else float(f"{value:.6g}")
