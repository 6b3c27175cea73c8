"""The nearest rows of an index, in a folder or in a table of PostgreSQL, for every query."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from fastmetrics.base import shared_parameters as shared
from fastmetrics.base.errors import Argument, OptionError
from fastmetrics.base.options import Neighbours, Whole, argument
from fastmetrics.base.shared_parameters import Help
from fastmetrics.base.threads import cores
from fastmetrics.tables.addresses import is_database, parameters, parse
from fastmetrics.tables.input_files import local_path
from fastmetrics.vectors.embedder import embedder_of
from fastmetrics.vectors.neighbors import RECALL, Distance, Index, check_finite
from fastmetrics.vectors.pair_scan import survey, zero_vectors
from fastmetrics.vectors.pgvector import MOST_CONNECTIONS, Chunks, search_table, settings_of
from fastmetrics.vectors.search_files import Queries, SearchRankings, SearchTimes, rankings_of


def search(
    index: Annotated[Index | str | os.PathLike[str], Help("An index, its folder, or the address of a database.")],
    queries: Annotated[
        Any, Help("Queries: a file, folder, glob or address of vectors or, with an embedder, of texts; or -.")
    ],
    *,
    k: Annotated[int, Help("Rows per query.")] = 10,
    column: shared.Column = None,
    query_column: Annotated[
        str | None, Help("The column of the texts of queries, with an embedder; by default the question.")
    ] = None,
    embedder: shared.Embedder = None,
    cache: shared.Cache = None,
    recall: Annotated[float, Help("Share of the true neighbours that an approximate index should find.")] = RECALL,
    threads: shared.Threads = None,
    table: Annotated[str | None, Help("The table of the vectors in the database.")] = None,
    vector: Annotated[str | None, Help("The column of vectors in the table; by default embedding.")] = None,
    id: Annotated[str | None, Help("The column of ids in the table; by default id.")] = None,
    where: Annotated[str | None, Help("A condition in SQL on the rows of the table.")] = None,
    exact: Annotated[bool, Help("Exact rankings, without the index of the table.")] = False,
    metric: Annotated[
        Distance | None, Help("Distance in the table: cosine (the default), euclidean or dot; an index has its own.")
    ] = None,
    pgvector: Annotated[str | None, Help("Settings of pgvector: ef_search=100,iterative_scan=relaxed_order.")] = None,
    sweep: Annotated[Sequence[str] | None, Help("Further settings of pgvector to measure; repeat the option.")] = None,
    connections: Annotated[
        int | None,
        Help(
            "Connections to PostgreSQL that search side by side, from 1 to 64; by default one for each "
            "thread, at most 4."
        ),
    ] = None,
) -> SearchRankings:
    """Search the ``k`` nearest rows of an index for every query: rankings for the retrieval metrics.

    ``index`` is an :class:`Index`, the folder of one, or the address of a PostgreSQL database with pgvector
    (``postgresql://host/db``), whose ``table`` has columns ``vector`` and ``id``.  Queries are vectors, or with an
    ``embedder`` texts, each with its id: in files, in a table of any kind, or as a 2-D array, whose ids are the row
    numbers.

    The result has the ``table`` of rankings (``id``, ``retrieved_ids``, ``retrieved_scores``), the ``recall`` against
    exact rankings, and the ``latency`` in seconds of up to 256 queries, each embedded and searched once more, alone.
    From a database it also has the ``index`` that served according to EXPLAIN, the numbers of ``short`` lists and of
    ``ties``, and the latency of each query by the clock of the server (docs/data.md).

    >>> import numpy as np
    >>> index = Index.build([[1.0, 0.0], [0.0, 1.0]], names=["east", "north"])
    >>> search(index, np.array([[0.6, 0.8]]), k=1).table["retrieved_ids"].to_pylist()
    [['north']]

    >>> questions = {"id": [1], "question": ["Which way is up?"]}
    >>> up = lambda texts: np.array([[0.0, 1.0] for text in texts])
    >>> search(index, questions, k=1, embedder=up).table.to_pylist()
    [{'id': 1, 'retrieved_ids': ['north'], 'retrieved_scores': [1.0]}]

    Raises ``OptionError`` for an invalid option, or one of databases for an index in a folder, ``FileFormatError`` for
    a table or column that PostgreSQL does not have, and for vectors of different dimensions, and ``ColumnError`` for
    null ids and texts.
    """
    argument("k", k, Neighbours)
    most = min(cores(threads), MOST_CONNECTIONS)
    if connections is not None:
        most = argument("connections", connections, Whole(1, 64))
    reader = _reader(queries, column, query_column, embedder, cache)
    address = index if isinstance(index, str | Path) and is_database(index) else None
    if address is None:
        own: dict[str, Any] = {"table": table, "where": where, "exact": exact, "pgvector": pgvector, "sweep": sweep}
        own |= {"connections": connections, "vector": vector, "id": id, "metric": metric}
        for name, value in own.items():
            if value not in (None, False):
                raise OptionError(
                    Argument(name, value), ": goes with the address of a database; leave it out for an index"
                )
        if not isinstance(index, Index | str | os.PathLike):
            raise OptionError("index: expected an Index (Index.build makes one), its folder, or a database")
        opened = index if isinstance(index, Index) else Index.load(local_path(index, "index"), threads=threads)
        asked, workers = reader(), cores(threads)
        check_finite(survey(asked.vectors, workers), "query", asked.ids)
        near, seconds = opened.timed_search(asked.vectors, k=k, recall=recall, threads=workers)
        return SearchRankings(
            rankings_of(asked.ids, opened.names, near.ids, near.scores),
            *(near.method, near.metric, near.recall, near.recall_sample),
            latency=SearchTimes(asked.seconds, seconds),
            embedder=asked.embedder,
            n_zero_norm=zero_vectors(asked.vectors, workers) if opened.metric == "cosine" else 0,
        )
    if parse(address).scheme != "postgresql":
        raise OptionError(f"{parse(address).shown}: expected a PostgreSQL database, which has pgvector")
    if table is None:
        raise OptionError(f"{parse(address).shown}: name the table of the vectors with ", Argument("table"))
    if {"table", "query"} & parameters(parse(address)).keys():
        raise OptionError(f"{parse(address).shown}: expected a database alone; name the table with ", Argument("table"))
    if exact and (pgvector or sweep):
        raise OptionError(
            Argument("exact", True), ": uses no index, so it has no settings of one; leave out exact, or these"
        )
    settings = [settings_of(pgvector or "", "pgvector"), *(settings_of(text, "sweep") for text in sweep or ())]
    chunks = Chunks(str(address), table, vector or "embedding", id or "id", where, metric or "cosine")
    return search_table(chunks, reader(), k=k, exact=exact, settings=settings, threads=threads, connections=most)


def _reader(
    queries: Any, column: str | None, query_column: str | None, embedder: Any, cache: str | Path | None
) -> Callable[[], Queries]:
    """What reads the queries: vectors, or texts where there is an embedder."""
    if embedder is not None:
        if column is not None:
            expected = ": is of queries that are vectors; texts have "
            raise OptionError(Argument("column", column), expected, Argument("query_column", column))
        return partial(Queries.of_texts, queries, query_column, embedder_of(embedder, cache))
    for option, text in {"query_column": query_column, "cache": cache}.items():
        if text is not None:
            raise OptionError(Argument(option, text), " goes with ", Argument("embedder", "wordllama"))
    return partial(Queries.of_vectors, queries, column)
