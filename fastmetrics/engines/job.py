"""What an engine is asked to do, what it hands to its workers, and what comes of it."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from fastmetrics.core.allowed_values import Choice, Optional, Rows, argument
from fastmetrics.engines.score_chunk import Score
from fastmetrics.engines.span_parts import Finished, Task
from fastmetrics.tables.chunks import Limits, Place, Span


@dataclass(frozen=True)
class Progress:
    """How far a run is: rows done, rows in all (None if the files do not tell), bytes of files done and in all."""

    rows: int
    total_rows: int | None
    nbytes: int
    total_bytes: int


@dataclass(frozen=True)
class Job:
    """What to do with each batch, and what to say of it.

    ``score`` is pure: a batch of the wanted ``columns`` (yours: kind) in, as many rows of scores and kept columns out,
    of the same schema for any batch.  ``signature`` (JSON) says what made the scores: it goes into the output's
    metadata, and a run resumes only under the same.  ``observe`` sees each part's scores, NaN and null still apart,
    and returns JSON; ``conclude`` makes further metadata of all that was observed, in order, and of the number of rows
    that were rejected.  ``lasts`` says, from what was observed, whether a resumed run may take a finished part over.
    """

    score: Score
    columns: Mapping[str, str]
    signature: Mapping[str, Any] = field(default_factory=dict)
    observe: Callable[[pa.RecordBatch], Any] = lambda part: None
    conclude: Callable[[list[Any], int], Mapping[str, Any]] = lambda observed, rejected: {}
    lasts: Callable[[Any], bool] = lambda observed: True


@dataclass(frozen=True)
class RunOptions:
    """How a run goes about its work, from the command line to the engine; nothing here changes a score.

    ``on_error="skip"`` sends bad rows to a file of rejects; ``resume`` goes on with a run that was cut short, and
    ``overwrite`` replaces an output.  ``work`` is where the parts of an output in a store are kept, ``guard`` puts a
    quote before text of CSV that a spreadsheet would run, ``progress`` hears how far the run is.  At most
    ``batch_rows`` are scored at a time; ``limits`` says more of batches and parts.
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
        """Raise ``OptionError`` for a value that an option cannot have."""
        argument("on_error", self.on_error, Choice("fail", "skip"))
        argument("batch_rows", self.batch_rows, Optional(Rows))


@dataclass(frozen=True)
class RunResult:
    """What a run made.

    ``seconds`` are those until the first row was read, those spent reading and scoring, summed over workers, and
    writing, and those of the clock in all; engines of several processes add stages of their own.

    ``output`` and ``rejects`` are paths, or addresses without their secrets.  ``guarded`` cells of a CSV output got a
    quote in front, as a spreadsheet would run them.
    """

    output: Path | str
    rejects: Path | str | None
    rows: int
    rejected: int
    resumed_rows: int
    observed: list[Any] = field(repr=False)
    seconds: Mapping[str, float]
    guarded: int = 0


class Watcher(Protocol):
    """What an engine tells of its work: seconds of a stage, and rows done up to a place, ``offset`` bytes into it."""

    def spent(self, stage: str, seconds: float) -> None: ...

    def done(self, rows: int, stop: Place, offset: int) -> None: ...


class Engine(Protocol):
    """Who scores: ``behind`` is how many parts may wait to be written while further ones are scored."""

    behind: int

    def parts(
        self, task: Task, spans: Sequence[Span], watcher: Watcher
    ) -> Generator[Callable[[], Finished], None, None]:
        """The parts of the spans in order, each as a call that may have work left to do; may be closed early."""
        ...
