"""Scoring a table into a file: the job of the engines, the metadata of the file, and its summary."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from fastmetrics.base.errors import Argument, OptionError
from fastmetrics.base.score_metadata import BatchSums, RowCounts, ScoreMetadata, drift_notes
from fastmetrics.base.threads import cores
from fastmetrics.engines.job import Engine, Job, RayCluster, RunOptions, RunResult
from fastmetrics.engines.run_job import Threads, run_on
from fastmetrics.metrics.corpus_values import caution_notes, finish_all, input_drifts
from fastmetrics.metrics.plan import Plan, ScoreRequest, keeping_counts, plan
from fastmetrics.metrics.score_batch import Scorer, fit
from fastmetrics.metrics.stored_declarations import Declared, signature
from fastmetrics.plan.source_files import source_digests
from fastmetrics.results.score_file import column_of, declared_labels, declared_specs, declared_statistics
from fastmetrics.results.summary import MetricSummary, Summary
from fastmetrics.stats.summed_scores import fingerprint_text
from fastmetrics.stats.sums import State, named_statistics
from fastmetrics.tables import Output
from fastmetrics.tables.file_columns import Widened
from fastmetrics.tables.sources import TableSource
from fastmetrics.tables.table_rows import good_batches


@dataclass(frozen=True)
class ScoredFiles:
    """The result of ``score`` with an ``output``: its paths, the numbers of rows, and the summary."""

    run: RunResult
    summary: Summary


def write_scores(
    engine: AbstractContextManager[Engine],
    source: TableSource,
    planned: Plan,
    output: Output,
    options: RunOptions,
    about: Callable[[], ScoreMetadata] = ScoreMetadata,
    address: str | Path | None = None,
) -> ScoredFiles:
    """Score an opened table into an open output; ``address`` is that of the output, if it may have credentials."""
    with engine as scoring:
        result = run_on(scoring, source, job(planned, Scorer(planned), about), output, options)
    return ScoredFiles(result, _summary(result, planned, result.output if address is None else address))


def engine_of(engine: str | RayCluster, threads: int | None) -> AbstractContextManager[Engine]:
    """The requested engine; raises ``OptionError`` for an unknown engine, or for threads of Ray."""
    if engine == "local":
        return nullcontext(Threads(cores(threads)))
    if not isinstance(engine, RayCluster) and engine != "ray":
        raise OptionError(Argument("engine", engine), ": expected local or ray")
    if threads is not None:
        alone = Argument("threads"), " is of the local engine; ray has ", Argument("workers"), ", each of one thread"
        raise OptionError(*alone)
    from fastmetrics.engines.ray import RayEngine

    cluster = engine if isinstance(engine, RayCluster) else RayCluster()
    return RayEngine(cluster.workers, cluster.address)


def plan_table(source: TableSource, request: ScoreRequest, *, keep_counts: bool = False) -> Plan:
    """The plan for the columns of an opened table, without options computed from its rows; keeps the ``id``."""
    planned = plan(source.names, request.with_id(source.names))
    return keeping_counts(planned) if keep_counts or planned.is_all_corpus else planned


def fitted(planned: Plan, source: TableSource) -> Plan:
    """The plan with the options that some metrics compute from all rows, which are read for them."""
    source.select(columns_read(planned))  # all at once: a reader in memory can be read only once
    if all(score.metric.rows.fit is None for score in planned.scores):
        return planned
    selection = source.select(planned.kinds)
    while True:
        try:
            return fit(planned, partial(good_batches, source, selection, skip=True))  # scoring reports bad rows
        except Widened as wider:  # a later row has another type, as in scoring
            selection = selection.widen(wider.name, wider.type)


def identity(planned: Plan, *, has_name: bool) -> dict[str, str]:
    """The columns of the fingerprint: the id, and the question if it is read anyway or the run has a name."""
    mapping = {name: planned.columns[name] for name in ("id", "question") if name in planned.columns}
    return {name: column for name, column in mapping.items() if has_name or column in planned.inputs}


def about_run(name: str | None, began: str | None, until: Mapping[str, Any] | None = None) -> ScoreMetadata:
    """The metadata about the run itself; ``until`` is how a condition ended it."""
    return ScoreMetadata(name=name, ended_by_until=until, began=began, ended=None if began is None else now())


def now() -> str:
    """The time in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def job(
    planned: Plan,
    score: Callable[[pa.RecordBatch], pa.RecordBatch],
    about: Callable[[], ScoreMetadata] = ScoreMetadata,
) -> Job:
    """The job of an engine for a plan: ``score`` maps a batch, the rest describes it.

    ``about`` returns the metadata about the run after all rows are scored.
    """
    return Job(
        score=score,
        columns=columns_read(planned),
        signature=signature(planned).to_json(),
        sources=source_digests(planned),
        observe=partial(_observe, planned.names),
        conclude=lambda observed, rejected: (_conclude(observed, planned, rejected) | about()).to_json(),
    )


