"""``fastmetrics project``: vectors as points of a picture."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from fastmetrics.commands.options.option_groups import Arguments
from fastmetrics.commands.options.shared_options import (
    AsJson,
    Dims,
    Overwrite,
    ProjectionMethod,
    Seed,
    Threads,
    VectorColumn,
    VectorFiles,
)


def project(
    vectors: VectorFiles,
    *,
    output: Annotated[str, typer.Option("--output", "-o", help="The file of points.", metavar="PATH")],
    method: ProjectionMethod = "pca",
    dims: Dims = 2,
    sample: Annotated[
        int, typer.Option(help="Rows that pacmap and umap are fitted on; the others are placed by their neighbours.")
    ] = 5_000,
    seed: Seed = 42,
    column: VectorColumn = None,
    threads: Threads = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
    arguments: Arguments,
) -> Any:
    """Place vectors in two or three dimensions for a plot.

    By PCA, PaCMAP or UMAP.
    """
    from fastmetrics.tables.output.write_table import table_place, write_whole
    from fastmetrics.vectors.projection.project import project

    target = table_place(output, vectors, overwrite=overwrite)
    projection = arguments.call(project)
    write_whole(projection.to_arrow(), target, projection.to_dict(), {"id", "sampled"})
    return projection
