"""``fastmetrics project``: vectors as points of a picture."""

from __future__ import annotations

from typing import Annotated

import typer

from fastmetrics.commands.options import VECTORS, Threads


def project(
    vectors: Annotated[str, typer.Argument(help=VECTORS, show_default=False)],
    *,
    out: Annotated[str, typer.Option("--out", "-o", help="The file of points.", metavar="PATH")],
    method: Annotated[str, typer.Option(help="pca, pacmap or umap; the last two are extras.")] = "pca",
    dims: Annotated[int, typer.Option(help="Dimensions: 2 or 3.")] = 2,
    sample: Annotated[
        int, typer.Option(help="Rows that pacmap and umap are fitted on; the others are placed by their neighbours.")
    ] = 5_000,
    seed: Annotated[int, typer.Option(help="Seed of the sample and of the methods.")] = 42,
    column: Annotated[str | None, typer.Option(help="Column of vectors; by default the only one.")] = None,
    threads: Threads = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the output if it exists.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Place vectors in two or three dimensions for a plot.

    By PCA, PaCMAP or UMAP.
    """
    from fastmetrics.tables.output.write_table import table_place, write_whole
    from fastmetrics.vectors.project import project as place

    target = table_place(out, vectors, overwrite=overwrite)
    found = place(vectors, method=method, dims=dims, sample=sample, seed=seed, column=column, threads=threads)
    write_whole(found.to_arrow(), target, found.to_dict(), {"id", "sampled"})
    typer.echo(found.to_json() if as_json else str(found))
