"""The commands of judges: rate rows, print rubrics, report on judges, draw rows to judge, look into the store of
calls.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from fastmetrics.base import shared_parameters as shared
from fastmetrics.base.errors import OptionError
from fastmetrics.base.options import Choice, argument
from fastmetrics.base.score_metadata import ScoreMetadata
from fastmetrics.base.shared_parameters import help_of
from fastmetrics.cli.model_calls import exit_with_lacking_rows, report_spent_budget, spent, watch_spending
from fastmetrics.cli.options import (
    Arguments,
    AsJson,
    DryRun,
    FromText,
    Judged,
    OptionsOf,
    Overwrite,
    Plugins,
    Quiet,
    Scores,
    Spelling,
    Table,
    guarded,
    name_list,
    names,
    print_bad_rows,
)
from fastmetrics.cli.terminal import echo, echo_line, print_folded, print_result
from fastmetrics.engines.column_maker import RunResult
from fastmetrics.models.call_setup import MODEL, RUBRICS, JudgeOptions
from fastmetrics.models.call_store import CallStore, prune_calls, stored_calls
from fastmetrics.models.dry_run import estimate_judging
from fastmetrics.models.judge import judge
from fastmetrics.models.judge_batch import JudgeSettings
from fastmetrics.models.prompts import LANGUAGES, read_rubric, rubric_path, shipped
from fastmetrics.results.judge_report import judge_report
from fastmetrics.results.sampling import sample, with_sample
from fastmetrics.results.worst_rows import TEXTS
from fastmetrics.tables.input_files import read_text
from fastmetrics.tables.outputs import table_target, write_whole

# The commands of judges: rate rows, print rubrics, report on judges, and draw rows to judge.


def judge_run_command(
    table: Table,
    *,
    rubrics: Annotated[list[str], typer.Option(help=RUBRICS), FromText(name_list)],
    model: Annotated[str, typer.Option(help=MODEL)],
    settings: Annotated[dict[str, Any], OptionsOf(JudgeOptions)],
    arguments: Annotated[Arguments, OptionsOf(judge)],
    dry_run: DryRun = False,
    plugin: Plugins = None,
    quiet: Quiet = False,
) -> None:
    """Store all its replies, and print a summary."""
    judging = JudgeSettings(rubrics, model, **settings)
    if dry_run:
        echo(str(arguments.call(estimate_judging, settings=judging)))
        return
    if arguments["output"] is None:
        raise OptionError("--output is missing: name the file of judgements, or add --dry-run")
    judged = arguments.call(judge, rubrics=judging, watch=watch_spending(quiet))
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


def judge_rubrics_command(
    source: Annotated[
        str | None,
        typer.Argument(help="A built-in rubric to print, or your own .toml file to check and print.", metavar="NAME"),
    ] = None,
    *,
    language: Annotated[str, typer.Option(help="The language of the rubric: en or ru.")] = "en",
) -> None:
    """Send it to a file, change that, and give its path as a rubric."""
    argument("language", language, Choice(*LANGUAGES))
    if source is None:
        print_folded(_list(language))
        return
    path = rubric_path(source, language)
    read_rubric(path)
    echo(read_text(path), nl=False)


def _list(language: str) -> Iterator[str]:
    """The built-in rubrics in a language: names, kinds, ranges of scores, columns."""
    rubrics = [read_rubric(path) for stem, path in shipped().items() if stem.endswith(f".{language}")]
    width = max(len(rubric.name) for rubric in rubrics)
    for rubric in rubrics:
        low, high = rubric.range
        columns = ", ".join(
            f"{column} (optional)" if column in rubric.optional else column for column in rubric.columns
        )
        yield f"{rubric.name:{width}}  {rubric.kind}, {low:g} to {high:g}: {columns}"


def judge_report_command(
    judged: Judged,
    *,
    arguments: Annotated[Arguments, OptionsOf(judge_report, labels=Spelling("FILE"))],
    as_json: AsJson = False,
) -> Any:
    """Print how consistent judges are, how often they fail, and how far they agree with people and each other."""
    return arguments.call(judge_report)


def sample_command(
    scores: Scores,
    *,
    output: Annotated[
        str,
        typer.Option("--output", "-o", help="The rows: a file, with the format given by its suffix.", metavar="PATH"),
    ],
    budget: Annotated[int | None, typer.Option(help="Rows to draw; of a second sample, rows to add.", min=1)] = None,
    for_: Annotated[
        str | None, typer.Option("--for", help="The dear column that is to be made.", metavar="COLUMN")
    ] = None,
    using: Annotated[
        list[str] | None,
        typer.Option(help="Cheap columns that tell something about it.", metavar="COLUMN,..."),
        FromText(names),
    ] = None,
    arguments: Annotated[
        Arguments,
        OptionsOf(
            *(sample, with_sample),
            **dict.fromkeys(("pilot", "judged", "texts", "drawn"), Spelling("FILE")),
        ),
    ],
    overwrite: Overwrite = False,
) -> None:
    """With --budget, draw rows; with --judged alone, write all rows with the dear column of the drawn ones.

    The commands summarize, compare, gate and report estimate from such a file by themselves.
    """
    inputs = [scores, *(arguments[name] for name in ("pilot", "judged", "texts", "drawn"))]
    place = table_target(output, inputs, overwrite=overwrite)
    if budget is None:
        if arguments["judged"] is None:
            raise OptionError("give --budget to draw rows, or --judged to put the scores of drawn rows back")
        table = arguments.call(with_sample, scores=scores)
    elif arguments["drawn"] is not None:
        raise OptionError("--drawn goes with --judged, without --budget: it joins ids and scores with their sample")
    else:
        table = arguments.call(sample, scores=scores)
    metadata = ScoreMetadata.of_schema(table.schema).stored
    quoted = write_whole(table.replace_schema_metadata(None), place, metadata, {"id"})
    echo_line(f"{table.num_rows:,} rows: {output}")
    if budget is not None and not {*TEXTS} & {*table.column_names}:
        echo("they have no texts; --texts FILE, the file that was scored, adds these for judges and people")
    if quoted:
        echo(guarded(quoted))


# ``fastmetrics judge store``: show and prune a store of calls.


def judge_store_command(
    store: Annotated[Path, typer.Argument(help="The store of calls, as in --store.", show_default=False)],
    *,
    prune: Annotated[
        list[str] | None,
        typer.Option(
            help="Delete calls: failures, model=NAME, endpoint=NAME (a server), or days=30 (older than 30 days). "
            "A call is deleted if it matches all conditions."
        ),
        FromText(names),
    ] = None,
    prices: Annotated[str | None, typer.Option(help=help_of(shared.Prices))] = None,
    as_json: AsJson = False,
) -> Any:
    """Without an option, print the number of calls by model, server and outcome, with their tokens."""
    if not prune:
        return stored_calls(store, prices=prices)
    with CallStore(store, create=False) as calls:
        echo_line(f"{prune_calls(calls, prune):,} calls deleted from {store}")
    return None
