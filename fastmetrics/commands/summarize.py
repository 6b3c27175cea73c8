"""``fastmetrics summarize``: summarise score files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from fastmetrics.commands.options import Interval, IntervalKind, Plugins

if TYPE_CHECKING:
    from collections.abc import Callable


def summarize(
    scores: Annotated[list[str], typer.Argument(help="Score files, folders or addresses.", metavar="SCORES...")],
    *,
    by: Annotated[
        list[str] | None, typer.Option(help="Kept columns whose values define segments: language,topic.")
    ] = None,
    ci: Annotated[bool, typer.Option("--ci", help="Show means with confidence intervals.")] = False,
    cluster: Annotated[
        str | None, typer.Option(help="The column with the session or document of a row, for --by and --ci.")
    ] = None,
    interval: Interval = IntervalKind.auto,
    each: Annotated[bool, typer.Option("--each", help="Show several files side by side instead of pooled.")] = False,
    primary: Annotated[
        bool,
        typer.Option(
            "--primary",
            help="Show N, Faithfulness, Overlap, F1, Tokens, Latency, Abstain Rate and Avg EM of each file.",
        ),
    ] = False,
    correlations: Annotated[
        bool, typer.Option("--correlations", help="Show correlations of the metrics, and where they disagree.")
    ] = False,
    histograms: Annotated[bool, typer.Option("--histograms", help="Show histograms of the scores.")] = False,
    plugin: Plugins = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Summarise score files: means, extremes, undefined rows.

    The table gives mean, standard deviation and extremes, and counts the rows without a score by reason.
    """
    from fastmetrics.commands.options import columns, load_plugins
    from fastmetrics.commands.terminal import print_lines, print_pieces
    from fastmetrics.errors import OptionError
    from fastmetrics.results import correlations as pairs
    from fastmetrics.results import histograms as bars
    from fastmetrics.results.interval_summary import summarize_by
    from fastmetrics.results.primary_table import primary_table
    from fastmetrics.results.side_by_side import side_by_side
    from fastmetrics.results.summary import summarize as summarize_table

    load_plugins(plugin)
    views: dict[str, tuple[bool, Callable[[], Any]]] = {
        "--by, --ci and --cluster": (
            bool(by or ci or cluster),
            lambda: summarize_by(scores[0], columns(by, "--by"), cluster=cluster, interval=interval.value),
        ),
        "--correlations": (correlations, lambda: pairs.correlations(scores[0])),
        "--histograms": (histograms, lambda: bars.histograms(scores[0])),
        "--each": (each, lambda: side_by_side(scores)),
        "--primary": (primary, lambda: primary_table(scores)),
    }
    asked = [name for name, (wanted, _) in views.items() if wanted]
    if len(asked) > 1:
        raise OptionError(f"{asked[0]} and {asked[1]} print different tables; use one at a time")
    if asked and asked[0] not in ("--each", "--primary") and len(scores) > 1:
        raise OptionError(f"{asked[0]}: expected one file of scores, got {len(scores)}")
    found = views[asked[0]][1]() if asked else summarize_table(scores)
    print_pieces(found.json_pieces()) if as_json else print_lines(found.lines())
