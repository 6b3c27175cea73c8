"""Rows that repeat a question: finding them, and comparing their answers and their rankings."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

import numpy as np

from fastmetrics.base.arrays import Floats, Ints, Uint64s, decoded, text_of_arrow
from fastmetrics.base.columns import codes_of
from fastmetrics.base.errors import ColumnError
from fastmetrics.kernels import ranking_measures as kernels
from fastmetrics.kernels import rankings as id_kernels
from fastmetrics.kernels.vectors import pair_products
from fastmetrics.metrics.batch import Batch, Caution, KeptRows, Options, heads_of, need, numbered
from fastmetrics.retrieval.rankings import Rankings, frozen, ids_of, offsets, rankings, spans, take_ids
from fastmetrics.text.text_keys import keys_of
from fastmetrics.vectors.vector_arrays import Block, Vectors, VectorsLike, check_same_width

# Finding the rows that repeat a question, in the data that a run stores for each row.


@dataclass(frozen=True)
class Repeats:
    """A value over repeats of questions, with the numbers of questions, pairs and excluded rows."""

    score: float
    n_questions: int
    n_pairs: int
    n_missing: int
    n_undefined: int = 0
    n_shared: int = field(default=0, compare=False)
    """Rows that share a model call with another row of their question, so that they are equal by construction."""
    n_rows: int = field(default=0, compare=False)
    """Rows of questions that repeat."""

    @property
    def cautioned(self) -> list[int]:
        """The number of rows that share a call, and of all rows of questions that repeat."""
        return [self.n_shared, self.n_rows]

    def __float__(self) -> float:
        return self.score


def keys_in(batch: Batch, column: str, options: Options) -> Uint64s:
    """A 16-byte hash key of the text or integer in each row."""
    array = decoded(batch.columns[column])
    return batch.remember(("keys", column), lambda: _keys(array, column))


Keys = Annotated[Uint64s, need(keys_in, kind="id")]
"""Texts or ids, as keys."""


def calls_in(batch: Batch, column: str, options: Options) -> Uint64s:
    """One key for the model call that made each row; 0 for a row without one."""
    keys = keys_in(batch, column, options)[:, 0]
    return np.where(batch.columns[column].is_valid().to_numpy(zero_copy_only=False), keys, np.uint64(0))


Calls = Annotated[Uint64s, need(calls_in, kind="id")]


def heads(question: Uint64s, answer_call: Uint64s | None) -> Uint64s:
    """What the stored list of each row starts with: the key of its question, and that of its call."""
    calls = np.zeros(len(question), np.uint64) if answer_call is None else answer_call
    return np.column_stack([question, calls])


SHARED_CALLS = Caution(
    "share a model call with another row of their question, so they are equal by construction",
    "answer with repeats (--repeats K) to make a call for each",
    rows=None,
    least=0.0,
)
"""Counts the rows whose equality means nothing, since one call made them."""


def _keys(array: object, column: str) -> Uint64s:
    import pyarrow as pa

    assert isinstance(array, pa.Array)
    if pa.types.is_integer(array.type):
        keys = ids_of(array.fill_null(0), column)[0].keys
        return np.column_stack([keys, np.zeros_like(keys)])
    if pa.types.is_null(array.type):
        return np.zeros((len(array), 2), np.uint64)
    return keys_of(text_of_arrow(array, column))


@dataclass(frozen=True)
class Repeated:
    """The rows whose question occurs at least twice: the number of the question, and the stored values of the row.

    ``missing`` rows lack the question or another value; ``shared`` rows share a call with another row of their
    question.
    """

    questions: Ints
    values: Uint64s
    sizes: Ints
    missing: int
    shared: int

    def counted(self, value: Repeats) -> Repeats:
        """A value with the numbers of missing rows, of rows that share a call, and of rows."""
        missing = value.n_missing + self.missing
        return replace(value, n_missing=missing, n_shared=self.shared, n_rows=len(self.questions))


def repeated(rows: KeptRows) -> Repeated:
    """The rows of repeated questions, in two passes; 24 bytes per row and the repeated rows are in memory."""
    keys, missing = [np.zeros((0, 3), np.uint64)], 0
    for (lists,) in rows():
        missing += lists.null_count
        keys.append(heads_of(lists, 3)[0])
    heads = np.concatenate(keys)
    questions = numbered(np.ascontiguousarray(heads[:, :2]))
    repeated = heads[heads[:, 2] != 0]
    sharing = np.bincount(numbered(repeated)) if len(repeated) else np.zeros(0, np.int64)
    again = (np.bincount(questions) > 1)[questions]
    values, sizes, done = [np.zeros(0, np.uint64)], [np.zeros(0, np.int64)], 0
    for (lists,) in rows():
        _, flat, each = heads_of(lists, 3)
        mask = again[done : done + len(each)]
        values.append(flat[np.repeat(mask, each)])
        sizes.append(each[mask])
        done += len(each)
    shared = int(sharing[sharing > 1].sum())
    return Repeated(questions[again], np.concatenate(values), np.concatenate(sizes), missing, shared)


# Conversion of vectors to 64-bit integers, in which a run stores them, and back to the same bits.


def words_of(vectors: Vectors) -> tuple[Uint64s, Uint64s, Ints]:
    """For each row a header with the item size and the length, followed by the words, and their number."""
    rows = vectors.all()
    width = rows.dtype.itemsize * vectors.dim
    padded = np.zeros((len(rows), -(-width // 8) * 8), np.uint8)
    padded[:, :width] = np.ascontiguousarray(rows).view(np.uint8).reshape(len(rows), width)
    heads = np.full((len(rows), 1), rows.dtype.itemsize << 32 | vectors.dim, np.uint64)
    return heads, padded.view(np.uint64).ravel(), np.full(len(rows), padded.shape[1] // 8, np.int64)


def vectors_of(heads: Uint64s, words: Uint64s) -> Vectors:
    """The vectors of consecutive rows with the given headers; rows of one type and length are adjacent."""
    if not len(heads):
        return Vectors([], 0)
    cuts = [0, *(np.flatnonzero(np.diff(heads)) + 1).tolist(), len(heads)]
    parts: list[Block] = []
    done = 0
    for start, stop in itertools.pairwise(cuts):
        itemsize, dim = divmod(int(heads[start]), 1 << 32)
        size = -(-itemsize * dim // 8)
        block = words[done : done + size * (stop - start)].reshape(stop - start, size)
        single = itemsize == np.dtype(np.float32).itemsize
        parts.append(block.view(np.float32)[:, :dim] if single else block.view(np.float64))
        done += size * (stop - start)
    return joined(parts)


def joined(parts: Sequence[Block]) -> Vectors:
    """The vectors of several blocks; raises ``ColumnError`` if their lengths differ."""
    whole = [Vectors.of_array(part) for part in parts]
    for vectors in whole[1:]:
        check_same_width(whole[0], vectors, "embeddings")
    return Vectors(list(parts), whole[0].dim)


# Comparing the answers to repeats of one question, by text and by embedding.


def exact_match_rate(answers: Any, questions: Any, against: str = "pairs") -> Repeats:
    """Share of the pairs of answers to one question that are equal, or of repeats equal to the first of them."""
    answer_codes, questions_codes = codes_of(answers, "answers"), codes_of(questions, "questions")
    _check_rows(len(answer_codes), len(questions_codes))
    present = (answer_codes >= 0) & (questions_codes >= 0)
    owner, sizes = _grouped(questions_codes[present])
    if against == "first":
        return _as_the_first(answer_codes[present], owner, sizes, int((~present).sum()))
    both = np.stack([owner, answer_codes[present]], axis=1)
    equal = np.unique(both, axis=0, return_counts=True)[1]
    pairs = int((sizes * (sizes - 1)).sum()) // 2
    same = int((equal * (equal - 1)).sum()) // 2
    value = same / pairs if pairs else np.nan
    return Repeats(value, int((sizes > 1).sum()), pairs, int((~present).sum()))


def _as_the_first(answers: Ints, owner: Ints, sizes: Ints, missing: int) -> Repeats:
    """The share of repeats with the same answer as the first row of their question."""
    repeats = int((sizes - 1).sum())
    first = answers[np.unique(owner, return_index=True)[1]] if len(owner) else answers
    same = int((answers == first[owner]).sum()) - len(sizes)
    return Repeats(same / repeats if repeats else np.nan, int((sizes > 1).sum()), repeats, missing)


def semantic_consistency(embeddings: VectorsLike, questions: Any) -> Repeats:
    """Mean cosine of the embeddings of all pairs of answers to one question.

    For unit vectors u of one question, the sum over its pairs is (‖Σu‖² − Σ‖u‖²)/2.
    """
    vectors, codes = Vectors.of(embeddings), codes_of(questions, "questions")
    _check_rows(vectors.rows, len(codes))
    rows = doubles(vectors)
    squares = products(rows, rows)
    missing = (codes < 0) | np.isnan(rows).all(axis=1)
    defined = np.isfinite(squares) & (squares > 0) & ~missing
    owner, sizes = _grouped(codes[defined])
    units = rows[defined] / np.sqrt(squares[defined])[:, None]
    totals = np.zeros((len(sizes), vectors.dim))
    np.add.at(totals, owner, units)
    pairs = int((sizes * (sizes - 1)).sum()) // 2
    each = products(totals, totals) - np.bincount(owner, products(units, units), len(sizes))
    value = min(max(0.5 * math.fsum(each.tolist()) / pairs, -1.0), 1.0) if pairs else np.nan
    return Repeats(value, int((sizes > 1).sum()), pairs, int(missing.sum()), int((~defined & ~missing).sum()))


def doubles(vectors: Vectors) -> Block:
    """All vectors as read-only float64."""
    rows: Block = vectors.all().astype(np.float64)
    rows.setflags(write=False)
    return rows


def products(left: Block, right: Block) -> Floats:
    """The dot product of corresponding rows."""
    rows, sums = np.arange(len(left)), np.empty(len(left))
    pair_products(left, right, rows, rows, sums)
    return sums


def _grouped(codes: Ints) -> tuple[Ints, Ints]:
    """The group number of each row, from 0, and the sizes of the groups."""
    _, owner, sizes = np.unique(codes, return_inverse=True, return_counts=True)
    return owner.ravel(), sizes


def _check_rows(left: int, right: int) -> None:
    if left != right:
        raise ColumnError(f"columns differ in length: {left} and {right} rows")


# Comparing the rankings of repeats of one query.


def consistency(question: Any, retrieved_ids: Any, k: int, against: str) -> Repeats:
    """Overlap of the first ``k`` documents of the repeats of a query, by pairs or against the first."""
    if against == "first":
        return _as_the_first_of_repeated_rankings(question, retrieved_ids, k)
    return _over_pairs(question, retrieved_ids, k, kernels.shares_in_common)


def rank_biased_overlap(question: Any, retrieved_ids: Any, p: float) -> Repeats:
    """Rank-biased overlap of the rankings of the repeats of a query."""
    return _over_pairs(
        question, retrieved_ids, None, lambda ids, starts, pairs: kernels.rank_biased_overlaps(ids, starts, pairs, p)
    )


def _by_query(question: Any, retrieved: Any) -> tuple[Rankings, Ints, Ints]:
    """The rankings sorted by query, the number of each row's query, and the rows that have both."""
    lists = rankings(retrieved, "retrieved_ids")
    codes = codes_of(question, "question")
    if codes.size != len(lists):
        raise ColumnError(f"column 'question' has {codes.size} rows, column 'retrieved_ids' {len(lists)}")
    order = np.argsort(codes, kind="stable")
    return lists, codes, order[(codes[order] >= 0) & lists.valid[order]]


