"""The tokenizers of word metrics: text conventions, and functions of plugins."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fastmetrics.base.arrays import Text, Tokens, text_of_strings
from fastmetrics.base.errors import Argument, OptionError, PluginError, shown
from fastmetrics.base.options import NotAllowedError
from fastmetrics.base.plugin_files import REGISTRIES
from fastmetrics.kernels.byte_search import have_signs
from fastmetrics.metrics.batch import Batch, Options
from fastmetrics.text.conventions import LOWER, UNSPACED, convention
from fastmetrics.text.tokenize import fold, frozen

Cut = Callable[[str], Sequence[str]]

CHAR = "char"
_CONVENTIONS = {"unicode": "unicode", CHAR: CHAR + LOWER}
"""The text conventions of the tokenizers that every word metric has besides its own."""

_OWN = ("plain", "light", "none", "split")
"""The conventions that are the tokenizer of some metrics."""

TOKENIZERS: dict[str, Cut] = {}
"""The registered functions, by name."""
REGISTRIES.append(TOKENIZERS)


def tokenizer(name: str) -> Callable[[Cut], Cut]:
    """Register the decorated function as a tokenizer of word metrics: ``token_f1(tokenizer='NAME')``.

    The function gets a text and returns its tokens, which are compared as they are: it folds case and drops punctuation
    if these are not to count.  White space within a token is removed, and so are empty tokens.  It is called once for
    each distinct text of a batch, at Python speed.

    >>> import fastmetrics as fm
    >>> @fm.metrics.tokenizer("pairs")
    ... def pairs(text):
    ...     return [text[place : place + 2] for place in range(len(text) - 1)]
    >>> fm.token_recall(["巴黎是法国的首都"], ["法国首都"], tokenizer="pairs").round(3)
    array([0.667])

    Raises ``OptionError`` for a name that is not of lowercase letters, digits and _, or is that of a built-in
    tokenizer, ``PluginError`` for the name of another function.
    """
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or name in (*_CONVENTIONS, *_OWN):
        built_in = ", ".join((*_OWN, *_CONVENTIONS))
        raise OptionError(
            Argument("name", name),
            f": expected lowercase letters, digits and _, and no built-in tokenizer ({built_in})",
        )

    def register(function: Cut) -> Cut:
        other = TOKENIZERS.get(name)
        if other is not None and other.__module__ != function.__module__:
            raise PluginError(f"tokenizer {name!r}: {other.__module__} has registered a function of this name")
        TOKENIZERS[name] = function
        return function

    return register


@dataclass(frozen=True)
class TokenizerName:
    """The name of a tokenizer: the metric's ``own`` convention, ``others``, unicode, char, or one that a plugin has."""

    own: str
    others: tuple[str, ...] = ()

    def take(self, value: Any) -> str:
        """The name."""
        if not isinstance(value, str) or value not in (self.own, *self.others, *_CONVENTIONS, *TOKENIZERS):
            raise NotAllowedError
        return str(value)

    def __str__(self) -> str:
        registered = f" ({', '.join(map(repr, TOKENIZERS))})" if TOKENIZERS else ""
        built_in = ", ".join(map(repr, (self.own, *self.others, *_CONVENTIONS)))
        return f"{built_in} or a function of a plugin under @fm.metrics.tokenizer(...){registered}"


@dataclass(frozen=True)
class TokenizedIn:
    """Tokens under the option ``tokenizer``, by default the convention of the metric."""

    convention: str

    def of(self, batch: Batch, column: str, options: Options) -> Tokens:
        """The column's tokens."""
        name: str = options["tokenizer"]
        if name in TOKENIZERS:
            return tokens_of_function(batch, column, ("tokenizer", name), lambda text: _pieces(name, text))
        if name == "unicode":
            return batch.remember(("words and symbols", column), lambda: _with_symbols(batch, column))
        return batch.tokens(column, _CONVENTIONS.get(name, name))


_ALONE = "".join(f"{chr(first)}-{chr(last)}" for first, last in UNSPACED)


def _with_symbols(batch: Batch, column: str) -> Tokens:
    """The words of ``unicode``; the characters of texts without a word, and signs right behind one or two letters."""
    tokens, text, vocabulary = batch.tokens(column, "unicode"), batch.text(column), batch.vocabulary("unicode")
    silent = (tokens.counts == 0) & (text.stops > text.starts)
    rows = np.flatnonzero(silent | have_signs(frozen(text.data), frozen(text.starts), frozen(text.stops)))
    if len(rows) == 0:
        return tokens
    pieces = text_of_strings(" ".join(_words_and_symbols(string)) for string in text.take(rows).strings())
    return tokens.with_rows(rows, vocabulary.cut(fold(pieces, convention("none"))))


_SIGNED = re.compile(r"(?<!\w)([a-z]{1,2})(\+\+?|#|[-−–])(?!\w)")
_WORDS = re.compile(rf"(?=\w)[{_ALONE}]|[^\W{_ALONE}]+")
_UNSEEN = re.compile("[\u200b-\u200f\u2060-\u2064\ufe00-\ufe0f\ufeff\\s]")
"""White space, characters without width, and variation selectors, which say how an emoji is drawn."""


def _words_and_symbols(string: str) -> list[str]:
    """The words of a text, and the signs behind one or two letters; the visible characters of a text without words.

    >>> _words_and_symbols("C++ or C#: A− (not B-52)"), _words_and_symbols("★★!")
    (['c', '++', 'or', 'c', '#', 'a', '-', 'not', 'b', '52'], ['★', '★', '!'])
    """
    parts = _SIGNED.split(string.lower())  # what is between, letters and signs in turn
    pieces = [
        piece
        for place, part in enumerate(parts)
        for piece in (_WORDS.findall(part) if place % 3 < 2 else [re.sub("[−–]", "-", part)])
    ]
    return pieces or list(_UNSEEN.sub("", string.lower()))


def _pieces(name: str, text: str) -> str:
    """The tokens of a text with spaces between them."""
    try:
        tokens = TOKENIZERS[name](text)
    except Exception as error:
        raise PluginError(f"tokenizer {name} of {shown(text)}: {type(error).__name__}: {error}") from error
    if not isinstance(tokens, list | tuple) or not all(isinstance(token, str) for token in tokens):
        raise PluginError(f"tokenizer {name} of {shown(text)}: expected a list of texts, got {shown(tokens)}")
    return " ".join("".join(token.split()) for token in tokens)


def tokens_of_function(batch: Batch, column: str, key: Hashable, pieces: Callable[[str], str]) -> Tokens:
    """The tokens of a column; ``pieces``, called once for each distinct text, returns them with spaces between."""

    def make() -> Tokens:
        strings = batch.text(column).strings()
        separate = {string: pieces(string) for string in dict.fromkeys(strings)}
        text: Text = text_of_strings(separate[string] for string in strings)
        return batch.vocabulary("none").tokenize(text)

    return batch.remember(("tokens", column, key), make)
