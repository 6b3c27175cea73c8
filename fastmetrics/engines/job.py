"""The interface of engines: the settings of a run, the job, the data sent to workers, and the result."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from fastmetrics.base.errors import Argument, OptionError
from fastmetrics.base.options import about, with_parameters
from fastmetrics.tables.file_columns import Selection
from fastmetrics.tables.opening import FileSettings
from fastmetrics.tables.sources import TableSource
from fastmetrics.tables.table_chunks import Limits, Position, Split

# Where Ray runs: settings that users hand on as one object.


@with_parameters
@dataclass(frozen=True, kw_only=True)
class RayCluster:
    """A Ray cluster whose processes score files: the ``engine`` of :func:`score`.

    {parameters}

    >>> RayCluster(workers=8)
    RayCluster(workers=8, address=None)
    """

    workers: int | None = field(default=None, metadata=about("Processes of the Ray cluster; by default one per core."))
    address: str | None = field(
        default=None,
        metadata=about("The Ray cluster's address; by default a cluster is started on this machine."),
    )


# The interface of engines: the job, the data sent to workers, and the result.


Score = Callable[[pa.RecordBatch], pa.RecordBatch]


@dataclass(frozen=True)
class Progress:
    """The progress of a run: finished and total rows (None if unknown), finished and total bytes of files."""

    rows: int
    total_rows: int | None
    nbytes: int
    total_bytes: int

    @property
    def share(self) -> float | None:
        """The share done: of rows if the files record their number, otherwise of bytes; None if neither is known."""
        done, total = (self.nbytes, self.total_bytes) if self.total_rows is None else (self.rows, self.total_rows)
        return done / total if total else None


@dataclass(frozen=True)
class Job:
    """The scoring of each batch, and the metadata to write.

    ``score`` is pure: a batch of the wanted ``columns`` (yours: kind) in, ``rows_each`` rows of scores and kept columns
    out for each of its rows, with the same schema for every batch.  ``signature`` (JSON) describes the settings of the
    scores; it is stored in the output's metadata, and a run resumes only with the same signature and the same
    ``sources``, digests of files of code.  ``observe`` receives each part's scores while NaN and null differ, and
    returns JSON; ``conclude`` computes further metadata from all observations, in order, and from the number of
    rejected rows.  ``lasts`` decides, from an observation, whether a resumed run may reuse a finished part.
    """

    score: Score
    columns: Mapping[str, str]
    signature: Mapping[str, Any] = field(default_factory=dict)
    observe: Callable[[pa.RecordBatch], Any] = lambda part: None
    conclude: Callable[[list[Any], int], Mapping[str, Any]] = lambda observed, rejected: {}
    lasts: Callable[[Any], bool] = lambda observed: True
    rows_each: int = 1
    sources: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class RunOptions:
    """Options of a run, from the caller to the engine; none of them changes a score.

    ``files`` has the settings of the files read and written; ``resume`` continues an interrupted run, and ``overwrite``
    replaces an output.  ``progress`` is called with the progress of the run, and ``limits`` limits batches and parts.
    """

    files: FileSettings = field(default_factory=FileSettings)
    resume: bool = False
    overwrite: bool = False
    progress: Callable[[Progress], None] | None = None
    limits: Limits | None = None

    @classmethod
    def of(cls, **options: Any) -> RunOptions:
        """The options, with the settings of files among them by their own names."""
        names = {field.name for field in fields(FileSettings)} & options.keys()
        files = FileSettings(**{name: options.pop(name) for name in names})
        return cls(files, **options)


_OF_OUTPUTS = ("batch_rows", "on_error", "work", "guard", "excel")
"""The settings of files that results in memory lack."""


def check_without_output(options: RunOptions, **others: Any) -> None:
    """Raise ``OptionError`` for an option of files of results; ``others`` are further ones, None where not given."""
    values: dict[str, Any] = {name: getattr(options.files, name) for name in _OF_OUTPUTS}
    changed = {name: value for name, value in values.items() if value != getattr(FileSettings, name)}
    switches = {name: True for name in ("resume", "overwrite") if getattr(options, name)}
    for name, value in {**changed, **switches, **others}.items():
        if value is not None:
            raise OptionError(
                Argument(name, value), ": applies to results in a file; name the file with ", Argument("output")
            )


@dataclass(frozen=True)
class RunResult:
    """The result of a run.

    ``seconds`` are the times until the first row was read, of reading and scoring, summed over workers, of writing, and
    the total wall time; engines of several processes add further stages.

    ``output`` and ``rejects`` are paths, or addresses without their secrets.  ``guarded`` is the number of cells of a
    CSV output with a leading quote.  ``notes`` are those of the input.
    """

    output: Path | str
    rejects: Path | str | None
    rows: int
    rejected: int
    resumed_rows: int
    observed: list[Any] = field(repr=False)
    seconds: Mapping[str, float]
    guarded: int = 0
    notes: Sequence[str] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """The metadata of the output: the signature of the job, and its conclusion."""
    complete: bool = False
    """Whether an earlier run completed the output, so that ``resume`` had nothing to do and nothing was observed."""


@dataclass(frozen=True)
class Task:
    """The data that a worker needs.  ``signed``, the output's schema, is given if parts are whole Parquet files.

    ``observe`` receives each part while undefined (NaN) still differs from missing (null); its result is stored with
    the part as JSON for resumed runs.
    """

    source: TableSource
    selection: Selection
    score: Score
    schema: pa.Schema
    limits: Limits
    skip: bool
    observe: Callable[[pa.RecordBatch], Any]
    signed: pa.Schema | None = None
    rows_each: int = 1


@dataclass(frozen=True)
class Finished:
    """A stored part: the bytes of its file, the lines of its rejects, and the position of the next part."""

    data: list[pa.Buffer]
    rows: int
    rejects: str
    stop: Position
    observed: Any
    batch: pa.RecordBatch | None = None
    offset: int = 0


class Watcher(Protocol):
    """Receives an engine's progress: seconds of a stage, and rows done up to a position in the input."""

    def spent(self, stage: str, seconds: float) -> None: ...

    def done(self, rows: int, stop: Position, offset: int) -> None: ...


class Engine(Protocol):
    """Interface of engines: ``behind`` is the number of parts that may wait to be written during scoring."""

    behind: int

    def parts(
        self, task: Task, splits: Sequence[Split], watcher: Watcher
    ) -> Generator[Callable[[], Finished], None, None]:
        """The parts of the splits in order, each as a callable that may still do work; may be closed early."""
        ...
