"""Counts of the words of an answer that its contexts lack, by kind: columns of numbers for a fit.

They are what edits of a summary change: names, numbers, negations and other words, or the order of known words.  They
were written once, before any fit, and none was left out afterwards.
"""

from __future__ import annotations

import re
from itertools import pairwise

import pyarrow as pa

_WORD = re.compile(r"\w+")
_NEGATIONS = frozenset(
    [
        *("not", "no", "never", "none", "nothing", "without", "neither", "nor", "nobody", "cannot", "n't"),
        *("unable", "fail", "failed", "lack", "lacks"),
    ]
)
_BEGINNING = 5
"""Words that begin with the same letters are taken for forms of one word."""


def counts(answer: str, context: str) -> dict[str, float]:
    """The counts, those of names, words, beginnings and pairs as shares of the answer's words.

    >>> counts("Ann did not win", "Bob did win")["new_names"], counts("Ann did not win", "Bob did win")["negations"]
    (0.0, 1)
    """
    words, context_words = _WORD.findall(answer), _WORD.findall(context.lower())
    vocabulary, context_pairs = set(context_words), set(pairwise(context_words))
    beginnings = {word[:_BEGINNING] for word in vocabulary}
    lower = [word.lower() for word in words]
    new = [word for word in words if word.lower() not in vocabulary]
    pairs = [pair for pair in pairwise(lower) if vocabulary.issuperset(pair)]
    n = max(len(words), 1)
    return {
        "new_names": sum(word[0].isupper() and word.lower() not in vocabulary for word in words[1:]) / n,
        "new_numbers": sum(any(letter.isdigit() for letter in word) for word in new),
        "new_beginnings": sum(word[:_BEGINNING] not in beginnings for word in lower) / n,
        "negations": sum(word in _NEGATIONS for word in lower),
        "new_negations": sum(word.lower() in _NEGATIONS for word in new),
        "longest_new_word": max(map(len, new), default=0),
        "new_words": len(new) / n,
        "new_pairs": sum(pair not in context_pairs for pair in pairs) / n,
    }


def with_counts(table: pa.Table) -> tuple[pa.Table, list[str]]:
    """The table with the counts of each answer's words against its reference, and the names of the new columns."""
    texts = zip(table["answer"].to_pylist(), table["reference"].to_pylist(), strict=True)
    columns = pa.Table.from_pylist([counts(answer, context) for answer, context in texts])
    for name in columns.column_names:
        table = table.append_column(name, columns[name].cast(pa.float64()))
    return table, columns.column_names
