"""The contents of a report, collected from results of the package's public functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.base.errors import ColumnError, InputError, visible
from fastmetrics.base.input_columns import resolve
from fastmetrics.base.score_metadata import counts_column
from fastmetrics.reporting.charts.heat_map import fewer_segments, heat_of_means
from fastmetrics.reporting.charts.line_chart import Charts
from fastmetrics.reporting.content.comparison_content import Against, compared
from fastmetrics.reporting.content.data_content import provenance, sampled_rows
from fastmetrics.reporting.content.overview_content import metric_lines, named_figures, pointers
from fastmetrics.reporting.report_options import ReportOptions
from fastmetrics.reporting.row_links import RowLinks
from fastmetrics.reporting.rows.judge_metrics import with_judge_metrics
from fastmetrics.reporting.rows.judged_rows import JudgedRows
from fastmetrics.reporting.rows.page_rows import page_rows, short, strata_of_all
from fastmetrics.reporting.rows.paired_rows import PairedRows
from fastmetrics.reporting.rows.row_files import RowFiles
from fastmetrics.reporting.rows.texts.kept_columns import candidates
from fastmetrics.reporting.rows.texts.row_texts import JUDGED
from fastmetrics.reporting.rows.texts.scored_claims import ScoredClaims
from fastmetrics.reporting.rows.texts.text_sources import TextSource, text_sources
from fastmetrics.reporting.rows.worst_of_systems import worst_of_systems
from fastmetrics.reporting.sections.section import Counter, SectionInput
from fastmetrics.reporting.sections.section_list import SECTIONS
from fastmetrics.results.distributions import Correlations, correlations, histograms
from fastmetrics.results.open_runs import open_run, open_runs
from fastmetrics.results.primary_table import PRIMARY, primary_of
from fastmetrics.results.score_file import declared_better
from fastmetrics.results.score_run import ScoreRun
from fastmetrics.results.summarize_by import summarize_by
from fastmetrics.results.summary import SideBySide, Summary, summaries_of

_CORRELATED = 40
"""Maximum number of correlated metrics: the first ones."""
_FIRST = ("overview", "distributions", "comparison", "rows")
_FIRST_METRICS = tuple(figure.partition(".")[0] for figures in PRIMARY.values() for figure in figures)
_FEW_VALUES = 12
"""Maximum number of values of a column that the page names as one to divide rows by."""
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
    drawn = histograms(runs.main, metrics=names) if names else {}
    spread = _spread(runs.main, names[:_CORRELATED])
    paired = correlations(spread, metrics=names[:_CORRELATED]) if len(names) > 1 else None
    charts = Charts()
    counters = {section.name: section.counter() for section in SECTIONS if section.counter is not None}
    others = [run for run in runs.systems[1 if base else 0 :] if run is not runs.main]
    everyone = PairedRows.of(runs.main, runs.systems[0] if base else None, names, options, others, runs.sources)
    shown = _shown_rows(everyone, paired, options, list(counters.values()))
    more = _sections(runs, everyone, options, counters, charts)
    against = compared(runs.systems, options) if len(runs.systems) > 1 else None
    segmented = None
    if options.by and against is None:
        segmented = heat_of_means(_means(runs.main, names, options), runs.main.declared)
    shown_pair = (0, 1) if base else (None, 0)
    lines = metric_lines(summary, drawn, runs.main.declared)
    present = [section for section in SECTIONS if more[section.name]]
    system_names = [run.name for run in runs.systems]
    links = RowLinks.of(names, everyone.segments.names, system_names, shown_pair)
    better = declared_better(names, runs.main.declared)
    first = _first_metric(runs.main, names, against)
    on_page = None if shown.page is not None else {row["at"] for row in shown.rows}
    parts = {
        "names": [visible(run.name) for run in runs.opened],
        "main_name": visible(runs.main.name),
        "n_rows": summary.n_rows,
        "n_metrics": len(summary.metrics) + len(summary.corpus),
        "n_systems": len(runs.systems),
        "primary": _primary(runs),
        "metrics": lines,
        "figures": named_figures(summary, runs.main.declared),
        "pointers": pointers(lines, segmented) if against is None else [],
        "worst_rows": worst_of_systems(everyone, names[first], better.get(names[first]), system_names, links, on_page)
        if names
        else [],
        "links": links,
        "first_metric": visible(names[first]) if names else None,
        "by": [visible(name) for name in _segment_columns(everyone)] if not options.by else [],
        "beside": _side_by_side(runs.summaries) if len(runs.summaries) > 1 else None,
        "notes": [visible(note) for note in [*summary.remarks(), *runs.notes, *ScoredClaims.of(runs.main).remarks()]],
        "segmented": segmented,
        "against": against,
        **more,
        "sections": present,
        "pages": [*_FIRST, *(section.name for section in present), "data"],
        "correlated": None
        if paired is None
        else {"n": spread.num_rows, "metrics": len(names[:_CORRELATED]), "of": len(names)},
        "sampled": sampled_rows(shown.strata) if shown.n < summary.n_rows else [],
        "n_shown": shown.n,
        "every_row": shown.page is not None,
        "signature": provenance(runs.systems),
    }
    data = {
        "metrics": [{"name": visible(name), "better": better.get(name)} for name in names],
        "histograms": [
            {
                "edges": list(map(short, histogram.edges)),
                "counts": histogram.counts,
                "n": histogram.n,
                "missing": histogram.n_missing,
            }
            for histogram in drawn.values()
        ],
        "correlations": None if paired is None else _matrix(paired, names[:_CORRELATED]),
        "charts": [chart.data() for chart in charts.drawn],
        "rows": shown.rows,
        "kept": list(map(visible, everyone.shown_columns.names)),
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

    opened: Sequence[ScoreRun]
    base: ScoreRun | None
    summaries: Mapping[str, Summary]
    systems: Sequence[ScoreRun]
    names: Sequence[str]
    notes: Sequence[str]
    sources: Mapping[str, TextSource]
    """The sources of texts of the runs that have one, by name."""

    @property
    def main(self) -> ScoreRun:
        """The first system that is not the baseline."""
        return self.systems[1 if self.base else 0]

    @property
    def summary(self) -> Summary:
        """The summary of the main system."""
        return self.summaries[self.opened[0].name]


def _runs_of(scores: Any, options: ReportOptions) -> _Runs:
    """Read the score files of a report and of its baseline."""
    opened = [_with_columns(run, options) for run in open_runs(scores, options.system, least=1)]
    sources = dict(text_sources(options, [run.name for run in opened]))
    base = next((run for run in opened if options.system is not None and run.name == options.baseline), None)
    if base is not None:
        opened = [run for run in opened if run is not base]
    elif options.baseline is not None:
        base = _with_columns(open_run(options.baseline), options)
    if not opened:
        raise InputError(f"there is no system but {visible(str(options.baseline))}, the baseline")
    if base is not None and base.name in {run.name for run in opened}:
        base = replace(base, name=f"{base.name} (baseline)")
    if base is not None and options.baseline_texts is not None:
        sources[base.name] = TextSource(options.baseline_texts)
    runs = ([base] if base else []) + opened
    summaries = summaries_of(runs)
    if options.judged is not None:
        main = opened[0]
        of = None if options.system is None else (options.system, main.name)
        opened[0], judges = with_judge_metrics(main, JudgedRows(options.judged, of))
        own = summaries[main.name]
        metrics, labels = {**own.metrics, **judges.metrics}, {**own.labels, **judges.labels}
        summaries[main.name] = replace(own, metrics=metrics, labels=labels)
        runs = ([base] if base else []) + opened
    systems, merged = fewer_segments(runs, options.by)
    names = [name for name in systems[1 if base else 0].scores if name not in options.by]
    return _Runs(opened, base, summaries, systems, names, merged, sources)


@dataclass(frozen=True)
class _ShownRows:
    """The rows that a report shows: those of its own page, or the page's index of the files of all rows."""

    rows: Sequence[Mapping[str, Any]]
    strata: Any
    n: int
    page: Any


