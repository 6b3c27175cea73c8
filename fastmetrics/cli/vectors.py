"""The commands on vectors and rankings: embed, measure, project, index, search, load, and evaluate rankings."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from fastmetrics.cli.options import (
    Arguments,
    AsJson,
    Before,
    EmbedderName,
    Excel,
    Files,
    FromText,
    Guard,
    Output,
    Overwrite,
    Printing,
    Table,
    Threads,
    VectorColumn,
    VectorFiles,
    guarded,
    names,
    print_bad_rows,
    split,
)
from fastmetrics.cli.terminal import echo, echo_line, print_error

# The commands on vectors: embed, measure, project, index, search and load them.


def embed(
    table: Table,
    *,
    output: Output,
    of: Annotated[
        list[str] | None,
        typer.Option(help="Columns of text. Default: those of question, answer and reference that exist."),
        FromText(names),
    ] = None,
    embedder: EmbedderName = "wordllama",
    cache: Annotated[
        str | None, typer.Option(help="A folder that stores embeddings for reuse.", metavar="FOLDER")
    ] = None,
    arguments: Arguments,
    files: Files,
) -> None:
    """Embed columns of text once.

    Metrics, topics and caches read the embeddings.
    """
    from fastmetrics.vectors.embedder import Embedder

    run = arguments.call(embedder=Embedder(embedder or "wordllama", cache=cache))
    counts = ", ".join(f"{count:,} in {name}" for name, count in run.counts.items())
    echo_line(f"{run.rows:,} rows embedded in {run.seconds['total']:.1f} s: {run.output}\n{counts}")
    for note in run.notes:
        echo(note)
    print_bad_rows(run)


def geometry(
    vectors: VectorFiles,
    *,
    arguments: Arguments,
    as_json: AsJson = False,
) -> Any:
    """Measure spread and distances of embeddings.

    Distances are those to the nearest neighbour and between pairs.
    """
    return arguments.call()


def project(
    vectors: VectorFiles,
    *,
    output: Annotated[str, typer.Option("--output", "-o", help="The file of points.", metavar="PATH")],
    arguments: Arguments,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> Any:
    """Place vectors in two or three dimensions for a plot.

    By PCA, PaCMAP or UMAP.
    """
    from fastmetrics.tables.outputs import table_target, write_whole

    target = table_target(output, vectors, overwrite=overwrite)
    projection = arguments.call()
    write_whole(projection.to_arrow(), target, projection.to_dict(), {"id", "sampled"})
    return projection


def index(
    vectors: VectorFiles,
    *,
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder of the index.")],
    metric: Annotated[str, typer.Option(help="Distance: cosine, euclidean or dot.")] = "cosine",
    method: Annotated[
        str | None, typer.Option(help="Method: exact, ivf, hnsw or pq; by default chosen by size.")
    ] = None,
    column: VectorColumn = None,
    threads: Threads = None,
    arguments: Arguments,
) -> None:
    """Build an index of vectors for searching."""
    from fastmetrics.tables.input_files import local_path
    from fastmetrics.vectors.neighbors import check_absent
    from fastmetrics.vectors.search_files import build_index

    check_absent(local_path(output, "output"))
    built = arguments.call(build_index)
    built.save(output)
    echo_line(f"{built.rows:,} rows indexed ({built.method}, {built.metric}): {output}")


def search(
    index: Annotated[
        str,
        typer.Argument(
            help="An index folder, written by the index command, or the address of a PostgreSQL database.",
            show_default=False,
        ),
    ],
    queries: Annotated[
        str,
        typer.Argument(
            help="Queries: a file, folder, glob or address of vectors or, with an embedder, of texts; or -.",
            show_default=False,
        ),
    ],
    *,
    output: Output,
    arguments: Arguments,
    recall: Annotated[
        float,
        typer.Option(help="Share of the true neighbours that an approximate index should find."),
        Before("threads"),
    ] = 0.98,
    overwrite: Overwrite = False,
    guard: Guard = True,
    excel: Excel = False,
) -> None:
    """Find the nearest rows of an index for every query.

    The output is rankings for the retrieval metrics.
    """
    from fastmetrics.tables.outputs import table_target, write_whole
    from fastmetrics.vectors.search_files import RANKINGS

    place = table_target(output, [index, queries], overwrite=overwrite)
    place.check_types(RANKINGS)
    run = arguments.call()
    quoted = write_whole(run.table, place, run.settings, set(run.table.column_names), guard=guard, excel=excel)
    measured = f"recall@{arguments['k']} {run.recall:.4f} on {run.recall_sample:,} queries"
    echo_line(f"{run.table.num_rows:,} queries ({run.method}, {run.metric}; {measured}): {place.shown}")
    if run.comparison:
        echo(run.comparison)
    if run.short:
        print_error(f"{run.short:,} lists have fewer rows than the table: raise ef_search, or set iterative_scan")
    if quoted:
        echo(guarded(quoted))
    if run.recall < recall and run.method != "exact":
        print_error(f"no search setting reached recall {recall:g}; use an exact index to find all neighbours")


def load_vectors(
    vectors: VectorFiles,
    database: Annotated[
        str, typer.Argument(help="The address of a PostgreSQL database: postgresql://host/db.", show_default=False)
    ],
    *,
    arguments: Arguments,
) -> None:
    """Load vectors into a table of PostgreSQL.

    With an index of pgvector.
    """
    loaded = arguments.call()
    echo_line(f"{loaded.rows:,} vectors of {loaded.dim:,} numbers in {loaded.table!r} (index: {loaded.method})")


# The commands that evaluate rankings against judgements.


Measures = Annotated[
    list[str] | None,
    typer.Option("--measures", "-m", help="Measures: ndcg@10,mrr,RBP(p=0.8).", metavar="MEASURE"),
    FromText(split),
]
RankingsAndQrels = Annotated[
    list[str], typer.Argument(help="Files of rankings, then the judgements (qrels).", metavar="RANKING... QRELS")
]


def rank(
    rankings: RankingsAndQrels,
    *,
    measures: Measures = None,
    arguments: Arguments,
    as_json: AsJson = False,
) -> Any:
    """Evaluate rankings like trec_eval.

    Print means, and write the values of each query.
    """
    *ranked, qrels = rankings
    return arguments.call(rankings=ranked, qrels=qrels)


def compare_rankings(
    rankings: RankingsAndQrels,
    *,
    measures: Measures = None,
    arguments: Arguments,
    printing: Printing,
) -> Any:
    """Compare rankings query by query.

    Print differences, intervals and p values of each measure.
    """
    *ranked, qrels = rankings
    return arguments.call(rankings=ranked, qrels=qrels)
