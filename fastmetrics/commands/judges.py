"""``fastmetrics judges``: what is known of judges, from their files of judgements and people's labels."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def judges(
    judged: Annotated[list[str], typer.Argument(help="Files of judgements.", metavar="JUDGED...", show_default=False)],
    *,
    labels: Annotated[str | None, typer.Option(help="The file of people's labels.", metavar="FILE")] = None,
    label: Annotated[str | None, typer.Option(help="The column of labels; by default the only one of numbers.")] = None,
    by: Annotated[list[str] | None, typer.Option(help="Columns that tell segments apart: language,topic.")] = None,
    on: Annotated[str | None, typer.Option(help="The column to match rows by; by default the id.")] = None,
    positive: Annotated[
        float | None, typer.Option(help="Scores and labels of at least this count as positive.")
    ] = None,
    ranges: Annotated[
        list[str] | None, typer.Option(help="Ranges of scores that no rubric tells: judge_style=0:10,judge_tone=0:1.")
    ] = None,
    prices: Annotated[Path | None, typer.Option(help="Prices of models, TOML or JSON, as judge takes them.")] = None,
    confidence: Annotated[float, typer.Option(help="Confidence of the intervals.")] = 0.95,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> None:
    """Say how steady judges are, how often they fail, and how close they are to people and to each other."""
    from fastmetrics.commands.options import columns as names
    from fastmetrics.commands.options import pairs
    from fastmetrics.results.judge_report import judge_report

    found = judge_report(
        judged,
        labels,
        label=label,
        by=names(by, "--by"),
        on=on,
        positive=positive,
        ranges={axis: _span(axis, text) for axis, text in pairs(ranges, "--ranges", "AXIS=LOW:HIGH").items()},
        prices=prices,
        confidence=confidence,
    )
    typer.echo(found.to_json() if as_json else str(found))


def _span(axis: str, text: str) -> tuple[float, float]:
    """The lowest and the highest score that ``LOW:HIGH`` says."""
    from fastmetrics.errors import OptionError

    low, _, high = text.partition(":")
    try:
        return float(low), float(high)
    except ValueError:
        raise OptionError(f"--ranges {axis}={text}: expected the lowest and the highest score, as in 1:5") from None
