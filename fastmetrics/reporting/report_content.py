"""The contents of a report, collected from results of the package's public functions."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.base.arrays import Ints
from fastmetrics.base.display import number
from fastmetrics.base.errors import ColumnError, InputError, visible
from fastmetrics.base.notes import Figure, interval_notes, mark_of
from fastmetrics.base.score_metadata import counts_column
from fastmetrics.reporting.charts import Charts, fewer_segments
from fastmetrics.reporting.compared_systems import PageComparison, compared
from fastmetrics.reporting.overview import drawn_means, lacking, low_places, metric_lines, named_figures, worst_of
from fastmetrics.reporting.page_rows import described_rows, page_rows, shorts, strata_of_all
from fastmetrics.reporting.report_options import ReportOptions, RowLinks
from fastmetrics.reporting.row_files import RowFiles
from fastmetrics.reporting.row_texts import TEXTS, candidates, row_texts, text_sources
from fastmetrics.reporting.rows import PairedRows, joined_runs, judged_by_run, with_judge_metrics
from fastmetrics.reporting.sections import (
    classes_section,
    judges_section,
    retrieval_section,
    runs_section,
    tiers_section,
    tradeoffs_section,
    usage_section,
    vectors_section,
)
from fastmetrics.reporting.sections.section import Section, SectionInput, merged_notes
from fastmetrics.results.aligned_scores import with_row_ids
from fastmetrics.results.by_segment import IntervalSummary, MeanInterval, summarize_by
from fastmetrics.results.distributions import Correlations, Histogram, correlations, histograms_of
from fastmetrics.results.main_metric import concerns_of, first_metrics
from fastmetrics.results.opening_scores import open_runs, open_scores, run_of
from fastmetrics.results.primary import primary_of
from fastmetrics.results.score_columns import declared_better
from fastmetrics.results.score_table import ScoreTable, is_unscored
from fastmetrics.results.summary import SideBySide, Summary, summaries_of
from fastmetrics.results.worst_rows import TextSource

# The data page of a report: which rows it holds, and what its scores were made from.


_LONGEST = 240
_JSON = 20_000


@dataclass(frozen=True)
class SampledRows:
    """The rows of a page of one kind: the number of metrics, and the least and most rows, of how many."""

    kind: str
    metrics: int
    rows: tuple[int, int]
    of: tuple[int, int]


def sampled_rows(strata: Sequence[Mapping[str, object]]) -> list[SampledRows]:
    """One line for each kind of rows.

    >>> worst = {"kind": "worst", "metrics": ["token_f1"], "rows": [0, 1], "n": 90}
    >>> sampled_rows([worst, worst | {"rows": [3], "n": 80}])
    [SampledRows(kind='worst', metrics=2, rows=(1, 2), of=(80, 90))]
    """
    lines = []
    for kind in dict.fromkeys(stratum["kind"] for stratum in strata):
        some = [stratum for stratum in strata if stratum["kind"] == kind]
        shown = [len(stratum["rows"]) for stratum in some if isinstance(stratum["rows"], list)]
        of = [stratum["n"] for stratum in some if isinstance(stratum["n"], int)]
        lines.append(SampledRows(str(kind), len(some), (min(shown), max(shown)), (min(of), max(of))))
    return lines


@dataclass(frozen=True)
class Provenance:
    """What the scores of systems were made from: in short, by name, and whole, as JSON; None without metadata."""

    systems: Sequence[str]
    short: Sequence[tuple[str, str]]
    whole: str | None


def provenance(systems: Sequence[ScoreTable]) -> list[Provenance]:
    """The metadata of the systems; those with the same have one entry."""
    names: dict[str, list[str]] = {}
    short: dict[str, list[tuple[str, str]]] = {}
    for run in systems:
        stored = {key: value for key, value in run.metadata.stored.items() if key != "undefined"}
        whole = json.dumps(stored, ensure_ascii=False, indent=2)[:_JSON] if stored else ""
        names.setdefault(whole, []).append(run.name)
        metrics = ", ".join(map(str, stored.get("scores") or {}))
        short[whole] = [("metrics", metrics)] if metrics else []
        texts = {key: _inputs(stored[key]) if key == "inputs" else _text(stored[key]) for key in stored}
        short[whole] += [
            (key, text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…")
            for key, text in texts.items()
            if key not in ("scores", "metrics", "cautions", "unread", "declared", "fingerprint") and text
        ]
    return [Provenance(some, short[whole], whole or None) for whole, some in names.items()]


def _text(value: object) -> str:
    """A value of metadata in words.

    >>> _text({"answer": "answer", "reference": "gold"}), _text(["id", "lang"]), _text(True), _text(1200)
    ('answer, reference = gold', 'id, lang', 'yes', '1,200')
    """
    if isinstance(value, Mapping):
        texts = {str(key): _text(one) for key, one in value.items()}
        return ", ".join(key if key == text else f"{key} = {text}" for key, text in texts.items())
    if isinstance(value, list):
        return ", ".join(map(_text, value))
    if isinstance(value, bool) or value is None:
        return "yes" if value else "no"
    return number(value) if isinstance(value, int | float) else str(value)


def _inputs(inputs: Any) -> str:
    """The first files that were scored, with their sizes, and how many more there were."""
    try:
        named = [f"{name} ({size:,} bytes)" for name, size in inputs["first"]]
        more = inputs["files"] - len(named)
    except (TypeError, ValueError, KeyError):  # another tool's metadata under this name
        return _text(inputs)
    return ", ".join([*named, *([f"and {more:,} more"] if more > 0 else [])])


# All sections that only some reports have, in their order on the page.


SECTIONS: list[Section] = [
    tradeoffs_section.SECTION,
    classes_section.SECTION,
    retrieval_section.SECTION,
    judges_section.SECTION,
    usage_section.SECTION,
    vectors_section.SECTION,
    runs_section.SECTION,
    tiers_section.SECTION,
]


# The contents of a report, collected from results of the package's public functions.


_PLACES = 4
"""Maximum number of segments that the overview names."""
_CORRELATED = 40
"""Maximum number of correlated metrics: the first ones."""
_FIRST = ("overview", "distributions", "comparison", "rows")
_FEW_VALUES = 12
"""Maximum number of values of a column that the page names as one to divide rows by."""
_CORRELATED_SYSTEMS = 6
"""Maximum number of systems with correlations, to keep the page small."""
_CORRELATED_ROWS = 20_000
"""Maximum number of rows for correlations: each pair of metrics with different missing rows needs its own ranking."""


@dataclass(frozen=True)
class ReportContent:
    """The data of the templates, the data of the page's script, and the total and shown numbers of rows."""

    parts: Mapping[str, Any]
    data: Mapping[str, Any]
    n_rows: int
    n_shown: int


