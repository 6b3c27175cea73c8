"""The commands that analyse logs and data sets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fastmetrics.cli.options import Arguments, AsJson, Before, Overwrite, Reading, Table
from fastmetrics.cli.terminal import ResultOfCheck

if TYPE_CHECKING:
    from fastmetrics.tables.targets import Target


@dataclass(frozen=True, kw_only=True)
class LogOptions:
    """Where the figures of a log go."""

    output: Annotated[
        str | None, typer.Option("--output", "-o", help="Write the figures as JSON to this file.", metavar="PATH")
    ] = None
    overwrite: Overwrite = False
    as_json: AsJson = False

    def analysed(self, arguments: Arguments, *inputs: Any) -> Any:
        """The figures of the command's function, written to the output if there is one.

        Raises ``OutputError`` before anything is read if the output may not be written.
        """

        place = self.place(*inputs)
        figures = arguments.call()
        if place is not None:
            place.write(figures.to_json() + "\n")
        return figures

    def place(self, *inputs: Any) -> Target | None:
        """The place of the output, checked before anything is read; raises ``OutputError`` if it may not be written."""
        from fastmetrics.tables.outputs import page_target

        return None if self.output is None else page_target(self.output, inputs, overwrite=self.overwrite)


def check_dataset(
    table: Table,
    *,
    arguments: Arguments,
    reading: Reading,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with code 1 if anything is figures."), Before("columns")
    ] = False,
    options: LogOptions,
) -> Any:
    """Look for faults of a dataset.

    Doubled rows and ids, leaks, empty contexts, truncated answers, other languages, contradicting labels.
    """
    figures = options.analysed(arguments, table)
    return ResultOfCheck(figures, figures.clean or not strict)


def chunk_utilization(
    log: Table,
    *,
    arguments: Arguments,
    reading: Reading,
    options: LogOptions,
    table: Annotated[
        str | None, typer.Option(help="Write a table of chunks with their use to this file.", metavar="PATH")
    ] = None,
) -> Any:
    """Count how often each chunk of a log is used.

    Count how often rankings retrieve it, answers cite it, and users need it.
    """
    from fastmetrics.tables.outputs import table_target, write_whole

    chunks = arguments["chunks"]
    options.place(log, chunks)
    written = [log, chunks, options.output]
    place = None if table is None else table_target(table, written, overwrite=options.overwrite)
    figures = options.analysed(arguments, log, chunks)
    if place is not None:
        write_whole(figures.to_arrow(), place, {"usage": figures.k}, {"chunk"})
    return figures


def domain_analysis(
    log: Table,
    *,
    arguments: Arguments,
    reading: Reading,
    options: LogOptions,
) -> Any:
    """Describe the questions of a log.

    Count words, answers, ratings, scripts, languages, repeats, and questions over time.
    """
    return options.analysed(arguments, log)


def topic_coverage(
    log: Table,
    *,
    arguments: Arguments,
    reading: Reading,
    options: LogOptions,
) -> Any:
    """Find topics of questions, and gaps of knowledge.

    Print what the knowledge base has on each topic.
    """
    return options.analysed(arguments, log, arguments["chunks"])


def cache_hit_rate(
    log: Table,
    *,
    arguments: Arguments,
    reading: Reading,
    options: LogOptions,
) -> Any:
    """Estimate what a cache of answers would have saved.

    Count the questions that resemble an earlier question with a good answer.
    """
    return options.analysed(arguments, log)


def context_preservation(
    log: Table,
    *,
    arguments: Arguments,
    reading: Reading,
    options: LogOptions,
) -> Any:
    """Measure how similar the questions of a session are.

    The figure is the mean cosine of their embeddings.
    """
    return options.analysed(arguments, log)
