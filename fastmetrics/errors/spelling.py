"""Names as users spell them: which are the same, and which known ones are nearest to one that nobody knows."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping

MOST = 3
"""How many names a message suggests at most."""

LEAST, LEAST_OF_ALIAS = 0.6, 0.75
"""The likeness from which on a name, or one by an alias, may be suggested."""

MARGIN = 0.15
"""How much less alike than the nearest a further suggestion may be."""

FEW = 12
"""Names up to which a message lists them all."""

_LONGEST = 100
"""Characters from which on nothing is alike: comparing takes their square."""


def fold(name: str) -> str:
    """The name without hyphens, underscores and letter case, in which spellings of one name agree.

    >>> fold("nDCG"), fold("ROUGE-L") == fold("rouge_l")
    ('ndcg', True)
    """
    return re.sub(r"[-_\s]", "", name).casefold()


def nearest(
    name: str, known: Iterable[str], first: Iterable[str] = (), aliases: Mapping[str, str] | None = None
) -> list[str]:
    """At most three known names, best first: those in ``first``, then those that ``name`` is most like.

    A name that begins another one, or is a word of it, is like it; else likeness is that of ``difflib``, whatever the
    letter case.  ``aliases`` are further spellings, with the name that each stands for.

    >>> nearest("token_fl", ["token_f1", "token_recall", "jaccard"]), nearest("rouge2", ["rouge1_f1", "rouge2_f1"])
    (['token_f1'], ['rouge2_f1'])
    """
    likeness: dict[str, float] = dict.fromkeys(first, 2.0)
    typed = fold(name)
    spelled = [*((one, one) for one in known), *(aliases or {}).items()] if 1 < len(typed) <= _LONGEST else []
    for spelling, meant in spelled:
        alike = _alike(typed, spelling)
        if alike >= (LEAST if spelling == meant else LEAST_OF_ALIAS):
            likeness[meant] = max(likeness.get(meant, 0.0), alike)
    least = min(max(likeness.values(), default=0.0), 1.0) - MARGIN
    return sorted((one for one in likeness if likeness[one] >= least), key=lambda one: -likeness[one])[:MOST]


def _alike(typed: str, spelling: str) -> float:
    """How much a folded name is like a known one: from 0 to 1, or more for the same name in another spelling."""
    folded = fold(spelling)
    if folded == typed:
        return 3.0
    if folded.startswith(typed):
        return 0.9 + 0.1 * len(typed) / len(folded)
    if typed in map(fold, re.split(r"[-_]", spelling)):
        return 0.9
    return difflib.SequenceMatcher(None, typed, folded).ratio()


def either(names: Iterable[object]) -> str:
    """Names to choose from, in quotes.

    >>> either(["a", "b", "c"])
    "'a', 'b' or 'c'"
    """
    *others, last = map(repr, names)
    return f"{', '.join(others)} or {last}" if others else last


def suggestion(
    name: str,
    known: Iterable[str],
    first: Iterable[str] = (),
    aliases: Mapping[str, str] | None = None,
    listing: str = "",
) -> str:
    """What to say to who wrote ``name``: the nearest names, or all if they are few, or else where they are listed.

    >>> suggestion("jacard", ["jaccard", "token_f1"]), suggestion("x", ["a", "b"])
    ("did you mean 'jaccard'?", 'known: a, b')
    """
    names = sorted(set(known))
    near = nearest(name, names, first, aliases)
    if near:
        return f"did you mean {either(near)}?"
    more = f" and {len(names) - FEW} more" if len(names) > FEW else ""
    return listing or f"known: {', '.join(names[:FEW]) or 'none'}{more}"