def _shown_rows(
    everyone: PairedRows, paired: Correlations | None, options: ReportOptions, counters: Sequence[Counter]
) -> _ShownRows:
    """Choose rows of the page, or write the files of all rows; the ``counters`` of sections count all rows."""

    def count(columns: Mapping[str, pa.Array | pa.ChunkedArray]) -> None:
        for counter in counters:
            counter.add(columns)

    if options.folder is None:
        rows, strata = page_rows(everyone, paired, options, count)
        return _ShownRows(rows, strata, len(rows), None)
    files = RowFiles(options.folder, everyone, options, count)
    return _ShownRows([], strata_of_all(everyone, paired, options), everyone.n, files.page)


def _sections(
    runs: _Runs, everyone: PairedRows, options: ReportOptions, counters: Mapping[str, Counter], charts: Charts
) -> dict[str, Any]:
    """The contents of the sections that only some reports have, by name; empty ones are left out of the page."""
    base = None if runs.base is None else runs.summaries[runs.base.name]
    section_input = SectionInput(runs.summaries, runs.systems, base, runs.names, everyone, options, charts)
    contents: dict[str, Any] = {}
    for section in SECTIONS:
        own = replace(section_input, counter=counters.get(section.name), earlier=contents)
        contents[section.name] = section.content(own)
    return contents


