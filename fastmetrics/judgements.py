"""Judgements of documents, grouped by query and held in memory while runs stream past."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.errors import InputError
from fastmetrics.ids import Floats, Ints, frozen, offsets, spans, take_ids, text_ids
from fastmetrics.kernels import ids as kernels
from fastmetrics.rankings import Rankings
from fastmetrics.tables.runs import Triples


@dataclass(frozen=True)
class Judgements:
    """``queries`` in the order of the source; query q's documents are ``documents`` row q, best grade first."""

    queries: pa.Array
    documents: Rankings
    grades: Floats

    def __len__(self) -> int:
        return len(self.queries)

    def places(self, queries: pa.Array) -> Ints:
        """The place of each query among the judged ones, -1 for one that is not there."""
        if pa.types.is_dictionary(queries.type):
            of_value = self.places(queries.dictionary)
            return of_value[queries.indices.to_numpy()]
        found = pc.index_in(queries.cast(self.queries.type), value_set=self.queries)
        return np.asarray(pc.fill_null(found, -1).to_numpy(), np.int64)

    def of(self, places: Ints) -> tuple[Rankings, Floats]:
        """The documents and grades of the queries at ``places``; nothing for a place of -1."""
        sizes = np.where(places < 0, 0, self.documents.sizes[places])
        picked = spans(self.documents.starts[places], sizes)
        return self.documents.take(places), frozen(self.grades[picked])


def judgements(source: Any, duplicates: str = "error") -> Judgements:
    """Read the judgements in ``source``: a path, a table or a dictionary.

    Raises ``InputError`` for a document judged twice for one query, unless ``duplicates`` is "first".
    """
    if isinstance(source, Judgements):
        return source
    rows = Triples(source, "grade")
    batches = list(rows.batches())
    if not sum(batch.num_rows for batch in batches):
        raise InputError(f"{rows.name}: there is no judgement")
    queries = pa.concat_arrays([_plain(batch["query"]) for batch in batches]).dictionary_encode()
    docs = pa.concat_arrays([batch["doc"] for batch in batches])
    grades = np.concatenate([batch["value"].to_numpy() for batch in batches])
    codes = queries.indices.to_numpy()
    order = np.lexsort((-grades, codes))
    starts = offsets(np.bincount(codes, minlength=len(queries.dictionary)))
    ids = take_ids(text_ids(docs), order)
    again = kernels.repeats(ids, starts)
    if again.any() and duplicates != "first":
        row = int(order[np.flatnonzero(again)[0]])
        raise InputError(
            f"{rows.name}, row {row}: document {docs[row]} is judged twice for query {queries[row]}; "
            "duplicates='first' keeps the first"
        )
    if again.any():
        earliest = _earliest(codes, docs)
        return judgements(
            pa.table({"query": queries.dictionary.take(queries.indices), "doc": docs, "grade": grades}).take(earliest)
        )
    everyone = np.ones(len(starts) - 1, np.bool_)
    return Judgements(queries.dictionary, Rankings(ids, starts, everyone, "text"), frozen(grades[order]))


def _earliest(codes: Ints, docs: pa.Array) -> Ints:
    """The rows whose query and document were not seen in an earlier row."""
    order = np.argsort(codes, kind="stable")
    starts = offsets(np.bincount(codes))
    return np.sort(order[~kernels.repeats(take_ids(text_ids(docs), order), starts)])


def _plain(queries: pa.Array) -> pa.Array:
    return queries.cast(pa.large_string())
