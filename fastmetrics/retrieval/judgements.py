"""Judgements of documents, grouped by query and held in memory."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from fastmetrics.base.arrays import Floats, Ints
from fastmetrics.base.arrow import numpy_values
from fastmetrics.base.errors import Argument, InputError
from fastmetrics.kernels import rankings as kernels
from fastmetrics.retrieval.rankings import (
    GradedRankings,
    Rankings,
    by_grade,
    fixed_ids,
    frozen,
    offsets,
    spans,
    take_ids,
    text_ids,
)
from fastmetrics.tables.rankings import Triples


@dataclass(frozen=True)
class Judgements:
    """``queries`` in the order of the source; the documents of query q are row q of ``documents``, best grade first."""

    queries: pa.Array
    documents: Rankings
    grades: Floats

    def __len__(self) -> int:
        return len(self.queries)

    @cached_property
    def place(self) -> dict[str, int]:
        """The position of each judged query."""
        return {query: place for place, query in enumerate(self.queries.to_pylist())}

    def places(self, queries: pa.Array) -> Ints:
        """The position of each query among the judged ones, -1 for an unknown query."""
        encoded = queries if pa.types.is_dictionary(queries.type) else queries.dictionary_encode()
        names = _plain(encoded.dictionary).to_pylist()
        codes = np.fromiter((self.place.get(name, -1) for name in names), np.int64, len(names))
        places: Ints = codes[numpy_values(encoded.indices)]
        return places

    def of(self, places: Ints) -> tuple[Rankings, Floats]:
        """The documents and grades of the queries at ``places``; empty for -1."""
        if places.size and places[0] >= 0 and (np.diff(places) == 1).all():
            return self._between(int(places[0]), int(places[-1]) + 1)
        sizes = np.where(places < 0, 0, self.documents.sizes[places])
        picked = spans(self.documents.starts[places], sizes)
        return self.documents.take(places), frozen(self.grades[picked])

    def _between(self, first: int, last: int) -> tuple[Rankings, Floats]:
        """The queries at ``first:last``, without a copy."""
        starts = self.documents.starts[first : last + 1]
        some = slice(int(starts[0]), int(starts[-1]))
        ids = self.documents.ids
        part = fixed_ids(ids.keys[some], ids.data, ids.starts[some], ids.stops[some])
        rankings = Rankings(part, frozen(starts - starts[0]), self.documents.valid[first:last], self.documents.kind)
        return rankings, frozen(self.grades[some])

    def of_nothing(self, places: Ints) -> GradedRankings:
        """Empty rankings of the queries at ``places``."""
        rankings, grades = self.of(places)
        return GradedRankings(frozen(np.zeros(0)), offsets(0 * places), grades, rankings.starts)


def judgements(source: Any, duplicates: str = "error") -> Judgements:
    """Read the judgements in ``source``: a path, a table or a dictionary.

    Raises ``InputError`` for a document judged twice for one query, unless ``duplicates`` is "first".
    """
    if isinstance(source, Judgements):
        return source
    rows = Triples(source, "grade")
    batches = list(rows.batches())
    if not sum(batch.num_rows for batch in batches):
        raise InputError(f"{rows.name}: the file has no judgements")
    queries = pa.concat_arrays([_plain(batch["query"]) for batch in batches]).dictionary_encode()
    docs = pa.concat_arrays([_plain(batch["doc"]) for batch in batches])
    grades = np.concatenate([numpy_values(batch["value"]) for batch in batches])
    codes = numpy_values(queries.indices)
    starts = offsets(np.bincount(codes, minlength=len(queries.dictionary)))
    order = np.arange(codes.size) if (codes[1:] >= codes[:-1]).all() else np.argsort(codes, kind="stable")
    ids = take_ids(text_ids(docs), order)
    again = np.flatnonzero(kernels.repeats(ids, starts))
    if again.size and duplicates != "first":
        row = int(order[again[0]])
        raise InputError(
            f"{rows.name}, row {row}: document {docs[row]} is judged twice for query {queries[row]}; ",
            Argument("duplicates", "first"),
            " keeps the first",
        )
    if again.size:
        order, ids = np.delete(order, again), take_ids(ids, np.delete(np.arange(order.size), again))
        starts = offsets(np.bincount(codes[order], minlength=len(queries.dictionary)))
    everyone = np.ones(len(queries.dictionary), np.bool_)
    grades = frozen(grades[order])
    best_first = by_grade(frozen(np.arange(float(order.size))), grades, starts).astype(np.int64)
    documents = Rankings(take_ids(ids, best_first), starts, everyone, "text")
    return Judgements(queries.dictionary, documents, frozen(grades[best_first]))


def _plain(texts: pa.Array) -> pa.Array:
    return texts.cast(pa.large_string())
