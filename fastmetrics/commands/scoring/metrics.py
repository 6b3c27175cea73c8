"""``fastmetrics metrics``: list and explain the metrics."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Annotated

import typer

from fastmetrics.commands.options.shared_options import Plugins

if TYPE_CHECKING:
    from fastmetrics.declaration.metric import Metric


def metrics(
    name: Annotated[str | None, typer.Argument(help="The metric to explain.")] = None,
    *,
    plugin: Plugins = None,
    rank: Annotated[bool, typer.Option("--rank", help="List the measures of the command rank instead.")] = False,
) -> None:
    """List the metrics, or explain one."""
    from fastmetrics.metrics import REGISTRY
    from fastmetrics.plan.plan import parse

    if rank:
        _list_measures()
    elif name is not None:
        _explain(parse(name).metric)
    else:
        width = max(map(len, REGISTRY))
        for metric in REGISTRY.values():
            typer.echo(f"{metric.name:{width}}  {_columns(metric)}: {metric.summary}")


def _explain(metric: Metric) -> None:
    from fastmetrics.declaration.metric_labels import described

    low, high = metric.bounds
    typer.echo(f"{metric.name}: {metric.level} metric, {low:g} to {high:g}; source: {metric.source}")
    typer.echo(f"{metric.better} is better" if metric.better else "no direction is better")
    if metric.others:
        typer.echo(f"also called: {', '.join(metric.others)}")
    for line in described(metric.labels):
        typer.echo(line)
    typer.echo(f"columns: {_columns(metric)}" + "".join(f", {c} (optional)" for c in _others(metric)))
    for option, default in metric.defaults.items():
        shown = repr(default)
        about = f"; {metric.descriptions[option]}" if metric.descriptions[option] else ""
        short = shown if len(shown) < 90 else shown[:87] + "..."
        typer.echo(f"option: {option}={short}: {metric.allowed[option]}{about}")
    typer.echo("\n" + inspect.cleandoc(metric.function.__doc__ or ""))


def _columns(metric: Metric) -> str:
    """The required columns."""
    alternatives = "" if metric.rows.either is None else str(metric.rows.either).replace("'", "")
    return ", ".join(filter(None, [*metric.required, alternatives]))


def _others(metric: Metric) -> list[str]:
    """The optional columns."""
    sets = () if metric.rows.either is None else metric.rows.either.sets
    return sorted(metric.optional - {column for group in sets for column in group})


def _list_measures() -> None:
    from fastmetrics.retrieval.measure_families import FAMILIES

    width = max(len(family.names[0]) for family in FAMILIES)
    for family in FAMILIES:
        name, *others = family.names
        also = f" Also called {', '.join(others)}." if others else ""
        typer.echo(f"{name:{width}}  {family.summary}{also}")
        for option, default in family.options.items():
            value = "" if default is inspect.Parameter.empty else f"={default!r}"
            typer.echo(f"{'':{width}}  option {option}{value}: {family.allowed[option]}; {family.descriptions[option]}")
