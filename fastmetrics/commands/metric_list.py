"""``fastmetrics metrics``: list and explain the metrics."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from fastmetrics.commands.options.shared_options import Plugins
from fastmetrics.commands.program.printing import print_folded

if TYPE_CHECKING:
    from fastmetrics.metrics.metric import Metric


def metrics(
    name: Annotated[str | None, typer.Argument(help="The metric to explain.")] = None,
    *,
    plugin: Plugins = None,
    rank: Annotated[bool, typer.Option("--rank", help="List the measures of the command rank instead.")] = False,
) -> None:
    """List the metrics, or explain one."""
    from fastmetrics.metrics.plan import parse

    if rank:
        lines = _measures()
    elif name is not None:
        lines = _explained(parse(name).metric)
    else:
        lines = _by_family()
    print_folded(lines)


def _by_family() -> Iterator[str]:
    """The metrics by family, each with its columns and its summary."""
    from fastmetrics.metrics.metric import REGISTRY

    width = max(map(len, REGISTRY))
    families = itertools.groupby(REGISTRY.values(), lambda metric: metric.function.__module__.rpartition(".")[2])
    for number, (family, metrics) in enumerate(families):
        yield from [""] * bool(number)
        yield f"{family.replace('_', ' ')}:"
        for metric in metrics:
            yield f"{metric.name:{width}}  {_columns(metric)}: {metric.summary}"


def _explained(metric: Metric) -> Iterator[str]:
    from fastmetrics.metrics.metric import described, in_words

    low, high = metric.bounds
    yield f"{metric.name}: {metric.level} metric, {low:g} to {high:g}; source: {in_words(metric.source)}"
    yield f"{metric.better} is better" if metric.better else "no direction is better"
    if metric.others:
        yield f"also called: {', '.join(metric.others)}"
    yield from described(metric.labels)
    yield f"columns: {_columns(metric)}" + "".join(f", {c} (optional)" for c in _others(metric))
    for option, default in metric.defaults.items():
        shown = repr(default)
        about = f"; {metric.descriptions[option]}" if metric.descriptions[option] else ""
        short = shown if len(shown) < 90 else shown[:87] + "..."
        yield f"option: {option}={short}: {metric.allowed[option]}{about}"
    yield ""
    yield from inspect.cleandoc(metric.function.__doc__ or "").split("\n")


def _columns(metric: Metric) -> str:
    """The required columns."""
    alternatives = "" if metric.rows.either is None else str(metric.rows.either).replace("'", "")
    return ", ".join(filter(None, [*metric.required, alternatives]))


def _others(metric: Metric) -> list[str]:
    """The optional columns."""
    sets = () if metric.rows.either is None else metric.rows.either.sets
    return sorted(metric.optional - {column for group in sets for column in group})


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
