"""``fastmetrics judge-report``: evaluate judges from their output files and human labels."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from fastmetrics.commands.options.option_groups import Arguments
from fastmetrics.commands.options.option_syntax import FromText, pairs
from fastmetrics.commands.options.shared_options import AsJson, By, Confidence, Judged, Label, On, Positive, Prices


def judge_report(
    judged: Judged,
    *,
    labels: Annotated[str | None, typer.Option(help="The file of human labels.", metavar="FILE")] = None,
    label: Label = None,
    by: By = None,
    on: On = None,
    positive: Positive = None,
    ranges: Annotated[
        list[str] | None,
        typer.Option(help="Ranges of scores without a known rubric: judge_style=0:10,judge_tone=0:1."),
        FromText(_ranges),
    ] = None,
    prices: Prices = None,
    confidence: Confidence = 0.95,
    as_json: AsJson = False,
    arguments: Arguments,
) -> Any:
    """Report how far judges can be trusted.

    Print how consistent judges are, how often they fail, and how far they agree with people and each other.
    """
    from fastmetrics.results.people.judge_report import judge_report

    return arguments.call(judge_report)


def _ranges(values: list[str], option: str) -> dict[str, tuple[float, float]] | None:
    """The lowest and the highest score by axis."""
    return {axis: _span(axis, text) for axis, text in pairs(values, option, "AXIS=LOW:HIGH").items()} or None


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
