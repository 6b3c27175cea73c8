"""The commands that show results to people: reports, charts, worst rows."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated, Any

import typer

from fastmetrics.base.errors import one_line
from fastmetrics.cli.options import (
    Arguments,
    EmbedderName,
    Excel,
    FromText,
    Guard,
    OnlyMetrics,
    Overwrite,
    Plugins,
    Scores,
    Threads,
    VectorColumn,
    guarded,
    named_runs,
    names,
)
from fastmetrics.cli.terminal import echo, echo_line

# ``fastmetrics report``: scores, their texts and a comparison as one page that opens from a file.


def report(
    scores: Annotated[
        list[str],
        typer.Argument(help="Score files, folders or addresses; rows are shown of the first."),
    ],
    *,
    output: Annotated[
        str,
        typer.Option(
            "--output", "-o", help="Output page, such as report.html; with rows all, a folder.", metavar="PATH"
        ),
    ],
    arguments: Arguments,
    plugin: Plugins = None,
) -> None:
    """Write a page of charts and rows.

    It shows the verdict by the main metric, means, distributions, a comparison, and the rows behind them.  A file
    fastmetrics.toml in the working directory may name the main metric: main = "token_recall".
    """
    from fastmetrics.results.main_metric import main_of_project

    main = arguments["main"] or main_of_project()
    echo(str(arguments.call(scores=named_runs(scores, None, arguments["system"]), main=main)))


# ``fastmetrics plot``: charts of scores as SVG and PNG files.


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
    from fastmetrics.reporting.plot import draw_into, picture_target
    from fastmetrics.vectors.embedder import check_name

    if embedder is not None:
        check_name(embedder)
    place = picture_target(output, inputs, overwrite)
    arguments["threads"] = cores(threads)
    colors = None
    if kind == Kind.comparison:
        from fastmetrics.results.compare import compare

        result = arguments.call(compare, runs=inputs)
    elif kind == Kind.cache:
        from fastmetrics.logs.cache import cache_hit_rate

        result = arguments.call(cache_hit_rate, log=inputs)
    else:
        [path] = _single(inputs, kind)
        if kind == Kind.histograms:
            from fastmetrics.results.distributions import histograms

            result = arguments.call(histograms, scores=path)
        elif kind == Kind.means:
            from fastmetrics.results.by_segment import summarize_by

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
    for line in (f"{kind}: {output}", *left_out):
        echo_line(line)


def _single(values: list[str], kind: Kind) -> list[str]:
    from fastmetrics.base.errors import OptionError

    if len(values) != 1:
        what = "one metric, by --metrics" if kind == Kind.trend and not values else "one of them"
        raise OptionError(f"plot {kind}: expected {what}, got {len(values)}")
    return values


# ``fastmetrics worst-rows``: print or write the rows behind a figure.


_WIDTH = 80
_LINES = 4
"""How many lines of a text are printed."""


def worst_rows(
    scores: Scores,
    metric: Annotated[str, typer.Argument(help="The metric.", show_default=False)],
    *,
    n: Annotated[int, typer.Option("-n", min=1, help="Number of rows.")] = 20,
    answers: Annotated[
        str | None, typer.Option(help="The file that was scored, for its texts.", metavar="FILE")
    ] = None,
    arguments: Arguments,
    output: Annotated[
        str | None, typer.Option("--output", "-o", help="Write the rows to this file instead.", metavar="PATH")
    ] = None,
    overwrite: Overwrite = False,
    guard: Guard = True,
    excel: Excel = False,
    plugin: Plugins = None,
) -> None:
    """Show the rows with the worst or best scores.

    With a baseline, show the largest losses or gains.
    """
    from fastmetrics.tables.outputs import table_target, write_whole

    earlier = [] if arguments["system"] is not None else [arguments["baseline"]]
    place = None if output is None else table_target(output, [scores, answers, *earlier], overwrite=overwrite)
    rows = arguments.call()
    if place is None:
        echo("\n\n".join(_printed(row, metric) for row in rows.to_pylist()) or "no row has a score")
        return
    quoted = write_whole(rows, place, {"rows": metric}, {"id"}, guard=guard, excel=excel)
    echo_line(f"{rows.num_rows:,} rows: {output}")
    if quoted:
        echo(guarded(quoted))


def _printed(row: dict[str, Any], metric: str) -> str:
    """A row as lines of at most 80 characters: its id and score, then its texts."""
    if "change" in row:
        score = f"{metric} {row['score']:.4f}, was {row['baseline']:.4f} ({row['change']:+.4f})"
    else:
        score = f"{metric} {row[metric]:.4f}"
    texts = [(name, row[name]) for name in ("question", "reference", "answer", "contexts") if row.get(name) is not None]
    return "\n".join(
        [
            one_line(f"{row.get('id', row.get('row'))}  {score}"),
            *(line for name, value in texts for line in _lines(name, value)),
        ]
    )


def _lines(name: str, value: Any) -> Iterator[str]:
    """One or several texts under their name, truncated and without control characters."""
    for place, text in enumerate(value if isinstance(value, list) else [value]):
        plain = " ".join("".join(c if c.isprintable() else " " for c in text or "").split()) or "(empty)"
        lines = textwrap.wrap(plain, _WIDTH - 13, max_lines=_LINES, placeholder=" …")
        for number, line in enumerate(lines):
            yield f"  {name if not (place or number) else '':9}  {line}"