def report_content(scores: Any, options: ReportOptions) -> ReportContent:
    """Collect the contents of one report."""
    runs = _runs_of(scores, options)
    names, base, summary = runs.names, runs.base, runs.summary
    drawn = {name: histograms_of(name, runs.systems) for name in names}
    correlated = _correlated(runs)
    paired = correlated.get(runs.main.name)
    charts = Charts()
    others = [run for run in runs.systems[1 if base else 0 :] if run is not runs.main]
    everyone = PairedRows.of(runs.main, runs.systems[0] if base else None, names, options, others, runs.sources)
    shown = _shown_rows(everyone, paired, options)
    more = _sections(runs, everyone, options, charts)
    against = compared(runs.systems, options) if len(runs.systems) > 1 else None
    means = _means(runs.main, names, options) if against is None else None
    segmented = means.heat_map(runs.main.declared) if means is not None and options.by else None
    shown_pair = (0, 1) if base else (None, 0)
    of_main = {name: some[runs.systems.index(runs.main)] for name, some in drawn.items()}
    present = [section for section in SECTIONS if more[section.name]]
    more_pages = [section.name for section in present]
    system_names = [run.name for run in runs.systems]
    signature = provenance(runs.systems)
    links = RowLinks.of(names, everyone.segments.names, system_names, shown_pair)
    better = declared_better(names, runs.main.declared)
    first = _first_metric(runs.main, names, options)
    main = names[first] if names else None
    parts = {
        "names": [run.name for run in runs.opened],
        "main_name": runs.main.name,
        "n_rows": summary.n_rows,
        "n_metrics": len(summary.metrics) + len(summary.corpus),
        "n_systems": len(runs.systems),
        "primary": _primary(runs),
        "metrics": metric_lines(summary, of_main, runs.main.declared),
        "figures": named_figures(summary, runs.main.declared),
        "means": drawn_means(means or [], runs.main, summary.corpus, main) if against is None else [],
        "mean_notes": _doubts(means or []),
        "main_mean": next((one for one in means or () if one.metric == main and one.n), None),
        "places": against.places[:_PLACES] if against is not None else low_places(segmented, _PLACES),
        "segments": bool(against.heats if against is not None else segmented),
        "worst_rows": worst_of(everyone, main, better[main], _compared_pair(runs, against), links, shown.described)
        if main is not None and better.get(main)
        else None,
        "lacking": lacking(runs.summaries),
        "is_unscored": main is not None and is_unscored(runs.main, main),
        "links": links,
        "by": _segment_columns(everyone) if not options.by else [],
        "beside": _side_by_side(runs.summaries) if len(runs.summaries) > 1 else None,
        "score_notes": _score_notes(runs),
        "segmented": segmented,
        "against": against,
        **more,
        "sections": present,
        "pages": [*(name for name in _FIRST if name != "comparison" or against), *more_pages, "data"],
        "correlated": None
        if paired is None
        else {
            "n": len(_correlated_rows(everyone.n)),
            "metrics": len(names[:_CORRELATED]),
            "of": len(names),
            "systems": [(name, name == runs.main.name) for name in correlated],
        },
        "sampled": sampled_rows(shown.strata) if shown.n < summary.n_rows else [],
        "n_shown": shown.n,
        "every_row": shown.page is not None,
        "signature": signature,
    }
    data = {
        "metrics": [{"name": visible(name), "better": better.get(name)} for name in names],
        "histograms": list(map(_drawn, drawn.values())),
        "correlations": None
        if paired is None
        else {
            "names": list(map(visible, names[:_CORRELATED])),
            "shown": list(correlated).index(runs.main.name),
            "values": [_matrix(pairs, names[:_CORRELATED]) for pairs in correlated.values()],
        },
        "charts": [chart.data() for chart in charts.drawn],
        "rows": shown.rows,
        "kept": list(map(visible, everyone.shown_columns.names)),
        "metadata": [one.whole for one in signature],
        "label_key": everyone.label_key,
        "all": shown.page,
        "n_rows": summary.n_rows,
        "strata": shown.strata,
        "systems": [visible(run.name) for run in runs.systems],
        "shown": shown_pair,
        "answering": everyone.answering,
        "segments": everyone.segments.data(),
        "first": first,
    }
    for section in SECTIONS:
        data |= {} if section.data is None else section.data(more[section.name], names)
    return ReportContent(parts, data, summary.n_rows, shown.n)


