"""The interface of engines: the job, the data sent to workers, and the result."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from fastmetrics.core.allowed_values import Choice, Optional, Rows, argument
from fastmetrics.engines.score_chunk import Score
from fastmetrics.engines.span_parts import Finished, Task
from fastmetrics.errors import OptionError
from fastmetrics.errors.messages import Argument
from fastmetrics.tables.chunks import Limits, Place, Span


@dataclass(frozen=True)
class Progress:
    """The progress of a run: finished and total rows (None if unknown), finished and total bytes of files."""

    rows: int
    total_rows: int | None
    nbytes: int
    total_bytes: int


@dataclass(frozen=True)
class Job:
    """The scoring of each batch, and the metadata to write.

    ``score`` is pure: a batch of the wanted ``columns`` (yours: kind) in, ``rows_each`` rows of scores and kept columns
    out for each of its rows, with the same schema for every batch.  ``signature`` (JSON) describes the settings of the
    scores; it is stored in the output's metadata, and a run resumes only with the same signature.  ``observe`` receives
    each part's scores while NaN and null differ, and returns JSON; ``conclude`` computes further metadata from all
    observations, in order, and from the number of rejected rows.  ``lasts`` decides, from an observation, whether a
    resumed run may reuse a finished part.
    """

    score: Score
    columns: Mapping[str, str]
    signature: Mapping[str, Any] = field(default_factory=dict)
    observe: Callable[[pa.RecordBatch], Any] = lambda part: None
    conclude: Callable[[list[Any], int], Mapping[str, Any]] = lambda observed, rejected: {}
    lasts: Callable[[Any], bool] = lambda observed: True
    rows_each: int = 1


@dataclass(frozen=True)
class RunOptions:
    """Options of a run, from the command line to the engine; none of them changes a score.

    ``on_error="skip"`` writes bad rows to a file of rejects; ``resume`` continues an interrupted run, and ``overwrite``
    replaces an output.  ``work`` is the local folder for the parts of an output in a store, ``guard`` adds a quote
    before text of CSV that a spreadsheet would run, ``progress`` is called with the progress of the run.
    ``batch_rows`` limits the rows of a batch; ``limits`` has further limits of batches and parts.
    """

    on_error: str = "fail"
    resume: bool = False
    overwrite: bool = False
    work: str | Path | None = None
    guard: bool = True
    progress: Callable[[Progress], None] | None = None
    batch_rows: int | None = None
    limits: Limits | None = None

    def __post_init__(self) -> None:
        """Raise ``OptionError`` for an invalid value."""
        argument("on_error", self.on_error, Choice("fail", "skip"))
        argument("batch_rows", self.batch_rows, Optional(Rows))


_IN_MEMORY = ("limits", "progress")
"""The options that results in memory have too."""


def check_without_output(options: RunOptions, **others: Any) -> None:
    """Raise ``OptionError`` for an option of files of results; ``others`` are further ones, None where not given."""
    defaults = RunOptions()
    values = {field.name: getattr(options, field.name) for field in fields(options)}
    set_ = {
        name: value for name, value in values.items() if value != getattr(defaults, name) and name not in _IN_MEMORY
    }
    for name, value in {**set_, **{name: value for name, value in others.items() if value is not None}}.items():
        raise OptionError(
            Argument(name, value), ": applies to results in a file; name the file with ", Argument("output")
        )


@dataclass(frozen=True)
class RunResult:
    """The result of a run.

    ``seconds`` are the times until the first row was read, of reading and scoring, summed over workers, of writing, and
    the total wall time; engines of several processes add further stages.

    ``output`` and ``rejects`` are paths, or addresses without their secrets.  ``guarded`` is the number of cells of a
    CSV output with a leading quote.  ``notes`` are those of the input, such as files that were changed since this
    package wrote them.
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


class Watcher(Protocol):
    """Receives an engine's progress: seconds of a stage, and rows done up to a position, ``offset`` bytes into it."""

    def spent(self, stage: str, seconds: float) -> None: ...

    def done(self, rows: int, stop: Place, offset: int) -> None: ...


class Engine(Protocol):
    """Interface of engines: ``behind`` is the number of parts that may wait to be written during scoring."""

    behind: int

    def parts(
        self, task: Task, spans: Sequence[Span], watcher: Watcher
    ) -> Generator[Callable[[], Finished], None, None]:
        """The parts of the spans in order, each as a callable that may still do work; may be closed early."""
        ...
