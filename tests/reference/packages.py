"""Scores of one row by the packages that define them: rouge-score, sacreBLEU and scikit-learn.

They are imported at use: some take seconds, and many tests start new processes that score other things.
"""

from __future__ import annotations

import functools
import math
from typing import Any


@functools.cache
def _rouge(kind: str) -> Any:
    from rouge_score.rouge_scorer import RougeScorer

    return RougeScorer([kind])


def rouge(kind: str, part: str, answer: str, references: list[str]) -> float:
    """``precision``, ``recall`` or ``fmeasure`` of a ROUGE type, by the reference of highest F1."""
    return float(getattr(_rouge(kind).score_multi(references, answer)[kind], part))


def bleu(answer: str, references: list[str]) -> float:
    """Sentence BLEU."""
    from sacrebleu.metrics import BLEU

    return float(BLEU(effective_order=True).sentence_score(answer, references).score)


def chrf(answer: str, references: list[str], **options: Any) -> float:
    """Sentence chrF."""
    from sacrebleu.metrics import CHRF

    return float(CHRF(**options).sentence_score(answer, references).score)


def ter(answer: str, references: list[str], **options: Any) -> float:
    """Translation edit rate of a row."""
    from sacrebleu.metrics import TER

    return float(TER(**options).sentence_score(answer, references).score)


def tfidf(first: str, second: str) -> float:
    """The cosine of scikit-learn fitted on the pair; NaN where it finds no word in either."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    try:
        vectors = TfidfVectorizer().fit_transform([first, second])
    except ValueError:
        return math.nan
    return float((vectors[0] @ vectors[1].T).toarray()[0, 0])
