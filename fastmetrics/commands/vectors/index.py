"""``fastmetrics index``: an index of the vectors of a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fastmetrics.commands.options.option_groups import Arguments
from fastmetrics.commands.options.shared_options import Threads, VectorColumn, VectorFiles


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
    from fastmetrics.tables.remote.small_files import local_path
    from fastmetrics.vectors.search.neighbors import check_absent
    from fastmetrics.vectors.search.search_files import build_index

    check_absent(local_path(output, "output"))
    built = arguments.call(build_index)
    built.save(output)
    typer.echo(f"{built.rows:,} rows indexed ({built.method}, {built.metric}): {output}")
