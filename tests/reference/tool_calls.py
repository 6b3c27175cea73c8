"""Calls of tools in plain Python: pairs by brute force, and ragas' definitions of its two metrics.

A call is a name and a dictionary of arguments, or None for a call that is expected by its name alone.
"""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

Call = tuple[str, dict[str, Any] | None]


def same(made: Call, wanted: Call, arguments: bool) -> bool:
    """Whether a call is the expected one."""
    return made[0] == wanted[0] and (not arguments or wanted[1] is None or made[1] == wanted[1])


def matched(made: Sequence[Call], wanted: Sequence[Call], arguments: bool) -> int:
    """The most calls that can be paired, by trying all orders of the calls."""
    most = max(len(made), len(wanted))
    padded = [*made, *[("", {"none": 0})] * (most - len(made))]
    orders = itertools.permutations(padded)
    return max(sum(same(*pair, arguments) for pair in zip(order, wanted, strict=False)) for order in orders)


def match(made: Sequence[Call], wanted: Sequence[Call], order: str, arguments: bool) -> bool:
    """Whether the expected calls are a choice of those made: all of them, some in their order, or some."""
    if order == "exact":
        return len(made) == len(wanted) and all(same(*pair, arguments) for pair in zip(made, wanted, strict=True))
    chosen = (
        itertools.combinations(made, len(wanted)) if order == "in_order" else itertools.permutations(made, len(wanted))
    )
    return any(all(same(a, b, arguments) for a, b in zip(calls, wanted, strict=True)) for calls in chosen)


def ragas_f1(made: Sequence[Call], wanted: Sequence[Call]) -> float:
    """Ragas' ToolCallF1: calls with their arguments are the elements of two sets."""
    ours, theirs = ({(name, json.dumps(given, sort_keys=True)) for name, given in calls} for calls in (made, wanted))
    hits = len(ours & theirs)
    return 2 * hits / (len(ours) + len(theirs)) if hits else 0.0


def ragas_accuracy_one_by_one(made: Sequence[Call], wanted: Sequence[Call]) -> float:
    """ToolCallAccuracy of ragas 0.4: the mean share of right arguments, call by call, if the names are the same."""
    if [name for name, _ in made] != [name for name, _ in wanted]:
        return 0.0
    shares = [_share(ours or {}, theirs or {}) for (_, ours), (_, theirs) in zip(made, wanted, strict=True)]
    return sum(shares) / len(shares) if shares else 1.0


def ragas_accuracy(made: Sequence[Call], wanted: Sequence[Call], strict_order: bool) -> float:
    """ToolCallAccuracy of ragas' repository after 0.4: the mean share of right arguments, 0 if names are not aligned.

    Names are aligned if the expected ones are a subsequence of those made; without ``strict_order`` if they are
    contained in them.  Each expected call takes the best of the calls of its name that are left.
    """
    if not made and not wanted:
        return 1.0
    if not made or not wanted:
        return 0.0
    if not strict_order:
        made, wanted = (sorted(calls, key=_spelled) for calls in (made, wanted))
    names, expected = [name for name, _ in made], [name for name, _ in wanted]
    left = iter(names)
    contained = not Counter(expected) - Counter(names)
    aligned = all(name in left for name in expected) if strict_order else contained
    remaining, total = list(made), 0.0
    for name, given in wanted:
        best, chosen = 0.0, -1
        for place, (other, arguments) in enumerate(remaining):
            share = _share(arguments or {}, given or {}) if other == name else 0.0
            if share > best:
                best, chosen = share, place
        total += best
        if chosen >= 0:
            remaining.pop(chosen)
    return aligned * total / len(wanted) * min(1.0, len(made) / len(wanted))


def _spelled(call: Call) -> tuple[str, ...]:
    """The name with each argument and its value."""
    given = call[1] or {}
    return call[0], *(part for key in sorted(given) for part in (key, str(given[key])))


def _share(made: dict[str, Any], wanted: dict[str, Any]) -> float:
    if not wanted:
        return float(not made)
    return sum(key in made and str(made[key]) == str(wanted[key]) for key in wanted) / len(wanted)


# The metrics, of calls in JSON.


def read(text: str) -> list[Call]:
    """Calls of names, or of objects with name and arguments, in JSON; values of arguments in JSON too."""
    calls = [(call, None) if isinstance(call, str) else (call["name"], call["arguments"]) for call in json.loads(text)]
    return [(name, given and {key: json.dumps(value) for key, value in given.items()}) for name, given in calls]


def counted(made: str | None, wanted: str | None) -> tuple[int, int, int] | None:
    """Matched calls, those made and those expected; None for null."""
    if made is None or wanted is None:
        return None
    ours, theirs = [(name, given or {}) for name, given in read(made)], read(wanted)
    return matched(ours, theirs, True), len(ours), len(theirs)


def tool_call_count(made: str | None) -> float | None:
    """The calls."""
    return None if made is None else float(len(read(made)))


def turns(messages: str | None) -> float | None:
    """The messages of the user."""
    return None if messages is None else float(sum(message["role"] == "user" for message in json.loads(messages)))


def tool_call_precision(made: str | None, wanted: str | None) -> float | None:
    """Matched calls of those made."""
    counts = counted(made, wanted)
    return None if counts is None else 1.0 if counts[1:] == (0, 0) else counts[0] / max(counts[1], 1)


def tool_call_recall(made: str | None, wanted: str | None) -> float | None:
    """Matched calls of those expected."""
    counts = counted(made, wanted)
    return None if counts is None else 1.0 if counts[1:] == (0, 0) else counts[0] / max(counts[2], 1)


def tool_call_f1(made: str | None, wanted: str | None) -> float | None:
    """Twice the matched calls of both."""
    counts = counted(made, wanted)
    return None if counts is None else 1.0 if counts[1:] == (0, 0) else 2 * counts[0] / sum(counts[1:])


def tool_call_match(made: str | None, wanted: str | None) -> float | None:
    """Whether the calls are the expected ones."""
    if made is None or wanted is None:
        return None
    return float(match([(name, given or {}) for name, given in read(made)], read(wanted), "exact", True))


def tool_call_accuracy(made: str | None, wanted: str | None) -> float | None:
    """The mean share of right arguments."""
    if made is None or wanted is None:
        return None
    return ragas_accuracy_one_by_one([(name, given or {}) for name, given in read(made)], read(wanted))
