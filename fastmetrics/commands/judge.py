"""``fastmetrics judge``: let a model rate the rows of a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from fastmetrics.commands.calls import (
    exit_with_failed_rows,
    progress_of_calls,
    report_spent_budget,
    sent_parameters,
    spent,
)
from fastmetrics.commands.options import GUARD, Plugins, TextLists, guarded
from fastmetrics.errors import OptionError


def judge(
    table: Annotated[
        list[str],
        typer.Argument(help="Files of answers (any input of score), or - for standard input.", metavar="INPUT..."),
    ],
    *,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            help="The output: a file, with the format given by its suffix, or a folder of parts.",
            metavar="PATH",
        ),
    ] = None,
    model: Annotated[str, typer.Option(help="The judge's model, by the server's name.")],
    rubrics: Annotated[
        list[str],
        typer.Option(
            help="Rubrics: relevance, faithfulness, safety, robustness, correctness (1 to 5), answer_relevance, "
            "answer_faithfulness, e2e (0 to 1), or your own .toml files."
        ),
    ],
    base_url: Annotated[
        str | None,
        typer.Option(help="The server's address, or NAME: of a model client. Default: OPENAI_BASE_URL, or OpenAI's."),
    ] = None,
    endpoint: Annotated[
        str | None, typer.Option(help="The name of the server in the store. Default: host and path of its address.")
    ] = None,
    language: Annotated[str, typer.Option(help="The language of the rubrics: en or ru.")] = "en",
    parameters: Annotated[
        list[str] | None,
        typer.Option(help="Parameters of each call: temperature=0.5,max_tokens=200. Default: temperature=0."),
    ] = None,
    repeats: Annotated[int, typer.Option(help="Number of repeats of each call.")] = 1,
    structured: Annotated[
        bool, typer.Option("--structured/--no-structured", help="Request structured output if the server supports it.")
    ] = True,
    max_chars: Annotated[
        int, typer.Option(help="Maximum characters of a prompt; a longer prompt is not sent.")
    ] = 400_000,
    keep_replies: Annotated[
        bool, typer.Option("--keep-replies", help="Copy the model's replies and reasoning to the output.")
    ] = False,
    keep: Annotated[list[str] | None, typer.Option(help="Columns to copy to the output in addition to the id.")] = None,
    columns: Annotated[list[str] | None, typer.Option(help="Your column names: answer=text,...")] = None,
    schema: Annotated[
        str | None, typer.Option(help="A preset of column names: ragas, deepeval, mlflow, hf, autorag.")
    ] = None,
    sample: Annotated[int | None, typer.Option(help="Judge only a random sample of this many rows.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the sample, and of the order in which --until judges rows.")] = 1,
    until: Annotated[
        str | None,
        typer.Option(
            help="Stop judging when this is met: 'correctness.delta.low > 0 or width < 0.02'. Rows are judged in "
            "random order; the other rows get the status unasked."
        ),
    ] = None,
    baseline: Annotated[
        str | None, typer.Option(help="Earlier judgements of the same ids, for delta in --until.", metavar="FILE")
    ] = None,
    store: Annotated[
        Path | None, typer.Option(help="The file that stores all calls. Default: calls.sqlite in ~/.cache/fastmetrics.")
    ] = None,
    retry: Annotated[
        list[str] | None, typer.Option(help="Repeat stored calls with these statuses: unparsed,truncated,refused.")
    ] = None,
    concurrency: Annotated[int, typer.Option(help="Maximum concurrent calls.")] = 16,
    rpm: Annotated[float | None, typer.Option(help="Maximum requests per minute.")] = None,
    tpm: Annotated[float | None, typer.Option(help="Maximum tokens per minute.")] = None,
    timeout: Annotated[float, typer.Option(help="Timeout of a call, in seconds.")] = 60.0,
    tries: Annotated[int, typer.Option(help="Maximum attempts of a call.")] = 5,
    max_reply_bytes: Annotated[
        int, typer.Option(help="Maximum bytes of a reply; a longer reply gives the status http.")
    ] = 1_048_576,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Estimate the calls and their cost; send nothing.")
    ] = False,
    max_calls: Annotated[int | None, typer.Option(help="Maximum requests of this run.")] = None,
    max_cost: Annotated[
        float | None,
        typer.Option(help="Maximum cost of the calls, by the prices: calls that might exceed it are not made."),
    ] = None,
    max_unparsed: Annotated[
        int, typer.Option(help="Stop if none of this many first replies has a score; 0 never stops.")
    ] = 20,
    prices: Annotated[
        str | None,
        typer.Option(help='Prices of a million tokens, TOML or JSON: {"MODEL": {"input": 0.5, "output": 2}}.'),
    ] = None,
    lists: TextLists = None,
    format: Annotated[
        str | None, typer.Option(help="The input format, if the suffix does not show it: parquet, jsonl, csv, ...")
    ] = None,
    max_row_bytes: Annotated[
        int | None, typer.Option(help="Maximum bytes of a row; a longer row is a bad row. Default: 67108864 (64 MiB).")
    ] = None,
    on_error: Annotated[
        str, typer.Option(help="fail: a bad row ends the run; skip: bad rows go to OUT.rejects.jsonl.")
    ] = "fail",
    resume: Annotated[bool, typer.Option("--resume", help="Continue an interrupted run.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the output if it exists.")] = False,
    guard: Annotated[bool, typer.Option("--guard/--no-guard", help=GUARD)] = True,
    work: Annotated[
        Path | None, typer.Option(help="The local folder for parts before they are uploaded; by default in ~/.cache.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="The name of the run, stored in the output's metadata.")] = None,
    times: Annotated[
        bool, typer.Option("--times", help="Store the latency of each call, and the start and end of the run.")
    ] = False,
    plugin: Plugins = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")] = False,
) -> None:
    """Let a model rate every row by rubrics.

    Store all its replies, and print a summary.
    """
    from fastmetrics.commands.options import columns as names
    from fastmetrics.commands.options import load_plugins, pairs, split
    from fastmetrics.derive.judge_settings import JudgeSettings

    load_plugins(plugin)
    settings = JudgeSettings(
        rubrics=names(rubrics, "--rubrics"),
        model=model,
        base_url=base_url,
        endpoint=endpoint,
        language=language,
        parameters=sent_parameters(parameters),
        repeats=repeats,
        structured=structured,
        max_chars=max_chars,
        store=store,
        retry=split(retry),
        concurrency=concurrency,
        rpm=rpm,
        tpm=tpm,
        timeout=timeout,
        tries=tries,
        max_reply_bytes=max_reply_bytes,
        max_calls=max_calls,
        max_cost=max_cost,
        max_unparsed=max_unparsed,
        prices=prices,
        keep_replies=keep_replies,
    )
    reading: dict[str, Any] = {
        "columns": pairs(columns),
        "schema": schema,
        "lists": names(lists, "--lists"),
        "sample": sample,
        "seed": seed,
        "format": format,
        "max_row_bytes": max_row_bytes,
    }
    if dry_run:
        from fastmetrics.derive.dry_run import estimate_judging

        typer.echo(str(estimate_judging(table, settings, **reading)))
        if until is not None:
            typer.echo("these are the calls for all rows; --until may end before")
        return
    if output is None:
        raise OptionError("--output is missing: name the file of judgements, or add --dry-run")
    from fastmetrics.derive.judge import judge as judge_table

    with progress_of_calls(quiet, "judging") as shown:
        judged = judge_table(
            table,
            settings,
            output=output,
            **reading,
            until=until,
            baseline=baseline,
            keep=names(keep, "--keep"),
            on_error=on_error,
            resume=resume,
            overwrite=overwrite,
            guard=guard,
            work=work,
            name=name,
            times=times,
            progress=shown.rows,
            watch=shown.watch,
        )
    report_spent_budget(judged.spending)
    if not quiet:
        run = judged.run
        typer.echo(str(judged.summary))
        typer.echo(f"\n{run.rows:,} rows judged in {run.seconds['total']:.1f} s: {run.output}")
        typer.echo(spent(judged.spending))
        if run.rejects is not None:
            typer.echo(f"{run.rejected:,} rows rejected: {run.rejects}")
        if run.guarded:
            typer.echo(guarded(run.guarded))
    exit_with_failed_rows(judged.failed)
