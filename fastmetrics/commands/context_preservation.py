"""``fastmetrics context-preservation``: how similar successive questions of a session are."""

from __future__ import annotations

from fastmetrics.commands import log_options


def context_preservation(
    log: log_options.Logs,
    *,
    embedder: log_options.Embedder = None,
    cache: log_options.Cache = None,
    columns: log_options.ColumnNames = None,
    schema: log_options.Schema = None,
    format: log_options.Format = None,
    output: log_options.Output = None,
    overwrite: log_options.Overwrite = False,
    as_json: log_options.AsJson = False,
) -> None:
    """Measure how similar the questions of a session are.

    The figure is the mean cosine of their embeddings.
    """
    from fastmetrics.commands.options import pairs
    from fastmetrics.usage.context_preservation import context_preservation

    place = log_options.output_place(output, log, overwrite=overwrite)
    sessions = context_preservation(
        log, embedder=embedder, cache=cache, columns=pairs(columns), schema=schema, format=format
    )
    log_options.show(sessions, place, as_json)
