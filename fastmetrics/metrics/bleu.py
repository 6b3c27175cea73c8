"""BLEU (Papineni et al. 2002) of rows and of tables, with sacreBLEU's tokenisers, smoothing and signature."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from fastmetrics.base.arrays import Floats, Ints, Tokens
from fastmetrics.base.errors import OptionError
from fastmetrics.base.options import Choice, Real, Whole
from fastmetrics.kernels.corpus_formulas import bleu_scores
from fastmetrics.metrics.batch import Batch, Caution, Options, need, one_word
from fastmetrics.metrics.metric import Corpus, Formula, RowHooks, metric
from fastmetrics.metrics.pair_counts import clipped
from fastmetrics.metrics.tokenizers import tokens_of_function
from fastmetrics.text.conventions import FRAMES, LOWER

SMOOTHING = {"exp": None, "floor": 0.1, "add-k": 1.0, "none": None}
"""The smoothing methods, with the default value of those that have one."""

OTHER_TOKENIZERS = ("ja-mecab", "ko-mecab", "spm", "flores101", "flores200", "spBLEU-1K")
"""Tokenisers that sacreBLEU itself runs, once per text; they need packages or models."""

Lowercase = Annotated[bool, "whether texts are compared in lower case"]
EffectiveOrder = Annotated[bool, "whether n-grams longer than a text are left out"]
Tokenizer = Annotated[str, Choice(*FRAMES, "none", *OTHER_TOKENIZERS), "the tokenizer of sacreBLEU"]
Smoothing = Annotated[str, Choice(*SMOOTHING), "how precisions of zero are smoothed"]
SmoothValue = Annotated[float | None, Real(0.0, 1e6), "the value of the smoothing; None is the default of the method"]
Order = Annotated[int, Whole(1, 100), "the length of the longest n-grams"]

HEADS = 3
"""The number of counts before those of sacreBLEU: rows, references, and the squares of their numbers."""

_ALIASES, _CUES = ("bleu4", "sentence_bleu"), ("sacrebleu",)


@dataclass(frozen=True, eq=False)
class ReferenceTokens:
    """The tokens of all references: row r has the texts ``groups[r]:groups[r + 1]``."""

    tokens: Tokens
    groups: Ints


def bleu_in(batch: Batch, column: str, options: Options) -> Tokens:
    """Tokens under the options ``tokenizer`` and ``lowercase``."""
    name, lowercase = options["tokenizer"], options["lowercase"]
    if name == "none":
        return batch.tokens(column, "split" if lowercase else "none")
    if name in FRAMES:
        return batch.tokens(column, name + (LOWER if lowercase else ""))
    tokenize = _sacrebleu(name).tokenizer
    return tokens_of_function(
        batch, column, (name, lowercase), lambda text: tokenize((text.lower() if lowercase else text).rstrip())
    )


def reference_tokens_in(batch: Batch, column: str, options: Options) -> ReferenceTokens:
    """Like ``bleu_in``, with all references of a row together."""
    groups = batch.text(column).groups
    return ReferenceTokens(bleu_in(batch, column, options), np.arange(batch.n_rows + 1) if groups is None else groups)


Bleu = Annotated[Tokens, need(bleu_in)]
References = Annotated[ReferenceTokens, need(reference_tokens_in)]


_UNSPACED = one_word("use tokenizer='zh' for Chinese or tokenizer='char' for any script, as in bleu(tokenizer='char')")


def _caution(options: Options) -> Caution | None:
    return _UNSPACED if options["tokenizer"] in ("13a", "intl", "none") else None


def _sacrebleu(tokenizer: str, **options: Any) -> Any:
    from sacrebleu.metrics.bleu import BLEU

    try:
        return BLEU(tokenize=tokenizer, **options)
    except (ImportError, RuntimeError) as error:
        raise OptionError(f"bleu: tokenizer={tokenizer!r} needs more: {str(error).strip()}") from error


def _closest(lengths: Ints, references: ReferenceTokens) -> Ints:
    """For each row, the reference length closest to the length of the answer; the smaller of two equally close ones."""
    sizes = references.tokens.counts
    owner = np.repeat(np.arange(len(lengths)), np.diff(references.groups))
    # sort key: the distance in the high bits, the length in the low bits
    rank = (np.abs(sizes - lengths[owner]) << 32) + sizes
    closest = np.full(len(lengths), np.iinfo(np.int64).max)
    np.minimum.at(closest, owner, rank)
    return np.where(np.diff(references.groups) > 0, closest & 0xFFFFFFFF, 0)


def _totals(lengths: Ints, orders: int) -> Ints:
    return np.maximum(lengths - np.arange(orders)[:, np.newaxis], 0)


@metric(
    bounds=(0, 100),
    better="higher",
    source="S2, BLEU; sacreBLEU 2.6",
    labels={"mean": "avg_bleu"},
    rows=RowHooks(grouped=True),
    aliases=_ALIASES,
    cues=_CUES,
    caution=_caution,
)
def bleu(
    answer: Bleu,
    reference: References,
    *,
    tokenizer: Tokenizer = "13a",
    lowercase: Lowercase = False,
    smooth_method: Smoothing = "exp",
    smooth_value: SmoothValue = None,
    max_ngram_order: Order = 4,
    effective_order: EffectiveOrder = True,
) -> Floats:
    """BLEU of each answer against all its references, from 0 to 100: sacreBLEU's ``sentence_bleu``.

    BLEU = BP · exp(Σ ln pₙ / N) over the clipped n-gram precisions pₙ, n = 1 … N (``max_ngram_order``, or with
    ``effective_order`` the highest order of the answer), BP = min(1, exp(1 - r/c)) with the closest reference length r;
    0 if no word is shared.  The count of an n-gram is clipped at its highest count in any reference.  ``smooth_method``
    is exp, floor, add-k or none; ``tokenizer`` is 13a, intl, char, zh, none, or a tokeniser that sacreBLEU runs
    itself.  Raises ``OptionError`` for other values.

    >>> import fastmetrics as fm
    >>> fm.bleu(["the cat sat on a mat"], [["the cat sat on the mat", "a cat sat on my mat"]]).round(2)
    array([56.23])
    """
    lengths = answer.counts
    correct = clipped(answer, reference.tokens, reference.groups, max_ngram_order)
    sums = np.column_stack([lengths, _closest(lengths, reference), *correct, *_totals(lengths, max_ngram_order)])
    return _bleu_of_sums(sums, smooth_value, smooth_method, effective_order)


@dataclass(frozen=True)
class BleuScore:
    """BLEU of a table, with the details of sacreBLEU: n-gram ``counts`` matched of ``totals``, ``precisions`` in per
    cent, brevity penalty ``bp``, tokens of the answers and of the closest references, and the ``signature``.
    """

    score: float
    counts: list[int]
    totals: list[int]
    precisions: list[float]
    bp: float
    sys_len: int
    ref_len: int
    signature: str

    def __float__(self) -> float:
        return self.score

    def __str__(self) -> str:
        precisions = "/".join(f"{precision:.1f}" for precision in self.precisions)
        ratio = self.sys_len / self.ref_len if self.ref_len else 0.0
        lengths = f"ratio = {ratio:.3f} hyp_len = {self.sys_len} ref_len = {self.ref_len}"
        return f"BLEU|{self.signature} = {self.score:.2f} {precisions} (BP = {self.bp:.3f} {lengths})"


def _finish(sums: Sequence[int], **options: Any) -> BleuScore:
    """The score of summed counts, by sacreBLEU's own formula."""
    orders = options["max_ngram_order"]
    sums = sums or [0] * (HEADS + 2 + 2 * orders)
    rows, references, squares = sums[:HEADS]
    scorer = _sacrebleu(**options)
    # if and only if all rows have equally many references, the mean square equals the squared mean
    scorer.num_refs = references // max(rows, 1) if rows * squares == references**2 else -1
    sys_len, ref_len, *ngrams = sums[HEADS:]
    result = scorer.compute_bleu(
        list(ngrams[:orders]),
        list(ngrams[orders:]),
        sys_len,
        ref_len,
        options["smooth_method"],
        options["smooth_value"],
        options["effective_order"],
        orders,
    )
    bp, signature = float(result.bp), str(scorer.get_signature())
    counts, totals, precisions = list(result.counts), list(result.totals), list(result.precisions)
    return BleuScore(
        float(result.score) if rows else math.nan, counts, totals, precisions, bp, sys_len, ref_len, signature
    )


