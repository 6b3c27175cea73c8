"""``fastmetrics domain``: what the users of a log ask."""

from __future__ import annotations

from typing import Annotated

import typer

from fastmetrics.commands import log_options as log
from fastmetrics.commands.options import Threads


def domain(
    inputs: log.Logs,
    *,
    indicators: Annotated[
        list[str] | None,
        typer.Option(help="Count questions that contain these words or parts of words: refund,card."),
    ] = None,
    languages: Annotated[
        list[str] | None, typer.Option(help="Detect the languages of a sample, among these: en,ru,de.")
    ] = None,
    embedder: log.Embedder = None,
    near: Annotated[float, typer.Option(help="Minimum cosine of near repeats.")] = 0.7,
    sample: Annotated[int, typer.Option(help="Distinct questions sampled for languages and near repeats.")] = 10_000,
    columns: log.ColumnNames = None,
    schema: log.Schema = None,
    format: log.Format = None,
    out: log.Out = None,
    overwrite: log.Overwrite = False,
    threads: Threads = None,
    as_json: log.AsJson = False,
) -> None:
    """Describe the questions of a log.

    Count words, answers, ratings, scripts, languages, repeats, and questions over time.
    """
    from fastmetrics.commands.options import columns as names
    from fastmetrics.commands.options import pairs
    from fastmetrics.usage.domain import domain_analysis

    place = log.out_place(out, inputs, overwrite=overwrite)
    found = domain_analysis(
        inputs,
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
    log.show(found, place, as_json)
