"""Splitting a ranking into blocks of whole queries, for any order of its rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.core.arrays import Floats, Ints
from fastmetrics.core.arrow_numbers import arrow_numbers, numpy_values
from fastmetrics.retrieval.ids import frozen, offsets
from fastmetrics.retrieval.judgements import Judgements
from fastmetrics.tables.rankings.ranking_rows import Triples


class QueryBlock(NamedTuple):
    """Whole queries of a ranking: query i has the documents and scores ``starts[i]:starts[i + 1]``, in any order."""

    places: Ints
    docs: pa.Array
    scores: Floats
    starts: Ints
    names: pa.Array


def grouped(rows: Triples, judged: Judgements) -> Iterator[QueryBlock]:
    """Blocks of whole queries of a ranking whose rows are grouped by query."""
    pending: list[pa.RecordBatch] = []
    for batch in rows.batches():
        query = batch["query"]
        edges = _edges(query)
        if pending and str(pending[-1]["query"][-1]) != str(query[0]):
            edges = np.concatenate(([0], edges))
        if edges.size:
            yield _block([*pending, batch.slice(0, int(edges[-1]))], edges, judged)
            pending = []
        pending.append(batch.slice(int(edges[-1]) if edges.size else 0))
    if pending:
        yield _block(pending, np.array([pending[-1].num_rows]), judged)


def _edges(query: pa.Array) -> Ints:
    """The rows at which a new query starts."""
    if pa.types.is_dictionary(query.type):
        codes = numpy_values(query.indices)
        return np.flatnonzero(codes[1:] != codes[:-1]) + 1
    changed = pc.not_equal(query.slice(1), query.slice(0, len(query) - 1))
    return np.flatnonzero(numpy_values(changed)) + 1


def _block(parts: list[pa.RecordBatch], edges: Ints, judged: Judgements) -> QueryBlock:
    """Queries that end at the rows ``edges`` of the last part; the parts before it belong to the first query."""
    ends = edges + sum(part.num_rows for part in parts[:-1])
    starts = frozen(np.concatenate(([0], ends)))
    later = parts[-1]["query"].take(arrow_numbers(edges[:-1], pa.int64()))
    names = pa.concat_arrays([column.cast(pa.large_string()) for column in (parts[0]["query"].slice(0, 1), later)])
    docs = pa.concat_arrays([part["doc"] for part in parts]) if len(parts) > 1 else parts[0]["doc"]
    scores = np.concatenate([numpy_values(part["value"]) for part in parts])
    return QueryBlock(judged.places(names), docs, frozen(scores), starts, names)


def regrouped(rows: Triples, judged: Judgements) -> Iterator[QueryBlock]:
    """Blocks of whole queries of any ranking: the judged queries in their order, then the names of unjudged ones."""
    counts = np.zeros(len(judged), np.int64)
    for batch in rows.batches():
        places = judged.places(batch["query"])
        counts += np.bincount(places[places >= 0], minlength=counts.size)
        names = batch["query"].filter(arrow_numbers(places < 0, pa.bool_())).unique().cast(pa.large_string())
        yield _empty_block(names)
    first = 0
    while first < counts.size:
        last = first + max(1, int(np.searchsorted(np.cumsum(counts[first:]), rows.sizes.ungrouped_rows, side="right")))
        yield from _gathered(rows, judged, counts, first, last)
        first = last


def _gathered(rows: Triples, judged: Judgements, counts: Ints, first: int, last: int) -> Iterator[QueryBlock]:
    """Blocks of the queries at positions ``first:last``, from one pass over the ranking."""
    codes: list[Ints] = []
    docs: list[pa.Array] = []
    scores: list[Floats] = []
    for batch in rows.batches():
        places = judged.places(batch["query"])
        selected = np.flatnonzero((places >= first) & (places < last))
        codes.append((places[selected] - first).astype(np.int32))
        docs.append(batch["doc"].take(pa.array(selected)).cast(pa.large_string()))
        scores.append(batch["value"].to_numpy()[selected])
    order = np.argsort(np.concatenate(codes), kind="stable")
    every_doc, every_score = pa.concat_arrays(docs), np.concatenate(scores)
    del codes, docs, scores
    starts = offsets(counts[first:last])
    present = np.flatnonzero(counts[first:last])
    while present.size:
        some = present[
            : max(1, int(np.searchsorted(starts[present + 1], starts[present[0]] + rows.sizes.rows, side="right")))
        ]
        picked = order[starts[some[0]] : starts[some[-1] + 1]]
        names = judged.queries.take(pa.array(some + first))
        sizes = offsets(counts[first:last][some])
        yield QueryBlock(some + first, every_doc.take(pa.array(picked)), frozen(every_score[picked]), sizes, names)
        present = present[some.size :]


def _empty_block(names: pa.Array) -> QueryBlock:
    none = pa.array([], pa.large_string())
    return QueryBlock(
        np.full(len(names), -1), none, frozen(np.zeros(0)), offsets(np.zeros(len(names), np.int64)), names
    )
