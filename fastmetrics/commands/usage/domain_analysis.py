"""``fastmetrics domain-analysis``: what the users of a log ask."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from fastmetrics.commands.options.option_groups import Arguments
from fastmetrics.commands.options.option_syntax import FromText, names
from fastmetrics.commands.options.shared_options import EmbedderName, Table, Threads
from fastmetrics.commands.usage.usage_options import (
    Languages,
    LogOptions,
    Near,
    TextSample,
)


def domain_analysis(
    log: Table,
    *,
    indicators: Annotated[
        list[str] | None,
        typer.Option(help="Count questions that contain these words or parts of words: refund,card."),
        FromText(names),
    ] = None,
    languages: Languages = None,
    embedder: EmbedderName = None,
    near: Near = 0.7,
    sample: TextSample = 10_000,
    options: LogOptions,
    threads: Threads = None,
    arguments: Arguments,
) -> Any:
    """Describe the questions of a log.

    Count words, answers, ratings, scripts, languages, repeats, and questions over time.
    """
    from fastmetrics.usage.domain.domain_analysis import domain_analysis

    return options.analysed(domain_analysis, arguments, log)