def _with_columns(run: ScoreRun, options: ReportOptions) -> ScoreRun:
    """The run with the columns of the report at hand; ids are checked before large columns are loaded."""
    texts = [column for name, column in resolve(run.columns, needed=()).items() if name in JUDGED]
    keys = [column for column in (run.id_column, run.question_column) if column]
    # formats that are read row by row are read once
    others = candidates(run) if run.types is None else []
    columns = [*run.scores, *map(counts_column, run.counted), *keys, *options.by, *texts, *others]
    loaded = run.by_column(columns)
    if (options.texts is not None or options.baseline is not None) and loaded.id_column is not None:
        loaded.ids(loaded.id_column)
    # files of all rows are written part by part, each with all of its columns
    return loaded if options.folder is None else loaded.in_memory(columns)


def _spread(run: ScoreRun, names: Sequence[str]) -> pa.Table:
    """The scores of all rows, or, for very many rows, of an evenly spaced sample."""
    table = run.read(names)
    step = -(-table.num_rows // _CORRELATED_ROWS)
    return table if step < 2 else table.take(pa.array(np.arange(0, table.num_rows, step)))


def _means(run: ScoreRun, names: Sequence[str], options: ReportOptions) -> Any:
    few: dict[str, Any] = {"bootstrap": 200, "seed": options.seed, "threads": options.threads}
    summaries = [summarize_by(run, by=name, metrics=names, **few) for name in options.by]
    means = [
        interval
        for place, part in enumerate(summaries)
        for interval in part
        if place == 0 or interval.segment is not None
    ]
    return replace(summaries[0], means=means)


def _side_by_side(summaries: Mapping[str, Summary]) -> dict[str, Any]:
    """The means of all systems under their names, without the metrics that none has a score of, and the notes."""
    beside = SideBySide(summaries)
    grid, *_ = beside.grids()
    rows = [row for row in grid.rows if any(not cell.startswith("–") for cell in row[1:])]
    notes = [note for note in beside.remarks() if note.startswith("*")]
    return {"grid": replace(grid, header=["", *summaries], rows=rows), "notes": notes}


def _primary(runs: _Runs) -> Any:
    try:
        table = primary_of(runs.summaries, [*([] if runs.base is None else [runs.base]), *runs.opened])
    except ColumnError:  # no column is a primary score
        return None
    return {"grids": table.grids(), "notes": list(map(visible, table.remarks()))}


def _first_metric(run: ScoreRun, names: Sequence[str], against: Against | None) -> int:
    """The metric by which the rows open: one that changed, with more values than 0 and 1, that a person reads first."""
    changed = {line.metric for line in against.changed} if against is not None else set()
    better = declared_better(names, run.declared)

    def later(place: int) -> tuple[Any, ...]:
        name, values = names[place], run.values(names[place])
        graded = np.isfinite(values) & (values != 0) & (values != 1)
        first = _FIRST_METRICS.index(name) if name in _FIRST_METRICS else len(_FIRST_METRICS)
        return np.isnan(values).all(), visible(name) not in changed, better.get(name) is None, not graded.any(), first

    return min(range(len(names)), key=later, default=0)


def _segment_columns(rows: PairedRows) -> list[str]:
    """The kept columns with few values, by which a report may divide its rows."""
    columns = rows.shown_columns.table if rows.shown_columns.names else pa.table({})
    texts = [name for name in columns.column_names if pa.types.is_string(columns[name].type)]
    return [name for name in texts if 1 < pc.count_distinct(columns[name]).as_py() <= _FEW_VALUES]


def _matrix(paired: Correlations, names: Sequence[str]) -> dict[str, Any]:
    agreements = {(pair.a, pair.b): pair.agreement for pair in paired}
    values = [[1.0 if a == b else agreements.get((a, b), agreements.get((b, a), np.nan)) for b in names] for a in names]
    return {"names": [visible(name) for name in names], "values": [[short(value) for value in line] for line in values]}
