"""The commands that show scores: summaries of many kinds, reports, and the runs of a folder."""

from __future__ import annotations

import inspect
import json
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import pyarrow as pa
import typer

from fastmetrics.base.column_names import distinct
from fastmetrics.base.display import Grid, json_text, strict
from fastmetrics.base.errors import OptionError, one_line
from fastmetrics.cli.options import (
    Arguments,
    AsJson,
    Folder,
    OptionsOf,
    Overwrite,
    Picture,
    Plugins,
    Spelling,
    draw,
    guarded,
    named_runs,
    picture_place,
)
from fastmetrics.cli.terminal import ResultOfCheck, code_of, echo, echo_line, print_table
from fastmetrics.reporting.report import report
from fastmetrics.results.by_segment import summarize_by
from fastmetrics.results.distributions import correlations, histograms
from fastmetrics.results.main_metric import main_of_project
from fastmetrics.results.primary import primary_table
from fastmetrics.results.run_folders import list_runs, readable_runs
from fastmetrics.results.score_columns import column_named
from fastmetrics.results.summary import side_by_side, summarize
from fastmetrics.results.trend import trend
from fastmetrics.results.worst_rows import BASELINE_ANSWER, TEXTS, worst_rows
from fastmetrics.tables.outputs import table_target, write_whole

# ``fastmetrics summarize``: what scores say, in one of several ways.


@dataclass(frozen=True, kw_only=True)
class Ways:
    """What a summary shows; without any, means and extremes."""

    intervals: Annotated[bool, typer.Option("--intervals", help="Means with intervals, as --by has of segments.")] = (
        False
    )
    correlations: Annotated[
        bool, typer.Option("--correlations", help="Correlations of the metrics, and where they disagree.")
    ] = False
    histograms: Annotated[bool, typer.Option("--histograms", help="Histograms of the scores.")] = False
    primary: Annotated[
        bool,
        typer.Option("--primary", help="The main figures, a line for each run: N, Faithfulness, F1, Tokens …"),
    ] = False
    side_by_side: Annotated[
        bool, typer.Option("--side-by-side", help="The means of several runs, a column for each.")
    ] = False
    worst: Annotated[
        str | None, typer.Option("--worst", help="The rows with the worst scores of this metric.", metavar="METRIC")
    ] = None

    def chosen(self, arguments: Arguments) -> str:
        """The option that chooses what is shown, empty without one; raises ``OptionError`` for several."""
        chosen = [f"--{name.replace('_', '-')}" for name, value in vars(self).items() if value not in (False, None)]
        if arguments.get("by") and not {"--intervals", "--worst"} & {*chosen}:
            chosen.append("--by")
        if len(chosen) > 1:
            raise OptionError(f"choose one of {', '.join(chosen[:-1])} and {chosen[-1]}")
        return chosen[0] if chosen else ""


_WAYS: dict[str, Callable[..., Any]] = {
    "": summarize,
    "--by": summarize_by,
    "--intervals": summarize_by,
    "--correlations": correlations,
    "--histograms": histograms,
    "--primary": primary_table,
    "--side-by-side": side_by_side,
    "--worst": worst_rows,
}
_MORE = {"--worst": ("output", "overwrite")} | dict.fromkeys(
    ("--by", "--intervals", "--histograms", "--primary"), ("plot",)
)
"""Options of the command for one way, besides those of its function."""
_OPTIONS = {way: {*inspect.signature(each).parameters, *_MORE.get(way, ())} for way, each in _WAYS.items()}
_OF_SEVERAL = ("", "--primary", "--side-by-side")


def summarize_command(
    scores: Annotated[
        list[str],
        typer.Argument(help="Score files, folders or addresses.", metavar="SCORES...", show_default=False),
    ],
    *,
    ways: Ways,
    arguments: Annotated[Arguments, OptionsOf(summarize_by, histograms, worst_rows, answers=Spelling("FILE"))],
    output: Annotated[
        str | None, typer.Option("--output", "-o", help="Write the worst rows to this file instead.", metavar="PATH")
    ] = None,
    overwrite: Overwrite = False,
    plot: Picture = None,
    plugin: Plugins = None,
    as_json: AsJson = False,
) -> Any:
    """By default a table of means, standard deviations and extremes, with the rows without a score by reason.

    --worst shows rows; with a baseline, those with the largest losses.
    """
    way = ways.chosen(arguments)
    if not way and arguments["system"] is not None:
        way = "--side-by-side"
    arguments.check_of(way, _OPTIONS)
    if way not in _OF_SEVERAL and len(scores) > 1:
        raise OptionError(f"{way} shows one run, not {len(scores)}; --side-by-side and --primary show several")
    if way == "--worst":
        _show_worst(arguments, scores[0], ways.worst or "")
        return None
    picture = picture_place(plot, scores)
    data: dict[str, Any] = {"scores": scores if way in _OF_SEVERAL else scores[0]}
    if way in ("--primary", "--side-by-side"):
        data = {"runs": scores if way == "--primary" else named_runs(scores, None, arguments["system"])}
    result = arguments.call(_WAYS[way], **data)
    draw(picture, result)
    return result


_WIDTH = 80
_LINES = 4
"""How many lines of a text are printed."""


