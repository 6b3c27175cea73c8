"""``fastmetrics domain-analysis``: what the users of a log ask."""

from __future__ import annotations

from typing import Annotated

import typer

from fastmetrics.commands import log_options
from fastmetrics.commands.options import Threads


def domain_analysis(
    log: log_options.Logs,
    *,
    indicators: Annotated[
        list[str] | None,
        typer.Option(help="Count questions that contain these words or parts of words: refund,card."),
    ] = None,
    languages: Annotated[
        list[str] | None, typer.Option(help="Detect the languages of a sample, among these: en,ru,de.")
    ] = None,
    embedder: log_options.Embedder = None,
    near: Annotated[float, typer.Option(help="Minimum cosine of near repeats.")] = 0.7,
    sample: Annotated[int, typer.Option(help="Distinct questions sampled for languages and near repeats.")] = 10_000,
    columns: log_options.ColumnNames = None,
    schema: log_options.Schema = None,
    format: log_options.Format = None,
    output: log_options.Output = None,
    overwrite: log_options.Overwrite = False,
    threads: Threads = None,
    as_json: log_options.AsJson = False,
) -> None:
    """Describe the questions of a log.

    Count words, answers, ratings, scripts, languages, repeats, and questions over time.
    """
    from fastmetrics.commands.options import columns as names
    from fastmetrics.commands.options import pairs
    from fastmetrics.usage.domain.domain_analysis import domain_analysis

    place = log_options.output_place(output, log, overwrite=overwrite)
    found = domain_analysis(
        log,
        indicators=names(indicators, "--indicators"),
        languages=names(languages, "--languages"),
        embedder=embedder,
        near=near,
        sample=sample,
        columns=pairs(columns),
        schema=schema,
        format=format,
        threads=threads,
    )
    log_options.show(found, place, as_json)
