"""The commands of judges: rate rows, print rubrics, report on judges, draw rows to label, look into the store of
calls.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from fastmetrics.base.errors import OptionError
from fastmetrics.cli.model_calls import exit_with_lacking_rows, report_spent_budget, spent, watch_spending
from fastmetrics.cli.options import (
    Arguments,
    AsJson,
    Before,
    DryRun,
    Excel,
    Files,
    FromText,
    Guard,
    Judged,
    OptionsOf,
    Overwrite,
    Plugins,
    Quiet,
    Table,
    guarded,
    name_list,
    names,
    print_bad_rows,
)
from fastmetrics.cli.terminal import echo, echo_line, print_folded, print_result
from fastmetrics.engines.column_maker import RunResult
from fastmetrics.models.call_setup import MODEL, RUBRICS, JudgeOptions
from fastmetrics.models.clients import PRICES

# The commands of judges: rate rows, print rubrics, report on judges, and draw rows for people to label.


def judge(
    table: Table,
    *,
    rubrics: Annotated[list[str], typer.Option(help=RUBRICS), FromText(name_list)],
    model: Annotated[str, typer.Option(help=MODEL)],
    settings: Annotated[dict[str, Any], OptionsOf(JudgeOptions)],
    arguments: Arguments,
    dry_run: DryRun = False,
    files: Files,
    plugin: Plugins = None,
    quiet: Quiet = False,
) -> None:
    """Let a model rate every row by rubrics.

    Store all its replies, and print a summary.
    """
    from fastmetrics.models.judge_batch import JudgeSettings

    judging = JudgeSettings(rubrics, model, **settings)
    if dry_run:
        from fastmetrics.models.dry_run import estimate_judging

        echo(str(arguments.call(estimate_judging, settings=judging)))
        return
    if arguments["output"] is None:
        raise OptionError("--output is missing: name the file of judgements, or add --dry-run")
    judged = arguments.call(rubrics=judging, watch=watch_spending(quiet))
    report_spent_budget(judged.spending)
    if not quiet:
        print_result(judged.summary)
        echo("")
        echo_line(f"{_scored(judged)} in {judged.seconds['total']:.1f} s: {judged.output}")
        echo(spent(judged.spending))
        print_bad_rows(judged)
    exit_with_lacking_rows(judged.failed, {name: axis["statuses"] for name, axis in judged.metadata["judged"].items()})


def _scored(judged: RunResult) -> str:
    """The rows with a score of all rows, by rubric if these differ."""
    scored = {name: judged.summary[name].n for name in judged.metadata["judged"]}
    if set(scored.values()) == {judged.rows}:
        return f"{judged.rows:,} rows judged"
    if len(scored) == 1:
        return f"{sum(scored.values()):,} of {judged.rows:,} rows judged"
    return f"of {judged.rows:,} rows judged: {', '.join(f'{name} {n:,}' for name, n in scored.items())}"


def rubric(
    source: Annotated[
        str | None,
        typer.Argument(help="A built-in rubric to print, or your own .toml file to check and print.", metavar="NAME"),
    ] = None,
    *,
    language: Annotated[str, typer.Option(help="The language of the rubric: en or ru.")] = "en",
) -> None:
    """List the rubrics of judges, or print one.

    Send it to a file, change that, and give its path to judge.
    """
    from fastmetrics.base.options import Choice, argument
    from fastmetrics.models.prompts import LANGUAGES, read_rubric, rubric_path
    from fastmetrics.tables.input_files import read_text

    argument("language", language, Choice(*LANGUAGES))
    if source is None:
        print_folded(_list(language))
        return
    path = rubric_path(source, language)
    read_rubric(path)
    echo(read_text(path), nl=False)


def _list(language: str) -> Iterator[str]:
    """The built-in rubrics in a language: names, kinds, ranges of scores, columns."""
    from fastmetrics.models.prompts import read_rubric, shipped

    rubrics = [read_rubric(path) for stem, path in shipped().items() if stem.endswith(f".{language}")]
    width = max(len(rubric.name) for rubric in rubrics)
    for rubric in rubrics:
        low, high = rubric.range
        columns = ", ".join(
            f"{column} (optional)" if column in rubric.optional else column for column in rubric.columns
        )
        yield f"{rubric.name:{width}}  {rubric.kind}, {low:g} to {high:g}: {columns}"


def judge_report(
    judged: Judged,
    *,
    labels: Annotated[str | None, typer.Option(help="The file of human labels.", metavar="FILE")] = None,
    arguments: Arguments,
    as_json: AsJson = False,
) -> Any:
    """Report how far judges can be trusted.

    Print how consistent judges are, how often they fail, and how far they agree with people and each other.
    """
    return arguments.call()


def sample_rows(
    judged: Judged,
    *,
    output: Annotated[
        str,
        typer.Option("--output", "-o", help="The sheet: a file, with the format given by its suffix.", metavar="PATH"),
    ],
    arguments: Arguments,
    texts: Annotated[
        str | None, typer.Option(help="The file that was judged, for its texts.", metavar="FILE"), Before("on")
    ] = None,
    overwrite: Overwrite = False,
    guard: Guard = True,
    excel: Excel = False,
) -> None:
    """Write a sheet of judged rows for people to label.

    The commands validate and judges read the sheet.
    """
    from fastmetrics.tables.outputs import table_target, write_whole

    place = table_target(output, [judged, texts], overwrite=overwrite)
    sheet = arguments.call()
    quoted = write_whole(sheet, place, {"sample": arguments["strategy"]}, {"id"}, guard=guard, excel=excel)
    echo_line(f"{sheet.num_rows:,} rows: {output}")
    if arguments["strategy"] == "disagreement":
        echo("these rows were selected as difficult: their mean label does not represent the other rows")
    if quoted:
        echo(guarded(quoted))


# ``fastmetrics stored-calls``: show, export and prune a store of calls.


def stored_calls(
    store: Annotated[Path, typer.Argument(help="The store of calls, as in judge --store.", show_default=False)],
    *,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            help="Write all calls to this file, one row per call; the suffix sets the format.",
            metavar="PATH",
        ),
    ] = None,
    prune: Annotated[
        list[str] | None,
        typer.Option(
            help="Delete calls: failures, model=NAME, endpoint=NAME (a server), or days=30 (older than 30 days). "
            "A call is deleted if it matches all conditions."
        ),
        FromText(names),
    ] = None,
    prices: Annotated[str | None, typer.Option(help=PRICES)] = None,
    overwrite: Overwrite = False,
    guard: Guard = True,
    excel: Excel = False,
    as_json: AsJson = False,
    arguments: Arguments,
) -> Any:
    """Show, export or prune the store of model calls."""
    from fastmetrics.models.call_store import CallStore, export, prune_calls, stored_calls

    if output is None and not prune:
        return arguments.call(stored_calls)
    with CallStore(store, create=False) as calls:
        if prune:
            echo_line(f"{prune_calls(calls, prune):,} calls deleted from {store}")
        if output is not None:
            rows, quoted = arguments.call(export, store=calls, out=output)
            echo_line(f"{rows:,} calls written: {output}")
            if quoted:
                echo(guarded(quoted))
    return None
