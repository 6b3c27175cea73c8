"""Parsing lists of names: ``"token_f1,squad_f1(version=2)"``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fastmetrics.errors import OptionError


def split(text: str) -> list[str]:
    """The items of a comma-separated list; commas within brackets and quotes do not separate.

    >>> split("token_f1, overall_quality(weights=(0.2, 0.8), language='a,b'),jaccard")
    ['token_f1', "overall_quality(weights=(0.2, 0.8), language='a,b')", 'jaccard']
    """
    pieces, depth, quote, start = [], 0, "", 0
    for place, character in enumerate(text):
        if quote:
            ends = character == quote and text[place - 1] != "\\"
            quote = "" if ends else quote
        elif character in "'\"" and depth:
            quote = character
        elif character in "([{":
            depth += 1
        elif character in ")]}":
            depth -= 1
        elif character == "," and depth <= 0:
            pieces.append(text[start:place])
            start = place + 1
    pieces.append(text[start:])
    return [piece.strip() for piece in pieces if piece.strip()]


def listed(names: str | Iterable[str] | None) -> list[str]:
    """Names as a list: a string is split as on the command line, other values are unchanged.

    >>> listed("token_f1,jaccard"), listed(["a,b"]), listed(None)
    (['token_f1', 'jaccard'], ['a,b'], [])
    """
    if names is not None and not isinstance(names, Iterable):
        raise OptionError(f"expected a name or a list of names, got {names!r}")
    return split(names) if isinstance(names, str) else list(names or ())


def kept_columns(keep: str | Iterable[str] | None, names: Sequence[str]) -> list[str]:
    """The columns that ``keep`` lists; all ``names`` of the table for ``all``, if no column has that name.

    >>> kept_columns("id,lang", ["id", "lang", "answer"]), kept_columns("all", ["id", "lang", "answer"])
    (['id', 'lang'], ['id', 'lang', 'answer'])
    """
    columns = listed(keep)
    return list(names) if columns == ["all"] and "all" not in names else columns


def distinct(names: str | Iterable[str] | None) -> list[str]:
    """Names as a list, as by :func:`listed`, each once.

    >>> distinct("t,fisher,t")
    ['t', 'fisher']
    """
    return list(dict.fromkeys(listed(names)))
