"""``fastmetrics validate``: compare scores with human labels."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from fastmetrics.commands.options.function_parameters import ParametersOf
from fastmetrics.commands.options.option_groups import Arguments
from fastmetrics.commands.options.shared_options import AsJson, Plugins, Scores, Threads


def validate(
    scores: Scores,
    labels: Annotated[str, typer.Argument(help="The file of human labels.", show_default=False)],
    *,
    arguments: Annotated[Arguments, ParametersOf("fastmetrics.results.people.validate")],
    plugin: Plugins = None,
    threads: Threads = None,
    as_json: AsJson = False,
) -> Any:
    """Compare every metric with human labels.

    Print correlations, ROC AUC, best threshold, intervals and agreement.
    """
    return arguments.call()
