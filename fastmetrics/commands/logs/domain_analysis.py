"""``fastmetrics domain-analysis``: what the users of a log ask."""

from __future__ import annotations

from typing import Annotated

import typer

from fastmetrics.commands.logs.log_options import (
    Languages,
    LogOptions,
    Near,
    TextSample,
)
from fastmetrics.commands.options.option_syntax import name_list
from fastmetrics.commands.options.shared_options import EmbedderName, Table, Threads


def domain_analysis(
    log: Table,
    *,
    indicators: Annotated[
        list[str] | None,
        typer.Option(help="Count questions that contain these words or parts of words: refund,card."),
    ] = None,
    languages: Languages = None,
    embedder: EmbedderName = None,
    near: Near = 0.7,
    sample: TextSample = 10_000,
    options: LogOptions,
    threads: Threads = None,
) -> None:
    """Describe the questions of a log.

    Count words, answers, ratings, scripts, languages, repeats, and questions over time.
    """
    from fastmetrics.usage.domain.domain_analysis import domain_analysis

    place = options.place(log)
    figures = domain_analysis(
        log,
        indicators=name_list(indicators, "--indicators"),
        languages=name_list(languages, "--languages"),
        embedder=embedder,
        near=near,
        sample=sample,
        threads=threads,
        **options.reading(),
    )
    options.show(figures, place)