def columns_read(planned: Plan) -> dict[str, str]:
    """The columns of the table that a run reads, by the user's name, with their kinds."""
    return {**dict.fromkeys([*planned.keep, *planned.identity.values()], "any"), **planned.kinds}


def _observe(names: Sequence[str], part: pa.RecordBatch) -> dict[str, Any]:
    """The sums of a part's scores, its counts of corpus metrics, cautions and drift, and its fingerprints."""
    scores = {name: _state(part.column(name)).to_json() for name in names}
    return {"scores": scores, "n_rows": part.num_rows, **BatchSums.of([part]).to_json()}


def _state(column: Any) -> State:
    state = State()
    state.add(column)
    return state


def _merged(observed: Sequence[Mapping[str, Any]], names: Sequence[str]) -> dict[str, State]:
    states = {name: State() for name in names}
    for part in observed:
        for name, text in part["scores"].items():
            states[name] = states[name].merge(State.from_json(text))
    return states


def _conclude(observed: Sequence[Mapping[str, Any]], planned: Plan, rejected: int) -> ScoreMetadata:
    """The metadata about the output's rows, from which a summary distinguishes missing, undefined and failed."""
    rows = {
        name: RowCounts(state.n + state.n_missing + state.n_undefined, state.n_missing, state.n_undefined, 0)
        for name, state in _merged(observed, planned.names).items()
    }
    sums = BatchSums.added(observed)
    return ScoreMetadata(
        metrics=rows,
        n_rejected=rejected,
        counts=sums.counts or None,
        cautions=sums.cautions or None,
        drift=input_drifts(planned, sums.drift) or None,
        # Without a score column, nothing else has the number of rows.
        n_rows=None if planned.names else sum(part["n_rows"] for part in observed),
        fingerprint={rows_by: fingerprint_text(of_rows) for rows_by, of_rows in sums.fingerprint.items()} or None,
    )


def _summary(result: RunResult, planned: Plan, output: str | Path) -> Summary:
    states = _merged(result.observed, planned.names)
    for state in states.values():
        state.add_errors(result.rejected)
    stored = {score.name: Declared.of_score(score) for score in planned.scores}
    statistics = declared_statistics(states, stored)
    metrics = {}
    for name, state in states.items():
        extra = named_statistics(state, statistics.get(name, ()), partial(column_of, output, name))
        metrics[name] = MetricSummary.of(state, extra)
    sums = BatchSums.added(result.observed)
    specs, columns = declared_specs(stored), [*planned.names, *planned.kept_columns]
    corpus, remarks = finish_all(sums.counts, partial(column_of, output), columns, specs)
    labels = declared_labels(states, stored)
    cautions = caution_notes(sums.cautions, planned.common, specs)
    drift = drift_notes(input_drifts(planned, sums.drift))
    notes = [*result.notes, *planned.notes, *remarks, *cautions, *drift]
    return Summary(result.rows, metrics, corpus, labels, notes, planned.used, planned.passed_over)
