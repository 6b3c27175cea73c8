"""``fm.rouge``: several ROUGE scores in one call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fastmetrics.core.arrays import Floats
from fastmetrics.core.name_lists import listed
from fastmetrics.errors import UnknownNameError
from fastmetrics.metrics import REGISTRY
from fastmetrics.metrics.rouge import KINDS, PARTS
from fastmetrics.plan.plan import Score
from fastmetrics.scoring.metric_functions import score_together


def rouge(
    answer: Any,
    reference: Any,
    *,
    types: Sequence[str] | str = ("rouge1", "rouge2", "rougeL"),
    stemmer: bool = False,
    tokenizer: str = "rouge",
    threads: int | None = None,
) -> dict[str, Floats]:
    """ROUGE of every answer: precision, recall and F1 for each of ``types``, equal to rouge-score 0.1.2.

    ``types`` are among rouge1 … rouge9, rougeL and rougeLsum.  ``reference`` contains one text or a list of texts per
    row; for each type, the reference with the highest F1 counts.  The arrays have the names of the row metrics, and are
    NaN where an input is missing.

    >>> import fastmetrics as fm
    >>> fm.rouge(["the cat sat on it"], ["The cat sat."], types=["rouge2"])
    {'rouge2_precision': array([0.5]), 'rouge2_recall': array([1.]), 'rouge2_f1': array([0.66666667])}

    Raises ``UnknownNameError`` for another type, ``OptionError`` for another tokenizer, ``ColumnError`` for columns
    that differ in length.
    """
    expected = [f"rouge{kind}" for kind in KINDS]
    types = listed(types)
    for kind in types:
        if kind not in expected:
            raise UnknownNameError.of("type of ROUGE", kind, expected)
    names = [f"{kind}_{part}" for kind in types for part in PARTS]
    options = REGISTRY["rouge1_f1"].options({"stemmer": stemmer, "tokenizer": tokenizer})
    # longer n-grams first: counting them also counts the shorter ones
    scores = [Score(name, REGISTRY[name], options, name) for name in sorted(names, reverse=True)]
    scored = score_together(scores, {"answer": answer, "reference": reference}, threads)
    return {name: scored[name] for name in names}
