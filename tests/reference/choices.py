"""Which choice an answer states and which is right, one row at a time in plain Python, given who reads the letters."""

from __future__ import annotations

import math
import re
import string
from collections.abc import Callable, Sequence

from tests.reference import text as convention
from tests.reference.matching import contains

Read = Callable[[str, bool], int]
"""The number of the letter, or with True the digit, that a text states; below 0 for none, -2 for several, -3 where it
cannot be told, and 32 more where it is the only one.
"""
NONE, SEVERAL, UNCLEAR, LONE = -1, -2, -3, 32


def in_word(text: str, at: int) -> bool:
    code = ord(text[at])
    return (0xC0 <= code < 0x2000 and code not in (0xD7, 0xF7)) or text[
        at
    ] in string.ascii_letters + string.digits + "_"


Texts = str | Sequence[str | None] | None


def choice_match(
    read: Read,
    answer: str | None,
    reference: Texts,
    choices: Sequence[str | None] | None = None,
    labels: Sequence[str | None] | None = None,
    numbers: str = "auto",
    numeric: bool = False,
) -> float | None:
    """``numeric`` says that the references are numbers in their column."""
    references = [reference] if isinstance(reference, str) else [text for text in reference or [] if text is not None]
    if answer is None or not references:
        return None
    options = [convention.plain(text) for text in choices or [] if text is not None] or None
    marks = None if labels is None else [text for text in labels if text is not None]
    given = None if choices is None else [text for text in choices if text is not None]
    scores = [_match(read, answer, one, options, given, marks, numbers, numeric) for one in references]
    return 1.0 if 1.0 in scores else math.nan if any(map(math.isnan, scores)) else 0.0


def alone(text: str) -> str | None:
    """The letter or whole number that a text consists of."""
    places = [at for at in range(len(text)) if in_word(text, at)]
    if not places or places[-1] - places[0] != len(places) - 1:
        return None
    word = text[places[0] : places[-1] + 1]
    if word.upper() in string.ascii_uppercase and len(word) == 1:
        return word.upper()
    signed = text[: places[0]].endswith(("-", "−", "\u2012"))
    return str(int(word)) if re.fullmatch("[0-9]{1,6}", word) and not signed else None


def _match(
    read: Read,
    answer: str,
    reference: str,
    options: list[list[str]] | None,
    given: list[str] | None,
    labels: list[str] | None,
    numbers: str,
    numeric: bool,
) -> float:
    words, wanted = convention.plain(answer), convention.plain(reference)
    marks = [alone(label) for label in labels or []]
    right, number, texts = None, None, options or []
    word = alone(reference)
    if word is not None and word in marks:
        right = marks.index(word)
    elif word is not None and word in string.ascii_uppercase:
        right = string.ascii_uppercase.index(word)
    else:
        place = -1 if word is None or numbers == "text" else int(word) - (numbers == "from_1")
        counts = 0 <= place < (26 if options is None else len(options))
        if counts and (numeric or numbers != "auto" or wanted not in texts):
            right, number = place, word
        elif wanted in texts:
            right = texts.index(wanted)
    letter = read(answer, False)
    lone, letter = letter >= LONE, letter % LONE if letter >= 0 else letter
    chosen = letter
    if letter >= 0 and string.ascii_uppercase[letter] in marks:
        chosen = marks.index(string.ascii_uppercase[letter])
    if lone or letter in (NONE, UNCLEAR):
        chosen = named(read, answer, texts, given or [], chosen)
    digit = read(answer, True) if chosen in (NONE, UNCLEAR) and (labels is not None or number is not None) else NONE
    if digit == SEVERAL:
        chosen = SEVERAL
    elif digit >= 0 and str(digit) in marks:
        chosen = marks.index(str(digit))
    elif digit >= 0 and str(digit) == number:
        assert right is not None
        chosen = right
    held = contains(words, wanted)
    by_text = right is None or (number is not None and options is None and not numeric)
    if (right is not None and chosen == right) or (by_text and held) or answer == reference:
        return 1.0
    return math.nan if right is not None and chosen in (SEVERAL, UNCLEAR) else 0.0


DENIALS = r"\b(?:not|cannot|never|neither|nor|no es|ni|не|ни)\b|n['’]t|不|错"


def named(read: Read, answer: str, texts: list[list[str]], given: list[str], otherwise: int) -> int:
    """The choice that an answer names by its words."""
    words = convention.plain(answer)
    held = [place for place, option in enumerate(texts) if option and contains(words, option)]
    if not held:
        return otherwise
    best = max(held, key=lambda place: (len(texts[place]), -place))
    found = best if all(contains(texts[best], texts[place]) for place in held) else SEVERAL
    if found != SEVERAL and not re.search(DENIALS, answer.lower()):
        return found
    spelled = {" ".join(re.findall(r"\w+", text.lower())): place for place, text in enumerate(given)}
    phrases = sorted(filter(None, spelled), key=len, reverse=True)
    pattern = "|".join(r"\W+".join(map(re.escape, phrase.split())) for phrase in phrases)
    if phrases:
        answer = re.sub(
            rf"(?<!\w)(?:{pattern})(?!\w)",
            lambda match: "BCDFGH"[spelled[" ".join(re.findall(r"\w+", match[0].lower()))]],
            answer,
            flags=re.IGNORECASE,
        )
    said = read(answer, False)
    said = "BCDFGH".find(string.ascii_uppercase[said % LONE]) if said >= 0 else said
    if said == NONE:
        return otherwise
    return found if found != SEVERAL else SEVERAL if said < 0 else said
