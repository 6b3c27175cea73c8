"""Anchors, claims, drift and the verdict (S3), in plain Python over strings."""

import math
import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from tests.reference.text import words

LEXICONS = Path(__file__).parents[2] / "fastmetrics" / "text" / "lexicons"


def entries(name: str) -> list[str]:
    """The entries of a word list."""
    lines = (LEXICONS / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    return [line.split("#")[0].strip() for line in lines if line.split("#")[0].strip()]


def word_list(*names: str) -> set[str]:
    """The words of word lists."""
    return {word for name in names for line in entries(name) for word in line.split()}


STOP = word_list("stop_en", "stop_ru")
DISCOURSE = word_list("discourse")
VERBS = word_list("assertive")
HEDGES = word_list("hedges")
PERSONS = word_list("persons")
ANAPHORS = word_list("anaphors")
ABBREVIATIONS = word_list("abbreviations")
SAYS = {form: (kind, float(value)) for kind, value, *forms in map(str.split, entries("values")) for form in forms}

CURRENCIES = {"$": 1, "€": 2, "£": 3, "¥": 4, "₽": 5, "₹": 6}
HYPHENS = "-‐‑‒–—−"
SPACES = r"[^\S\n]"


class Word:
    """A run of word characters, with what stands before and after it."""

    def __init__(self, match: re.Match[str], before: str, after: str, opens: bool, closes: bool) -> None:
        self.start, self.stop = match.span()
        self.raw = match.group()
        self.low, self.kind, self.amount = "", "", 0.0
        self.before, self.after = before, after
        self.opens, self.closes = opens, closes
        self.digit = self.raw[0] in "0123456789"

    def number(self) -> tuple[int, int, str] | None:
        """The integer it begins with, its digits, the letters after them; None if it is no such thing."""
        match = re.fullmatch(r"([0-9]{1,15})([^0-9_]*)", self.raw)
        if match is None or len(match[2].encode("utf-8", "surrogatepass")) > 4:
            return None
        return int(match[1]), len(match[1]), match[2].lower() if match[2].isascii() else match[2]


def marks(text: str) -> list[Word]:
    """The words of a text."""
    found = list(re.finditer(r"\w+", text))
    ends = [0, *(match.end() for match in found)]
    begins = [*(match.start() for match in found), len(text)]
    gaps = [text[a:b] for a, b in zip(ends, begins, strict=True)]
    last = len(found) - 1
    made = [Word(match, gaps[i], gaps[i + 1], i == 0, i == last) for i, match in enumerate(found)]
    lowered = words(text)
    for word, low in zip(made, lowered, strict=False):
        word.low = low if len(lowered) == len(made) else words(word.raw)[0]
        word.kind, word.amount = SAYS.get(word.low, ("", 0.0))
    return made


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


def plain(tokens: list[Word], k: int) -> tuple[int, int] | None:
    """Integer and digits of a word that is all digits."""
    number = tokens[k].number() if k < len(tokens) and tokens[k].digit else None
    return (number[0], number[1]) if number and number[2] == "" else None


def day_at(tokens: list[Word], k: int) -> int:
    """5 or 5th."""
    number = tokens[k].number() if k < len(tokens) and tokens[k].digit else None
    if number is None or number[1] > 2 or not 1 <= number[0] <= 31 or number[2] not in ("", "st", "nd", "rd", "th"):
        return 0
    return number[0]


def numeric_date(tokens: list[Word], k: int) -> tuple[int, int]:
    """ISO, European and American dates in digits."""
    parts = [plain(tokens, k + i) for i in range(3)]
    if any(part is None for part in parts) or parts[1][1] > 2:
        return 0, -1
    (x, nx), (y, _), (z, nz) = parts
    mark = tight(tokens[k + 1].before)
    if mark != tight(tokens[k + 2].before) or mark not in ("-", "/", "."):
        return 0, -1
    if nx == 4 and nz <= 2 and 1 <= y <= 12 and 1 <= z <= 31:
        return x * 10000 + y * 100 + z, -1
    if nx > 2 or nz not in (2, 4):
        return 0, -1
    year = z if nz == 4 else z + (2000 if z < 50 else 1900)
    readings = []
    if 1 <= y <= 12 and 1 <= x <= 31:
        readings.append(year * 10000 + y * 100 + x)
    if mark != "." and 1 <= x <= 12 and 1 <= y <= 31 and x != y:
        readings.append(year * 10000 + x * 100 + y)
    return (*readings, -1, -1)[:2] if readings else (0, -1)


def joined(tokens: list[Word], k: int) -> bool:
    """Whether nothing but spaces, dashes, commas, full stops and the like stands before word k."""
    if k >= len(tokens):
        return False
    gap = tokens[k].before
    return not re.search(r"[!?…。！？\n%]", gap) and not gap.startswith("]") and not gap.endswith("[")


def named_date(tokens: list[Word], k: int) -> tuple[int, int]:
    """Dates with the name of a month."""
    day, j = day_at(tokens, k), k
    if day:
        j = k + 1
        if joined(tokens, j) and tokens[j].kind == "of":
            j += 1
        if not joined(tokens, j):
            return 0, k
    if tokens[j].kind != "month":
        return 0, k
    month = int(tokens[j].amount)
    j += 1
    if not day and joined(tokens, j):
        day = day_at(tokens, j)
        j += day > 0
    year = 0
    if joined(tokens, j):
        number = plain(tokens, j)
        year = number[0] if number and number[1] == 4 and number[0] >= 1000 else 0
    return year * 10000 + month * 100 + day, j + (year > 0)


def clock_time(tokens: list[Word], k: int) -> tuple[int, int, int] | None:
    """Times of day on the 12-hour or 24-hour clock."""
    number = tokens[k].number()
    if number is None or number[1] > 2:
        return None
    hour, _, letters = number
    minute, j, clock, half = 0, k + 1, False, -1
    if letters == "" and j < len(tokens) and tokens[j].digit and tight(tokens[j].before) == ":":
        number = tokens[j].number()
        if number is None or number[1] != 2 or number[0] > 59:
            return None
        minute, _, letters = number
        clock, j = True, j + 1
        if letters == "" and j < len(tokens) and tokens[j].digit and tight(tokens[j].before) == ":":
            number = tokens[j].number()
            if number is not None and number[1] == 2:
                letters, j = number[2], j + 1
    rest = tokens[j : j + 2]
    if letters in ("am", "pm"):
        half = int(letters == "pm")
    elif letters == "" and rest and rest[0].kind == "half-day" and tight(rest[0].before) == " ":
        half, j = int(rest[0].amount), j + 1
    elif letters == "" and len(rest) == 2 and tight(rest[1].before) == "." and rest[1].raw in "mM":
        half, j = (int(rest[0].raw in "pP"), j + 2) if rest[0].raw in "aApP" else (half, j)
    if hour > 23 or (half >= 0 and not 1 <= hour <= 12) or (half < 0 and not clock):
        return None
    if half >= 0:
        hour = hour % 12 + 12 * half
    return hour * 60 + minute, int(half < 0 and 1 <= hour <= 12), j


def grouped(tokens: list[Word], k: int) -> tuple[int, int, str, int] | None:
    """Digits with separators and decimals."""
    number = tokens[k].number()
    if number is None:
        return None
    value, n, letters = number
    j = k + 1

    def third(i: int) -> bool:
        part = plain(tokens, i)
        return part is not None and part[1] == 3

    if letters == "" and n <= 3 and value > 0 and j < len(tokens):
        mark = tight(tokens[j].before)
        more = mark in (",", " ", "'")
        if mark == ".":
            more = third(j + 1) and tight(tokens[j + 1].before) == "."
        while more and letters == "" and j < len(tokens) and tokens[j].digit and tight(tokens[j].before) == mark:
            part = tokens[j].number()
            if part is None or part[1] != 3 or value > 10**11:
                break
            value, letters = value * 1000 + part[0], part[2]
            n, j = n + 3, j + 1
    if letters == "" and j < len(tokens) and tokens[j].digit and tight(tokens[j].before) in (".", ","):
        part = tokens[j].number()
        if part is not None and n + part[1] <= 15:
            return value * 10 ** part[1] + part[0], part[1], part[2], j + 1
    return value, 0, letters, j


def spelled(tokens: list[Word], k: int) -> tuple[float, bool, int]:
    """Number words."""
    value, weak = tokens[k].amount, tokens[k].kind == "weak"
    if k + 1 < len(tokens) and tight(tokens[k + 1].before) in ("-", " "):
        following = tokens[k + 1]
        tens = 20 <= value < 100 and value % 10 == 0
        if tens and following.kind in ("number", "weak") and 1 <= following.amount <= 9:
            return value + following.amount, False, k + 2
        if following.kind == "parts":
            return value / following.amount, False, k + 2
        if following.kind == "scale":
            return value, False, k + 1
    return value, weak, k + 1


def currency_sign(gap: str) -> str:
    """The last currency sign of a gap."""
    return next((character for character in reversed(gap) if character in CURRENCIES), "")


def money(tokens: list[Word], k: int, j: int) -> tuple[int, int]:
    """The currency of the number from word k to j."""
    before, after = tokens[k].before, tokens[j - 1].after
    if j < len(tokens) and tokens[j].kind == "currency" and tight(after) in (" ", "-"):
        return int(tokens[j].amount), j + 1
    if currency_sign(before) and (k == 0 or before[0] not in CURRENCIES):
        return CURRENCIES[currency_sign(before)], j
    if currency_sign(after) and (after[0] in CURRENCIES or j >= len(tokens) or not tokens[j].digit):
        return CURRENCIES[currency_sign(after)], j
    return 0, j


def is_mark(word: Word) -> bool:
    """Whether digits are a citation or the number of a list item."""
    if word.before.endswith("[") or word.after.startswith("]"):
        return True
    fresh = word.opens or "\n" in word.before
    follows = word.after[:1] in (".", ")") and not word.closes and tight(word.after) == ""
    return fresh and follows and len(word.raw.encode("utf-8", "surrogatepass")) < 3


SHIFTS = {"k": 3, "m": 6, "mn": 6, "mln": 6, "b": 9, "bn": 9, "bln": 9}


def number_at(tokens: list[Word], k: int) -> tuple[str, float, float, int]:
    """The number at word k: kind or nothing, value, currency, next word."""
    word = tokens[k]
    if not word.digit:
        if word.kind == "parts":
            return "weak", 1 / word.amount, 0.0, k + 1
        value, weak, j = spelled(tokens, k)
        decimals, letters = 0, ""
    else:
        found = grouped(tokens, k)
        if found is None:
            return "", 0.0, 0.0, k + 1
        whole, decimals, letters, j = found
        value, weak = float(whole), False
        if decimals == 0 and letters == "" and j < len(tokens) and tight(tokens[j].before) == "/":
            part = plain(tokens, j)
            if part and part[0] > 0:
                return "number", value / part[0], 0.0, j + 1
    decimals -= SHIFTS.get(letters, 0)
    while (
        j < len(tokens) and decimals > -10 and tokens[j].kind == "scale" and tight(tokens[j].before) in (" ", "-", ".")
    ):
        decimals -= int(tokens[j].amount)
        j += 1
    if "%" in tokens[j - 1].after:
        decimals += 2
    elif j < len(tokens) and tokens[j].kind == "percent" and tight(tokens[j].before) in (" ", "-"):
        decimals, j = decimals + 2, j + 1
    elif j + 1 < len(tokens) and tokens[j].kind == "per" and tokens[j + 1].kind == "cent":
        decimals, j = decimals + 2, j + 2
    currency, j = money(tokens, k, j)
    value = value / 10.0**decimals if decimals >= 0 else value * 10.0**-decimals
    return "weak" if weak and j == k + 1 else "number", value, float(currency), j


def values(tokens: list[Word]) -> list[tuple[str, float, float, int, int]]:
    """Every value: kind, its two numbers, first word, word after the last."""
    found = []
    k = 0
    while k < len(tokens):
        word = tokens[k]
        if not word.digit and word.kind not in ("number", "weak", "parts", "month", "weekday"):
            k += 1
            continue
        if word.kind == "weekday":
            found.append(("weekday", word.amount, 0.0, k, k + 1))
            k += 1
            continue
        date, other, j = 0, -1, k
        if word.digit:
            date, other = numeric_date(tokens, k)
            j = k + 3
        if date == 0:
            date, j = named_date(tokens, k)
        alone = date < 10000 and date % 100 == 0
        if date and alone and ("a" <= word.raw[0] <= "z" or (date == 500 and word.raw[0] == "M")):
            date = 0
        if date:
            found.append(("date", float(date), float(other), k, j))
            found += [("weak", float(part), 0.0, k, j) for part in (date // 10000, date % 100) if part]
            k = j
            continue
        if word.kind == "month":
            k += 1
            continue
        time = clock_time(tokens, k) if word.digit else None
        if time:
            found.append(("time", float(time[0]), float(time[1]), k, time[2]))
            k = time[2]
            continue
        kind, a, b, j = number_at(tokens, k)
        if kind and not (word.digit and is_mark(word)):
            found.append((kind, a, b, k, j))
        k = j
    return found


def agrees(asked: int, given: int, years: set[float]) -> bool:
    """Whether every part of the date that is said is the same in the other; a year may be said elsewhere."""
    if asked < 0 or given < 0:
        return False
    for size, base in ((10000, 10000), (100, 100), (100, 1)):
        part, other = asked // base % size, given // base % size
        if part and part != other and not (base == 10000 and other == 0 and float(part) in years):
            return False
    return True


def supported(anchor: tuple, context: list[tuple]) -> bool:
    """Whether values of the contexts hold the anchor."""
    kind, a, b = anchor[:3]
    numbers = {value[1] for value in context if value[0] in ("number", "weak")}
    for other, x, y, *_ in context:
        if kind == "number" and other in ("number", "weak") and a == x and (b in (0, y) or y == 0):
            return True
        if kind == "date" and other == "date":
            for asked in (int(a), int(b)):
                if any(agrees(asked, given, numbers) for given in (int(x), int(y))):
                    return True
        if kind == "time" and other == "time" and (a == x or ((b or y) and a % 720 == x % 720)):
            return True
        if kind == "weekday" and other == "weekday" and a == x:
            return True
    return False


SUFFIXES = ("ing", "ied", "ies", "ed", "es", "ly", "s", "e", "y")
ENDINGS = set("аеёиоуыэюяйьмхв")


def stem(word: str) -> str:
    """A word without its ending: one English suffix and a doubled last letter, or up to three Russian letters."""
    if word.isascii() and word.isalpha():
        if len(word) < 4:
            return word
        for suffix in SUFFIXES:
            if word.endswith(suffix) and len(word) - len(suffix) >= 3 and not word.endswith("ss"):
                word = word[: -len(suffix)]
                break
        return word[:-1] if len(word) > 3 and word[-1] == word[-2] else word
    if all("а" <= letter <= "я" or letter == "ё" for letter in word):
        for _ in range(3):
            if len(word) > 4 and word[-1] in ENDINGS:
                word = word[:-1]
    return word


def is_verb(low: str) -> bool:
    """A verb that asserts."""
    return low in VERBS or (len(low) > 4 and low.endswith("ed") and low.isascii())


def is_content(word: Word) -> bool:
    """A word that names something; the number of a list item and a citation name nothing."""
    steers = word.low in STOP or word.low in DISCOURSE or word.low in HEDGES
    return not steers and not (word.digit and is_mark(word))


def is_name(word: Word) -> bool:
    """A word that subjects and objects are made of."""
    return is_content(word) or word.low in PERSONS


def sentences(tokens: list[Word]) -> Iterator[tuple[int, int]]:
    """Where the sentences of an answer begin and end, those that ask left out."""
    begin = 0
    for k, word in enumerate(tokens):
        gap = word.after
        short = len(word.raw.encode("utf-8", "surrogatepass")) == 1 or word.low in ABBREVIATIONS
        ended = word.closes or re.search(r"[!?…。！？\n]", gap) or ("." in gap and len(gap) > 1 and not short)
        if ended:
            if "?" not in gap and "？" not in gap:
                yield begin, k + 1
            begin = k + 1


def parted(gap: str) -> bool:
    """Whether a clause ends at the gap."""
    return re.search(r"[,:;()\[\]«»“”\"]", gap) is not None


def groups(tokens: list[Word], begin: int, end: int) -> list[tuple[int, int]]:
    """The verb groups of a sentence: verbs with at most two stop words in between."""
    found: list[tuple[int, int]] = []
    for k in range(begin, end):
        if not is_verb(tokens[k].low):
            continue
        if found:
            first, last = found[-1]
            between = tokens[last:k]
            near = len(between) <= 2 and not any(parted(tokens[i].before) for i in range(last, k + 1))
            if near and all(not is_content(w) and w.low not in HEDGES and w.low not in PERSONS for w in between):
                found[-1] = (first, k + 1)
                continue
        found.append((k, k + 1))
    return found


Claim = tuple[list[int], bool, int]
"""The words of one end, whether the other may stand without them, the word of the other end."""


def claims(tokens: list[Word], taken: set[int]) -> list[Claim]:
    """Every claim: an object with the words of its subject, a subject with those of its object."""
    found: list[Claim] = []
    subject: list[int] = []
    vague = True
    for begin, end in sentences(tokens):
        name = [is_name(tokens[k]) for k in range(begin, end)]
        hedged = [tokens[k].low in HEDGES for k in range(begin, end)]
        verbs = groups(tokens, begin, end)
        if not verbs:
            found += [([], True, k) for k in range(begin, end) if name[k - begin] and not any(hedged)]
            continue
        if not any(tokens[k].low in ANAPHORS for k in range(begin, verbs[0][0])):
            subject, vague = [], True
        before = begin
        for place, (first, last) in enumerate(verbs):
            following = verbs[place + 1][0] if place + 1 < len(verbs) else end
            low = max([before, *(k for k in range(before + 1, first) if parted(tokens[k].before))])
            zone, before = range(before, first), last
            if any(hedged[zone.start - begin : last - begin]):
                continue
            own = [k for k in range(low, first) if name[k - begin]]
            if own:
                capital = [k for k in own if tokens[k].raw[0].isupper() and tokens[k].low not in PERSONS]
                subject, vague = own, not any(k != begin for k in capital)
            objects = [k for k in range(last, following) if name[k - begin]]
            done = [k for k in range(first, last) if name[k - begin]]
            if place == 0 and not (objects and taken.issuperset(objects)):
                found += [(objects or done, False, k) for k in zone if name[k - begin]]
            spoken = [k for k in range(first, last) if is_verb(tokens[k].low) and tokens[k].low not in STOP]
            spoken = [k for k in spoken if k not in taken and not (tokens[k].digit and is_mark(tokens[k]))]
            found += [(subject, vague, k) for k in objects or spoken[-1:]]
    return [claim for claim in found if claim[2] not in taken]


def claim_holds(ends: set[str], vague: bool, target: str, contexts: list[list[str]], window: int) -> bool:
    """Whether the target and any word of the other end stand within the window in one context."""
    alone = not ends or (vague and not any(word in ends for context in contexts for word in context))
    for context in contexts:
        places = [i for i, word in enumerate(context) if word == target]
        if alone and places:
            return True
        centers = [i for i, word in enumerate(context) if word in ends]
        if any(abs(i - j) <= window for i in places for j in centers):
            return True
    return False


def anchors(answer: str, contexts: list[str], window: int = 30) -> list[tuple[str, int, int, bool]]:
    """Every anchor of the answer: kind, first character, character after the last, whether it is supported."""
    tokens = marks(answer)
    own = values(tokens)
    known = [value for context in contexts for value in values(marks(context))]
    found = []
    taken: set[int] = set()
    for value in own:
        if value[0] != "weak":
            taken.update(range(value[3], value[4]))
            span = tokens[value[3]].start, tokens[value[4] - 1].stop
            found.append((value[0], *span, supported(value, known)))
    stems = [[stem(word) for word in words(context)] for context in contexts]
    for other, vague, target in claims(tokens, taken):
        ends = {stem(tokens[k].low) for k in other}
        holds = claim_holds(ends, vague, stem(tokens[target].low), stems, window)
        found.append(("claim", tokens[target].start, tokens[target].stop, holds))
    return found


def drift(answer: str, contexts: list[str]) -> float:
    """0.2 if less than a fifth of the answer's word pairs are found in the contexts."""
    own = words(answer)
    pairs = list(pairwise(own))
    known = set()
    for context in contexts:
        known.update(pairwise(words(context)))
    share = sum(pair in known for pair in pairs) / len(pairs) if pairs else 1.0
    return 0.2 if share < 0.2 else 0.0


def hallucination(answer: str, contexts: list[str], window: int = 30) -> float:
    """The share of anchors without support, or the drift."""
    found = anchors(answer, contexts, window)
    share = sum(not anchor[3] for anchor in found) / len(found) if found else 0.0
    return max(share, drift(answer, contexts))


def keyword_completeness(question: str, answer: str) -> float:
    """The share of the question's keywords that the answer holds."""
    keywords = {word for word in words(question) if word not in STOP and len(word) > 2}
    return len(keywords & set(words(answer))) / len(keywords) if keywords else 1.0


def relevance(question: str, answer: str) -> float:
    """Mean of the TF-IDF cosine of the pair and the Jaccard index."""
    a, b = (Counter(word for word in words(text) if len(word) > 1) for text in (question, answer))

    def weight(word: str) -> float:
        return 1.0 if word in a and word in b else math.log(3 / 2) + 1

    product = sum(a[word] * b[word] for word in a)
    norm = math.sqrt(sum((n * weight(w)) ** 2 for w, n in a.items()) * sum((n * weight(w)) ** 2 for w, n in b.items()))
    union = set(words(question)) | set(words(answer))
    jaccard = len(set(words(question)) & set(words(answer))) / len(union) if union else 0.0
    return ((product / norm if norm else 0.0) + jaccard) / 2


def verdict(question: str, answer: str, contexts: list[str]) -> float:
    """FAIL, WARN or PASS as 0, 0.5 or 1."""
    if hallucination(answer, contexts) > 0.5 or relevance(question, answer) < 0.1:
        return 0.0
    return 0.5 if keyword_completeness(question, answer) < 0.6 else 1.0
