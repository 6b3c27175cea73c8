"""``fastmetrics judge-report``: evaluate judges from their output files and human labels."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from fastmetrics.commands.options.function_parameters import ParametersOf
from fastmetrics.commands.options.option_groups import Arguments
from fastmetrics.commands.options.shared_options import AsJson, Judged


def judge_report(
    judged: Judged,
    *,
    labels: Annotated[str | None, typer.Option(help="The file of human labels.", metavar="FILE")] = None,
    arguments: Annotated[Arguments, ParametersOf("fastmetrics.results.people.judge_report")],
    as_json: AsJson = False,
) -> Any:
    """Report how far judges can be trusted.

    Print how consistent judges are, how often they fail, and how far they agree with people and each other.
    """
    return arguments.call()
