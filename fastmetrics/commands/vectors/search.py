"""``fastmetrics search``: nearest neighbours of vectors in files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fastmetrics.commands.options.option_groups import Arguments
from fastmetrics.commands.options.shared_options import (
    Guard,
    Output,
    Overwrite,
    Threads,
    VectorColumn,
    VectorFiles,
    guarded,
)
from fastmetrics.commands.program.terminal import print_error


def search(
    index: Annotated[Path, typer.Argument(help="An index folder, written by the index command.", show_default=False)],
    queries: VectorFiles,
    *,
    output: Output,
    k: Annotated[int, typer.Option("-k", help="Rows per query.")] = 10,
    column: VectorColumn = None,
    recall: Annotated[
        float, typer.Option(help="Share of the true neighbours that an approximate index should find.")
    ] = 0.98,
    threads: Threads = None,
    overwrite: Overwrite = False,
    guard: Guard = True,
    arguments: Arguments,
) -> None:
    """Find the nearest rows of an index for every query.

    The output is rankings for the retrieval metrics.
    """
    from fastmetrics.tables.output.write_table import table_place, write_whole
    from fastmetrics.tables.remote.small_files import local_path
    from fastmetrics.vectors.search.neighbors import Index
    from fastmetrics.vectors.search.search_files import search_run

    place = table_place(output, [index, queries], overwrite=overwrite)
    vectors = Index.load(local_path(index, "index"), threads=threads)
    run = arguments.call(search_run, index=vectors)
    quoted = write_whole(run.table, place, run.settings, set(run.table.column_names), guard=guard)
    measured = f"recall@{k} {run.recall:.4f} on {run.recall_sample:,} queries"
    typer.echo(f"{run.table.num_rows:,} queries ({run.method}, {run.metric}; {measured}): {output}")
    if quoted:
        typer.echo(guarded(quoted))
    if run.recall < recall:
        print_error(f"no search setting reached recall {recall:g}; use an exact index to find all neighbours")
