"""``fastmetrics load-vectors``: a table of PostgreSQL with an index of pgvector, from vectors in files."""

from __future__ import annotations

from typing import Annotated

import typer

from fastmetrics.commands.options.option_groups import Arguments
from fastmetrics.commands.options.shared_options import (
    IdInDatabase,
    Overwrite,
    VectorColumn,
    VectorFiles,
    VectorInDatabase,
)


def load_vectors(
    vectors: VectorFiles,
    database: Annotated[
        str, typer.Argument(help="The address of a PostgreSQL database: postgresql://host/db.", show_default=False)
    ],
    *,
    table: Annotated[str, typer.Option(help="The name of the new table.", show_default=False)],
    vector: VectorInDatabase = "embedding",
    id: IdInDatabase = "id",
    column: VectorColumn = None,
    metric: Annotated[str, typer.Option(help="Distance of the index: cosine, euclidean or dot.")] = "cosine",
    method: Annotated[str, typer.Option(help="Index of pgvector: hnsw, ivfflat or none.")] = "hnsw",
    overwrite: Overwrite = False,
    arguments: Arguments,
) -> None:
    """Load vectors into a table of PostgreSQL.

    With an index of pgvector.
    """
    from fastmetrics.vectors.search.load_vectors import load_vectors as load

    loaded = arguments.call(load)
    typer.echo(f"{loaded.rows:,} vectors of {loaded.dim:,} numbers in {loaded.table!r} (index: {loaded.method})")
