"""The choice that a text states, one text at a time, in plain Python over characters."""

from __future__ import annotations

import re
import string
from collections.abc import Sequence

from tests.reference import text as convention
from tests.reference.matching import contains

CUES = ("answer", "option", "choice", "choose", "ответ", "Ответ", "答案", "选")
LINKS = re.findall(
    r"\w+",
    "is are was would should must be the correct right best final option choice letter answer to this question "
    "therefore ответ вариант буква это правильный верный",
)


def in_word(text: str, at: int) -> bool:
    if not 0 <= at < len(text):
        return False
    code = ord(text[at])
    if code < 128:
        return text[at].isalnum() or text[at] == "_"
    return not (0x80 <= code < 0xC0 or 0x2000 <= code < 0x2040 or 0x3000 <= code < 0xA000 or 0xFF00 <= code < 0xFF40)


def folded(text: str) -> str:
    """ASCII capitals as small letters."""
    return "".join(one.lower() if one in string.ascii_uppercase else one for one in text)


def skipped(text: str, at: int) -> int:
    while at < len(text) and not in_word(text, at):
        at += 1
    return at


def letter_at(text: str, at: int, strict: bool) -> str | None:
    """The letter, "" for several; None for none."""
    if at >= len(text) or text[at] not in string.ascii_letters or in_word(text, at - 1) or in_word(text, at + 1):
        return None
    rest = text[at + 1 :]
    if re.match(r"['+#][^ \n]", rest):
        return None
    behind = re.match(r"[ \t]+([^ \t\n\r-])", rest)
    unsure = strict or text[at].islower() or text[at] == "I"
    if unsure and behind is not None and (behind[1].isascii() or in_word(text, at + behind.end())):
        return None
    gap = text[at + 1 : skipped(text, at + 1)]
    if re.search(r"[\n.:]", gap):
        # what ends the list of letters counts only before anything that joins
        return text[at].upper()
    joined, other = bool(re.search("[,/&]", gap)), at + 1 + len(gap)
    for word in ("and", "or"):
        if folded(text[other:]).startswith(word):
            joined, other = True, skipped(text, other + len(word))
            break
    if joined and other < len(text) and text[other] in string.ascii_uppercase and not in_word(text, other + 1):
        return text[at].upper() if text[other] == text[at].upper() else ""
    return text[at].upper()


def after_cue(text: str, at: int) -> str | None:
    for _ in range(7):
        at = skipped(text, at)
        found = letter_at(text, at, strict=False)
        if found is not None:
            return found
        word = next(
            (link for link in LINKS if folded(text[at:]).startswith(link) and not in_word(text, at + len(link))), None
        )
        if word is None:
            return None
        at += len(word)
    return None


def at_start(line: str) -> str | None:
    return letter_at(line, skipped(line, 0), strict=True)


def stated(text: str) -> str | None:
    """The letter that a text states, "" if it states several."""
    text = text.rstrip(" \n\r\t")
    for box in reversed(list(re.finditer(r"(?i)\\boxed\{", text))):
        inside = re.split(r"[}\n]", text[box.end() :])[0]
        place = box.end() + (inside.find("{") % (len(inside) + 1) if inside.startswith("\\") else 0)
        whole = text[: box.end() + len(inside)]
        found = letter_at(whole, skipped(whole, place), strict=False)
        if found is not None:
            return found
    for at in reversed(range(len(text))):
        cue = next((cue for cue in CUES if folded(text[at:]).startswith(cue)), None)
        if cue is not None and not in_word(text, at - 1):
            found = after_cue(text, at + len(cue))
            if found is not None:
                return found
    first = at_start(text)
    if first is not None:
        return first
    if "\n" in text:
        last = letter_at(text, skipped(text, text.rindex("\n") + 1), strict=True)
        if last is not None:
            return last
    capitals = {text[at + 1] for at in range(len(text) - 2) if re.match(r"\([A-Z]\)", text[at : at + 3])}
    return capitals.pop() if len(capitals) == 1 else None


def choice_match(
    answer: str | None, reference: str | Sequence[str | None] | None, choices: Sequence[str | None] | None
) -> float | None:
    references = [reference] if isinstance(reference, str) else [text for text in reference or [] if text is not None]
    if answer is None or not references:
        return None
    options = [convention.plain(text) for text in choices or [] if text is not None]
    return max(_match(answer, one, options) for one in references)


def _match(answer: str, reference: str, options: list[list[str]]) -> float:
    words, wanted = convention.plain(answer), convention.plain(reference)
    letter = stated(answer)
    chosen: int | None = None if letter is None else string.ascii_uppercase.find(letter) if letter else -1
    if chosen is None:
        held = [place for place, option in enumerate(options) if option and contains(words, option)]
        best = max(held, key=lambda place: (len(options[place]), -place), default=None)
        if best is not None and all(contains(options[best], options[place]) for place in held):
            chosen = best
    alone = [at for at in range(len(reference)) if in_word(reference, at)]
    if len(alone) == 1 and reference[alone[0]] in string.ascii_letters:
        right = string.ascii_uppercase.index(reference[alone[0]].upper())
    elif wanted in options:
        right = options.index(wanted)
    else:
        return float(contains(words, wanted))
    return float(chosen == right)
