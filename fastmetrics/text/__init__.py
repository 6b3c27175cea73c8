"""Text conventions in Python: the tokens, sentences and paragraphs behind a score.

Metrics use the compiled arrays behind these functions, never Python strings.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fastmetrics.base.arrays import Text
from fastmetrics.base.columns import as_text
from fastmetrics.text import segmentation as segments
from fastmetrics.text.conventions import CONVENTIONS
from fastmetrics.text.tokenize import Vocabularies

__all__ = ["CONVENTIONS", "normalize", "paragraphs", "sentences", "statements", "tokens"]


def tokens(texts: Any, name: str = "words") -> list[list[str] | None]:
    """The words of every text under the convention ``name``; None for a null.

    >>> tokens(["It's 3.5 km.", None], "plain")
    [['its', '35', 'km'], None]

    Raises ``UnknownNameError`` for a name that is not in ``CONVENTIONS``, ``ColumnError`` for a column without text.
    """
    text = as_text(texts)
    vocabulary = Vocabularies().vocabulary(name)
    encoded = vocabulary.tokenize(text)
    words = np.array([*vocabulary.words(), ""], object)[:-1]
    pieces = [words[encoded.ids[a:b]].tolist() for a, b in zip(encoded.starts, encoded.stops, strict=True)]
    return [piece if valid else None for piece, valid in zip(pieces, text.valid, strict=True)]


def normalize(texts: Any) -> list[str | None]:
    r"""The QA framework's normalisation N: lowercase, stripped, every run of whitespace one space; None for a null.

    >>> normalize([" New\t York "])
    ['new york']
    """
    return [None if words is None else " ".join(words) for words in tokens(texts, "split")]


def sentences(texts: Any) -> list[list[str] | None]:
    """The writing guide's sentences: split at runs of ``.!?。！？…``, stripped, without empty ones; None for a null.

    >>> sentences(["One. Two?! Three"])
    [['One', 'Two', 'Three']]
    """
    return _pieces(as_text(texts), segments.sentences)


def paragraphs(texts: Any) -> list[list[str] | None]:
    r"""The writing guide's paragraphs: split at blank lines, stripped, without empty ones; None for a null.

    >>> paragraphs(["One.\n\nTwo."])
    [['One.', 'Two.']]
    """
    return _pieces(as_text(texts), segments.paragraphs)


def statements(texts: Any) -> list[list[str] | None]:
    """The sentences that grounding checks (the RAG project), each with its citations; None for a null.

    >>> statements(["Dr. Ada paid 3.5 pounds [1]. She left. [2]"])
    [['Dr. Ada paid 3.5 pounds [1].', 'She left. [2]']]
    """
    return _pieces(as_text(texts), segments.statements)


def _pieces(text: Text, split: Any) -> list[list[str] | None]:
    cut = split(text)
    strings, groups = cut.strings(), cut.groups
    rows = zip(groups[:-1], groups[1:], text.valid, strict=True)
    return [strings[a:b] if valid else None for a, b, valid in rows]
