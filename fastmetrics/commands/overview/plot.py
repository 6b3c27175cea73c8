"""``fastmetrics plot``: charts of scores as SVG and PNG files."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

from fastmetrics.commands.options.option_syntax import name_list
from fastmetrics.commands.options.shared_options import (
    Bins,
    By,
    Dims,
    EmbedderName,
    OnlyMetrics,
    Overwrite,
    Plugins,
    ProjectionMethod,
    Threads,
    VectorColumn,
    load_plugins,
)


class Kind(StrEnum):
    """What to draw."""

    histograms = "histograms"
    means = "means"
    comparison = "comparison"
    trend = "trend"
    cache = "cache"
    projection = "projection"


def plot(
    kind: Annotated[
        Kind,
        typer.Argument(
            help="Histograms or means of scores, a comparison of several, the trend of a folder, the cache of a log, a "
            "projection of vectors.",
            show_default=False,
        ),
    ],
    inputs: Annotated[list[str], typer.Argument(help="What to draw.", metavar="INPUT...", show_default=False)],
    *,
    output: Annotated[str, typer.Option("--output", "-o", help="The .svg or .png file.", metavar="PATH")],
    metrics: OnlyMetrics = None,
    by: By = None,
    bins: Bins = 20,
    method: ProjectionMethod = "pca",
    dims: Dims = 2,
    column: VectorColumn = None,
    color: Annotated[str | None, typer.Option(help="Column that colours the points of a projection.")] = None,
    embedder: EmbedderName = None,
    overwrite: Overwrite = False,
    threads: Threads = None,
    plugin: Plugins = None,
) -> None:
    """Draw results as SVG or PNG.

    Histograms, intervals, segments, a trend, a cache's curve or a projection.
    """
    from fastmetrics.core.threads import cores
    from fastmetrics.reporting.charts.plot import draw_into, picture_place
    from fastmetrics.vectors.embedding.embedding_models import check_name

    load_plugins(plugin)
    if embedder is not None:
        check_name(embedder)
    options: dict[str, Any] = {"threads": cores(threads)}
    place = picture_place(output, inputs, overwrite)
    chosen, cut = name_list(metrics, "--metrics"), name_list(by, "--by")
    colors = None
    if kind is Kind.comparison:
        from fastmetrics.results.compare.compare import compare

        result: Any = compare(inputs, metrics=chosen, by=cut, **options)
    elif kind is Kind.cache:
        from fastmetrics.usage.cache_hit_rate import cache_hit_rate

        result = cache_hit_rate(inputs, embedder=embedder, **options)
    else:
        [path] = _single(inputs, kind)
        if kind is Kind.histograms:
            from fastmetrics.results.summary.histograms import histograms

            result = histograms(path, metrics=chosen, bins=bins)
        elif kind is Kind.means:
            from fastmetrics.results.summary.summarize_by import summarize_by

            result = summarize_by(path, by=cut, metrics=chosen, **options)
        elif kind is Kind.trend:
            from fastmetrics.results.summary.trend import trend

            result = trend(path, _single(chosen, kind)[0], **options)
        else:
            from fastmetrics.tables import open_source
            from fastmetrics.tables.whole_table import whole_table
            from fastmetrics.vectors.projection.project import project

            if color is not None:
                colors = whole_table(open_source(path), {color: "any"})[color].to_pylist()
            result = project(path, method=method, dims=dims, column=column, **options)
    draw_into(place, result, colors)
    typer.echo(f"{kind.value}: {output}")


def _single(values: list[str], kind: Kind) -> list[str]:
    from fastmetrics.errors import OptionError

    if len(values) != 1:
        what = "one metric, by --metrics" if kind is Kind.trend and not values else "one of them"
        raise OptionError(f"plot {kind.value}: expected {what}, got {len(values)}")
    return values
