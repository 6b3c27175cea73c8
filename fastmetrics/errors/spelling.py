"""Comparing spellings of names, and suggestions for unknown names."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping

from fastmetrics.errors.messages import some

MOST = 3
"""Maximum number of suggestions in a message."""

LEAST, LEAST_OF_ALIAS = 0.6, 0.75
"""Minimum similarity for suggesting a name, and for suggesting a name by its alias."""

MARGIN = 0.15
"""How much less similar than the nearest name a further suggestion may be."""

FEW = 12
"""Up to this number, a message lists all known names."""

_LONGEST = 100
"""Longer names get no suggestions, because the comparison takes quadratic time."""


def fold(name: str) -> str:
    """The case-folded name without hyphens and underscores; equal for all spellings of one name.

    >>> fold("nDCG"), fold("ROUGE-L") == fold("rouge_l")
    ('ndcg', True)
    """
    return re.sub(r"[-_\s]", "", name).casefold()


def nearest(
    name: str, choices: Iterable[str], first: Iterable[str] = (), aliases: Mapping[str, str] | None = None
) -> list[str]:
    """At most three known names, best first: those in ``first``, then the most similar to ``name``.

    A prefix or a word of a known name is similar to it; otherwise the similarity is that of ``difflib``, ignoring
    case.  ``aliases`` are further spellings, with the name for each.

    >>> nearest("token_fl", ["token_f1", "token_recall", "jaccard"]), nearest("rouge2", ["rouge1_f1", "rouge2_f1"])
    (['token_f1'], ['rouge2_f1'])
    """
    likeness: dict[str, float] = dict.fromkeys(first, 2.0)
    typed = fold(name)
    spelled = (
        [*((choice, choice) for choice in choices), *(aliases or {}).items()] if 1 < len(typed) <= _LONGEST else []
    )
    for spelling, meant in spelled:
        alike = _alike(typed, spelling)
        if alike >= (LEAST if spelling == meant else LEAST_OF_ALIAS):
            likeness[meant] = max(likeness.get(meant, 0.0), alike)
    least = min(max(likeness.values(), default=0.0), 1.0) - MARGIN
    return sorted((choice for choice in likeness if likeness[choice] >= least), key=lambda choice: -likeness[choice])[
        :MOST
    ]


def _alike(typed: str, spelling: str) -> float:
    """The similarity of a folded name and a known name: from 0 to 1, or more for the same name in another spelling."""
    folded = fold(spelling)
    if folded == typed:
        return 3.0
    if folded.startswith(typed):
        return 0.9 + 0.1 * len(typed) / len(folded)
    if typed in map(fold, re.split(r"[-_]", spelling)):
        return 0.9
    return difflib.SequenceMatcher(None, typed, folded).ratio()


def either(names: Iterable[object]) -> str:
    """Alternatives in quotes.

    >>> either(["a", "b", "c"])
    "'a', 'b' or 'c'"
    """
    *others, last = map(repr, names)
    return f"{', '.join(others)} or {last}" if others else last


def suggestion(
    name: str,
    choices: Iterable[str],
    first: Iterable[str] = (),
    aliases: Mapping[str, str] | None = None,
    listing: str = "",
) -> str:
    """The suggestion for the unknown ``name``: the nearest names, or all if there are few, or where to find them.

    >>> suggestion("jacard", ["jaccard", "token_f1"]), suggestion("x", ["a", "b"])
    ("did you mean 'jaccard'?", 'known: a, b')
    """
    names = sorted(set(choices))
    near = nearest(name, names, first, aliases)
    if near:
        return f"did you mean {either(near)}?"
    return listing or f"known: {some(names, FEW) or 'none'}"
