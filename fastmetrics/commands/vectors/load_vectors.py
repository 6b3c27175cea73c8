"""``fastmetrics load-vectors``: a table of PostgreSQL with an index of pgvector, from vectors in files."""

from __future__ import annotations

from typing import Annotated

import typer

from fastmetrics.commands.options.function_parameters import ParametersOf
from fastmetrics.commands.options.option_groups import Arguments
from fastmetrics.commands.options.shared_options import VectorFiles


def load_vectors(
    vectors: VectorFiles,
    database: Annotated[
        str, typer.Argument(help="The address of a PostgreSQL database: postgresql://host/db.", show_default=False)
    ],
    *,
    arguments: Annotated[Arguments, ParametersOf("fastmetrics.vectors.search.load_vectors")],
) -> None:
    """Load vectors into a table of PostgreSQL.

    With an index of pgvector.
    """
    loaded = arguments.call()
    typer.echo(f"{loaded.rows:,} vectors of {loaded.dim:,} numbers in {loaded.table!r} (index: {loaded.method})")