def _bleu_of_sums(sums: Ints, smooth_value: float | None, smooth_method: str, effective_order: bool) -> Floats:
    """BLEU of each row of counts, of one row or summed, bit by bit as in sacreBLEU.

    The sums are the lengths of answers and references, and the matches and n-grams of each order.
    """
    scores = np.empty(len(sums))
    bleu_scores(
        sums.astype(np.float64),
        list(SMOOTHING).index(smooth_method),
        float((SMOOTHING[smooth_method] or 0.0) if smooth_value is None else smooth_value),
        effective_order,
        sys.version_info >= (3, 12),  # from there on, Python's sum of floats is compensated
        scores,
    )
    return scores


def _finish_many(sums: Ints, **options: Any) -> Floats:
    how = (options["smooth_value"], options["smooth_method"], options["effective_order"])
    return np.where(sums[:, 0] > 0, _bleu_of_sums(sums[:, HEADS:], *how), np.nan)


@metric(
    bounds=(0, 100),
    better="higher",
    source="S2, BLEU; sacreBLEU 2.6",
    rows=RowHooks(grouped=True),
    corpus=Corpus(finish=Formula(_finish, _finish_many)),
    cues=_CUES,
    caution=_caution,
)
def corpus_bleu(
    answer: Bleu,
    reference: References,
    *,
    tokenizer: Tokenizer = "13a",
    lowercase: Lowercase = False,
    smooth_method: Smoothing = "exp",
    smooth_value: SmoothValue = None,
    max_ngram_order: Order = 4,
    effective_order: EffectiveOrder = False,
) -> Ints:
    """BLEU of all answers together, from 0 to 100: sacreBLEU's ``corpus_bleu``.

    Like ``bleu``, but the n-grams and lengths of all rows are summed first.  Rows without an answer or any reference
    are excluded, and without any other row the score is NaN; the number of references may differ between rows.  Returns
    a ``BleuScore``, which has the counts, the precisions and sacreBLEU's signature.

    >>> import fastmetrics as fm
    >>> print(fm.corpus_bleu(["the cat sat on a mat"], ["the cat sat on the mat"]))  # doctest: +ELLIPSIS
    BLEU|nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:... = 53.73 83.3/60.0/50.0/33.3 (BP = 1.000 ratio = 1.000
    hyp_len = 6 ref_len = 6)
    """
    sizes = np.diff(reference.groups)
    correct = clipped(answer, reference.tokens, reference.groups, max_ngram_order)
    heads = np.stack([np.ones_like(sizes), sizes, sizes**2, answer.counts, _closest(answer.counts, reference)])
    return np.concatenate([heads, correct, _totals(answer.counts, max_ngram_order)]).T
