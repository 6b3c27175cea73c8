"""The match of an answer's values with those of the reference, in plain Python over strings."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tests.reference.marks import marks
from tests.reference.text import words
from tests.reference.values import supported, values

YES, NO = ("yes", "yeah", "yep", "true", "да"), ("no", "nope", "false", "нет")


def stance(text: str) -> bool | None:
    """Whether a text begins with a yes or a no."""
    first = words(text)[:1]
    return None if not first or first[0] not in YES + NO else first[0] in YES


def near(wanted: tuple[Any, ...], stated: tuple[Any, ...], absolute: float, relative: float) -> bool:
    """Whether two numbers are equal but for the tolerance, and their currencies if both have one."""
    x, p = wanted[1], stated[1]
    close = p == x or abs(p - x) <= max(absolute, relative * abs(x))
    return close and (wanted[2] == stated[2] or 0 in (wanted[2], stated[2]))


def one_match(answer: str, reference: str, absolute: float, relative: float, which: str) -> float | None:
    wanted, stated = values(marks(reference)), values(marks(answer))
    if which == "last" and stated:
        strong = [place for place, value in enumerate(stated) if value[0] != "weak"]
        stated = stated[strong[-1] if strong else -1 :]
    if not wanted:
        asked = stance(reference)
        return None if asked is None else float(stance(answer) == asked)
    numbers = ("number", "weak")
    return float(
        all(
            any(near(value, other, absolute, relative) for other in stated if other[0] in numbers)
            if value[0] in numbers
            else supported(value, stated)
            for value in [value for value in wanted if value[0] != "weak"] or wanted
        )
    )


def number_match(
    answer: str | None,
    reference: str | Sequence[str | None] | None,
    absolute: float = 0.0,
    relative: float = 0.0,
    which: str = "any",
) -> float | None:
    references = [reference] if isinstance(reference, str) else [text for text in reference or [] if text is not None]
    if answer is None or not references:
        return None
    found = [one_match(answer, one, absolute, relative, which) for one in references]
    return max((score for score in found if score is not None), default=math.nan)
