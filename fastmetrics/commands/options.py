"""Options shared by several commands, and the syntax of lists and pairs."""

from __future__ import annotations

import csv
from enum import StrEnum
from typing import Annotated

import typer

from fastmetrics.core import name_lists as lists
from fastmetrics.errors import OptionError

Plugins = Annotated[
    list[str] | None,
    typer.Option("--plugin", help="Python files that declare metrics or model clients.", metavar="FILE"),
]
Threads = Annotated[
    int | None,
    typer.Option(help="Number of threads, from 1 to 1,024; by default one for each core available to this process."),
]


class IntervalKind(StrEnum):
    """Kinds of confidence intervals; ``auto`` depends on the data."""

    auto = "auto"
    t = "t"
    percentile = "percentile"
    bca = "bca"
    studentised = "studentised"
    sequential = "sequential"


Interval = Annotated[
    IntervalKind, typer.Option("--interval", help="Kind of the intervals; auto chooses the one that fits the data.")
]


class Correction(StrEnum):
    """Corrections for multiple comparisons."""

    holm = "holm"
    bh = "bh"
    none = "none"


Corrected = Annotated[Correction, typer.Option("--correction", help="Correction of p for the number of comparisons.")]
Resamples = Annotated[int, typer.Option("--resamples", min=1, help="Random sign patterns for each p.")]
Bootstrap = Annotated[int, typer.Option("--bootstrap", min=1, help="Samples for each bootstrap interval.")]
Confidence = Annotated[float, typer.Option("--confidence", help="Confidence level of the intervals.")]
Seed = Annotated[int, typer.Option("--seed", help="Random seed.")]
Scores = Annotated[str, typer.Argument(help="The score file, folder or address.", show_default=False)]
Runs = Annotated[list[str], typer.Argument(help="Score files, folders or addresses.", metavar="RUN...")]
OnlyMetrics = Annotated[
    list[str] | None, typer.Option("--metrics", "-m", help="Only these metrics: token_f1,mrr.", metavar="METRIC")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


class NoRelevant(StrEnum):
    """Scores of a query without relevant documents."""

    zero = "zero"
    undefined = "undefined"


NoRelevantRows = Annotated[
    NoRelevant | None,
    typer.Option(
        "--no-relevant",
        help="Score of a row without relevant documents: zero, or undefined (the default of all metrics).",
    ),
]

TextLists = Annotated[
    list[str] | None,
    typer.Option("--lists", help="Columns of references or contexts whose texts are lists in JSON: reference,..."),
]

VECTORS = "Vectors: a file, folder, glob or address of tables in any format or of .npy arrays, or -."
GUARD = "Write a leading quote in CSV before text that a spreadsheet would run as a formula (=, +, -, @ and others)."

AsMarkdown = Annotated[bool, typer.Option("--markdown", help="Print Markdown.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace the output if it exists.")]
Guard = Annotated[bool, typer.Option("--guard/--no-guard", help=GUARD)]
On = Annotated[str | None, typer.Option("--on", help="The column that pairs the rows; by default the id.")]
By = Annotated[list[str] | None, typer.Option("--by", help="Columns whose values define segments: language,topic.")]
ByPosition = Annotated[
    bool, typer.Option("--by-position", help="Pair rows by position: row i of each run is the same question.")
]
Cluster = Annotated[
    str | None,
    typer.Option("--cluster", help="The column whose equal values mark dependent rows: document, session or question."),
]
Better = Annotated[list[str] | None, typer.Option("--better", help="Which direction is better: my_score=lower.")]
AllowDifferences = Annotated[
    bool, typer.Option("--allow-differences", help="Compare runs even if their options or versions differ.")
]
Names = Annotated[list[str] | None, typer.Option("--names", help="Names of the runs, in order: old,new.")]
BaselineName = Annotated[
    str | None, typer.Option("--baseline", help="The name of the baseline run; by default the first.")
]
System = Annotated[str | None, typer.Option("--system", help="The column of one file that names the systems.")]
Folder = Annotated[
    str, typer.Argument(help="A folder of outputs of score, or its address.", metavar="FOLDER", show_default=False)
]
Judged = Annotated[list[str], typer.Argument(help="Files written by judge.", metavar="JUDGED...", show_default=False)]
Prices = Annotated[str | None, typer.Option("--prices", help="A TOML or JSON file of model prices, as for judge.")]
VectorFiles = Annotated[str, typer.Argument(help=VECTORS, show_default=False)]
VectorColumn = Annotated[str | None, typer.Option("--column", help="The column of vectors; by default the only one.")]


def guarded(cells: int) -> str:
    """The note about cells that were written with a leading quote.

    >>> guarded(1)
    "1 cell that a spreadsheet would run begins with a quote ('); --no-guard leaves it as it is"
    """
    noun, verb, left = ("cell", "begins", "it as it is") if cells == 1 else ("cells", "begin", "them as they are")
    return f"{cells:,} {noun} that a spreadsheet would run {verb} with a quote ('); --no-guard leaves {left}"


def load_plugins(paths: list[str] | None) -> None:
    """Load the files that ``--plugin`` names."""
    from fastmetrics.declaration.plugins import load_plugin

    for path in paths or ():
        load_plugin(path)


def split(values: list[str] | None) -> list[str]:
    """The items of a repeatable, comma-separated option; commas within brackets do not separate.

    >>> split(["token_f1,squad_f1(version=2)", "jaccard"])
    ['token_f1', 'squad_f1(version=2)', 'jaccard']
    """
    return [piece for value in values or [] for piece in lists.split(value)]


def columns(values: list[str] | None, option: str) -> list[str]:
    """The column names of a repeatable, comma-separated option; as in CSV, a quoted name may contain a comma.

    >>> columns(["id, user", '"last, first",note'], "--keep")
    ['id', 'user', 'last, first', 'note']

    Raises ``OptionError`` for a quote that is not closed.
    """
    found: list[str] = []
    for value in values or []:
        try:
            [names] = csv.reader([value], strict=True, skipinitialspace=True) if value.strip() else [[]]
        except (csv.Error, ValueError) as error:
            raise OptionError(f"{option} {value!r}: expected a line of CSV: {error}") from error
        found += [name if '"' in value else name.strip() for name in names if name.strip()]
    return found


def pairs(values: list[str] | None, option: str = "--columns", form: str = "canonical=yours") -> dict[str, str]:
    """The pairs of a repeatable, comma-separated option, split as in ``columns`` and then at the first ``=``.

    >>> pairs(["answer=text,reference=gold"])
    {'answer': 'text', 'reference': 'gold'}
    >>> pairs(['"answer=text, cleaned",reference=a=b'])
    {'answer': 'text, cleaned', 'reference': 'a=b'}

    Raises ``OptionError`` for an item without ``=`` and for a name given twice.
    """
    found: dict[str, str] = {}
    for piece in columns(values, option):
        canonical, equals, yours = piece.partition("=")
        if not equals or not canonical or not yours:
            raise OptionError(f"{option} {piece!r}: expected {form}")
        if canonical in found:
            raise OptionError(f"{option} names {canonical!r} twice")
        found[canonical] = yours
    return found
