"""The commands of local models: entailment, relevance of contexts, BERTScore, labels of texts."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from fastmetrics.base.errors import OptionError
from fastmetrics.cli.options import Arguments, DryRun, OptionsOf, Quiet, Table, print_bad_rows
from fastmetrics.cli.terminal import echo, echo_line, print_result
from fastmetrics.models.local_columns import apply, bert_score, classifier, entailment, estimate_pairs, rerank
from fastmetrics.models.local_folders import LocalSettings
from fastmetrics.models.local_models import LocalModel

Model = Annotated[str, typer.Option(help="The folder of the model; nothing is downloaded.", metavar="FOLDER")]
Settings = Annotated[dict[str, Any], OptionsOf(LocalSettings)]


def models_entailment_command(
    table: Table,
    *,
    model: Model,
    settings: Settings,
    arguments: Annotated[Arguments, OptionsOf(apply, entailment)],
    dry_run: DryRun = False,
    quiet: Quiet = False,
) -> None:
    """A cross-encoder of natural language inference; the columns are entailment and contradiction."""
    _make(arguments, arguments.call(entailment, model=model, **settings), dry_run, quiet)


def models_rerank_command(
    table: Table,
    *,
    model: Model,
    settings: Settings,
    arguments: Annotated[Arguments, OptionsOf(apply, rerank)],
    dry_run: DryRun = False,
    quiet: Quiet = False,
) -> None:
    """A cross-encoder of one score; the columns are context_relevance, a list, and the mean of its first k."""
    _make(arguments, arguments.call(rerank, model=model, **settings), dry_run, quiet)


def models_bert_score_command(
    table: Table,
    *,
    model: Model,
    settings: Settings,
    arguments: Annotated[Arguments, OptionsOf(apply, bert_score)],
    dry_run: DryRun = False,
    quiet: Quiet = False,
) -> None:
    """With the numbers of the package bert-score: bert_score_precision, bert_score_recall, bert_score_f1."""
    _make(arguments, arguments.call(bert_score, model=model, **settings), dry_run, quiet)


def models_classifier_command(
    table: Table,
    column: Annotated[str, typer.Option("--column", help="The column of texts.", metavar="COLUMN")],
    *,
    model: Model,
    settings: Settings,
    arguments: Annotated[Arguments, OptionsOf(apply)],
    dry_run: DryRun = False,
    quiet: Quiet = False,
) -> None:
    """Sentiment, toxicity, language: a column COLUMN_LABEL with the probability of each label of the model."""
    _make(arguments, classifier(model, column, **settings), dry_run, quiet)


def _make(arguments: Arguments, model: LocalModel, dry_run: bool, quiet: bool) -> None:
    if dry_run:
        echo(str(arguments.call(estimate_pairs, model=model)))
        return
    if arguments["output"] is None:
        raise OptionError("--output is missing: name the file of the columns, or add --dry-run")
    run = arguments.call(apply, model=model)
    if quiet:
        return
    print_result(run.summary)
    pairs = f"{run.counts['computed']:,} pairs computed"
    echo_line(f"{run.rows:,} rows in {run.seconds['total']:.1f} s, {pairs}: {run.output}")
    for note in run.notes:
        echo(note)
    print_bad_rows(run)
