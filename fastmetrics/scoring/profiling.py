"""The time of each stage of a run and of each metric, and what a first call takes its time for, done ahead."""

from __future__ import annotations

import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar

import pyarrow as pa

from fastmetrics.base import shared_parameters as shared
from fastmetrics.base.display import Grid, Shown, plain
from fastmetrics.base.notes import Note
from fastmetrics.base.progress import COMPILING, WATCHERS, WorkDone
from fastmetrics.base.shared_parameters import Help
from fastmetrics.base.threads import cores
from fastmetrics.engines.column_maker import RunOptions
from fastmetrics.engines.run import open_output, write_columns
from fastmetrics.plans.plan import Plan, ScoreRequest, plan
from fastmetrics.plans.score_batch import VocabularyPool, fitted, score_batch
from fastmetrics.scoring.score import score
from fastmetrics.scoring.score_runs import ScoreMaker
from fastmetrics.tables.input_files import PLAIN, Reading
from fastmetrics.tables.opening import open_table

T = TypeVar("T")


@dataclass(frozen=True)
class Profile(Shown):
    """Seconds by stage, by representation (text, folded, tokens by column and convention) and by metric.

    They are summed over the threads; ``elapsed`` is the time of the whole run, without that of the warm-up.
    """

    rows: int
    nbytes: int
    threads: int
    elapsed: float
    stages: Mapping[str, float]
    representations: Mapping[str, float]
    metrics: Mapping[str, float]

    def records(self) -> Sequence[Mapping[str, Any]]:
        """One row per line of the tables: what it is of, its name, and its seconds."""
        parts = {"stage": self.stages, "representation": self.representations, "metric": self.metrics}
        return [{"of": of, "name": name, "seconds": s} for of, times in parts.items() for name, s in times.items()]

    def to_dict(self) -> dict[str, object]:
        """All figures: rows, bytes of input columns, threads, seconds."""
        return {"bytes" if name == "nbytes" else name: value for name, value in plain(self).items()}

    def remarks(self) -> list[str]:
        """The conditions of the measurement."""
        measured = {"n": self.rows, "seconds": self.elapsed, "threads": self.threads}
        speed = Note("rows_a_second", speed=self.rows / self.elapsed) if self.elapsed else ""
        return [
            Note("one_thread" if self.threads == 1 else "many_threads", speed=speed, **measured),
            Note("of_each_line"),
        ]

    def grids(self) -> list[Grid]:
        """Stages, representations and metrics, each with its share of the total."""
        total = sum(self.stages.values())
        return [
            Grid((title, "seconds", "share", "rows/s", "MB/s"), [self._line(n, s, total) for n, s in times.items()])
            for title, times in (
                ("stage", {**self.stages, "total": total}),
                ("tokenise", self.representations),
                ("kernels", self.metrics),
            )
        ]

    def _line(self, name: str, seconds: float, total: float) -> tuple[str, ...]:
        share = seconds / total if total else 0.0
        rows, mb = (f"{n / seconds:,.0f}" if seconds else "" for n in (self.rows, self.nbytes / 1e6))
        return name, f"{seconds:.3f}", f"{share:.1%}", rows, mb


class Watch:
    """Seconds by name, summed over threads, excluding the time of nested names."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self._lock = threading.Lock()
        self._thread = threading.local()

    @contextmanager
    def on(self, name: str) -> Iterator[None]:
        """Add the time of the block to ``name``."""
        nested: list[float] = self._thread.__dict__.setdefault("nested", [])
        began = time.perf_counter()
        nested.append(0.0)
        try:
            yield
        finally:
            spent = time.perf_counter() - began
            with self._lock:
                self.seconds[name] += spent - nested.pop()
            if nested:
                nested[-1] += spent


class WatchedScorer:
    """``score_batch`` under one plan, thread-safe and timed; the first batch is scored once before, as a warm-up."""

    def __init__(self, plan: Plan) -> None:
        self.watch = Watch()
        self.nbytes: list[int] = []
        self.warm_up: float | None = None
        self._plan = plan
        self._pool = VocabularyPool()
        self._lock = threading.Lock()

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The scores of a batch."""
        if not batch.num_rows:  # what the columns of the output are
            return score_batch(batch, self._plan)
        with self._lock:  # all threads wait for the kernels
            if self.warm_up is None:
                began = time.perf_counter()
                score_batch(batch, self._plan)
                self.warm_up = time.perf_counter() - began
        self.nbytes.append(batch.nbytes)
        with self._pool.borrow() as words:
            return score_batch(batch, self._plan, words, self.watch.on)


