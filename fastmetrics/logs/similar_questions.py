"""Questions like an earlier one: ``fm.logs.cache_hit_rate`` of all, ``fm.logs.context_preservation`` of a session."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.base import shared_parameters as shared
from fastmetrics.base.arrays import Flags, Floats, Ints, floats_of_arrow
from fastmetrics.base.columns import codes_of, with_index_of
from fastmetrics.base.display import Grid, Shown, lines_of
from fastmetrics.base.drawing import Curves, Picture, Plotted
from fastmetrics.base.limits import SIZES
from fastmetrics.base.notes import Note, said
from fastmetrics.base.options import Real, argument
from fastmetrics.base.shared_parameters import Help
from fastmetrics.base.threads import cores, ordered
from fastmetrics.logs.log import MISSING, Columns, Units, order_of_turns, row_table, times_of, with_vectors
from fastmetrics.tables.input_files import PLAIN, Reading
from fastmetrics.vectors.vector_arrays import one_blas_thread


def nearest_earlier(units: Units, times: Ints, stored: Flags, threads: int) -> tuple[Floats, Ints]:
    """The largest cosine of each row to a stored row with an earlier time, and that row; ties go to the first.

    The rows are sorted by time.  NaN and −1 if no row was stored before.
    """
    stored_rows = np.flatnonzero(stored)
    before = np.searchsorted(times[stored_rows], times, side="left")
    size = SIZES.question_block_rows  # the same for any number of threads, so that these change no bit

    def block(start: int) -> tuple[Floats, Ints]:
        return _nearest(units[start : start + size], before[start : start + size], units, stored_rows)

    with one_blas_thread():
        blocks = list(ordered(block, range(0, len(units), size), threads))
    nothing = np.zeros(0), np.zeros(0, np.int64)
    cosines, rows = (np.concatenate(parts) for parts in zip(nothing, *blocks, strict=True))
    return cosines, rows


def _nearest(queries: Units, before: Ints, units: Units, stored_rows: Ints) -> tuple[Floats, Ints]:
    best = np.full(len(queries), -np.inf, np.float32)
    rows = np.full(len(queries), -1)
    every = np.arange(len(queries))
    size = SIZES.question_tile_rows
    for start in range(0, int(before.max(initial=0)), size):
        tile = stored_rows[start : start + size]
        products = queries @ units[tile].T
        late = start + np.arange(len(tile)) >= before[:, None] if before.min() < start + len(tile) else None
        if late is not None:
            products[late] = -np.inf
        place = products.argmax(axis=1)
        greatest = products[every, place]
        better = greatest > best
        best[better], rows[better] = greatest[better], tile[place[better]]
    cosines = np.full(len(queries), np.nan)
    some = np.flatnonzero(rows >= 0)
    pairs = queries[some].astype(np.float64), units[rows[some]].astype(np.float64)
    cosines[some] = np.clip(np.einsum("ij,ij->i", *pairs), -1.0, 1.0)
    return cosines, rows


TAUS = (0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.99)
"""The thresholds of the curve, in addition to the requested one."""


@dataclass(frozen=True)
class CacheHits(Shown, Plotted):
    """Simulation of a cache of the best-rated answers for the questions of a log, in order of time."""

    questions: int
    left_out: int
    """Rows without a question or its vector, or without a timestamp in a log with timestamps."""
    stored: int
    """Questions whose answer the cache would have kept: those with the best rating."""
    best_rating: float | None
    """None for a log without a column of ratings, whose answers are all stored; NaN if all ratings are null."""
    tau: float
    cache_hit_rate: float
    """Share of the questions with an earlier stored one at a cosine above ``tau``; above 0.5 high, below 0.1 unused.

    NaN if all ratings are null, as no answer is known to be good.
    """
    wrong_share: float | None
    """Share of the hits whose stored answer differs from the row's; NaN without hits, None without answers."""
    curve: Sequence[Mapping[str, float | None]]
    """For each of several τ: ``tau``, ``cache_hit_rate``, ``wrong_share``."""
    table: pa.Table = field(repr=False)
    """The rows in order: ``row`` from 0, ``id`` and ``question`` if known, ``cache_hit`` (null if left out), ``cosine``
    to the nearest stored question, its ``stored_row``, ``stored_id`` and ``stored_question``; the index of pandas."""

    def picture(self) -> Picture:
        """The hit rate and the share of wrong hits over τ."""
        taus = [point["tau"] for point in self.curve]
        named = {"hit rate": "cache_hit_rate", "wrong share of hits": "wrong_share"}
        values = {
            title: [math.nan if (v := one[name]) is None else v for one in self.curve] for title, name in named.items()
        }
        return Curves(
            curves={title: (taus, line) for title, line in values.items()},
            axis_names=("τ, the cosine above which an earlier question counts", ""),
            lines={"axvline": {"x": self.tau}},
        )

    def grids(self) -> list[Grid]:
        """The figures, and the curve."""
        return [*super().grids(), lines_of(self.curve, "tau", "cache_hit_rate", "wrong_share")]

    def remarks(self) -> list[str]:
        """Notes on the data behind the figures."""
        unrated = bool(self.questions) and self.best_rating is not None and np.isnan(self.best_rating)
        return said(
            Note("earlier_only"),
            self.best_rating is None and Note("all_stored"),
            unrated and Note("none_stored"),
            self.left_out and Note("left_out", n=self.left_out, why="a question, vector or time"),
        )