def _as_the_first_of_repeated_rankings(question: Any, retrieved: Any, k: int) -> Repeats:
    """The share of repeats with the same first ``k`` documents as the first row of their query."""
    lists, codes, order = _by_query(question, retrieved)
    missing = codes.size - order.size
    first = _first(lists, k)
    starts = np.concatenate([[True], codes[order][1:] != codes[order][:-1]])[: order.size]
    others = order[~starts]
    if not others.size:
        return Repeats(math.nan, 0, 0, missing)
    models = order[starts][np.cumsum(starts)[~starts] - 1]
    sizes = first.sizes
    alike = sizes[others] == sizes[models]
    left, right = (spans(first.starts[:-1][rows[alike]], sizes[rows[alike]]) for rows in (others, models))
    differs = _differ(first, left, right)
    owner = np.repeat(np.arange(int(alike.sum())), sizes[others[alike]])
    same = np.bincount(owner, differs, int(alike.sum())) == 0
    return Repeats(int(same.sum()) / others.size, len(np.unique(codes[others])), int(others.size), missing)


def _differ(lists: Rankings, left: Ints, right: Ints) -> Floats:
    """1.0 where the ids at two positions differ; for text, equal keys are confirmed by the bytes."""
    ids, starts = lists.ids, np.arange(left.size + 1)
    pairs = np.stack([left, right], axis=1).ravel()
    repeated = id_kernels.repeats(take_ids(ids, pairs), frozen(2 * starts))
    return np.where(repeated[1::2], 0.0, 1.0)


