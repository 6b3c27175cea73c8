"""What the metrics refuse."""

from __future__ import annotations

import fastmetrics as fm
from fastmetrics.base.errors import ColumnError, OptionError
from tests.support.goldens import errors_of

ERRORS = [
    # options
    ("ndcg: k of truth", lambda: fm.ndcg([["a"]], [["a"]], k=True), OptionError, "k", "True"),
    ("bleu: tokenizer", lambda: fm.bleu(["a"], ["a"], tokenizer="13b"), OptionError, "tokenizer", "13b"),
    ("bleu: smooth_method", lambda: fm.bleu(["a"], ["a"], smooth_method="ex"), OptionError, "smooth_method", "ex"),
    ("bleu: smooth_value", lambda: fm.bleu(["a"], ["a"], smooth_value="1"), OptionError, "smooth_value", "1"),
    ("bleu: max_ngram_order", lambda: fm.bleu(["a"], ["a"], max_ngram_order=0), OptionError, "max_ngram_order", "0"),
    ("chrf: char_order", lambda: fm.chrf(["a"], ["a"], char_order=-1), OptionError, "char_order", "-1"),
    ("chrf: word_order", lambda: fm.chrf(["a"], ["a"], word_order=-2), OptionError, "word_order", "-2"),
    ("chrf: no order", lambda: fm.chrf(["a"], ["a"], char_order=0), OptionError, "char_order", "word_order"),
    # columns
    ("bleu: lengths", lambda: fm.corpus_bleu(["a", "b"], ["a"]), ColumnError, "answer", "reference"),
    ("chrf: lengths", lambda: fm.chrf(["a", "b"], ["a"]), ColumnError, "answer", "reference"),
]

test_errors = errors_of(ERRORS)
