"""``fastmetrics gate``: check scores against rules, with an exit code for CI."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from fastmetrics.commands.options.function_parameters import ParametersOf
from fastmetrics.commands.options.option_groups import Arguments
from fastmetrics.commands.options.option_syntax import FromText, as_given
from fastmetrics.commands.options.shared_options import AsJson, AsMarkdown, Plugins, Scores
from fastmetrics.commands.program.printing import ResultOfCheck


def gate(
    scores: Scores,
    *,
    require: Annotated[
        list[str] | None,
        typer.Option("--require", "-r", help="A rule, repeatable: 'token_f1.mean >= 0.6'."),
        FromText(as_given),
    ] = None,
    arguments: Annotated[Arguments, ParametersOf("fastmetrics.results.gate.gate")],
    junit: Annotated[str | None, typer.Option(help="Also write JUnit XML to this file.", metavar="FILE")] = None,
    plugin: Plugins = None,
    as_json: AsJson = False,
    as_markdown: AsMarkdown = False,
) -> Any:
    """Check scores against rules, by the exit code.

    The exit code is 0 if all rules are met, and 1 if one is broken.
    """
    from fastmetrics.errors import OptionError
    from fastmetrics.tables.output.write_table import page_place, write_page

    if not (require or arguments["rules"]):
        raise OptionError("no rule given; add --require 'token_f1.mean >= 0.6' or --rules FILE")
    inputs = [scores, arguments["rules"], arguments["baseline"]]
    place = None if junit is None else page_place(junit, inputs, overwrite=True)
    verdict = arguments.call()
    if place is not None:
        write_page(place, verdict.to_junit())
    return ResultOfCheck(verdict, verdict.passed)