def _over_pairs(question: Any, retrieved: Any, k: int | None, compare: Callable[..., Floats]) -> Repeats:
    lists, codes, order = _by_query(question, retrieved)
    _, counts = np.unique(codes[order], return_counts=True)
    starts = offsets(counts)
    firsts = np.repeat(np.arange(order.size), np.repeat(starts[1:], counts) - np.arange(order.size) - 1)
    places = np.arange(order.size)
    seconds = spans(places + 1, np.repeat(starts[1:], counts) - places - 1)
    missing = codes.size - order.size
    if not firsts.size:
        return Repeats(math.nan, 0, 0, missing)
    first = _first(lists, k)
    shares = compare(first.ids, first.starts, frozen(np.stack([order[firsts], order[seconds]], axis=1)))
    owner = np.repeat(np.arange(counts.size), counts)[firsts]
    ascending = np.lexsort((shares, owner))  # makes the sum independent of the order of the rows
    totals = np.bincount(owner, shares[ascending], counts.size)[counts > 1]
    means = totals / (counts * (counts - 1) / 2)[counts > 1]
    return Repeats(math.fsum(means.tolist()) / means.size, int(means.size), int(firsts.size), missing)


def _first(lists: Rankings, k: int | None) -> Rankings:
    """The first ``k`` ids of each row without duplicates."""
    sizes = lists.sizes if k is None else np.minimum(lists.sizes, k)
    picked = spans(lists.starts[:-1], sizes)
    ids, starts = take_ids(lists.ids, picked), offsets(sizes)
    once = ~id_kernels.repeats(ids, starts)
    return Rankings(
        take_ids(ids, np.flatnonzero(once)), frozen(offsets(once.astype(np.int64))[starts]), lists.valid, lists.kind
    )
