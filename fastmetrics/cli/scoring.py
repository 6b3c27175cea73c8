"""The commands that score rows, rankings and pairs of texts, and list and explain the metrics."""

from __future__ import annotations

import inspect
import re
import time
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fastmetrics.base.display import row_count
from fastmetrics.base.errors import OptionError, UnknownNameError
from fastmetrics.base.plugin_files import LOADED
from fastmetrics.cli.options import (
    Arguments,
    AsJson,
    OptionsOf,
    Plugins,
    Quiet,
    Table,
    print_bad_rows,
)
from fastmetrics.cli.terminal import echo, echo_line, print_folded, print_result

if TYPE_CHECKING:
    from fastmetrics.metrics.metric import Metric

# The commands that score: rows, rankings, pairs of texts, and rows for the time that they take.


def score_command(
    table: Table,
    *,
    arguments: Annotated[Arguments, OptionsOf("score")],
    plugin: Plugins = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> Any:
    """Without an output, the scores are not kept.  Without metrics and suites, those of --plugin are scored too."""
    if plugin and not arguments.get("metrics") and not arguments.get("suites"):
        arguments["suites"] = ["core"]
        arguments["metrics"] = _of_plugins()
    if arguments["output"] is None:
        return _summarise(arguments, quiet, as_json)
    run = arguments.call("score")
    if quiet or as_json:
        return run.summary if as_json else None
    print_result(run.summary)
    resumed = f" ({run.resumed_rows:,} of them earlier)" if run.resumed_rows else ""
    echo("")
    echo_line(f"{row_count(run.rows)}{resumed} scored in {run.seconds['total']:.1f} s: {run.output}")
    print_bad_rows(run)
    return None


def _of_plugins() -> list[str]:
    """The metrics that plugins declare."""
    from fastmetrics.metrics.metric import REGISTRY

    return [name for name, own in REGISTRY.items() if own.function.__module__ in LOADED]


def _summarise(arguments: Arguments, quiet: bool, as_json: bool) -> Any:
    """Print the summary of scores that are not kept; raise ``OptionError`` for options of a kept output."""
    refused = {"--resume": arguments["resume"], "--overwrite": arguments["overwrite"], "--quiet": quiet}
    refused["--on-error skip"] = arguments["files"].on_error == "skip"
    for option, is_set in refused.items():
        if is_set:
            raise OptionError(f"{option} needs --output: name the file of scores, such as scores.parquet")
    from fastmetrics.engines.column_maker import RunOptions
    from fastmetrics.plans.plan import ScoreRequest
    from fastmetrics.scoring.score_runs import summarize_table

    began = time.perf_counter()
    request, options = arguments.call(ScoreRequest), arguments.call(RunOptions)
    summary, rows = summarize_table(arguments["table"], request, options, arguments.get("threads"))
    if as_json:
        return summary
    print_result(summary)
    echo(
        f"\n{row_count(rows)} scored in {time.perf_counter() - began:.1f} s; the scores are not kept:\n"
        "add -o scores.parquet to compare, gate or report them"
    )
    return None


def columns_command(
    table: Table,
    *,
    arguments: Annotated[Arguments, OptionsOf("columns")],
    as_json: AsJson = False,
) -> Any:
    """The preset by which a file was recognised, the columns that are found with their first values, what each suite
    reads, and what to type for the rest.  Only the first rows are read.
    """
    return arguments.call("columns")


def profile_command(
    table: Table,
    *,
    arguments: Annotated[Arguments, OptionsOf("profile")],
    plugin: Plugins = None,
    as_json: AsJson = False,
) -> Any:
    """Score after a warm-up, discard the scores, and print rows/s, MB/s and the time share of each stage."""
    return arguments.call("profile")


def warm_up_command(
    *,
    arguments: Annotated[Arguments, OptionsOf("warm_up")],
    plugin: Plugins = None,
) -> None:
    """For containers and services.  Print each metric, and how many kernels were compiled before it; machine code in
    the cache is only loaded.
    """
    made = arguments.call(
        "warm_up", progress=lambda name, compiled: typer.echo(f"{compiled:4} compiled; next: {name}", err=True)
    )
    typer.echo(f"{made:,} kernels compiled")


def classification_command(
    table: Table, *, arguments: Annotated[Arguments, OptionsOf("classification")], as_json: AsJson = False
) -> Any:
    """Print accuracy, F1, kappa, MCC and the confusion matrix."""
    return arguments.call("classification")


def rank_command(
    rankings: Annotated[
        list[str], typer.Argument(help="Files of rankings, then the judgements.", metavar="RANKING... QRELS")
    ],
    *,
    arguments: Annotated[Arguments, OptionsOf("rank")],
    as_json: AsJson = False,
) -> Any:
    """Print means, and write the values of each query."""
    *ranked, qrels = rankings
    return arguments.call("rank", rankings=ranked, qrels=qrels)


# ``fastmetrics metrics``: list and explain the metrics.


def metrics_command(
    name: Annotated[str | None, typer.Argument(help="The metric to explain, or the family to list.")] = None,
    *,
    plugin: Plugins = None,
    rank: Annotated[bool, typer.Option("--rank", help="List the measures of the command rank instead.")] = False,
) -> None:
    """A name of the sources, such as "Avg EM", is explained too."""
    from fastmetrics.metrics.suites import list_metrics

    metrics = list_metrics().to_pylist()
    names, families = [metric["name"] for metric in metrics], dict.fromkeys(metric["family"] for metric in metrics)
    lines: Iterable[str]
    if rank:
        lines = _measures()
    elif name is None:
        lines = [f"{one}:  {', '.join(m['name'] for m in metrics if m['family'] == one)}" for one in families]
    elif name in families and name not in names:
        some = [metric for metric in metrics if metric["family"] == name]
        width = max(len(metric["name"]) for metric in some)
        lines = [f"{metric['name']:{width}}  {metric['columns']}: {metric['summary']}" for metric in some]
    else:
        lines = _meant(name)
    print_folded(lines)


def _meant(name: str) -> Iterator[str]:
    """What a name says in the sources, if it is one of theirs, and the metric of this name."""
    from fastmetrics.metrics.judge_scores import JudgedMetric
    from fastmetrics.metrics.metric import REGISTRY
    from fastmetrics.metrics.score_names import parse
    from fastmetrics.metrics.source_names import explained, named
    from fastmetrics.models.prompts import shipped

    meant = named(name)
    specs = {one.spec for one in meant if one.spec}
    if name in REGISTRY:  # what sources mean by it stands behind
        specs = {name}
    if meant and len(specs) != 1:
        yield from map(explained, meant)
        return
    metric = parse(specs.pop() if specs else name).metric
    if isinstance(metric, JudgedMetric) and metric.name.removeprefix("judge_") not in {
        stem.partition(".")[0] for stem in shipped()
    }:
        raise UnknownNameError(
            f"no metric or built-in rubric is called {name!r}; `fastmetrics judge rubrics` lists these, and "
            f"{metric.name} would be the column of a rubric of your own"
        )
    head, *others = _explained(metric)
    yield from [head, *map(explained, meant), *others]


def _explained(metric: Metric) -> Iterator[str]:
    from fastmetrics.metrics.metric import described, in_words
    from fastmetrics.metrics.suites import optional_columns, required_columns

    low, high = metric.bounds
    source = f"; source: {in_words(metric.source)}" if metric.source else ""
    yield f"{metric.name}: {metric.level} metric, {low:g} to {high:g}{source}"
    yield f"{metric.better} is better" if metric.better else "no direction is better"
    if metric.others:
        yield f"also called: {', '.join(metric.others)}"
    yield from described(metric.labels)
    yield f"columns: {required_columns(metric)}" + "".join(f", {c} (optional)" for c in optional_columns(metric))
    for option, default in metric.defaults.items():
        shown = repr(default)
        about = f"; {metric.descriptions[option]}" if metric.descriptions[option] else ""
        short = shown if len(shown) < 90 else shown[:87] + "..."
        yield f"option: {option}={short}: {metric.allowed[option]}{about}"
    for option, (allowed, about) in metric.text_options.items():
        yield f"option: {option}=None: {allowed}; {about}"
    yield ""
    yield from _paragraphs(inspect.cleandoc(metric.function.__doc__ or ""))


_ROLE = re.compile(r":\w+:`[~!]?([^`]+)`")


def _paragraphs(text: str) -> Iterator[str]:
    r"""The paragraphs of a docstring, each in one line that a terminal folds anew, without the marks of its markup.

    >>> list(_paragraphs("``A`` and\n:func:`b`:\n\n>>> 1\n1"))
    ['A and b:', '', '>>> 1', '1']
    """
    for at, paragraph in enumerate(text.split("\n\n")):
        yield from [""] * bool(at)
        lines = paragraph.split("\n")
        if any(line.startswith((">>>", "- ", " ")) for line in lines):
            yield from lines
        else:
            yield _ROLE.sub(r"\1", " ".join(lines)).replace("`", "").replace(".  ", ". ")


def _measures() -> Iterator[str]:
    """The measures of the command rank, each with its options."""
    from fastmetrics.retrieval.measures import FAMILIES

    width = max(len(family.names[0]) for family in FAMILIES)
    for family in FAMILIES:
        name, *others = family.names
        also = f" Also called {', '.join(others)}." if others else ""
        yield f"{name:{width}}  {family.summary}{also}"
        for option, default in family.options.items():
            value = "" if default is inspect.Parameter.empty else f"={default!r}"
            about = f"{family.allowed[option]}; {family.descriptions[option]}"
            yield f"{'':{width}}  option {option}{value}: {about}"
