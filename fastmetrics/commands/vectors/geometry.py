"""``fastmetrics geometry``: measure the geometry of embeddings."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from fastmetrics.commands.options.option_groups import Arguments
from fastmetrics.commands.options.shared_options import AsJson, Seed, Threads, VectorColumn, VectorFiles


def geometry(
    vectors: VectorFiles,
    *,
    metric: Annotated[str, typer.Option(help="Distance: cosine or euclidean.")] = "cosine",
    k: Annotated[int, typer.Option("-k", help="Number of neighbours of each row.")] = 10,
    column: VectorColumn = None,
    sample: Annotated[
        int, typer.Option(help="Size of the sample of rows for neighbours, if there are more rows.")
    ] = 4096,
    pair_sample: Annotated[int, typer.Option(help="Number of random pairs of rows.")] = 200_000,
    exact_work: Annotated[
        float, typer.Option(help="Multiplications up to which all pairs of rows are compared.")
    ] = 5e11,
    seed: Seed = 0,
    threads: Threads = None,
    as_json: AsJson = False,
    arguments: Arguments,
) -> Any:
    """Measure spread and distances of embeddings.

    Distances are those to the nearest neighbour and between pairs.
    """
    from fastmetrics.vectors.geometry import geometry

    return arguments.call(geometry)
