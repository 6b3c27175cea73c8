"""chrF and chrF++ of whole tables, from summed n-gram counts as in sacreBLEU."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from fastmetrics.base.arrays import Floats, Ints
from fastmetrics.kernels.corpus_formulas import chrf_scores
from fastmetrics.metrics.batch import Batch, Options, need
from fastmetrics.metrics.bleu import HEADS
from fastmetrics.metrics.chrf import (
    Beta,
    Characters,
    EpsSmoothing,
    Lowercase,
    Spelled,
    Spelling,
    Whitespace,
    Words,
    check_orders,
    f_score,
    shared_ngrams,
    spelled_in,
)
from fastmetrics.metrics.metric import Corpus, Formula, RowHooks, metric


@dataclass(frozen=True, eq=False)
class ReferenceCharacters:
    """The characters and words of all references: row r has the texts ``groups[r]:groups[r + 1]``."""

    spelled: Spelled
    groups: Ints


def reference_characters_in(batch: Batch, column: str, options: Options) -> ReferenceCharacters:
    """Like ``spelled_in``, with all references of a row together."""
    groups = batch.text(column).groups
    return ReferenceCharacters(
        spelled_in(batch, column, options), np.arange(batch.n_rows + 1) if groups is None else groups
    )


References = Annotated[ReferenceCharacters, need(reference_characters_in)]


@dataclass(frozen=True)
class ChrfScore:
    """chrF of a table: the ``score``, the n-grams of the answers, of the references and of both, for each order of
    characters and then of words, and sacreBLEU's ``name`` and ``signature``."""

    score: float
    in_answers: list[int]
    in_references: list[int]
    in_both: list[int]
    name: str
    signature: str

    def __float__(self) -> float:
        return self.score

    def __str__(self) -> str:
        return f"{self.name}|{self.signature} = {self.score:.2f}"


def _finish_many(sums: Ints, *, beta: float, eps_smoothing: bool, **_: Any) -> Floats:
    """chrF of each row of summed counts: after the heads, for each order, n-grams of answers, references and both."""
    scores = np.empty(len(sums))
    chrf_scores(sums[:, HEADS:].astype(np.float64), float(beta**2), eps_smoothing, scores)
    return np.where(sums[:, 0] > 0, scores, np.nan)


def _finish(sums: Sequence[int], **options: Any) -> ChrfScore:
    """The score of summed counts."""
    sums = sums or [0] * (HEADS + 3 * (options["char_order"] + options["word_order"]))
    from sacrebleu.metrics.chrf import CHRF

    rows, references, squares = sums[:HEADS]
    scorer: Any = CHRF(**options)
    # if and only if all rows have equally many references, the mean square equals the squared mean
    scorer.num_refs = references // max(rows, 1) if rows * squares == references**2 else -1
    ngrams, score = list(sums[HEADS:]), float(_finish_many(np.array([sums]), **options)[0])
    name = f"chrF{options['beta']}{'+' * options['word_order']}"
    return ChrfScore(score, ngrams[0::3], ngrams[1::3], ngrams[2::3], name, str(scorer.get_signature()))


def _counts(
    answer: Spelled, reference: ReferenceCharacters, char_order: int, word_order: int, beta: float, smoothed: bool
) -> Ints:
    """The counts of each row with its reference of highest chrF (the first of equals)."""
    sizes = np.diff(reference.groups)
    owner = np.repeat(np.arange(len(sizes)), sizes)
    answers = answer if len(owner) == len(sizes) and (sizes == 1).all() else answer.take(owner)
    pairs = shared_ngrams(answers, reference.spelled, char_order, word_order)
    best = np.lexsort((-f_score(*pairs, beta, smoothed), owner))[reference.groups[:-1][sizes > 0]]
    counts = np.zeros((len(sizes), HEADS + 3 * (char_order + word_order)), np.int64)
    counts[:, :HEADS] = np.stack([np.ones_like(sizes), sizes, sizes**2], axis=1)
    of_best = np.stack(pairs, axis=2)[:, best]
    counts[sizes > 0, HEADS:] = of_best.transpose(1, 0, 2).reshape(len(best), 3 * len(of_best))
    return counts


@metric(
    bounds=(0, 100),
    better="higher",
    source="S2, chrF; sacreBLEU 2.6",
    check=check_orders,
    rows=RowHooks(grouped=True),
    corpus=Corpus(finish=Formula(_finish, _finish_many)),
)
def corpus_chrf(
    answer: Spelling,
    reference: References,
    *,
    char_order: Characters = 6,
    word_order: Words = 0,
    beta: Beta = 2,
    lowercase: Lowercase = False,
    whitespace: Whitespace = False,
    eps_smoothing: EpsSmoothing = False,
) -> Ints:
    """Character n-gram F-score of all answers together, from 0 to 100: sacreBLEU's ``corpus_chrf``.

    Like ``chrf``, but the n-grams of all rows are summed first.  With several references, the reference with the best
    ``chrf`` counts, the first of equals.  Rows without an answer or any reference are excluded; without any other row
    the score is NaN.  Returns a ``ChrfScore``, which has the counts and sacreBLEU's signature; ``OptionError`` if both
    orders are 0.

    >>> import fastmetrics as fm
    >>> print(fm.corpus_chrf(["the cat sat", "a mat"], ["the cats sat", "a mat"]))  # doctest: +ELLIPSIS
    chrF2|nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:... = 71.12
    """
    return _counts(answer, reference, char_order, word_order, beta, eps_smoothing)


@metric(
    name="corpus_chrf++",
    bounds=(0, 100),
    better="higher",
    source="S2, chrF++; sacreBLEU 2.6",
    check=check_orders,
    aliases=["corpus_chrf_plus_plus"],
    rows=RowHooks(grouped=True),
    corpus=Corpus(finish=Formula(_finish, _finish_many)),
)
def corpus_chrf_plus_plus(
    answer: Spelling,
    reference: References,
    *,
    char_order: Characters = 6,
    word_order: Words = 2,
    beta: Beta = 2,
    lowercase: Lowercase = False,
    whitespace: Whitespace = False,
    eps_smoothing: EpsSmoothing = False,
) -> Ints:
    """Character and word n-gram F-score of all answers together: ``corpus_chrf`` with ``word_order=2``.

    0 if nothing is shared; ``OptionError`` if both orders are 0.

    >>> import fastmetrics as fm
    >>> getattr(fm, "corpus_chrf++")(["the cat sat", "a mat"], ["the cats sat", "a mat"]).score.__round__(2)
    67.53
    """
    return _counts(answer, reference, char_order, word_order, beta, eps_smoothing)


globals()["corpus_chrf++"] = corpus_chrf_plus_plus
