"""Settings of runs that users hand on as one object: how files are read and written, and where Ray runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastmetrics.base.options import Choice, Optional, Rows, about, argument, with_parameters

if TYPE_CHECKING:
    from fastmetrics.tables.sources import TableSource


@with_parameters
@dataclass(frozen=True, kw_only=True)
class FileSettings:
    """How files of rows are read, and how results are written to files; none of the settings changes a result.

    {parameters}

    >>> import pathlib, tempfile, fastmetrics as fm
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "rows.txt").write_text('{"answer": "yes"}')
    >>> files = fm.FileSettings(format="jsonl", on_error="skip")
    >>> fm.score(folder / "rows.txt", "answer_words", output=folder / "scores.csv", files=files).run.rows
    1

    Raises ``OptionError`` for an invalid setting.
    """

    format: str | None = field(
        default=None,
        metadata=about("The format of all files, if their suffixes do not show it: parquet, jsonl, csv, tsv, arrow."),
    )
    query: str | None = field(
        default=None,
        metadata=about("The query whose rows are read, if the input is the address of a database: select …"),
    )
    max_row_bytes: int | None = field(
        default=None, metadata=about("Maximum bytes of a row; a longer row is a bad row. Default: 67108864 (64 MiB).")
    )
    batch_rows: int | None = field(default=None, metadata=about("Maximum rows per batch."))
    on_error: str = field(
        default="fail", metadata=about("fail: a bad row ends the run; skip: bad rows go to OUT.rejects.jsonl.")
    )
    work: str | Path | None = field(
        default=None,
        metadata=about("The local folder for results before they are uploaded; by default in ~/.cache."),
    )
    guard: bool = field(
        default=True,
        metadata=about(
            "Write a leading quote in CSV before text that a spreadsheet would run as a formula (=, +, -, @ …)."
        ),
    )

    def __post_init__(self) -> None:
        """Raise ``OptionError`` for an invalid value."""
        argument("on_error", self.on_error, Choice("fail", "skip"))
        argument("batch_rows", self.batch_rows, Optional(Rows))

    def open(self, table: Any) -> TableSource:
        """A table in memory or in files; raises the errors of opening it."""
        from fastmetrics.tables.sources import open_table

        return open_table(table, self.format, self.max_row_bytes, self.query)


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