@dataclass(frozen=True)
class _Runs:
    """The score files of a report: the runs as opened, the baseline, and all systems with their scores in memory."""

    opened: Sequence[ScoreTable]
    base: ScoreTable | None
    summaries: Mapping[str, Summary]
    systems: Sequence[ScoreTable]
    names: Sequence[str]
    notes: Sequence[str]
    sources: Mapping[str, TextSource]
    """The sources of texts of the runs that have one, by name."""

    @property
    def main(self) -> ScoreTable:
        """The first system that is not the baseline."""
        return self.systems[1 if self.base else 0]

    @property
    def summary(self) -> Summary:
        """The summary of the main system."""
        return self.summaries[self.opened[0].name]


def _runs_of(scores: Any, options: ReportOptions) -> _Runs:
    """Read the score files of a report and of its baseline."""
    opened = [_with_columns(run, options) for run in open_runs(scores, options.system, least=1)]
    parts: dict[str, Summary] = {}
    told: list[str] = []
    if len(opened) > 1 and options.baseline is None and options.system is None:
        opened = with_row_ids(opened)
        if (joined := joined_runs(opened)) is not None:
            parts = summaries_of(opened)
            told = [f"{joined.name}: files of the same rows with other metrics, shown as one run"]
            opened = [joined]
    sources = dict(text_sources(options, [run.name for run in opened]))
    base = run_of(opened, options.baseline) if len(opened) > 1 or options.system is not None else None
    if base is not None:
        opened = [run for run in opened if run is not base]
    elif options.baseline is not None:
        base = _with_columns(open_scores(options.baseline), options)
    if not opened:
        raise InputError(f"there is no system but {visible(str(options.baseline))}, the baseline")
    if base is not None and base.name in {run.name for run in opened}:
        base = replace(base, name=f"{base.name} (baseline)")
    if base is not None and options.baseline_texts is not None:
        sources[base.name] = TextSource(options.baseline_texts)
    every = [*opened, *([base] if base else [])]
    if sources or len(every) > 1:
        every = with_row_ids(every)
        opened, base = every[: len(opened)], every[-1] if base else None
        sources |= {run.name: sources[run.name].beside(run) for run in every if run.name in sources}
    runs = ([base] if base else []) + opened
    summaries = summaries_of(runs) if not parts else {opened[0].name: _merged(list(parts.values()))}
    judged = judged_by_run(options, [run.name for run in every])
    own_numbers = {name for run in every for name in run.scores}.difference(
        *(run.measured(options.by) for run in every)
    )
    for place, run in enumerate(every):
        if run.name not in judged:
            continue
        every[place], judges = with_judge_metrics(run, judged[run.name])
        summaries[run.name] = _merged([summaries[run.name], replace(judges, notes=())])
    opened, base = every[: len(opened)], every[-1] if base else None
    runs = ([base] if base else []) + opened
    systems, merged = fewer_segments(runs, options.by)
    names = [name for name in systems[1 if base else 0].scores if name not in {*options.by, *own_numbers}]
    return _Runs(opened, base, summaries, systems, names, [*told, *merged], sources)


