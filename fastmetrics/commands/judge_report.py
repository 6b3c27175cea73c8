"""``fastmetrics judge-report``: evaluate judges from their output files and human labels."""

from __future__ import annotations

from typing import Annotated

import typer

from fastmetrics.commands.options import AsJson, By, Confidence, Judged, On, Prices


def judge_report(
    judged: Judged,
    *,
    labels: Annotated[str | None, typer.Option(help="The file of human labels.", metavar="FILE")] = None,
    label: Annotated[str | None, typer.Option(help="The column of labels; by default the only numeric column.")] = None,
    by: By = None,
    on: On = None,
    positive: Annotated[
        float | None, typer.Option(help="Scores and labels of at least this value are positive.")
    ] = None,
    ranges: Annotated[
        list[str] | None, typer.Option(help="Ranges of scores without a known rubric: judge_style=0:10,judge_tone=0:1.")
    ] = None,
    prices: Prices = None,
    confidence: Confidence = 0.95,
    as_json: AsJson = False,
) -> None:
    """Report how far judges can be trusted.

    Print how consistent judges are, how often they fail, and how far they agree with people and each other.
    """
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
    """Parse ``LOW:HIGH``, the lowest and the highest score."""
    from fastmetrics.errors import OptionError

    low, _, high = text.partition(":")
    try:
        return float(low), float(high)
    except ValueError:
        raise OptionError(
            f"--ranges {axis}={text}: expected LOW:HIGH, the lowest and highest score, as in 1:5"
        ) from None
