"""The nearest rows of an index, in a folder or in a table of PostgreSQL, for every vector in files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from fastmetrics.errors import OptionError
from fastmetrics.errors.messages import Argument
from fastmetrics.tables.remote.addresses import is_database, parameters, parse
from fastmetrics.tables.remote.small_files import local_path
from fastmetrics.vectors.search.neighbors import RECALL, Distance, Index
from fastmetrics.vectors.search.search_files import SearchRankings, search_run
from fastmetrics.vectors.search.table_search import Chunks, search_table, settings_of


def search(
    index: Index | str | os.PathLike[str],
    queries: str | Path,
    *,
    k: int = 10,
    column: str | None = None,
    recall: float = RECALL,
    threads: int | None = None,
    table: str | None = None,
    vector: str = "embedding",
    id: str = "id",
    where: str | None = None,
    exact: bool = False,
    metric: Distance = "cosine",
    pgvector: str | None = None,
    sweep: Sequence[str] | None = None,
) -> SearchRankings:
    """Search the ``k`` nearest rows of an index for every vector in files: rankings for the retrieval metrics.

    ``index`` is an :class:`Index`, the folder of one, or the address of a PostgreSQL database with pgvector
    (``postgresql://host/db``).  In a database, the rows are those of a ``table`` with columns ``vector`` and ``id``.
    PostgreSQL searches by its index, in blocks of 64 queries, in a transaction that only reads.  All vectors of the
    rows are also read once, in binary, for the exact rankings, against which the index is measured: they must fit into
    memory.

    Parameters:

    - ``index``: An index, its folder, or the address of a database.
    - ``queries``: A file, folder, glob or address of vectors, with their ids.
    - ``k``: Rows per query.
    - ``column``: The column of vectors; by default the only one.
    - ``recall``: Share of the true neighbours that an approximate index should find.
    - ``threads``: Number of threads, from 1 to 1,024; by default one for each core available to this process, of
      profile one.
    - ``table``: The table of the vectors in the database.
    - ``vector``: The column of vectors in the table.
    - ``id``: The column of ids in the table.
    - ``where``: A condition in SQL on the rows of the table.
    - ``exact``: Exact rankings, without the index of the table.
    - ``metric``: Distance in the table: cosine, euclidean or dot.
    - ``pgvector``: Settings of pgvector: ef_search=100,iterative_scan=relaxed_order.
    - ``sweep``: Further settings of pgvector to measure; repeat the option.

    The result has the ``table`` of rankings (``id``, ``retrieved_ids``, ``retrieved_scores``) and the ``recall``.
    From a database it also has the ``index`` that served according to EXPLAIN (None if PostgreSQL compared all rows),
    the numbers of ``short`` lists, which have fewer rows than there are, and of ``ties``, lists whose last exact row
    has an equal outside the list, and the ``latency`` of each query: ``sql``, by the clock of the server, and
    ``fetching``.

    >>> import numpy as np, pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> np.save(folder / "queries.npy", np.array([[0.6, 0.8]]))
    >>> index = Index.build([[1.0, 0.0], [0.0, 1.0]], names=["east", "north"])
    >>> search(index, folder / "queries.npy", k=1).table["retrieved_ids"].to_pylist()
    [['north']]

    Raises ``OptionError`` for an invalid option, or one of databases for an index in a folder, ``FileFormatError`` for
    a table or column that PostgreSQL does not have, and for vectors of different dimensions, and ``ColumnError`` for
    null ids.
    """
    address = index if isinstance(index, str | Path) and is_database(index) else None
    if address is None:
        own = {"table": table, "where": where, "exact": exact, "pgvector": pgvector, "sweep": sweep}
        for name, value in own.items():
            if value not in (None, False):
                raise OptionError(Argument(name, value), ": is of the address of a database")
        opened = index if isinstance(index, Index) else Index.load(local_path(index, "index"), threads=threads)
        return search_run(opened, queries, k=k, column=column, recall=recall, threads=threads)
    if parse(address).scheme != "postgresql":
        raise OptionError(f"{parse(address).shown}: expected a PostgreSQL database, which has pgvector")
    if table is None:
        raise OptionError(f"{parse(address).shown}: name the table of the vectors with ", Argument("table"))
    if {"table", "query"} & parameters(parse(address)).keys():
        raise OptionError(f"{parse(address).shown}: expected a database alone; name the table with ", Argument("table"))
    if exact and (pgvector or sweep):
        raise OptionError(Argument("exact", True), ": uses no index, so it has no settings of one")
    settings = [settings_of(pgvector or "", "pgvector"), *(settings_of(text, "sweep") for text in sweep or ())]
    chunks = Chunks(str(address), table, vector, id, where, metric)
    return search_table(chunks, queries, k=k, column=column, exact=exact, settings=settings, threads=threads)
