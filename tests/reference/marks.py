"""The words of a text with what stands between them, in plain Python over strings (S3)."""

import re
from pathlib import Path

from tests.reference.text import words

WORD_LISTS = Path(__file__).parent / "word_lists"
"""The reference's own: a word that the package's lists gain or lose is a difference until it is written here too."""


def entries(name: str) -> list[str]:
    """The entries of a word list."""
    return (WORD_LISTS / f"{name}.txt").read_text(encoding="utf-8").splitlines()


def word_list(*names: str) -> set[str]:
    """The words of word lists."""
    return {word for name in names for line in entries(name) for word in line.split()}


SAYS = {form: (kind, float(value)) for kind, value, *forms in map(str.split, entries("values")) for form in forms}

CURRENCIES = {"$": 1, "€": 2, "£": 3, "¥": 4, "₽": 5, "₹": 6}
HYPHENS = "-‐‑‒–—−"


class Word:
    """A run of word characters, with what stands before and after it."""

    def __init__(self, match: re.Match[str], before: str, after: str, opens: bool, closes: bool) -> None:
        self.start, self.stop = match.span()
        self.lead = match.string[: self.start]
        self.raw = match.group()
        self.low, self.kind, self.amount = "", "", 0.0
        self.before, self.after = before, after
        self.opens, self.closes = opens, closes
        self.digit = self.raw[0] in "0123456789"

    def number(self) -> tuple[int, int, str] | None:
        """The integer it begins with, its digits, the letters after them; None if it is no such thing.

        The exponent of 5e6 and the ten of 5x10 count as letters.
        """
        match = re.fullmatch(r"([0-9]{1,15})([^0-9_]*|[eE][0-9]{1,2}|[xX]10)", self.raw)
        if match is None or len(match[2].encode("utf-8", "surrogatepass")) > 4:
            return None
        return int(match[1]), len(match[1]), match[2].lower() if match[2].isascii() else match[2]


def marks(text: str) -> list[Word]:
    """The words of a text."""
    matches = list(re.finditer(r"\w+", text))
    ends = [0, *(match.end() for match in matches)]
    begins = [*(match.start() for match in matches), len(text)]
    gaps = [text[a:b] for a, b in zip(ends, begins, strict=True)]
    last = len(matches) - 1
    tokens = [Word(match, gaps[i], gaps[i + 1], i == 0, i == last) for i, match in enumerate(matches)]
    lowered = words(text)
    for word, low in zip(tokens, lowered, strict=False):
        word.low = low if len(lowered) == len(tokens) else words(word.raw)[0]
        word.kind, word.amount = SAYS.get(word.low, ("", 0.0))
    return tokens


def tight(gap: str) -> str:
    """What kind of gap a single character is: itself, ``-`` for any dash, a space for any space; else nothing."""
    if len(gap) != 1:
        return ""
    if gap in HYPHENS:
        return "-"
    if gap in "'’":
        return "'"
    if gap.isspace() and gap != "\n":
        return " "
    return gap if gap in ",./:" else ""


_SIGN = "([{0}*`\"'„]*)([{1}]?)[{0}]*([.]?)$".format("".join(CURRENCIES), HYPHENS.replace("—", ""))
_AFTER_SPACE, _AT_START = re.compile(r"[\s\[({=<>≤≥~≈«“|:;,]" + _SIGN), re.compile("^" + _SIGN)
_DASH = HYPHENS.replace("—", "")
_PRICE = re.compile(
    r"(?:^|[\s\[({{=<>≤≥~≈«“|:;,])[{0}*`\"'„]*(?:[{1}][{0}]*[A-Z]{{1,3}}[{0}]|[A-Z]{{1,3}}[{0}][{1}])$".format(
        "".join(CURRENCIES), _DASH
    )
)


def sign_and_point(word: Word) -> tuple[bool, bool]:
    """Whether a minus sign stands before a number, and the point of one like .5: behind a space, not another word."""
    if word.before[:1] in (*CURRENCIES,) and _PRICE.search(word.lead):  # -US$4 and US$-4
        return True, False
    found = _AFTER_SPACE.search(word.before) or (_AT_START.search(word.before) if word.opens else None)
    return (found[2] != "", found[3] != "") if found else (False, False)


def plain(tokens: list[Word], k: int) -> tuple[int, int] | None:
    """Integer and digits of a word that is all digits."""
    number = tokens[k].number() if k < len(tokens) and tokens[k].digit else None
    return (number[0], number[1]) if number and number[2] == "" else None