def _merged(parts: Sequence[Summary]) -> Summary:
    """The summary of the same rows by the metrics of several."""
    metrics, labels, corpus = ({}, {}, {})  # type: tuple[dict[str, Any], dict[str, str], dict[str, float]]
    for part in reversed(parts):
        metrics, labels, corpus = {**part.metrics, **metrics}, {**part.labels, **labels}, {**part.corpus, **corpus}
    notes = list(dict.fromkeys(note for part in parts for note in part.notes))
    return replace(parts[0], metrics=metrics, labels=labels, corpus=corpus, notes=notes)


@dataclass(frozen=True)
class _ShownRows:
    """The rows that a report shows: those of its own page, or the page's index of the files of all rows."""

    rows: Sequence[Mapping[str, Any]]
    strata: Any
    n: int
    page: Any
    everyone: PairedRows

    def described(self, places: Sequence[int]) -> dict[int, Mapping[str, Any]]:
        """The rows at these places that the page shows, as its script reads them."""
        if self.page is None:
            return {row["at"]: row for row in self.rows if row["at"] in places}
        texts = row_texts(self.everyone.main, self.everyone.ids, places, self.everyone.texts)
        return {row["at"]: row for row in described_rows(self.everyone, places, texts)}


def _compared_pair(runs: _Runs, against: PageComparison | None) -> tuple[str, str]:
    """Of which system the worst rows are, and by comparison with which: the second, or of several the leading one."""
    names = [run.name for run in runs.systems]
    if against is None or len(names) < 2:
        return runs.main.name, runs.main.name
    return names[0], names[1] if len(names) == 2 or against.lead is None else against.lead.first


def _shown_rows(everyone: PairedRows, paired: Correlations | None, options: ReportOptions) -> _ShownRows:
    """Choose rows of the page, or write the files of all rows."""
    if options.folder is None:
        rows, strata = page_rows(everyone, paired, options)
        return _ShownRows(rows, strata, len(rows), None, everyone)
    files = RowFiles(options.folder, everyone)
    return _ShownRows([], strata_of_all(everyone, paired, options), everyone.n, files.page, everyone)


def _sections(runs: _Runs, everyone: PairedRows, options: ReportOptions, charts: Charts) -> dict[str, Any]:
    """The contents of the sections that only some reports have, by name; empty ones are left out of the page."""
    base = None if runs.base is None else runs.summaries[runs.base.name]
    section_input = SectionInput(
        runs.summaries, runs.systems, base, runs.names, everyone, options, charts, runs.sources
    )
    contents: dict[str, Any] = {}
    for section in SECTIONS:
        own = replace(section_input, earlier=contents)
        contents[section.name] = section.content(own)
    return contents


def _with_columns(run: ScoreTable, options: ReportOptions) -> ScoreTable:
    """The run with the columns of the report at hand; ids are checked before large columns are loaded."""
    texts = [column for name, column in run.text_columns.items() if name in TEXTS]
    keys = [column for column in (run.id_column, run.question_column) if column]
    # formats that are read row by row are read once
    others = candidates(run) if run.types is None else []
    columns = [*run.scores, *map(counts_column, run.counted), *keys, *options.by, *texts, *others]
    loaded = run.by_column(columns)
    if (options.texts is not None or options.baseline is not None) and loaded.id_column is not None:
        loaded.ids(loaded.id_column)
    # files of all rows are written part by part, each with all of its columns
    return loaded if options.folder is None else loaded.in_memory(columns)