def profile(
    table: shared.Table,
    metrics: shared.Metrics = None,
    *,
    suites: shared.Suites = (),
    no_relevant: shared.NoRelevant = "undefined",
    lists: shared.Lists = (),
    strip_thoughts: shared.StripThoughts = False,
    extract: shared.Extract = None,
    normalize: shared.Normalize = None,
    columns: shared.Columns = None,
    schema: shared.Schema = None,
    reading: Reading = None,
    threads: Annotated[int, Help("Number of threads, from 1 to 1,024.")] = 1,
) -> Profile:
    """Score a table, in memory or in files, into a temporary file, and time every stage and metric.

    The arguments are those of ``score``, but for the default of ``threads``.  The first batch is scored once
    before the measurement, so that the times are those of compiled kernels.  Times are in seconds, summed over threads.

    >>> import tempfile, pathlib
    >>> rows = pathlib.Path(tempfile.mkdtemp(), "rows.jsonl")
    >>> _ = rows.write_text('{"answer": "in Paris", "reference": "Paris"}')
    >>> found = profile(rows, "token_f1")
    >>> found.rows, list(found.stages), list(found.metrics)
    (1, ['read', 'tokenise', 'kernels', 'write'], ['token_f1'])

    Raises what ``score`` raises.
    """
    source = open_table(table, reading or PLAIN, schema=schema)
    request = ScoreRequest(
        metrics,
        columns,
        schema,
        suites=suites,
        no_relevant=no_relevant,
        lists=lists,
        strip_thoughts=strip_thoughts,
        extract=extract,
        normalize=normalize,
    )
    planned = fitted(plan(source.names, request, has_blanks=source.has_blanks), source)
    scorer = WatchedScorer(planned)
    with tempfile.TemporaryDirectory() as folder:
        options = RunOptions()
        output = open_output(Path(folder) / "scores.parquet", source, options)
        result = write_columns(ScoreMaker(planned, scorer), source, output, options, cores(threads))
    seconds = scorer.watch.seconds
    makers = {name[5:]: spent for name, spent in seconds.items() if name.startswith("make ")}
    kernels = {score.name: seconds[score.name] for score in planned.scores}
    stages = {
        "read": result.seconds["read"],
        "tokenise": sum(makers.values()),
        "kernels": sum(kernels.values()),
        "write": result.seconds["write"],
    }
    elapsed = result.seconds["total"] - (scorer.warm_up or 0.0)
    return Profile(result.rows, sum(scorer.nbytes), threads, elapsed, stages, makers, kernels)


_TEXTS = ["In 1889, 300 people sang [1]. Is it so?", "Город Köln: «так — и 5 % нет»."]
"""ASCII and others, since some kernels are needed for one of them only."""

_VALUES: list[tuple[str, list[Any]]] = [
    ("question answer reference", _TEXTS),
    ("contexts", [_TEXTS, _TEXTS[:1]]),
    ("context_ids retrieved_ids", [["a", "b"], ["c"]]),
    ("retrieved_scores", [[2.0, 1.0], [1.0]]),
    ("relevant_ids", [["b"], ["c"]]),
    ("relevance", [[1.0], [2.0]]),
    ("answerable", [True, False]),
    ("session_id answer_call", ["s", "t"]),
    ("confidence rating latency_ms", [0.5, 1.0]),
    ("prompt_tokens completion_tokens total_tokens turn round", [1, 2]),
]


def warm_up(
    metrics: shared.Metrics = None,
    *,
    suites: shared.Suites = (),
    progress: Annotated[
        Callable[[str, int], None] | None,
        Help("A function that is called with each metric before it is warmed, and the number of kernels compiled."),
    ] = None,
) -> int:
    """Compile the kernels of metrics ahead, and load them and what else a first call loads; return how many were made.

    The first call of ``score`` in a process imports modules and loads kernels, and the first on a machine compiles
    them, which takes from seconds to a minute.  A service calls this when it starts; the image of a container is built
    with ``fastmetrics warm-up``, as the user who runs it later, so that the machine code is in its cache.  The code is
    for the processor that it was compiled on: another kind of processor compiles again.

    It scores two made rows by each metric, and by all of them into a file.  Metrics of columns that the rows
    do not have, such as embeddings, raise ``ColumnError``.

    >>> import fastmetrics as fm
    >>> fm.scoring.warm_up("answer_length", progress=lambda name, compiled: print(name)) >= 0
    answer_length
    files
    True

    Raises what ``score`` raises.
    """
    compiled: list[WorkDone] = []

    def count(work: WorkDone) -> None:
        if work is COMPILING:
            compiled.append(work)

    def say(name: str) -> None:
        if progress is not None:
            progress(name, len(compiled))

    rows = pa.table({name: values for names, values in _VALUES for name in names.split()})
    specs = [one.spec for one in plan(rows.column_names, ScoreRequest(metrics, suites=suites)).scores]
    WATCHERS.append(count)
    try:
        for spec in specs:
            say(spec)
            score(rows, [spec], threads=1)
        say("files")
        with tempfile.TemporaryDirectory() as folder:
            score(rows, specs, output=Path(folder, "scores.parquet"), threads=1)
    finally:
        WATCHERS.remove(count)
    return len(compiled)
