"""All that a report shows, made of the results that functions of the package give anyway."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.core.arrays import Floats
from fastmetrics.core.corpus_counts import counts_column
from fastmetrics.core.input_columns import resolve
from fastmetrics.errors import ColumnError
from fastmetrics.reporting.compared import compared
from fastmetrics.reporting.heat_map import fewer_segments, heat_of_means
from fastmetrics.reporting.plain_text import embedded, visible
from fastmetrics.reporting.readings import reading
from fastmetrics.reporting.row_texts import TEXTS, cut, row_texts
from fastmetrics.reporting.sampled_rows import Stratum, candidates, strata
from fastmetrics.results.correlations import Correlations, correlations
from fastmetrics.results.histograms import histograms
from fastmetrics.results.interval_summary import summarize_by
from fastmetrics.results.judge_report import judge_report
from fastmetrics.results.run_list import list_runs
from fastmetrics.results.score_runs import ScoreRun, open_run, open_runs
from fastmetrics.results.side_by_side import PRIMARY, SideBySide, primary_of, summaries_of
from fastmetrics.results.summary import Summary, declared_better
from fastmetrics.results.trend import trend

_BUDGET = 3_600_000
"""The bytes of the rows in a page."""
_CORRELATED = 40
"""How many metrics are correlated, of very many the first."""
_TRENDS = 8
"""How many metrics are shown over runs."""
_FIRST = ("overview", "distributions", "comparison", "rows")
_CORRELATED_ROWS = 20_000
"""Of how many rows: each pair of metrics that miss other rows ranks its rows anew."""


@dataclass(frozen=True)
class Asked:
    """What beside scores goes into a report, and how systems are compared."""

    texts: Any
    baseline_texts: Any
    judged: Any
    runs: str | Path | None
    by: Sequence[str]
    allow_differences: bool
    seed: int
    threads: int | None


@dataclass(frozen=True)
class Collected:
    """What templates show, what the page's script reads, and how many rows there are and are shown."""

    parts: Mapping[str, Any]
    data: Mapping[str, Any]
    n_rows: int
    n_shown: int


def collect(scores: Any, baseline: Any, asked: Asked) -> Collected:
    """Everything of one report."""
    opened = open_runs(scores, least=1)
    base = None if baseline is None else open_run(baseline)
    if base is not None and base.name in {run.name for run in opened}:
        base = replace(base, name=f"{base.name} (baseline)")
    systems, merged = fewer_segments([_held(one, asked.by) for one in ([base] if base else []) + opened], asked.by)
    main = systems[1 if base else 0]
    summaries = summaries_of(scores)
    summary = summaries[opened[0].name]
    if base is not None:
        summaries = {base.name: next(iter(summaries_of([baseline]).values())), **summaries}
    names = [name for name in main.scores if name not in asked.by]
    drawn = histograms(main, metrics=names) if names else {}
    spread = _spread(main, names[:_CORRELATED])
    paired = correlations(spread, metrics=names[:_CORRELATED]) if len(names) > 1 else None
    segmented = heat_of_means(_means(main, names, asked)) if asked.by and len(systems) == 1 else None
    rows, some = _rows(main, systems[0] if base else None, names, paired, asked)
    judged = None if asked.judged is None else judge_report(asked.judged)
    over = [] if asked.runs is None else _trends(asked, names)
    against = compared(systems, asked) if len(systems) > 1 else None
    parts = {
        "names": [visible(run.name) for run in opened],
        "n_rows": summary.n_rows,
        "n_metrics": len(summary.metrics) + len(summary.corpus),
        "n_systems": len(systems),
        "primary": _primary(summaries),
        "metrics": _lines(summary, drawn),
        "figures": _named_figures(summary),
        "beside": SideBySide(summaries).grids()[0] if len(summaries) > 1 else None,
        "notes": [visible(note) for note in [*summary.remarks(), *merged]],
        "segmented": segmented,
        "against": against,
        "pages": [*_FIRST, *["judges"] * (judged is not None), *["runs"] * (asked.runs is not None), "data"],
        "judges": None if judged is None else {"grids": judged.grids(), "notes": map(visible, judged.remarks())},
        "trends": over,
        "correlated": None if paired is None else {"n": spread.num_rows, "metrics": len(names[:_CORRELATED])},
        "sampled": some,
        "n_shown": len(rows),
        "signature": [(visible(run.name), _signature(run)) for run in systems],
    }
    better = declared_better(names)
    data = {
        "metrics": [{"name": visible(name), "better": better.get(name)} for name in names],
        "histograms": [
            {"edges": list(map(_short, one.edges)), "counts": one.counts, "n": one.n, "missing": one.n_missing}
            for one in drawn.values()
        ],
        "correlations": None if paired is None else _matrix(paired, names[:_CORRELATED]),
        "rows": rows,
        "n_rows": summary.n_rows,
        "strata": some,
        "compared": base is not None,
    }
    return Collected(parts, data, summary.n_rows, len(rows))


