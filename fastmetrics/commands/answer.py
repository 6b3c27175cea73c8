"""``fastmetrics answer``: let a bot answer a file of questions."""

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
from fastmetrics.commands.options import GUARD, Plugins, guarded
from fastmetrics.errors import OptionError

_BOTS = ("full-context", "given-contexts", "faq")


def answer(
    table: Annotated[
        list[str],
        typer.Argument(
            help="Files of questions (any input of score), or - for standard input.", metavar="QUESTIONS..."
        ),
    ],
    *,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            help="The output: a file, with the format given by its suffix, or a folder.",
            metavar="PATH",
        ),
    ] = None,
    bot: Annotated[
        str,
        typer.Option(
            help="full-context: a model reads --knowledge and the question; given-contexts: a model reads the contexts "
            "of each row and the question; faq: the most similar FAQ row."
        ),
    ],
    knowledge: Annotated[
        list[str] | None, typer.Option(help="UTF-8 text files that the full-context bot reads completely.")
    ] = None,
    template: Annotated[
        str | None,
        typer.Option(
            help="A file with the prompt, with columns of the table in braces, such as {contexts} and {question}; "
            "{knowledge} is the text of --knowledge."
        ),
    ] = None,
    faq: Annotated[str | None, typer.Option(help="A file with question and answer columns.")] = None,
    system: Annotated[str | None, typer.Option(help="The value of the column system. Default: the bot's name.")] = None,
    model: Annotated[str | None, typer.Option(help="The model of the bot, by the server's name.")] = None,
    base_url: Annotated[
        str | None,
        typer.Option(help="The server's address, or NAME: of a model client. Default: OPENAI_BASE_URL, or OpenAI's."),
    ] = None,
    endpoint: Annotated[
        str | None, typer.Option(help="The name of the server in the store. Default: host and path of its address.")
    ] = None,
    parameters: Annotated[
        list[str] | None, typer.Option(help="Parameters of each call: temperature=0.5,max_tokens=200.")
    ] = None,
    max_chars: Annotated[
        int, typer.Option(help="The maximum length of a prompt; a longer prompt is an error before the first call.")
    ] = 400_000,
    context_window: Annotated[
        int | None, typer.Option(help="The maximum tokens of a prompt, estimated at four bytes a token.")
    ] = None,
    keep: Annotated[
        list[str] | None, typer.Option(help="Columns to copy in addition to id and question. Default: all.")
    ] = None,
    columns: Annotated[list[str] | None, typer.Option(help="Your column names: question=text.")] = None,
    repeats: Annotated[
        int,
        typer.Option(help="Answers of each question, each from a call of its own; rows get the number of the repeat."),
    ] = 1,
    sample: Annotated[int | None, typer.Option(help="Answer only a random sample of this many rows.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the sample.")] = 1,
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
    prices: Annotated[str | None, typer.Option(help="A TOML or JSON file of model prices.")] = None,
    format: Annotated[
        str | None, typer.Option(help="The format of all files, if their suffixes do not show it.")
    ] = None,
    max_row_bytes: Annotated[
        int | None, typer.Option(help="Maximum bytes of a row; a longer row is a bad row.")
    ] = None,
    on_error: Annotated[
        str, typer.Option(help="fail: a bad row ends the run; skip: bad rows go to OUT.rejects.jsonl.")
    ] = "fail",
    resume: Annotated[bool, typer.Option("--resume", help="Continue an interrupted run.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the output if it exists.")] = False,
    guard: Annotated[bool, typer.Option("--guard/--no-guard", help=GUARD)] = True,
    work: Annotated[Path | None, typer.Option(help="The local folder for parts before they are uploaded.")] = None,
    plugin: Plugins = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")] = False,
) -> None:
    """Let a bot answer every question.

    Store all replies of its model, and write a table for score.
    """
    from fastmetrics.commands.options import columns as names
    from fastmetrics.commands.options import load_plugins, pairs, split
    from fastmetrics.core.allowed_values import Choice, argument
    from fastmetrics.core.display import folded

    load_plugins(plugin)
    argument("bot", bot, Choice(*_BOTS))
    asked: Any
    if bot == "faq":
        asked = _faq(faq, pairs(columns))
    else:
        asked = _model_bot(
            bot,
            knowledge,
            model,
            template,
            context_window=context_window,
            base_url=base_url,
            endpoint=endpoint,
            parameters=sent_parameters(parameters),
            max_chars=max_chars,
            store=store,
            concurrency=concurrency,
            rpm=rpm,
            tpm=tpm,
            timeout=timeout,
            tries=tries,
            max_reply_bytes=max_reply_bytes,
            max_calls=max_calls,
            max_cost=max_cost,
            prices=prices,
        )
    reading: dict[str, Any] = {
        "columns": {name: yours for name, yours in pairs(columns).items() if name != "answer"},
        "repeats": repeats,
        "sample": sample,
        "seed": seed,
        "format": format,
        "max_row_bytes": max_row_bytes,
    }
    if dry_run:
        from fastmetrics.derive.dry_run import estimate_answering

        typer.echo(str(estimate_answering(table, asked, **reading, retry=split(retry))))
        return
    if output is None:
        raise OptionError("--output is missing: name the file of answers, or add --dry-run")
    from fastmetrics.derive.answer import answer as answer_table
    from fastmetrics.tables.output.replaceable import check_not_read

    check_not_read(str(output), [faq, knowledge])

    with progress_of_calls(quiet, "answering") as shown:
        done = answer_table(
            table,
            asked,
            output=output,
            **reading,
            system=system,
            keep=None if keep is None else names(keep, "--keep"),
            retry=split(retry),
            on_error=on_error,
            resume=resume,
            overwrite=overwrite,
            guard=guard,
            work=work,
            progress=shown.rows,
            watch=shown.watch,
        )
    report_spent_budget(done.spending)
    if not quiet:
        run = done.run
        statuses = ", ".join(f"{count:,} {status}" for status, count in done.statuses.items())
        each = "" if repeats == 1 else f", {repeats:,} answers each"
        typer.echo(
            f"{run.rows // repeats:,} questions{each} ({statuses}) in {run.seconds['total']:.1f} s: {run.output}"
        )
        if bot != "faq":
            typer.echo(spent(done.spending))
        for line in folded(run.notes):
            typer.echo(line)
        if run.rejects is not None:
            typer.echo(f"{run.rejected:,} rows rejected: {run.rejects}")
        if run.guarded:
            typer.echo(guarded(run.guarded))
    exit_with_failed_rows(done.failed)


def _faq(path: str | None, columns: dict[str, str]) -> Any:
    """The strict match bot over a file."""
    from fastmetrics.faq.match import read_faq

    if path is None:
        raise OptionError("--bot faq needs --faq FILE, a table with the columns question and answer")
    return read_faq(path, columns)


def _model_bot(bot: str, knowledge: list[str] | None, model: str | None, template: str | None, **settings: Any) -> Any:
    """The bot that reads the whole text, or the contexts of each row."""
    from fastmetrics.derive.full_context_bot import FullContextBot, read_knowledge
    from fastmetrics.derive.prompt_bot import GivenContextsBot

    if bot == "full-context" and not knowledge:
        raise OptionError("--bot full-context needs --knowledge FILE, a text file")
    if bot == "given-contexts" and knowledge:
        raise OptionError("--bot given-contexts reads the contexts of each row; --knowledge is for --bot full-context")
    if model is None:
        raise OptionError(f"--bot {bot} needs --model NAME, the server's name of the model")
    if template is not None:
        settings["template"] = read_knowledge([template])
    if bot == "full-context":
        return FullContextBot(read_knowledge(knowledge or []), model, **settings)
    return GivenContextsBot(model, **settings)