def _show_worst(arguments: Arguments, scores: str, metric: str) -> None:
    """Print the worst rows, or write them to the output."""
    output, earlier = arguments["output"], [] if arguments["system"] is not None else [arguments["baseline"]]
    place = None
    if output is not None:
        place = table_target(output, [scores, arguments["answers"], *earlier], overwrite=arguments["overwrite"])
    rows = arguments.call(worst_rows, scores=scores, metric=metric).table
    if arguments["as_json"]:
        echo(json_text(rows.to_pylist()))
    if place is None:
        if not arguments["as_json"]:
            segment = "segment" if arguments.get("by") and not arguments.get("segment") else None
            blocks = _blocks(rows, column_named(metric, rows.column_names), segment, distinct(arguments.get("keep")))
            has_texts = bool({*TEXTS, BASELINE_ANSWER, *distinct(arguments.get("keep"))} & {*rows.column_names})
            echo(("\n\n" if has_texts else "\n").join(blocks) or "no row has a score")
            if rows.num_rows and arguments["answers"] is None and not {*TEXTS} & {*rows.column_names}:
                echo("\n--answers FILE, the file that was scored, adds the texts of these rows")
        return
    quoted = write_whole(rows, place, {"rows": metric}, {"id"})
    echo_line(f"{rows.num_rows:,} rows: {output}")
    if quoted:
        echo(guarded(quoted))


def _blocks(rows: pa.Table, metric: str, segment: str | None, keep: Sequence[str]) -> Iterator[str]:
    """The rows, those of each segment, as the column ``segment`` has it, under its name."""
    last = None
    for row in rows.to_pylist():
        if segment is not None and row[segment] != last:
            last = row[segment]
            yield one_line(last)
        yield _printed(row, metric, keep)


def _printed(row: dict[str, Any], metric: str, keep: Sequence[str]) -> str:
    """A row as lines of at most 80 characters: its id and score, then its texts and the user's own columns."""
    if "change" in row:
        score = f"{metric} {row['score']:.4f}, was {row['baseline']:.4f} ({row['change']:+.4f})"
    else:
        score = f"{metric} {row[metric]:.4f}"
    names = [name for name in dict.fromkeys((*TEXTS, BASELINE_ANSWER, *keep)) if row.get(name) is not None]
    width = max(map(len, (*TEXTS, *({BASELINE_ANSWER} & row.keys()), *keep)))
    return "\n".join(
        [
            one_line(f"{row.get('id', row.get('row'))}  {score}"),
            *(line for name in names for line in _lines(one_line(name).ljust(width), row[name])),
        ]
    )


def _lines(name: str, value: Any) -> Iterator[str]:
    """One or several texts or other values under their name, truncated and without control characters."""
    for place, one in enumerate(value if isinstance(value, list) else [value]):
        one = json.dumps(strict(one), ensure_ascii=False, default=str) if isinstance(one, dict) else one
        text = "" if one is None else str(one)
        plain = " ".join("".join(c if c.isprintable() else " " for c in text).split()) or "(empty)"
        lines = textwrap.wrap(plain, max(_WIDTH - len(name) - 4, 20), max_lines=_LINES, placeholder=" …")
        for number, line in enumerate(lines):
            yield f"  {' ' * len(name) if place or number else name}  {line}"


# ``fastmetrics report``: scores, their texts and a comparison as one page that opens from a file.


def report_command(
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
    arguments: Annotated[Arguments, OptionsOf(report)],
    plugin: Plugins = None,
) -> None:
    """It shows the verdict by the main metric, means, distributions, a comparison, and the rows behind them.

    A file fastmetrics.toml in the working directory may name the main metric: main = "token_recall".
    """
    main = arguments["main"] or main_of_project()
    echo(str(arguments.call(report, scores=named_runs(scores, None, arguments["system"]), main=main)))


# The commands on folders of runs: which there are, and a metric over time.


def runs_list_command(
    folder: Folder,
    *,
    arguments: Annotated[Arguments, OptionsOf(list_runs)],
    as_json: AsJson = False,
) -> None:
    """Print names, times (if stored), rows, fingerprints and inputs."""
    if as_json:
        echo(json_text(arguments.call(list_runs).to_pylist()))
        return
    runs, notes = readable_runs(folder, arguments["skip_unreadable"])
    header = ("file", "name", "began", "ended", "rows", "metrics", "ids", "questions")
    cells = [{**run, "rows": f"{run['rows']:,}", "metrics": str(len(run["metrics"]))} for run in runs]
    print_table(Grid(header, [[_short(run[name], name) for name in header] for run in cells]))
    for note in notes:
        echo_line(note)


def _short(value: str | None, column: str) -> str:
    """A cell; a fingerprint is shortened."""
    if value is None:
        return "–"
    return value[:12] if column in ("ids", "questions") else value


def runs_trend_command(
    folder: Folder,
    metric: Annotated[str, typer.Argument(help="The metric to show.", show_default=False)],
    *,
    arguments: Annotated[Arguments, OptionsOf(trend)],
    plot: Picture = None,
    plugin: Plugins = None,
    as_json: AsJson = False,
) -> Any:
    """The runs come first to last, each mean with its interval.  With --alert, the exit code is that of gate."""
    place = picture_place(plot, folder)
    result = arguments.call(trend)
    draw(place, result)
    return result if result.alert is None else ResultOfCheck(result, code_of(result.alert))
