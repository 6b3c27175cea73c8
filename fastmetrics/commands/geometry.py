"""``fastmetrics geometry``: measure the geometry of embeddings."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from fastmetrics.commands.options import VECTORS, Threads


def geometry(
    vectors: Annotated[str, typer.Argument(help=VECTORS, show_default=False)],
    *,
    metric: Annotated[str, typer.Option(help="Distance: cosine or euclidean.")] = "cosine",
    k: Annotated[int, typer.Option("-k", help="Number of neighbours of each row.")] = 10,
    column: Annotated[str | None, typer.Option(help="The column of vectors; by default the only one.")] = None,
    sample: Annotated[
        int, typer.Option(help="Size of the sample of rows for neighbours, if there are more rows.")
    ] = 4096,
    seed: Annotated[int, typer.Option(help="Seed of the samples.")] = 0,
    threads: Threads = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Measure spread, dimensionality and distances of embeddings.

    Distances are those to the nearest neighbour and between pairs.
    """
    from fastmetrics.vectors.geometry import geometry as measure

    options: dict[str, Any] = {"metric": metric, "k": k, "column": column, "sample": sample, "seed": seed}
    result = measure(vectors, **options, threads=threads)
    typer.echo(result.to_json() if as_json else str(result))