def cache_hit_rate(
    log: shared.Log,
    *,
    tau: Annotated[float, Help("Cosine above which an earlier question counts as the same.")] = 0.85,
    best: Annotated[float | None, Help("Minimum rating of stored answers; by default the highest rating.")] = None,
    embedder: shared.Embedder = None,
    cache: shared.Cache = None,
    columns: shared.Columns = None,
    schema: shared.Schema = None,
    reading: Reading = None,
    threads: shared.Threads = None,
) -> CacheHits:
    """Share of the questions that a semantic cache would answer: cosine above ``tau`` to an earlier, well-rated one.

    ``log`` is a table or file paths with a column ``question`` or ``question_embedding``; an ``embedder`` computes
    missing embeddings.  Earlier means a smaller ``timestamp``, or without that column an earlier row.  Answers with a
    rating of at least ``best`` are stored; the default is the highest rating in the log.  If all ratings are null, the
    rate is NaN.  A hit is wrong if the stored
    answer differs from the row's ``answer``.

    The search is exact up to float32 rounding: blocks of questions are multiplied with all earlier stored questions.
    It takes at most questions · stored · dimensions multiplications, half of that if stored questions are spread evenly
    over time.  Memory is that of the vectors (1 GB for 10⁶ vectors of 256 dimensions) and 64 MB per thread.  The number
    of threads does not change the result.  Source: the RAG benchmark.

    >>> log = {"question_embedding": [[1.0, 0.0], [0.9, 0.1], [0.0, 1.0]], "answer": ["a", "a", "b"]}
    >>> found = cache_hit_rate(log)
    >>> round(found.cache_hit_rate, 3), found.wrong_share, found.to_arrow()["stored_row"].to_pylist()
    (0.333, 0.0, [None, 0, 1])

    Raises ``ColumnError`` for a log without embeddings and no ``embedder``, and ``InputError`` for timestamps with and
    without a time zone.
    """
    workers = cores(threads)
    tau = float(argument("tau", tau, Real(-1.0, 1.0)))
    how = Columns(columns, schema, reading or PLAIN)
    table, (units, valid) = with_vectors(log, (), ("id", "answer", "rating", "timestamp"), how, embedder, cache)
    times = np.arange(len(table))
    if "timestamp" in table.column_names:
        times = times_of(table["timestamp"].combine_chunks(), "timestamp")[0]
    valid = valid & (times != MISSING)
    stored, line = _stored(table, valid, best)
    order = np.flatnonzero(valid)[np.argsort(times[valid], kind="stable")]
    cosines, nearest = nearest_earlier(units[order], times[order], stored[order], workers)
    cosine, row = np.full(len(table), np.nan), np.full(len(table), -1)
    cosine[order] = cosines
    row[order] = np.where(nearest < 0, -1, order[nearest])
    found = _result(table, valid, stored, line, tau, cosine, row)
    return replace(found, table=with_index_of(found.table, log))


