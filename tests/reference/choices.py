"""The choice that a text states, one text at a time, in plain Python over characters."""

from __future__ import annotations

import re
import string
from collections.abc import Sequence

from tests.reference import text as convention
from tests.reference.matching import contains

CUES = [
    *("answer", "option", "choice", "choose", "ответ", "Ответ", "вариант", "Вариант", "答案", "选", "答え", "정답"),
    *("antwort", "lösung", "réponse", "respuesta", "risposta", "resposta", "cevap", "cevab", "yanıt"),
    *("الإجابة", "الجواب", "उत्तर"),
]
LINKS = re.findall(
    r"\w+",
    "is are was would should must be the correct right best final option choice letter answer to this question "
    "therefore text textbf mathbf mathrm ответ вариант буква это правильный верный ist lautet est es correcta doğru "
    "هي هو الصحيحة الصحيح",
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


def letter_at(text: str, at: int, strict: bool, signs: str) -> str | None:
    """The letter or digit, "" for several; None for none."""
    if (
        at >= len(text)
        or not text[at].isascii()
        or text[at].upper() not in signs
        or in_word(text, at - 1)
        or in_word(text, at + 1)
    ):
        return None
    rest = text[at + 1 :]
    if re.match(r"[+#][^ \n]", rest) or (rest[:1] == "'" and in_word(rest, 1)):
        return None
    if text[at].isdigit() and rest[:1] in (".", ",") and in_word(rest, 1):
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
    if joined and other < len(text) and text[other] in signs and not in_word(text, other + 1):
        return text[at].upper() if text[other] == text[at].upper() else ""
    return text[at].upper()


def after_cue(text: str, at: int, signs: str) -> str | None:
    for _ in range(7):
        at = skipped(text, at)
        found = letter_at(text, at, False, signs)
        if found is not None:
            return found
        word = next(
            (link for link in LINKS if folded(text[at:]).startswith(link) and not in_word(text, at + len(link))), None
        )
        if word is None:
            return None
        at += len(word)
    return None


def stated(text: str, signs: str = string.ascii_uppercase) -> str | None:
    """The letter, or another of the signs, that a text states, "" if it states several."""
    text = text.rstrip(" \n\r\t")
    for box in reversed(list(re.finditer(r"(?i)\\boxed\{", text))):
        inside = re.split(r"[}\n]", text[box.end() :])[0]
        place = box.end() + (inside.find("{") % (len(inside) + 1) if inside.startswith("\\") else 0)
        whole = text[: box.end() + len(inside)]
        found = letter_at(whole, skipped(whole, place), False, signs)
        if found is not None:
            return found
    for at in reversed(range(len(text))):
        cue = next((cue for cue in CUES if folded(text[at:]).startswith(cue)), None)
        if cue is not None and not in_word(text, at - 1):
            found = after_cue(text, at + len(cue), signs)
            if found is not None:
                return found
    first = letter_at(text, skipped(text, 0), True, signs)
    if first is not None:
        return first
    if "\n" in text:
        last = letter_at(text, skipped(text, text.rindex("\n") + 1), True, signs)
        if last is not None:
            return last
    correct = {
        text[at]
        for at in range(len(text))
        if text[at] in signs
        and not in_word(text, at - 1)
        and re.match(" is (the )?(correct|right)", folded(text[at + 1 :]))
    }
    if len(correct) == 1:
        return correct.pop()
    bracketed = {text[at + 1] for at in range(len(text) - 2) if re.match(rf"\([{signs}]\)", text[at : at + 3])}
    return bracketed.pop() if len(bracketed) == 1 else None


Texts = str | Sequence[str | None] | None


def choice_match(
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
    return max(_match(answer, one, options, marks, numbers, numeric) for one in references)


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
    answer: str,
    reference: str,
    options: list[list[str]] | None,
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
    chosen = None
    letter = stated(answer)
    if letter == "":
        chosen = -1
    elif letter is not None:
        chosen = marks.index(letter) if letter in marks else string.ascii_uppercase.index(letter)
    else:
        held = [place for place, option in enumerate(texts) if option and contains(words, option)]
        best = max(held, key=lambda place: (len(texts[place]), -place), default=None)
        if best is not None:
            chosen = best if all(contains(texts[best], texts[place]) for place in held) else -1
        digit = stated(answer, string.digits) if chosen is None else None
        if digit and digit in marks:
            chosen = marks.index(digit)
        elif digit and digit == number:
            chosen = right
    if right is not None and chosen == right:
        return 1.0
    if right is None or (number is not None and options is None and not numeric):
        return float(contains(words, wanted))
    return 0.0
