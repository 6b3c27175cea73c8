"""The interface of makers of columns: what is made, the settings of a run, and its result."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import pyarrow as pa

from fastmetrics.base.errors import Argument, OptionError
from fastmetrics.base.progress import Progress
from fastmetrics.base.score_metadata import METADATA, BatchSums
from fastmetrics.tables.input_files import FileSettings
from fastmetrics.tables.readers import Limits


class ColumnMaker(ABC):
    """Makes columns from the rows of a table, batch by batch: scores, judgements, answers or embeddings.

    Calling it is pure: a batch of the ``columns`` in, ``rows_each`` rows of made and kept columns out for each of its
    rows, with the same schema for every batch.
    """

    computes = False
    """Whether it only computes, and waits for nothing and nobody."""
    rows_each = 1
    least_rows: int | None = None
    """The fewest rows to make at a time where a function of the user's makes each, which may take long; None: as many
    as are read together.
    """

    @property
    def sources(self) -> Mapping[str, str]:
        """Digests of the files of code that make the columns; a run resumes only with the same."""
        return {}

    @property
    @abstractmethod
    def columns(self) -> Mapping[str, str]:
        """The columns that are read (yours: kind)."""

    @property
    @abstractmethod
    def signature(self) -> Mapping[str, Any]:
        """All settings that the columns depend on, as JSON: stored in the metadata, and the same in a resumed run."""

    @abstractmethod
    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The columns of a batch."""

    def observe(self, part: pa.RecordBatch | pa.Table) -> Any:
        """What the conclusion needs of a part, as JSON; the part still tells undefined (NaN) from missing (null)."""
        return None

    def lasts(self, observed: Any) -> bool:
        """Whether a resumed run may reuse a finished part."""
        return True

    def is_settled(self, metadata: Mapping[str, Any]) -> bool:
        """Whether a resumed run may return a complete output with these metadata, rather than make it again."""
        return True

    def conclude(self, observed: Sequence[Any], rejected: int) -> Mapping[str, Any]:
        """Further metadata, from the observations of all parts in order and the number of rejected rows."""
        return {}

    def concluded(self, run: RunResult, output: str) -> RunResult:
        """The result of a run with its counts and summary; the ``output`` can be read again."""
        return run

    def described(self, table: pa.Table, sums: BatchSums) -> tuple[pa.Table, list[str]]:
        """The columns of a table in memory with their metadata, and notes on them."""
        metadata = {**self.signature, **self.conclude([self.observe(sums.on(table))], 0)}
        return table.replace_schema_metadata({METADATA: json.dumps(metadata)}), []


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


_OF_OUTPUTS = ("batch_rows", "on_error")
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
    the total wall time.

    ``output`` and ``rejects`` are paths, or addresses without their secrets.  ``guarded`` is the number of cells of a
    CSV output with a leading quote.  ``notes`` are those of the input.

    ``summary`` is that of scores and judgements; ``counts`` are the answered rows by status, or the embedded texts by
    column.  Of calls of models, ``spending`` says what they cost, and ``failed`` counts the rows without a reply, by
    status.
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
    """The metadata of the output: the signature of its maker, and the conclusion."""
    complete: bool = False
    """Whether an earlier run completed the output, so that ``resume`` had nothing to do and nothing was observed."""
    summary: Any = None
    counts: Mapping[str, int] = field(default_factory=dict)
    failed: Mapping[str, int] = field(default_factory=dict)
    spending: Any = None