def _stored(table: pa.Table, valid: Flags, best: float | None) -> tuple[Flags, float | None]:
    """Which rows' answers are stored, and the minimum rating of stored answers."""
    answered = valid
    if "answer" in table.column_names:
        answered = valid & np.asarray(table["answer"].is_valid())
    if "rating" not in table.column_names:
        return answered, None
    ratings = floats_of_arrow(table["rating"].combine_chunks(), "rating")
    if np.isnan(ratings).all():
        return np.zeros(len(table), bool), float("nan")
    line = float(np.nanmax(ratings)) if best is None else best
    return answered & (ratings >= line), line


def _result(
    table: pa.Table, valid: Flags, stored: Flags, line: float | None, tau: float, cosine: Floats, row: Ints
) -> CacheHits:
    differs = None
    if "answer" in table.column_names:
        own = table["answer"].combine_chunks().fill_null("")
        differs = np.asarray(pc.not_equal(own, own.take(pa.array(np.maximum(row, 0))))) if len(own) else valid
    is_rated = line is None or not np.isnan(line)
    rated = valid & is_rated
    curve = [
        _point(threshold, cosine[rated], None if differs is None else differs[rated])
        for threshold in sorted({*TAUS, tau})
    ]
    at_tau = next(point for point in curve if point["tau"] == tau)
    hit = np.where(np.isnan(cosine), 0.0, cosine > tau)
    nearest = pa.array(row, mask=row < 0)
    rows = {
        "cache_hit": pa.array(hit, mask=~rated),
        "cosine": pa.array(cosine, mask=row < 0),
        "stored_row": nearest,
        **{f"stored_{name}": table[name].take(nearest) for name in ("id", "question") if name in table.column_names},
    }
    return CacheHits(
        questions=int(valid.sum()),
        left_out=int((~valid).sum()),
        stored=int(stored.sum()),
        best_rating=line,
        tau=tau,
        cache_hit_rate=float(at_tau["cache_hit_rate"] or 0.0) if rated.any() else float("nan"),
        wrong_share=at_tau["wrong_share"],
        curve=curve,
        table=row_table(table, rows),
    )


def _point(tau: float, cosine: Floats, differs: Flags | None) -> dict[str, float | None]:
    hits = cosine > tau  # false for NaN, when the cache is empty
    wrong = None if differs is None else float(differs[hits].mean()) if hits.any() else float("nan")
    return {"tau": tau, "cache_hit_rate": float(hits.mean()) if len(hits) else float("nan"), "wrong_share": wrong}


# Successive questions of a session.


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
    log: shared.Log,
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
    how = Columns(columns, schema, reading or PLAIN)
    table, (units, has_vector) = with_vectors(log, ["session_id"], ("turn", "timestamp"), how, embedder, cache)
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
    distinct, first = np.unique(session, return_index=True)
    places = first[np.searchsorted(distinct, numbers[paired])]
    ids = table["session_id"].combine_chunks().take(pa.array(places))
    return Sessions(
        context_preservation=math.fsum(means.tolist()) / len(means) if len(means) else math.nan,
        sessions=len(numbers),
        single=int((~paired).sum()),
        pairs=len(follows),
        left_out=len(table) - len(codes),
        table=pa.table({"session_id": ids, "questions": counts[paired], "context_preservation": means}),
    )
