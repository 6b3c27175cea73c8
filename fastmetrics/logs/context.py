"""``fm.logs.context_preservation``: similarity of successive questions of a session (the RAG benchmark)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np
import pyarrow as pa

from fastmetrics.base import shared_parameters as shared
from fastmetrics.base.arrays import Ints
from fastmetrics.base.columns import codes_of
from fastmetrics.base.display import Shown
from fastmetrics.base.notes import Note, said
from fastmetrics.base.shared_parameters import Help
from fastmetrics.logs.log import Columns, check_vectors, open_log, order_of_turns, question_vectors
from fastmetrics.tables.input_files import PLAIN, Reading


@dataclass(frozen=True)
class Sessions(Shown):
    """Similarity of each question of a session to the next one."""

    context_preservation: float
    """Mean over sessions with a pair of questions; above 0.7 one topic, below 0.3 changing topics; NaN without any."""
    sessions: int
    single: int
    """Sessions without a pair: of one question, or without two consecutive questions that have vectors."""
    pairs: int
    left_out: int
    """Rows without a session, a question or its vector."""
    table: pa.Table = field(repr=False)
    """One row per session with a pair of questions: ``session_id``, ``questions``, ``context_preservation``."""

    def remarks(self) -> list[str]:
        """The rows that were left out."""
        return said(self.left_out and Note("left_out", n=self.left_out, why="a session, question or vector"))


def context_preservation(
    log: Annotated[Any, Help("Rows of a log: a table in memory, or paths of files.")],
    *,
    embedder: shared.Embedder = None,
    cache: shared.Cache = None,
    columns: shared.Columns = None,
    schema: shared.Schema = None,
    reading: Reading = None,
) -> Sessions:
    """Mean cosine of consecutive questions of a session, averaged over sessions with at least one such pair.

    ``log`` is a table or file paths with a column ``session_id``, and ``question`` or ``question_embedding``; an
    ``embedder`` computes missing embeddings.  Questions of a session are ordered by ``turn``, else by ``timestamp``,
    else by row; equal turns or times keep the order of the rows.  A row without a question or a vector separates its
    neighbours: the questions before and after it are no pair.  Source: the RAG benchmark.

    >>> log = {"session_id": [1, 1, 2, 1], "question_embedding": [[1.0, 0.0], [0.0, 2.0], [1.0, 1.0], [0.0, 1.0]]}
    >>> found = context_preservation(log)
    >>> found.context_preservation, found.sessions, found.single
    (0.5, 2, 1)

    Raises ``ColumnError`` for a log without sessions, or without embeddings and no ``embedder``, and ``InputError`` for
    timestamps with and without a time zone.
    """
    needed = ["session_id", *(["question"] if embedder is not None else [])]
    optional = [column for column in ("question_embedding", "question", "turn", "timestamp") if column not in needed]
    opened = open_log(log, needed, optional, (), Columns(columns, schema, reading or PLAIN))
    check_vectors(opened, embedder)
    table = opened.table()
    units, has_vector = question_vectors(table, embedder, cache)
    session = codes_of(table["session_id"], "session_id")
    has = [name if name in table.column_names else None for name in ("turn", "timestamp")]
    turns = np.flatnonzero(session >= 0)
    turns = turns[np.lexsort((order_of_turns(table, *has)[turns], session[turns]))]
    both = has_vector[turns[:-1]] & has_vector[turns[1:]]
    follows = np.flatnonzero((session[turns[1:]] == session[turns[:-1]]) & both)
    before, after = (units[turns[places]].astype(np.float64) for places in (follows, follows + 1))
    cosines = np.clip(np.einsum("ij,ij->i", before, after), -1.0, 1.0)
    codes = session[turns[has_vector[turns]]]
    numbers, counts = np.unique(codes, return_counts=True)
    owner = np.searchsorted(numbers, session[turns[follows]])
    pairs = np.bincount(owner, minlength=len(numbers))
    paired = pairs > 0
    means = np.bincount(owner, cosines, len(numbers))[paired] / pairs[paired]
    ids = table["session_id"].combine_chunks().take(pa.array(_first(session, numbers[paired])))
    return Sessions(
        context_preservation=math.fsum(means.tolist()) / len(means) if len(means) else math.nan,
        sessions=len(numbers),
        single=int((~paired).sum()),
        pairs=len(follows),
        left_out=len(table) - len(codes),
        table=pa.table({"session_id": ids, "questions": counts[paired], "context_preservation": means}),
    )


def _first(codes: Ints, numbers: Ints) -> Ints:
    """The first row of each session."""
    distinct, places = np.unique(codes, return_index=True)
    return places[np.searchsorted(distinct, numbers)]