def _correlated_rows(n: int) -> Ints:
    """The places of the rows whose correlations are shown, of ``n``."""
    return np.arange(0, n, max(1, -(-n // _CORRELATED_ROWS)))


def _correlated(runs: _Runs) -> dict[str, Correlations]:
    """The correlations of the first metrics of each system, of many systems of the first and the main one.

    They are those of all rows, or, for very many rows, of an evenly spaced sample.
    """
    first = [run for run in runs.systems if run is not runs.main][: _CORRELATED_SYSTEMS - 1]
    found = {}
    for run in (run for run in runs.systems if run is runs.main or run in first):
        names = [name for name in runs.names[:_CORRELATED] if name in run.scores]
        if len(names) > 1:
            table = run.read(names)
            places = _correlated_rows(table.num_rows)
            table = table if len(places) == table.num_rows else table.take(pa.array(places))
            found[run.name] = correlations(table, metrics=names)
    return found


def _drawn(of_systems: Sequence[Histogram]) -> dict[str, Any]:
    """The histograms of a metric for the page's script: the edges of the bins, and what each system has in them."""
    edges = next((one.edges for one in of_systems if one.n), [])
    systems = [{"counts": one.counts, "n": one.n, "missing": one.n_missing} for one in of_systems]
    return {"edges": shorts(edges), "systems": systems}


def _means(run: ScoreTable, names: Sequence[str], options: ReportOptions) -> IntervalSummary | None:
    """The means over all rows, and over the segments by each column; None where no metric has one."""
    with np.errstate(over="ignore"):  # numbers whose sum is beyond the largest one have no interval
        names = [name for name in names if np.isfinite(np.nansum(np.abs(run.values(name))))]
    if not names:
        return None
    few: dict[str, Any] = {"metrics": names, "bootstrap": 200, "seed": options.seed, "threads": options.threads}
    first, *others = [summarize_by(run, by=name, **few) for name in options.by or (None,)]
    return replace(first, means=[*first, *(one for part in others for one in part if one.segment is not None)])


def _doubts(means: Sequence[MeanInterval]) -> list[str]:
    """The notes behind the signs on the means of all rows."""
    noted = [(one.metric, one.interval_note) for one in means if one.segment is None and mark_of(one.interval_note)]
    return interval_notes([Figure.of(name, note) for name, note in noted], 0.95)


def _side_by_side(summaries: Mapping[str, Summary]) -> dict[str, Any]:
    """The means of all systems under their names, without the metrics that none has a score of, and the notes."""
    beside = SideBySide(summaries)
    grid, *_ = beside.grids()
    rows = [row for row in grid.rows if any(not cell.startswith("–") for cell in row[1:])]
    notes = [note for note in beside.remarks() if getattr(note, "id", "") == "some_rows"]
    return {"grid": replace(grid, header=["", *summaries], rows=rows), "notes": notes}


def _primary(runs: _Runs) -> Any:
    try:
        table = primary_of(runs.summaries, [*([] if runs.base is None else [runs.base]), *runs.opened])
    except ColumnError:  # no column is a primary score
        return None
    notes = table.remarks()
    return {"grids": table.tables(), "analysis": table.analysis(), "notes": notes}


def _score_notes(runs: _Runs) -> list[tuple[str, Sequence[str]]]:
    """The notes on the scores of all systems, each with the metrics that it names; some systems' with their names."""
    of_systems = {run.name: runs.summaries[run.name].notes for run in runs.systems}
    return [
        (note, [name for name in runs.names if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", note)])
        for note in [*merged_notes(of_systems), *runs.notes]
    ]


def _first_metric(run: ScoreTable, names: Sequence[str], options: ReportOptions) -> int:
    """The place of the metric by which the rows open: the main one, else the first with a direction and scores."""
    scored = [name for name in names if not np.isnan(run.values(name)).all()] or names
    better = declared_better(names, run.declared)
    firsts = first_metrics(
        concerns_of(scored, run.spec), run.spec, {name: better.get(name) for name in scored}, options.main
    )
    return names.index(next(iter(firsts.values()), scored[0])) if names else 0


def _segment_columns(rows: PairedRows) -> list[str]:
    """The kept columns with few values, by which a report may divide its rows."""
    columns = rows.shown_columns.table if rows.shown_columns.names else pa.table({})
    texts = [name for name in columns.column_names if pa.types.is_string(columns[name].type)]
    return [name for name in texts if 1 < pc.count_distinct(columns[name]).as_py() <= _FEW_VALUES]


def _matrix(paired: Correlations, names: Sequence[str]) -> list[list[float | None]]:
    agreements = {(pair.a, pair.b): pair.agreement for pair in paired}
    values = [[1.0 if a == b else agreements.get((a, b), agreements.get((b, a), np.nan)) for b in names] for a in names]
    return [shorts(line) for line in values]
