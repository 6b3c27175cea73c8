"""``fm.score_files``: from files to a file of scores and its summary."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from fastmetrics.core.allowed_values import Text, argument
from fastmetrics.core.corpus_counts import KINDS, add_counts, add_up
from fastmetrics.core.input_columns import resolve
from fastmetrics.core.name_lists import listed
from fastmetrics.core.threads import cores
from fastmetrics.engines.job import Engine, Job, Progress, RunOptions, RunResult
from fastmetrics.engines.local import Threads
from fastmetrics.engines.run import open_output, run_on
from fastmetrics.errors import OptionError
from fastmetrics.errors.messages import Argument
from fastmetrics.plan.corpus_values import caution_notes, finish_all
from fastmetrics.plan.declared import Declared
from fastmetrics.plan.plan import Plan, keeping_counts, plan
from fastmetrics.plan.score_batch import Scorer, fit
from fastmetrics.plan.signature import signature
from fastmetrics.results.declared_metrics import declared_labels, declared_specs, declared_statistics
from fastmetrics.results.score_files import column_of
from fastmetrics.results.summary import MetricSummary, Summary
from fastmetrics.stats.fingerprint import fingerprint_text
from fastmetrics.stats.moments import State
from fastmetrics.stats.named_statistics import named_statistics
from fastmetrics.tables import Selection, Source, open_source
from fastmetrics.tables.chunks import long_rows
from fastmetrics.tables.column_types import Widened
from fastmetrics.tables.invalid_utf8 import bad_text
from fastmetrics.tables.remote.addresses import is_url

Paths = str | Path | Sequence[str | Path]


@dataclass(frozen=True)
class ScoredFiles:
    """The result of ``score_files``: the output paths, the numbers of rows, and the summary."""

    run: RunResult
    summary: Summary


def score_files(
    inputs: Paths,
    output: str | Path,
    *,
    metrics: Sequence[str] | str | None = None,
    columns: Mapping[str, str] | None = None,
    schema: str | None = None,
    keep: Sequence[str] | str = (),
    suites: Sequence[str] | str = (),
    embedder: Any = None,
    cache: str | Path | None = None,
    no_relevant: str | None = None,
    lists: Sequence[str] | str = (),
    format: str | None = None,
    max_row_bytes: int | None = None,
    threads: int | None = None,
    batch_rows: int | None = None,
    on_error: str = "fail",
    resume: bool = False,
    overwrite: bool = False,
    work: str | Path | None = None,
    guard: bool = True,
    progress: Callable[[Progress], None] | None = None,
    engine: str = "local",
    workers: int | None = None,
    address: str | None = None,
    name: str | None = None,
    times: bool = False,
    keep_counts: bool = False,
) -> ScoredFiles:
    """Score files of any size into a file, with memory bounded by the batch size and the number of threads.

    ``inputs`` are Parquet, JSON lines, CSV, TSV or Arrow files, folders or globs, or ``"-"``.  ``output`` is a file,
    whose suffix selects the format, or a folder of Parquet parts.  Both may be addresses (``s3://``, ``gs://``,
    ``hdfs://``, ``file://`` and the schemes of fsspec); before the upload, scores are written to the local folder
    ``work``, by default in the user's cache.  ``metrics``, ``columns``, ``schema``, ``embedder``, ``cache``,
    ``no_relevant`` and ``lists`` are as in ``score``; ``keep`` names columns to copy in addition to ``id``.  The output
    is atomic; ``resume=True`` continues a killed run and gives the same bytes.  ``on_error="skip"`` writes bad rows,
    including rows of more than ``max_row_bytes`` (64 MiB by default), to a rejects file and counts them.

    The metadata of the output contain order-independent fingerprints of its rows: of the ids, and of ids and questions
    if the run reads the questions or has a ``name``.  They also contain the name, and with ``times`` the start and end
    of the run; without ``times``, runs of the same rows give the same bytes.  A resumed run has the name and the times
    of the call that finished it.  ``list_runs`` lists the outputs in a folder with this information.

    ``keep_counts`` adds a column ``<metric>.counts`` for each corpus metric that is based on counts, which ``compare``
    resamples (docs/comparing.md states its size).

    In CSV and TSV, kept text that a spreadsheet would run as a formula (``=1+1``) gets a leading quote, unless
    ``guard=False``.  The metadata beside a file of text (``OUT.meta.json``) count such cells and state the types of the
    columns, so this package reads the file back as it was written: without the quotes, and with lists, nulls and times.

    >>> import tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> rows = folder / "rows.jsonl"
    >>> _ = rows.write_text('{"answer": "in Paris", "reference": "Paris"}')
    >>> scored = score_files(rows, folder / "scores.parquet", metrics=["token_f1"])
    >>> round(scored.summary["token_f1"].mean, 3)
    0.667

    ``engine="ray"`` scores on ``workers`` processes of the Ray cluster at ``address``, or of a cluster that it starts
    on this machine.  The output has the same bytes, and a run started on one engine may be resumed on the other.

    Raises ``ColumnError``, ``UnknownNameError`` and ``OptionError`` like ``score``, ``InputError`` with file and row
    for bad data, ``OutputError`` if the output exists or cannot be written, ``MissingExtraError`` if Ray is not
    installed, and ``WorkerError`` if its workers cannot start or die repeatedly.
    """
    chosen = _engine(engine, threads, workers, address)
    options = RunOptions(on_error, resume, overwrite, work, guard, progress, batch_rows)
    source = open_source(inputs, format, max_row_bytes)
    # Open the output first: planning may read all rows, and an unwritable output should fail at once.
    target = open_output(output, source, options)
    if name is not None:
        argument("name", name, Text(200, "a name"))
    planned = plan_files(source, metrics, columns, schema, keep, suites, embedder, cache, no_relevant, lists)
    planned = keeping_counts(planned) if keep_counts or planned.is_all_corpus else planned
    planned = replace(planned, identity=_identity(planned, named=name is not None))
    with chosen as scoring:
        asked = job(planned, Scorer(planned), partial(_about, name, _now() if times else None))
        result = run_on(scoring, source, asked, target, options)
    # ``result.output`` has no credentials, and reading the output again may need them.
    return ScoredFiles(result, _summary(result, planned, output if is_url(output) else result.output))


def _engine(name: str, threads: int | None, workers: int | None, address: str | None) -> AbstractContextManager[Engine]:
    """The requested engine; raises ``OptionError`` for an unknown engine, or for an option it does not have."""
    if name == "local":
        if workers is not None or address is not None:
            local = Argument("workers"), " and ", Argument("address"), " are of the engine ray; the local one has "
            raise OptionError(*local, Argument("threads"))
        return nullcontext(Threads(cores(threads)))
    if name != "ray":
        raise OptionError(Argument("engine", name), ": expected local or ray")
    if threads is not None:
        alone = Argument("threads"), " is of the local engine; ray has ", Argument("workers"), ", each of one thread"
        raise OptionError(*alone)
    from fastmetrics.engines.ray import RayEngine

    return RayEngine(workers, address)


def plan_files(
    source: Source,
    metrics: Sequence[str] | str | None,
    columns: Mapping[str, str] | None,
    schema: str | None,
    keep: Sequence[str] | str,
    suites: Sequence[str] | str,
    embedder: Any = None,
    cache: str | Path | None = None,
    no_relevant: str | None = None,
    lists: Sequence[str] | str = (),
) -> Plan:
    """The plan for the columns of an opened input, which is read if a metric needs all rows; keeps the ``id``."""
    names = source.schema.names
    found = resolve(names, columns, schema, {"id"})
    kept = [found["id"]] if "id" in found else []
    keep = list(dict.fromkeys([*kept, *listed(keep)]))
    planned = plan(names, metrics, columns, schema, keep, suites, embedder, cache, no_relevant, lists)
    selection = source.select(planned.kinds)
    while True:
        try:
            return fit(planned, partial(_readable, source, selection))
        except Widened as wider:  # a later row has another type, as in scoring
            selection = selection.widen(wider.name, wider.type)


def _readable(source: Source, selection: Selection) -> Iterator[pa.RecordBatch]:
    """All rows except those that are too long or invalid, which scoring will report."""
    for chunk in source.chunks(selection):
        if len(chunk.rows):
            batch = source.conform(chunk, selection)
            bad = np.isin(np.arange(batch.num_rows), [*bad_text(batch), *long_rows(batch, source.max_row_bytes)])
            yield batch.filter(pa.array(~bad)) if bad.any() else batch


def _identity(planned: Plan, *, named: bool) -> dict[str, str]:
    """The columns of the fingerprint: the id, and the question if it is read anyway or the run has a name."""
    found = {name: planned.columns[name] for name in ("id", "question") if name in planned.columns}
    return {name: yours for name, yours in found.items() if named or yours in planned.inputs}


def _about(name: str | None, began: str | None) -> dict[str, Any]:
    """The metadata about the run itself."""
    named = {} if name is None else {"name": name}
    return named if began is None else {**named, "began": began, "ended": _now()}


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def job(
    planned: Plan,
    score: Callable[[pa.RecordBatch], pa.RecordBatch],
    about: Callable[[], Mapping[str, Any]] = dict,
) -> Job:
    """The job of an engine for a plan: ``score`` maps a batch, the rest describes it.

    ``about`` returns the metadata about the run after all rows are scored.
    """
    return Job(
        score=score,
        columns={**dict.fromkeys([*planned.keep, *planned.identity.values()], "any"), **planned.kinds},
        signature=signature(planned),
        observe=partial(_observe, planned.names),
        conclude=lambda observed, rejected: {**_conclude(observed, planned.names, rejected), **about()},
    )


def _observe(names: Sequence[str], part: pa.RecordBatch) -> dict[str, Any]:
    """The sums of a part's scores, its counts of corpus metrics and of cautions, and its fingerprints."""
    scores = {name: _state(part.column(name)).to_json() for name in names}
    return {"scores": scores, "n_rows": part.num_rows, **dict(zip(KINDS, add_counts([part]), strict=True))}


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


def _conclude(observed: Sequence[Mapping[str, Any]], names: Sequence[str], rejected: int) -> dict[str, Any]:
    """The metadata about the output's rows, from which a summary distinguishes missing, undefined and failed."""
    rows = {
        name: {
            "n_rows": state.n + state.n_missing + state.n_undefined,
            "n_missing": state.n_missing,
            "n_undefined": state.n_undefined,
            "n_error": 0,
        }
        for name, state in _merged(observed, names).items()
    }
    counts = {kind: _added(observed, kind) for kind in ("counts", "cautions")}
    known: dict[str, Any] = {kind: added for kind, added in counts.items() if added}
    prints = {what: fingerprint_text(sums) for what, sums in _added(observed, "fingerprint").items()}
    if not names:  # no score column contains the number of rows
        known["n_rows"] = sum(part["n_rows"] for part in observed)
    return {"metrics": rows, "n_rejected": rejected, **known, **({"fingerprint": prints} if prints else {})}


def _added(observed: Sequence[Mapping[str, Any]], kind: str) -> dict[str, list[int]]:
    """The counts of corpus metrics, or of cautions, summed over the parts."""
    return add_up(part[kind] for part in observed)


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
    added = _added(result.observed, "counts")
    specs, columns = declared_specs(stored), [*planned.names, *planned.kept_columns]
    corpus, remarks = finish_all(added, partial(column_of, output), columns, specs)
    labels = declared_labels(states, stored)
    cautions = caution_notes(_added(result.observed, "cautions"), planned.common, specs)
    notes = [*result.notes, *planned.notes, *remarks, *cautions]
    return Summary(result.rows, metrics, corpus, labels, notes, planned.used, planned.passed_over)
