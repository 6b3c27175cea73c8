"""The official SQuAD scores, versions 1.1 and 2.0."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np
import pyarrow as pa

from fastmetrics.base.arrays import Floats
from fastmetrics.base.options import Choice
from fastmetrics.metrics.batch import UNSPACED, Batch, Squad
from fastmetrics.metrics.metric import RowHooks, metric
from fastmetrics.metrics.pair_counts import same, shared, shares

Version = Annotated[int, Choice(1, 2), "the version of SQuAD's script; in 2, a question can have no answer"]

_SOURCE = "SQuAD v1.1 and v2.0 evaluation scripts"


def _answerless(batch: Batch, options: Mapping[str, Any]) -> Batch:
    """For version 2, the batch with the references of its script: the non-empty ones, or the empty string."""
    if options["version"] == 1 or "reference" not in batch.columns or batch.owners("reference") is None:
        return batch
    return batch.remember("squad 2 references", lambda: _with_references(batch))


def _with_references(batch: Batch) -> Batch:
    text, tokens = batch.text("reference"), batch.tokens("reference", "squad")
    owner = batch.owners("reference")
    assert owner is not None
    nonempty = np.flatnonzero(tokens.counts)
    sizes = np.bincount(owner[nonempty], minlength=batch.n_rows)
    empty = sizes == 0
    # a position after the last string represents the empty string
    order = np.argsort(np.concatenate([owner[nonempty], np.flatnonzero(empty)]), kind="stable")
    positions = np.concatenate([nonempty, np.full(empty.sum(), len(text))])[order]
    strings = pa.array([*text.strings(), ""], pa.large_string()).take(pa.array(positions))
    bounds = pa.array(np.concatenate([[0], np.cumsum(np.maximum(sizes, 1))]), pa.int64())
    references = pa.LargeListArray.from_arrays(bounds, strings, mask=pa.array(~text.valid))
    return Batch({**batch.columns, "reference": references})


@metric(bounds=(0, 1), better="higher", source=_SOURCE, rows=RowHooks(prepare=_answerless), cues=["em", "squad"])
def squad_em(answer: Squad, reference: Squad, *, version: Version = 1) -> Floats:
    """SQuAD's exact match: 1 if answer and reference are equal after the official normalisation.

    The normalisation lowercases, deletes ASCII punctuation and the articles a, an and the, and collapses whitespace.
    ``version=2`` scores an unanswerable question (an empty list of references) as if the reference were the empty
    string, and drops references that are empty after normalisation if others remain.

    >>> import fastmetrics as fm
    >>> fm.squad_em(["The Eiffel Tower!"], [["eiffel tower", "tour Eiffel"]])
    array([1.])
    """
    return same(answer, reference).astype(np.float64)


@metric(
    bounds=(0, 1),
    better="higher",
    source=_SOURCE,
    rows=RowHooks(prepare=_answerless),
    cues=["f1", "f1_score", "qa_f1", "squad"],
    caution=UNSPACED,
)
def squad_f1(answer: Squad, reference: Squad, *, version: Version = 1) -> Floats:
    """SQuAD's token F1 after the official normalisation.

    F1 = 2PR / (P + R) over the multisets of tokens, 0 if none is shared.  ``version=2``: if answer or reference is
    empty after normalisation, 1 if both are, else 0; unanswerable questions as in ``squad_em``.

    >>> import fastmetrics as fm
    >>> fm.squad_f1(["the tower in Paris"], ["The Eiffel Tower, Paris"]).round(3)
    array([0.667])
    """
    *_, f1 = shares(shared(answer, reference), answer.counts, reference.counts)
    if version == 2:
        return np.where((answer.counts == 0) & (reference.counts == 0), 1.0, f1)
    return f1
