"""Translation edit rate (Snover et al. 2006) of rows and of tables, with sacreBLEU's options and numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from fastmetrics.base.arrays import Floats, Ints, Text
from fastmetrics.metrics.batch import Batch, Caution, Options, Raw, need, one_word
from fastmetrics.metrics.bleu import HEADS
from fastmetrics.metrics.edit_distance import Grouped
from fastmetrics.metrics.metric import Corpus, Formula, RowHooks, metric

Normalized = Annotated[bool, "whether punctuation is split off words, and XML characters are resolved"]
NoPunct = Annotated[bool, "whether punctuation is left out"]
AsianSupport = Annotated[bool, "whether the two options before treat Chinese, Japanese and Korean text too"]
CaseSensitive = Annotated[bool, "whether the case of letters counts"]


def _scorer(options: Options) -> Any:
    from sacrebleu.metrics.ter import TER

    return TER(**{name: options[name] for name in ("normalized", "no_punct", "asian_support", "case_sensitive")})


def references_in(batch: Batch, column: str, options: Options) -> Grouped[Text]:
    """The texts of a column, with all references of a row together."""
    text = batch.text(column)
    return Grouped(text, np.arange(batch.n_rows + 1) if text.groups is None else text.groups)


References = Annotated[Grouped[Text], need(references_in)]

_UNSPACED = one_word("normalized=True with asian_support=True splits Chinese and Japanese, and cer needs no words")


def _caution(options: Options) -> Caution | None:
    return None if options["normalized"] and options["asian_support"] else _UNSPACED


_PARTS = 2_520
"""A mean length of up to ten references is a whole number of such parts of a word."""


def _counts(answer: Text, reference: Grouped[Text], **options: bool) -> Ints:
    """The fewest edits to a reference of each row, and the mean length of its references, in parts."""
    score, answers, references = _scorer(options).sentence_score, answer.strings(), reference.texts.strings()
    groups = reference.groups.tolist()
    rows = [(one, *references[a:b]) for one, a, b in zip(answers, groups[:-1], groups[1:], strict=True)]
    found = {row: score(row[0], row[1:]) if len(row) > 1 else None for row in set(rows)}
    counts = np.zeros((len(rows), 2), np.int64)
    for place, row in enumerate(rows):
        if (ter := found[row]) is not None:
            words = round(ter.ref_length * (len(row) - 1))  # of all references: the mean of three is no whole number
            counts[place] = ter.num_edits, words * _PARTS // (len(row) - 1)
    return counts


def _scores(sums: Ints) -> Floats:
    """TER of each row of edits and lengths; without a reference's word 100 for any edit, else 0."""
    edits, lengths = sums[:, 0], sums[:, 1] / _PARTS
    return 100 * np.divide(edits, lengths, out=np.minimum(edits, 1).astype(np.float64), where=lengths > 0)


@metric(
    bounds=(0, np.inf),
    better="lower",
    source="Snover et al. 2006, TER; sacreBLEU 2.6",
    rows=RowHooks(grouped=True),
    aliases=["sentence_ter", "translation_edit_rate"],
    cues=["sacrebleu", "edit_distance"],
    caution=_caution,
)
def ter(
    answer: Raw,
    reference: References,
    *,
    normalized: Normalized = False,
    no_punct: NoPunct = False,
    asian_support: AsianSupport = False,
    case_sensitive: CaseSensitive = False,
) -> Floats:
    """Translation edit rate of each answer against all its references, in per cent: sacreBLEU's ``sentence_score``.

    TER = 100 · E / r: E is the least number of edits (insertion, deletion, substitution of a word, or moving a run of
    words) to any reference, r the mean number of words of the references.  The moves are found by Tercom's greedy
    search, with sacreBLEU's limits: at most 10 words by 50 places, 1,000 tries, and edits near the diagonal.
    References without words give 100, and 0 if the answer has none either.  It exceeds 100 if the answer is much
    longer.

    The options are sacreBLEU's, which scores each distinct row, some 350 rows of 20 words a second.

    >>> import fastmetrics as fm
    >>> fm.ter(["on the mat the cat sat"], ["the cat sat on the mat"]).round(2)
    array([16.67])
    """
    return _scores(
        _counts(
            answer,
            reference,
            normalized=normalized,
            no_punct=no_punct,
            asian_support=asian_support,
            case_sensitive=case_sensitive,
        )
    )


@dataclass(frozen=True)
class TerScore:
    """TER of a table: the ``score`` in per cent, the edits, the length of the references, and sacreBLEU's signature."""

    score: float
    num_edits: int
    ref_length: float
    signature: str

    def __float__(self) -> float:
        return self.score

    def __str__(self) -> str:
        return f"TER|{self.signature} = {self.score:.2f}"


def _finish(sums: Sequence[int], **options: Any) -> TerScore:
    rows, references, squares, edits, parts = sums or [0] * (HEADS + 2)
    scorer = _scorer(options)
    # if and only if all rows have equally many references, the mean square equals the squared mean
    scorer.num_refs = references // max(rows, 1) if rows * squares == references**2 else -1
    score = float(_scores(np.array([[edits, parts]]))[0])
    return TerScore(score, edits, parts / _PARTS, str(scorer.get_signature()))


def _finish_many(sums: Ints, **_: Any) -> Floats:
    return _scores(sums[:, HEADS:])


@metric(
    bounds=(0, np.inf),
    better="lower",
    source="Snover et al. 2006, TER; sacreBLEU 2.6",
    rows=RowHooks(grouped=True),
    corpus=Corpus(finish=Formula(_finish, _finish_many)),
    cues=["sacrebleu"],
    caution=_caution,
)
def corpus_ter(
    answer: Raw,
    reference: References,
    *,
    normalized: Normalized = False,
    no_punct: NoPunct = False,
    asian_support: AsianSupport = False,
    case_sensitive: CaseSensitive = False,
) -> Ints:
    """Translation edit rate of all answers together, in per cent: sacreBLEU's ``corpus_score``.

    Like ``ter``, but edits and mean lengths of the references are summed over the rows first.  Rows without an answer
    or any reference are excluded; the number of references may differ between rows.  Returns a ``TerScore``, which has
    the sums and sacreBLEU's signature.

    >>> import fastmetrics as fm
    >>> print(fm.corpus_ter(["on the mat the cat sat", "yes"], ["the cat sat on the mat", "no"]))  # doctest: +ELLIPSIS
    TER|nrefs:1|case:lc|tok:tercom|norm:no|punct:yes|asian:no|version:... = 28.57
    """
    sizes = np.diff(reference.groups)
    counts = _counts(
        answer,
        reference,
        normalized=normalized,
        no_punct=no_punct,
        asian_support=asian_support,
        case_sensitive=case_sensitive,
    )
    return np.column_stack([np.ones_like(sizes), sizes, sizes**2, counts])
