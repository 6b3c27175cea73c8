"""``fastmetrics judge``: let a model rate the rows of a file."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from fastmetrics.commands.models.model_calls import exit_with_failed_rows, report_spent_budget, spent, watch_spending
from fastmetrics.commands.options.function_parameters import Before, ParametersOf
from fastmetrics.commands.options.option_groups import Arguments, OptionsOf
from fastmetrics.commands.options.option_syntax import FromText, name_list
from fastmetrics.commands.options.shared_options import (
    DryRun,
    Files,
    OutputIfAny,
    Plugins,
    Quiet,
    Table,
    print_bad_rows,
)
from fastmetrics.commands.program.printing import print_result
from fastmetrics.derive.calls.call_options import MODEL, RUBRICS, JudgeOptions
from fastmetrics.errors import OptionError


def judge(
    table: Table,
    *,
    output: OutputIfAny = None,
    rubrics: Annotated[list[str], typer.Option(help=RUBRICS), FromText(name_list)],
    model: Annotated[str, typer.Option(help=MODEL)],
    settings: Annotated[dict[str, Any], OptionsOf(JudgeOptions)],
    arguments: Annotated[Arguments, ParametersOf("fastmetrics.derive.judge.judge")],
    baseline: Annotated[
        str | None,
        typer.Option(help="Earlier judgements of the same ids, for delta in until.", metavar="FILE"),
        Before("resume"),
    ] = None,
    dry_run: DryRun = False,
    files: Files,
    plugin: Plugins = None,
    quiet: Quiet = False,
) -> None:
    """Let a model rate every row by rubrics.

    Store all its replies, and print a summary.
    """
    from fastmetrics.derive.judge.judge_settings import JudgeSettings

    judging = JudgeSettings(rubrics, model, **settings)
    if dry_run:
        from fastmetrics.derive.dry_run import estimate_judging

        typer.echo(str(arguments.call(estimate_judging, settings=judging)))
        if arguments["until"] is not None:
            typer.echo("these are the calls for all rows; --until may end before")
        return
    if output is None:
        raise OptionError("--output is missing: name the file of judgements, or add --dry-run")
    judged = arguments.call(rubrics=judging, watch=watch_spending(quiet))
    report_spent_budget(judged.spending)
    if not quiet:
        run = judged.run
        print_result(judged.summary)
        typer.echo(f"\n{run.rows:,} rows judged in {run.seconds['total']:.1f} s: {run.output}")
        typer.echo(spent(judged.spending))
        print_bad_rows(run)
    exit_with_failed_rows(judged.failed)
