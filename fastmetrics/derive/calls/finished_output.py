"""Opening the output of a run of model calls; a finished one with failed calls says how to ask for them again."""

from __future__ import annotations

from pathlib import Path

from fastmetrics.base.errors import Argument, FastmetricsError, OutputError
from fastmetrics.base.score_metadata import ScoreMetadata
from fastmetrics.derive.judge.judged_columns import failed_calls, summed
from fastmetrics.engines.job import RunOptions
from fastmetrics.engines.run_job import open_output
from fastmetrics.tables.run_outputs import Output, read_metadata
from fastmetrics.tables.sources import TableSource


def open_calls_output(output: str | Path, source: TableSource, options: RunOptions) -> Output:
    """The output of a run; raises ``OutputError`` if it exists or cannot be written."""
    try:
        return open_output(output, source, options)
    except OutputError as error:
        failed = _failed(output) if options.resume and not options.overwrite else {}
        if not failed:
            raise
        count = sum(failed.values())
        rows = f"{count:,} {'row' if count == 1 else 'rows'}"
        by_status = ", ".join(f"{number:,} {status}" for status, number in failed.items())
        raise OutputError(
            f"{output} is complete, and calls of {rows} failed in it ({by_status}); to ask for them again, use ",
            Argument("overwrite", True),
            ": all other replies come from the store",
        ) from error


def _failed(output: str | Path) -> dict[str, int]:
    """The rows whose calls failed in a finished output, by status; none if it is no such output."""
    try:
        metadata = ScoreMetadata.of(read_metadata(output))
    except (FastmetricsError, OSError):  # the caller reports the error of opening the output
        return {}
    counts = [*(metadata.judged or {}).values(), metadata.answered or {}]
    return failed_calls(summed(of_rows.get("statuses", {}) for of_rows in counts))
