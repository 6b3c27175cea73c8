"""Comparing the answers to repeats of one question, by text and by embedding."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fastmetrics.base.arrays import Floats, Ints
from fastmetrics.base.columns import codes_of
from fastmetrics.base.errors import ColumnError
from fastmetrics.kernels.vectors import pair_products
from fastmetrics.metrics.shared.repeats.repeated_questions import Repeats
from fastmetrics.vectors.vector_arrays import Block, Vectors, VectorsLike


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
