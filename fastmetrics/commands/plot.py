"""``fastmetrics plot``: charts of scores as SVG and PNG files."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from fastmetrics.commands.options.option_groups import Arguments
from fastmetrics.commands.options.option_syntax import FromText, names
from fastmetrics.commands.options.shared_options import (
    EmbedderName,
    OnlyMetrics,
    Overwrite,
    Plugins,
    Threads,
    VectorColumn,
)
from fastmetrics.commands.program.terminal import echo


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
            help="histograms or means of scores, comparison of several, trend of a folder, cache of a log, projection "
            "of vectors.",
            show_default=False,
        ),
    ],
    inputs: Annotated[list[str], typer.Argument(help="What to draw.", metavar="INPUT...", show_default=False)],
    *,
    output: Annotated[str, typer.Option("--output", "-o", help="The .svg or .png file.", metavar="PATH")],
    metrics: OnlyMetrics = None,
    by: Annotated[
        list[str] | None,
        typer.Option(
            help="Columns whose values define segments: language,topic; compare takes several divisions of rows.",
            metavar="COLUMN,...",
        ),
        FromText(names),
    ] = None,
    bins: Annotated[int, typer.Option(help="Number of bins of a histogram.")] = 20,
    method: Annotated[
        str, typer.Option(help="Method of a projection: pca, pacmap or umap; the last two are extras.")
    ] = "pca",
    dims: Annotated[int, typer.Option(help="Dimensions of a projection: 2 or 3.")] = 2,
    column: VectorColumn = None,
    color: Annotated[str | None, typer.Option(help="Column that colours the points of a projection.")] = None,
    embedder: EmbedderName = None,
    overwrite: Overwrite = False,
    threads: Threads = None,
    plugin: Plugins = None,
    arguments: Arguments,
) -> None:
    """Draw results as SVG or PNG.

    Histograms, intervals, segments, a trend, a cache's curve or a projection.
    """
    from fastmetrics.base.threads import cores
    from fastmetrics.reporting.plot import draw_into, picture_place
    from fastmetrics.vectors.embedder import check_name

    if embedder is not None:
        check_name(embedder)
    place = picture_place(output, inputs, overwrite)
    arguments["threads"] = cores(threads)
    colors = None
    if kind == Kind.comparison:
        from fastmetrics.results.compare import compare

        result = arguments.call(compare, runs=inputs)
    elif kind == Kind.cache:
        from fastmetrics.logs.cache_hit_rate import cache_hit_rate

        result = arguments.call(cache_hit_rate, log=inputs)
    else:
        [path] = _single(inputs, kind)
        if kind == Kind.histograms:
            from fastmetrics.results.distributions import histograms

            result = arguments.call(histograms, scores=path)
        elif kind == Kind.means:
            from fastmetrics.results.summarize_by import summarize_by

            result = arguments.call(summarize_by, scores=path)
        elif kind == Kind.trend:
            from fastmetrics.results.trend import trend

            result = arguments.call(trend, folder=path, metric=_single(metrics or [], kind)[0])
        else:
            from fastmetrics.tables import open_source
            from fastmetrics.tables.table_rows import whole_table
            from fastmetrics.vectors.projection import project

            if color is not None:
                colors = whole_table(open_source(path), {color: "any"})[color].to_pylist()
            result = arguments.call(project, vectors=path)
    left_out = draw_into(place, result, colors)
    echo("\n".join([f"{kind}: {output}", *left_out]))


def _single(values: list[str], kind: Kind) -> list[str]:
    from fastmetrics.base.errors import OptionError

    if len(values) != 1:
        what = "one metric, by --metrics" if kind == Kind.trend and not values else "one of them"
        raise OptionError(f"plot {kind}: expected {what}, got {len(values)}")
    return values
