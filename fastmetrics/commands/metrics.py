"""``fastmetrics metrics``: what can be scored, and what each number means."""

from __future__ import annotations

import inspect
from typing import Annotated

import typer


def metrics(name: Annotated[str | None, typer.Argument(help="The metric to explain.")] = None) -> None:
    """List the metrics, or explain one."""
    from fastmetrics.metrics import REGISTRY, find

    if name is None:
        width = max(map(len, REGISTRY))
        for metric in REGISTRY.values():
            typer.echo(f"{metric.name:{width}}  {', '.join(metric.required)}: {metric.summary}")
        return
    metric = find(name)
    low, high = metric.bounds
    typer.echo(f"{metric.name}: {metric.level} metric, {low:g} to {high:g}; source: {metric.source}")
    typer.echo(f"{metric.better} is better" if metric.better else "neither higher nor lower is better by itself")
    typer.echo(f"columns: {', '.join(metric.required)}" + "".join(f", {c} (optional)" for c in sorted(metric.optional)))
    for option, default in metric.defaults.items():
        shown = repr(default)
        typer.echo(f"option: {option}={shown if len(shown) < 90 else shown[:87] + '...'}")
    typer.echo("\n" + inspect.cleandoc(metric.function.__doc__ or ""))
