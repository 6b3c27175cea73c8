"""The commands on vectors: embed, measure, project, index, search and load them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from fastmetrics.base import shared_parameters as shared
from fastmetrics.base.errors import OptionError
from fastmetrics.base.shared_parameters import help_of
from fastmetrics.cli.options import (
    Arguments,
    AsJson,
    OptionsOf,
    Output,
    Overwrite,
    Picture,
    Table,
    VectorFiles,
    draw,
    guarded,
    picture_place,
    print_bad_rows,
)
from fastmetrics.cli.terminal import echo, echo_line, print_error
from fastmetrics.models.embed import embed
from fastmetrics.tables.good_rows import whole_table
from fastmetrics.tables.input_files import local_path
from fastmetrics.tables.opening import open_source
from fastmetrics.tables.outputs import table_target, write_whole
from fastmetrics.vectors.embedder import Embedder
from fastmetrics.vectors.geometry_values import geometry
from fastmetrics.vectors.near_pairs import duplicates
from fastmetrics.vectors.neighbors import check_absent
from fastmetrics.vectors.pgvector import load_vectors
from fastmetrics.vectors.projection import project
from fastmetrics.vectors.search import search
from fastmetrics.vectors.search_files import RANKINGS, build_index

# The commands on vectors: embed, measure, project, index, search and load them.


def vectors_embed_command(
    table: Table,
    *,
    output: Output,
    embedder: Annotated[str, typer.Option("--embedder", help=help_of(shared.Embedder))] = "wordllama",
    cache: Annotated[str | None, typer.Option(help=help_of(shared.Cache), metavar="FOLDER")] = None,
    arguments: Annotated[Arguments, OptionsOf(embed)],
) -> None:
    """Metrics, topics and caches read the embeddings."""
    run = arguments.call(embed, embedder=Embedder(embedder, cache=cache))
    counts = ", ".join(f"{count:,} in {name}" for name, count in run.counts.items())
    echo_line(f"{run.rows:,} rows embedded in {run.seconds['total']:.1f} s: {run.output}")
    echo_line(counts)
    for note in run.notes:
        echo(note)
    print_bad_rows(run)


def vectors_geometry_command(
    vectors: VectorFiles,
    *,
    arguments: Annotated[Arguments, OptionsOf(geometry)],
    as_json: AsJson = False,
) -> Any:
    """Distances are those to the nearest neighbour and between pairs."""
    return arguments.call(geometry)


def vectors_duplicates_command(
    vectors: VectorFiles,
    *,
    arguments: Annotated[Arguments, OptionsOf(duplicates)],
    output: Annotated[
        str | None, typer.Option("--output", "-o", help="Also write the pairs, in this file.", metavar="PATH")
    ] = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> Any:
    """Each with its cosine, nearest first, and with the texts if the table has them."""
    target = None if output is None else table_target(output, vectors, overwrite=overwrite)
    found = arguments.call(duplicates)
    if target is not None:
        settings = {name: value for name, value in found.to_dict().items() if name != "table"}
        write_whole(found.table, target, settings, set(found.table.column_names))
    return found


def vectors_project_command(
    vectors: VectorFiles,
    *,
    output: Annotated[str, typer.Option("--output", "-o", help="The file of points.", metavar="PATH")],
    arguments: Annotated[Arguments, OptionsOf(project)],
    sample: Annotated[
        int,
        typer.Option(
            "--sample",
            "--limit",
            help="Rows that pacmap and umap are fitted on; the others are placed by their neighbours.",
        ),
    ] = 5_000,
    in_3d: Annotated[bool, typer.Option("--3d", help="Three dimensions, as dims 3.")] = False,
    overwrite: Overwrite = False,
    plot: Picture = None,
    color: Annotated[str | None, typer.Option(help="The column that colours the points of --plot.")] = None,
    as_json: AsJson = False,
) -> Any:
    """By PCA, PaCMAP or UMAP."""
    target = table_target(output, vectors, overwrite=overwrite)
    place = picture_place(plot, vectors, output)
    if color is not None and place is None:
        raise OptionError("--color needs --plot: it colours the points that are drawn")
    colors = None if color is None else whole_table(open_source(vectors), {color: "any"})[color].to_pylist()
    if in_3d:
        arguments["dims"] = 3
    projection = arguments.call(project)
    write_whole(projection.to_arrow(), target, projection.to_dict(), {"id", "sampled"})
    draw(place, projection, colors)
    return projection


def vectors_index_command(
    vectors: VectorFiles,
    *,
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder of the index.")],
    arguments: Annotated[Arguments, OptionsOf(build_index)],
) -> None:
    """The command vectors search finds the nearest rows in it."""
    check_absent(local_path(output, "output"))
    built = arguments.call(build_index)
    built.save(output)
    echo_line(f"{built.rows:,} rows indexed ({built.method}, {built.metric}): {output}")


def vectors_search_command(
    index: Annotated[
        str,
        typer.Argument(
            help="An index folder, written by vectors index, or the address of a PostgreSQL database.",
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
    arguments: Annotated[Arguments, OptionsOf(search)],
    overwrite: Overwrite = False,
) -> None:
    """The output is rankings for the retrieval metrics."""
    place = table_target(output, [index, queries], overwrite=overwrite)
    place.check_types(RANKINGS)
    run = arguments.call(search)
    quoted = write_whole(run.table, place, run.settings, set(run.table.column_names))
    measured = f"recall@{arguments['k']} {run.recall:.4f} on {run.recall_sample:,} queries"
    echo_line(f"{run.table.num_rows:,} queries ({run.method}, {run.metric}; {measured}): {place.shown('')}")
    if run.comparison:
        echo(run.comparison)
    for note in run.notes:
        echo(note)
    if run.short:
        print_error(f"{run.short:,} lists have fewer rows than the table: raise ef_search, or set iterative_scan")
    if quoted:
        echo(guarded(quoted))
    recall = arguments["recall"]
    if run.recall < recall and run.method != "exact":
        print_error(f"no search setting reached recall {recall:g}; use an exact index to find all neighbours")


def vectors_load_command(
    vectors: VectorFiles,
    database: Annotated[
        str, typer.Argument(help="The address of a PostgreSQL database: postgresql://host/db.", show_default=False)
    ],
    *,
    arguments: Annotated[Arguments, OptionsOf(load_vectors)],
) -> None:
    """With an index of pgvector."""
    loaded = arguments.call(load_vectors)
    echo_line(f"{loaded.rows:,} vectors of {loaded.dim:,} numbers in {loaded.table!r} (index: {loaded.method})")
