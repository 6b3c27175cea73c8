"""The commands that analyse logs and data sets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import typer

from fastmetrics.cli.options import Arguments, AsJson, OptionsOf, Overwrite, Picture, Table, draw, picture_place
from fastmetrics.cli.terminal import ResultOfCheck
from fastmetrics.tables.outputs import page_target, table_target, write_whole
from fastmetrics.tables.targets import Target


@dataclass(frozen=True, kw_only=True)
class LogOptions:
    """Where the figures of a log go."""

    output: Annotated[
        str | None, typer.Option("--output", "-o", help="Write the figures as JSON to this file.", metavar="PATH")
    ] = None
    overwrite: Overwrite = False
    as_json: AsJson = False

    def analysed(self, arguments: Arguments, function: str, *inputs: Any) -> Any:
        """The figures of a public function, written to the output if there is one.

        Raises ``OutputError`` before anything is read if the output may not be written.
        """
        place = self.place(*inputs)
        figures = arguments.call(function)
        if place is not None:
            place.write(figures.to_json() + "\n")
        return figures

    def place(self, *inputs: Any) -> Target | None:
        """The place of the output, checked before anything is read; raises ``OutputError`` if it may not be written."""
        return None if self.output is None else page_target(self.output, inputs, ".json", overwrite=self.overwrite)


def logs_check_command(
    table: Table,
    *,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with code 1 if anything is found.")] = False,
    arguments: Annotated[Arguments, OptionsOf("check_dataset")],
    options: LogOptions,
) -> Any:
    """Doubled rows and ids, leaks, empty contexts, truncated answers, other languages, contradicting labels."""
    figures = options.analysed(arguments, "check_dataset", table)
    return ResultOfCheck(figures, int(strict and not figures.clean))


def logs_chunks_command(
    log: Table,
    *,
    arguments: Annotated[Arguments, OptionsOf("chunk_utilization")],
    options: LogOptions,
    table: Annotated[
        str | None, typer.Option(help="Write a table of chunks with their use to this file.", metavar="PATH")
    ] = None,
) -> Any:
    """Count how often rankings retrieve it, answers cite it, and users need it."""
    chunks = arguments["chunks"]
    options.place(log, chunks)
    written = [log, chunks, options.output]
    place = None if table is None else table_target(table, written, overwrite=options.overwrite)
    figures = options.analysed(arguments, "chunk_utilization", log, chunks)
    if place is not None:
        write_whole(figures.to_arrow(), place, {"usage": figures.k}, {"chunk"})
    return figures


def logs_domains_command(
    log: Table, *, arguments: Annotated[Arguments, OptionsOf("domain_analysis")], options: LogOptions
) -> Any:
    """Count words, answers, ratings, scripts, languages, repeats, and questions over time."""
    return options.analysed(arguments, "domain_analysis", log)


def logs_topics_command(
    log: Table, *, arguments: Annotated[Arguments, OptionsOf("topic_coverage")], options: LogOptions
) -> Any:
    """Print what the knowledge base has on each topic."""
    return options.analysed(arguments, "topic_coverage", log, arguments["chunks"])


def logs_cache_command(
    log: Table,
    *,
    arguments: Annotated[Arguments, OptionsOf("cache_hit_rate")],
    plot: Picture = None,
    options: LogOptions,
) -> Any:
    """Count the questions that resemble an earlier question with a good answer."""
    picture = picture_place(plot, log, options.output)
    figures = options.analysed(arguments, "cache_hit_rate", log)
    draw(picture, figures)
    return figures


def logs_context_command(
    log: Table, *, arguments: Annotated[Arguments, OptionsOf("context_preservation")], options: LogOptions
) -> Any:
    """The figure is the mean cosine of their embeddings."""
    return options.analysed(arguments, "context_preservation", log)


def logs_sessions_command(
    log: Table,
    *,
    arguments: Annotated[Arguments, OptionsOf("sessions")],
    options: LogOptions,
    table: Annotated[
        str | None,
        typer.Option(
            help="Write a table of sessions with their scores to this file: for compare, gate, report.", metavar="PATH"
        ),
    ] = None,
) -> Any:
    """Print success rate, turns, latency and cost of sessions, with intervals and by segment."""
    options.place(log)
    place = None if table is None else table_target(table, [log, options.output], overwrite=options.overwrite)
    figures = options.analysed(arguments, "sessions", log)
    if place is not None:
        write_whole(figures.to_arrow(), place, {"sessions": figures.sessions}, {"id"})
    return figures