def _held(run: ScoreRun, by: Sequence[str]) -> ScoreRun:
    """The run with what a report reads of it in memory, read once."""
    texts = [yours for name, yours in resolve(run.columns, needed=()).items() if name in TEXTS]
    keys = [one for one in (run.id_column, run.question_column) if one]
    return run.held([*run.scores, *map(counts_column, run.counted), *keys, *by, *texts])


def _trends(asked: Asked, names: Sequence[str]) -> list[dict[str, Any]]:
    """The trends of the first metrics over the runs of a folder, those of the primary table before others."""
    shown = [figure.partition(".")[0] for figures in PRIMARY.values() for figure in figures]
    known = {name for run in list_runs(str(asked.runs)).to_pylist() for name in run["metrics"]}
    first = sorted([name for name in names if name in known] or names, key=lambda name: name not in shown)[:_TRENDS]
    few: dict[str, Any] = {"bootstrap": 500, "seed": asked.seed, "threads": asked.threads}
    found = [trend(str(asked.runs), name, **few) for name in first]
    return [
        {"metric": visible(one.metric), "grid": one.grids()[0], "notes": list(map(visible, one.remarks()))}
        for one in found
    ]


def _spread(run: ScoreRun, names: Sequence[str]) -> pa.Table:
    """The scores of all rows, or of very many of some at equal distances."""
    table = run.read(names)
    step = -(-table.num_rows // _CORRELATED_ROWS)
    return table if step < 2 else table.take(pa.array(np.arange(0, table.num_rows, step)))


def _means(run: ScoreRun, names: Sequence[str], asked: Asked) -> Any:
    few: dict[str, Any] = {"bootstrap": 200, "seed": asked.seed, "threads": asked.threads}
    found = [summarize_by(run, name, metrics=names, **few) for name in asked.by]
    means = [one for place, part in enumerate(found) for one in part if place == 0 or one.segment is not None]
    return replace(found[0], means=means)


def _primary(summaries: Mapping[str, Summary]) -> Any:
    try:
        table = primary_of(summaries)
    except ColumnError:  # none of its columns was scored
        return None
    return {"grid": table.grids()[0], "notes": [" ".join(table.remarks())]}


def _lines(summary: Summary, drawn: Mapping[str, Any]) -> list[dict[str, Any]]:
    better = declared_better(summary.metrics)
    return [
        {
            "name": visible(name),
            "figures": one,
            "reading": reading(name, one.mean),
            "better": better.get(name),
            "counts": list(drawn[name].counts) if name in drawn and drawn[name].n else None,
        }
        for name, one in summary.metrics.items()
    ]


def _named_figures(summary: Summary) -> list[tuple[str, float, str | None]]:
    plain = {f"{name}.{key}" for name in summary.metrics for key in ("mean", "std", "min", "max")}
    return [
        (visible(name), value, reading(name, value)) for name, value in summary.figures.items() if name not in plain
    ]


def _matrix(paired: Correlations, names: Sequence[str]) -> dict[str, Any]:
    found = {(one.a, one.b): one.agreement for one in paired}
    values = [[1.0 if a == b else found.get((a, b), found.get((b, a), np.nan)) for b in names] for a in names]
    return {"names": [visible(name) for name in names], "values": [[_short(one) for one in line] for line in values]}


def _rows(
    main: ScoreRun, base: ScoreRun | None, names: Sequence[str], paired: Correlations | None, asked: Asked
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The rows of the page, most telling first, and its strata with the places of their rows."""
    needs_ids = asked.texts is not None or base is not None
    if needs_ids and main.id_column is None:
        raise ColumnError(f"{main.name} has no id column, by which its rows and their texts could meet")
    ids = main.ids(str(main.id_column)) if needs_ids else None
    labels = ids if ids is not None or main.id_column is None else main.column(main.id_column, "")
    partner = None
    if base is not None and ids is not None:
        partner = pc.index_in(ids, value_set=base.ids(str(base.id_column))).fill_null(-1).to_numpy().astype(np.int64)

    def before(name: str) -> Floats | None:
        if base is None or partner is None or name not in base.scores:
            return None
        return np.append(base.values(name), np.nan)[partner]

    pairs = [(one.a, one.b) for one in paired or () if one.agreement < 1]
    found = strata(names, main.values, before, declared_better(names), pairs)
    chosen = candidates(found, main.read(names).num_rows if names else 0)
    after_chosen = [main.values(name)[chosen] for name in names]
    before_chosen = [None if (one := before(name)) is None else one[chosen] for name in names]
    texts = row_texts(main, ids, chosen, asked.texts)
    others = _baseline_answers(base, partner, ids, chosen, asked.baseline_texts)
    made: list[dict[str, Any]] = []
    weight = 0
    for place, (at, told, other) in enumerate(zip(chosen, texts, others, strict=True)):
        row = {"at": at, "id": str(at) if labels is None else cut(labels[at].as_py())[:300], "t": told}
        row["s"] = [_short(float(values[place])) for values in after_chosen]
        if base is not None:
            row["b"] = [None if values is None else _short(float(values[place])) for values in before_chosen]
            row["other"] = other
        weight += len(embedded(row).encode())
        if weight > _BUDGET:
            break
        made.append(row)
    held = {row["at"]: at for at, row in enumerate(made)}
    return made, [told for one in found if (told := _told(one, held))["rows"]]


def _told(one: Stratum, place: Mapping[int, int]) -> dict[str, Any]:
    held = [place[int(row)] for row in one.places if int(row) in place]
    return {"kind": one.kind, "metrics": list(map(visible, one.metrics)), "n": one.n, "rows": held}


def _baseline_answers(
    base: ScoreRun | None, partner: Any, ids: pa.Array | None, chosen: Sequence[int], texts: Any
) -> list[str | None]:
    """The baseline's answers to the rows, where they are known."""
    if base is None or not chosen:
        return [None] * len(chosen)
    if texts is not None:
        told = row_texts(base, ids, chosen, texts)
        return [one.get("answer") for one in told]
    kept = resolve(base.columns, needed=()).get("answer")
    if kept is None or kept in base.scores:
        return [None] * len(chosen)
    rows = partner[np.asarray(chosen)]
    answers = base.column(kept, "").take(pa.array(rows, mask=rows < 0)).to_pylist()
    return [None if one is None else cut(one) for one in answers]


def _signature(run: ScoreRun) -> str | None:
    told = {key: value for key, value in run.metadata.items() if key != "undefined"}
    return visible(json.dumps(told, ensure_ascii=False, indent=2)[:20_000]) if told else None


def _short(value: float | None) -> float | None:
    """The value with six significant digits; None for none that is finite."""
    return None if value is None or not np.isfinite(value) else float(f"{value:.6g}")
