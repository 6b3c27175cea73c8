"""``fastmetrics judge``: a file of answers to a file of a model's opinions on them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from fastmetrics.commands.calls import progress_of_calls, rare_garbage_collection, sent_parameters, spent
from fastmetrics.commands.options import GUARD, guarded
from fastmetrics.errors import OptionError


def judge(
    inputs: Annotated[
        list[str],
        typer.Argument(help="Files of answers, as score takes them, or -.", metavar="INPUT..."),
    ],
    *,
    out: Annotated[
        str | None,
        typer.Option("--out", "-o", help="The file of judgements, by suffix, or a folder of parts.", metavar="PATH"),
    ] = None,
    model: Annotated[str, typer.Option(help="The model that judges, as its server calls it.")],
    rubric: Annotated[
        list[str],
        typer.Option(
            help="What is judged: relevance, faithfulness, safety, robustness, correctness (1 to 5), answer_relevance, "
            "e2e (0 to 1), or rubrics of your own, files ending in .toml."
        ),
    ],
    base_url: Annotated[
        str | None, typer.Option(help="The server's address. Default: OPENAI_BASE_URL, or OpenAI's own.")
    ] = None,
    endpoint: Annotated[
        str | None, typer.Option(help="What the store calls the server. Default: host and path of its address.")
    ] = None,
    language: Annotated[str, typer.Option(help="The language of the rubrics: en or ru.")] = "en",
    parameters: Annotated[
        list[str] | None,
        typer.Option(help="Sent with each call: temperature=0.5,max_tokens=200. Default: temperature=0."),
    ] = None,
    repeats: Annotated[int, typer.Option(help="How often each question is asked.")] = 1,
    structured: Annotated[
        bool, typer.Option("--structured/--no-structured", help="Ask for structured output where the server has it.")
    ] = True,
    max_chars: Annotated[int, typer.Option(help="A question of more characters is not sent.")] = 400_000,
    keep_replies: Annotated[
        bool, typer.Option("--keep-replies", help="Keep the model's replies and reasoning in the output.")
    ] = False,
    keep: Annotated[list[str] | None, typer.Option(help="Columns to copy to the output, beside the id.")] = None,
    columns: Annotated[list[str] | None, typer.Option(help="What your columns are called: answer=text,...")] = None,
    schema: Annotated[
        str | None, typer.Option(help="Whose column names these are: ragas, deepeval, mlflow, hf, autorag.")
    ] = None,
    sample: Annotated[int | None, typer.Option(help="Judge so many rows only, drawn evenly.")] = None,
    seed: Annotated[int, typer.Option(help="Which sample is drawn.")] = 1,
    store: Annotated[
        Path | None, typer.Option(help="The file that keeps all calls. Default: calls.sqlite in ~/.cache/fastmetrics.")
    ] = None,
    retry: Annotated[
        list[str] | None, typer.Option(help="Ask these again though there is a reply: unparsed,truncated,refused.")
    ] = None,
    concurrency: Annotated[int, typer.Option(help="Calls under way, at most.")] = 16,
    rpm: Annotated[float | None, typer.Option(help="Requests a minute, at most.")] = None,
    tpm: Annotated[float | None, typer.Option(help="Tokens a minute, at most.")] = None,
    timeout: Annotated[float, typer.Option(help="Seconds that a reply may take.")] = 60.0,
    tries: Annotated[int, typer.Option(help="How often a call is tried.")] = 5,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be asked and what it would cost; send nothing.")
    ] = False,
    max_calls: Annotated[int | None, typer.Option(help="Requests after which nothing more is asked.")] = None,
    max_cost: Annotated[float | None, typer.Option(help="What the calls may cost, by the prices.")] = None,
    prices: Annotated[
        Path | None,
        typer.Option(help='Prices of a million tokens, TOML or JSON: {"MODEL": {"input": 0.5, "output": 2}}.'),
    ] = None,
    format: Annotated[
        str | None, typer.Option(help="The input's format where its name does not tell: parquet, jsonl, csv, ...")
    ] = None,
    max_row_bytes: Annotated[
        int | None, typer.Option(help="A row of more bytes than this is a bad row. Default: 67108864 (64 MiB).")
    ] = None,
    on_error: Annotated[str, typer.Option(help="fail, or skip: bad rows go to OUT.rejects.jsonl.")] = "fail",
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a run that was cut short.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the output if it exists.")] = False,
    guard: Annotated[bool, typer.Option("--guard/--no-guard", help=GUARD)] = True,
    work: Annotated[
        Path | None, typer.Option(help="Where parts are kept on the way to an address; by default in ~/.cache.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="A name for the run, kept in the output's metadata.")] = None,
    times: Annotated[
        bool, typer.Option("--times", help="Keep milliseconds of the calls, and when the run began and ended.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")] = False,
) -> None:
    """Ask a model for its opinion on every row, keep all its replies, and print a summary."""
    from fastmetrics.commands.options import columns as names
    from fastmetrics.commands.options import pairs, split
    from fastmetrics.derive.judge_settings import JudgeSettings

    settings = JudgeSettings(
        rubrics=names(rubric, "--rubric"),
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
        max_calls=max_calls,
        max_cost=max_cost,
        prices=prices,
        keep_replies=keep_replies,
    )
    reading: dict[str, Any] = {
        "columns": pairs(columns),
        "schema": schema,
        "sample": sample,
        "seed": seed,
        "format": format,
        "max_row_bytes": max_row_bytes,
    }
    if dry_run:
        from fastmetrics.derive.dry_run import estimate_judging

        typer.echo(str(estimate_judging(inputs, settings, **reading)))
        return
    if out is None:
        raise OptionError("--out: expected the name of the file of judgements, which only --dry-run can do without")
    from fastmetrics.derive.judge_files import judge_files

    with rare_garbage_collection(), progress_of_calls(quiet, "judging") as shown:
        judged = judge_files(
            inputs,
            out,
            settings,
            **reading,
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
    if judged.spending.ended:
        typer.echo(
            "the budget is spent: rows that were not asked have the status budget; ask on with --overwrite", err=True
        )
    if quiet:
        return
    run = judged.run
    typer.echo(str(judged.summary))
    typer.echo(f"\n{run.rows:,} rows judged in {run.seconds['total']:.1f} s: {run.output}")
    typer.echo(spent(judged.spending))
    if run.rejects is not None:
        typer.echo(f"{run.rejected:,} rows rejected: {run.rejects}")
    if run.guarded:
        typer.echo(guarded(run.guarded))
