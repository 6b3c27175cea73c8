"""Stemming of English words, cached per process."""

from __future__ import annotations

import functools
from typing import Any


@functools.lru_cache(maxsize=1 << 18)
def stem(word: bytes) -> str:
    """rouge-score's stem of an ASCII word: that of NLTK's Porter stemmer if the word is longer than 3 letters.

    >>> stem(b"running"), stem(b"ties"), stem(b"was")
    ('run', 'tie', 'was')
    """
    [stemmed] = _tokenizer().tokenize(word.decode("ascii"))
    return stemmed


@functools.cache
def _tokenizer() -> Any:
    from rouge_score.tokenizers import DefaultTokenizer

    return DefaultTokenizer(use_stemmer=True)
