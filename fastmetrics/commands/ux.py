"""``fastmetrics ux``: hit rate of a hypothetical cache, and similarity of successive questions in sessions."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from fastmetrics.commands import log_options as log
from fastmetrics.commands.options import Threads

WANTED = ("question", "question_embedding", "answer", "rating", "timestamp", "session_id", "turn")


def ux(
    inputs: log.Logs,
    *,
    tau: Annotated[float, typer.Option(help="Cosine above which an earlier question counts as the same.")] = 0.85,
    best: Annotated[
        float | None, typer.Option(help="Minimum rating of stored answers; by default the highest rating.")
    ] = None,
    embedder: log.Embedder = None,
    cache: log.Cache = None,
    columns: log.ColumnNames = None,
    schema: log.Schema = None,
    format: log.Format = None,
    out: log.Out = None,
    overwrite: log.Overwrite = False,
    threads: Threads = None,
    as_json: log.AsJson = False,
) -> None:
    """Estimate what a cache of answers would have saved.

    Also say how near each other the questions of a session are.
    """
    from fastmetrics.commands.options import pairs
    from fastmetrics.usage.cache_hits import cache_hit_rate
    from fastmetrics.usage.log import Columns, open_log
    from fastmetrics.usage.sessions import context_preservation

    place = log.out_place(out, inputs, overwrite=overwrite)
    read = open_log(inputs, [], WANTED, (), Columns(pairs(columns), schema, format))
    table = read.table()  # read once, because streams cannot be read again
    made: dict[str, Any] = {"embedder": embedder, "cache": cache}
    found: list[Any] = [cache_hit_rate(table, tau, best=best, **made, threads=threads)]
    if "session_id" in read.has:
        found.append(context_preservation(table, **made))
    log.show(Together(found), place, as_json)


class Together:
    """Figures of several kinds in one JSON document."""

    def __init__(self, found: list[Any]) -> None:
        self._found = found

    def to_json(self) -> str:
        """All figures in one object; their field names differ, except for the number of excluded rows."""
        named = ("cache", "sessions")
        return json.dumps(
            {name: json.loads(one.to_json()) for name, one in zip(named, self._found, strict=False)}, indent=2
        )

    def __str__(self) -> str:
        return "\n\n".join(map(str, self._found))
