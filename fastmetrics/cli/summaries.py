"""The commands that summarise scores: means, intervals, correlations, histograms, runs over time."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from fastmetrics.cli.options import Arguments, AsJson, Folder, Plugins, Runs, Scores, Table
from fastmetrics.cli.terminal import echo, print_table

# The commands that summarise scores: means, intervals, correlations and histograms.


def summarize(
    scores: Annotated[list[str], typer.Argument(help="Score files, folders or addresses.", metavar="SCORES...")],
    *,
    plugin: Plugins = None,
    as_json: AsJson = False,
    arguments: Arguments,
) -> Any:
    """Summarise score files: means and extremes.

    The table gives mean, standard deviation and extremes, and counts the rows without a score by reason.
    """
    from fastmetrics.results.summary import summarize

    return arguments.call(summarize)


def summarize_by(
    scores: Scores,
    *,
    arguments: Arguments,
    plugin: Plugins = None,
    as_json: AsJson = False,
) -> Any:
    """Show means with intervals, also of segments."""
    return arguments.call()


def side_by_side(runs: Runs, *, plugin: Plugins = None, as_json: AsJson = False, arguments: Arguments) -> Any:
    """Show several runs side by side.

    The table has one line for each metric and one column of means for each run.
    """
    from fastmetrics.results.summary import side_by_side

    return arguments.call(side_by_side)


def primary_table(runs: Runs, *, plugin: Plugins = None, as_json: AsJson = False, arguments: Arguments) -> Any:
    """Show the primary figures of each run.

    They are N, Faithfulness, Overlap, F1, Tokens, Latency, Abstain Rate and Avg EM.
    """
    from fastmetrics.results.primary import primary_table

    return arguments.call(primary_table)


def correlations(
    scores: Scores,
    *,
    arguments: Arguments,
    plugin: Plugins = None,
    as_json: AsJson = False,
) -> Any:
    """Show correlations of the metrics of a run.

    Also show where metrics disagree.
    """
    return arguments.call()


def histograms(
    scores: Scores,
    *,
    arguments: Arguments,
    plugin: Plugins = None,
    as_json: AsJson = False,
) -> Any:
    """Show histograms of the scores."""
    return arguments.call()


def classification(table: Table, *, arguments: Arguments, as_json: AsJson = False) -> Any:
    """Compare predicted labels with expected ones.

    Print accuracy, F1, kappa, MCC and the confusion matrix.
    """
    return arguments.call()


# The commands on folders of runs: which there are, and a metric over time.


def list_runs(
    folder: Folder,
    *,
    as_json: AsJson = False,
) -> None:
    """List the runs in a folder.

    Print names, times (if stored), rows, fingerprints and inputs.
    """
    from fastmetrics.base.display import Grid, json_text
    from fastmetrics.results.open_runs import list_runs

    runs = list_runs(folder).to_pylist()
    if as_json:
        echo(json_text(runs))
        return
    header = ("file", "name", "began", "ended", "rows", "metrics", "ids", "questions")
    cells = [{**run, "rows": f"{run['rows']:,}", "metrics": str(len(run["metrics"]))} for run in runs]
    print_table(Grid(header, [[_short(run[name], name) for name in header] for run in cells]))


def _short(value: str | None, column: str) -> str:
    """A cell; a fingerprint is shortened."""
    if value is None:
        return "–"
    return value[:12] if column in ("ids", "questions") else value


def trend(
    folder: Folder,
    metric: Annotated[str, typer.Argument(help="The metric to show.", show_default=False)],
    *,
    arguments: Arguments,
    plugin: Plugins = None,
    as_json: AsJson = False,
) -> Any:
    """Show the mean of a metric in each run of a folder.

    The runs come first to last, each mean with its interval.
    """
    return arguments.call()
