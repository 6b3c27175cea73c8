"""``fastmetrics project``: vectors as points of a picture."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from fastmetrics.commands.options.function_parameters import ParametersOf
from fastmetrics.commands.options.option_groups import Arguments
from fastmetrics.commands.options.shared_options import AsJson, Overwrite, VectorFiles


def project(
    vectors: VectorFiles,
    *,
    output: Annotated[str, typer.Option("--output", "-o", help="The file of points.", metavar="PATH")],
    arguments: Annotated[Arguments, ParametersOf("fastmetrics.vectors.projection.project")],
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> Any:
    """Place vectors in two or three dimensions for a plot.

    By PCA, PaCMAP or UMAP.
    """
    from fastmetrics.tables.output.write_table import table_place, write_whole

    target = table_place(output, vectors, overwrite=overwrite)
    projection = arguments.call()
    write_whole(projection.to_arrow(), target, projection.to_dict(), {"id", "sampled"})
    return projection
