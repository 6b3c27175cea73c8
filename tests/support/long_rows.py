"""Rows as long as one likes, of the shapes that cost most: what the tests of bounds and ``scripts/growth`` score."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from fastmetrics.base.column_names import COLUMNS
from fastmetrics.metrics.metric import REGISTRY
from fastmetrics.vectors.embedder import Embedder

PLAIN = "The tower was built in 1889 [1]."
CHANGING = "#"

Shape = Callable[[int], str]


def text(piece: str) -> Shape:
    """Texts of about so many bytes made of one piece, with another number at each ``#`` in it."""

    def long_text(size: int) -> str:
        if CHANGING not in piece:
            return piece * (size // len(piece.encode()))
        parts, length = [], 0
        while length < size:
            parts.append(piece.replace(CHANGING, str(len(parts))))
            length += len(parts[-1])
        return "".join(parts)

    return long_text


NASTIEST = (
    *("1 ", "# ", "1. a\n", "#. a\n", "a\n", "a", "word ", "a [1]. ", "[#]", "- a\n", "😀", "[", "\n", "Who? "),
    *("5 January 2024. ", "# January ", "#-01-05 ", "12:30 ", "W is V#. ", "W# is V#. ", "It is w#. "),
    "Cats are dogs. ",
    *("I don't know. ", "However, ", "w# x\n", "&amp;", "b# w# w# b# "),
)
"""The shapes that took longest, or would if something went wrong."""

SHAPES: Mapping[str, Shape] = {
    piece: text(piece)
    for piece in dict.fromkeys(
        (
            *NASTIEST,
            *("5", "é", "中", "中文 ", "ก", " ", "\n\n", "-\n", "]", "(", "[]", "[1]", "[1] ", "[1", "a. [", '."'),
            "a.",
            *(".", "?", "! ", "U.S. ", "Dr. ", ".5", "1,", "1,000,", "000,", "1.", "million ", "1 million ", "twenty "),
            *("half ", "%", "$5 ", "$", "€ ", "2024-01-05 ", "January ", "3 pm ", "Monday ", "of ", "May "),
            *("2024 ", "is "),
            *("The cat sat. ", "It is it. ", "may ", "It ", "Explain it. ", "he is ", "i don t ", "not ", "(context "),
            *("please ", "thank ", "as a ", "in ", "* b\n", "1) c\n", "a b\n", "running ", "ssss", "ed", "'", '"'),
            "a'",
            *("\u0301", "a\u0301 ", "&quot;", "&", "<skipped>", "-", "--", "a-", "a_", "_", "\\", "/", "http://a.b/c "),
            *("the ", "a b ", "a b c d e f g ", "Paris is Rome is ", "\u3002", "\u2026 ", "\u00a0", "İ", "Σ", "ß", "ﬁ"),
            *("x" * 99 + " ", "w# ", "w#", "w#\n", "w# v#\n", "a w#\n", "w#. ", "[#] ", "w# [#]. ", "W# is V. ", "$# "),
            *("5.1.# ", "# million ", "#%", "and w# ", "w#, ", "w#? ", "W# built V#, ", "Explain w#. ", "- w#\n"),
            "#) w#\n",
            *("😀# ", "中#"),
        )
    )
}
"""What fills a text, by name."""

ALIKE = tuple(f"rouge{n}_" for n in range(3, 9)) + tuple(
    f"rouge{kind}_{part}" for kind in "129L" for part in ("p", "r")
)
SPECS = (
    *(name for name in REGISTRY if not name.startswith(ALIKE)),
    *("rougeL_f1(stemmer=True)", "rougeLsum_f1(stemmer=True)", "rouge2_f1(stemmer=True)"),
    *("rougeL_f1(tokenizer='unicode')", "rougeLsum_f1(tokenizer='unicode')", "squad_f1(version=2)"),
    *("chrf(whitespace=True)", "chrf(char_order=12)", "chrf(lowercase=True)", "bleu(max_ngram_order=12)"),
    *(f"bleu(tokenizer='{name}')" for name in ("intl", "char", "zh", "none")),
    *("verdict(window=0)", "hallucination(window=1000000)", "tfidf_cosine(idf='corpus')", "coherence(language='ru')"),
    *(r"idk_citations(pattern='\\[\\d+\\]|source')", r"grounding_overlap(pattern='\\[(\\d+)\\]|source')"),
)
"""Every metric, but for kinds of ROUGE that are counted as others are, and every option that changes the way."""


def embedder() -> Embedder:
    """A model that costs next to nothing."""
    return Embedder(lambda texts: np.array([[len(text), 1.0] for text in texts], np.float32))


def cells(kind: str, shape: Shape, size: int) -> Any:
    """One cell of about ``size`` bytes for a column that holds no text."""
    if kind == "ids":
        return shape(size).split()
    if kind == "vector":
        return [float(n % 7) for n in range(size // 8)]
    return [1.0] * len(shape(size).split()) if kind == "numbers" else 1.0


def tables(spec: str, shape: Shape, size: int) -> Iterator[tuple[str, pa.Table]]:
    """Tables of one row for a metric, with about ``size`` bytes in each long cell, by what is long."""
    needs = REGISTRY[spec.partition("(")[0]].needs
    texts = [name for name in needs if COLUMNS[name].kind in ("text", "texts")]
    lists = [name for name in texts if COLUMNS[name].kind == "texts"]
    others = {name: cells(COLUMNS[name].kind, shape, size) for name in needs if name not in texts}
    filling = shape(size)
    pieces = [filling[at : at + 4] for at in range(0, len(filling), 4)]
    if not texts:
        yield "all", table(others)
        return
    for long in [texts, *([name] for name in texts if len(texts) > 1)]:
        yield " and ".join(long), table({**others, **{name: filling if name in long else PLAIN for name in texts}})
    for name in lists:
        for filler, words in ((PLAIN, "many"), (filling, "all, many")):
            row = {other: pieces if other == name else filler for other in texts}
            yield f"{words} {name}", table({**others, **row})


def table(row: Mapping[str, Any]) -> pa.Table:
    """One row, of which a list is one cell; ids of contexts are one for each."""
    if "context_ids" in row:
        contexts = row["contexts"]
        row = {**row, "context_ids": [f"d{n}" for n in range(len(contexts) if isinstance(contexts, list) else 1)]}
    return pa.table({name: pa.array([cell]) for name, cell in row.items()})
