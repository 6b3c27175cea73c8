"""Numbers, dates and times, and which of them others hold, in plain Python (S3)."""

import re

from tests.reference.marks import CURRENCIES, SAYS, Word, plain, sign_and_point, tight


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
    following = tokens[j : j + 2]
    if letters in ("am", "pm"):
        half = int(letters == "pm")
    elif letters == "" and following and following[0].kind == "half-day" and tight(following[0].before) == " ":
        half, j = int(following[0].amount), j + 1
    elif letters == "" and len(following) == 2 and tight(following[1].before) == "." and following[1].raw in "mM":
        half, j = (int(following[0].raw in "pP"), j + 2) if following[0].raw in "aApP" else (half, j)
    if hour > 23 or (half >= 0 and not 1 <= hour <= 12) or (half < 0 and not clock):
        return None
    if half >= 0:
        hour = hour % 12 + 12 * half
    return hour * 60 + minute, int(half < 0 and 1 <= hour <= 12), j


def indian(tokens: list[Word], value: int, n: int, j: int) -> tuple[int, int, str, int]:
    """Groups of two digits and a last one of three: 12,34,567."""
    groups, end = [], j
    while n + 2 * len(groups) < 11 and end < len(tokens) and tight(tokens[end].before) == ",":
        group = plain(tokens, end)
        if group is None or group[1] != 2:
            break
        groups.append(group[0])
        end += 1
    last = tokens[end].number() if end < len(tokens) and tokens[end].digit else None
    if not groups or last is None or last[1] != 3 or tight(tokens[end].before) != ",":
        return value, n, "", j
    for group in groups:
        value = value * 100 + group
    return value * 1000 + last[0], n + 2 * len(groups) + 3, last[2], end + 1


def grouped(tokens: list[Word], k: int) -> tuple[int, int, str, int] | None:
    """Digits with separators and decimals."""
    number = tokens[k].number()
    if number is None:
        return None
    value, n, letters = number
    j = k + 1

    if sign_and_point(tokens[k])[1]:
        return value, n, letters, j

    def third(i: int) -> bool:
        part = plain(tokens, i)
        return part is not None and part[1] == 3

    if letters == "" and n < 3 and value > 0:
        value, n, letters, j = indian(tokens, value, n, j)
    if letters == "" and n <= 3 and value > 0 and j < len(tokens):
        mark = tight(tokens[j].before)
        more = mark in (",", " ", "'")
        if mark == ".":
            following = tokens[j + 1] if j + 1 < len(tokens) and tokens[j + 1].digit else None
            more = following is not None and (
                tight(following.before) == "," or (third(j + 1) and tight(following.before) == ".")
            )
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


def may_be_signed(gap: str) -> bool:
    """Whether a "minus" before the gap belongs to the number behind it: "minus 5", "minus $5"."""
    priced = re.search(rf"[\s{{=<>≤≥~≈|][{''.join(CURRENCIES)}]*[.]?$", gap) and currency_sign(gap)
    return tight(gap) in (" ", "-") or bool(priced and not re.search(r"[\n,:;()\[\]«»“”\"]", gap))


SHIFTS = {"k": 3, "m": 6, "mn": 6, "mln": 6, "b": 9, "bn": 9, "bln": 9}


def number_at(tokens: list[Word], k: int) -> tuple[str, float, float, int]:
    """The number at word k: kind or nothing, value, currency, next word."""
    word = tokens[k]
    sign = -1.0 if sign_and_point(word)[0] else 1.0
    if not word.digit:
        if word.kind == "parts":
            return "weak", 1 / word.amount, 0.0, k + 1
        if word.kind == "fraction":
            return "number", sign * word.amount, 0.0, k + 1
        value, weak, j = spelled(tokens, k)
        decimals, letters = 0, ""
    else:
        digits = grouped(tokens, k)
        if digits is None:
            return "", 0.0, 0.0, k + 1
        whole, decimals, letters, j = digits
        value, weak = float(whole), False
        if decimals == 0 and SAYS.get(letters, ("",))[0] == "fraction":
            value, letters = value + SAYS[letters][1], ""
        if decimals == 0 and letters == "" and j < len(tokens) and tight(tokens[j].before) == "/":
            part = plain(tokens, j)
            if part and part[0] > 0:
                return "number", sign * value / part[0], 0.0, j + 1
        following = tokens[j] if j < len(tokens) else None
        half = (
            following if following and following.kind == "fraction" and tight(following.before) in (" ", "-") else None
        )
        if decimals == 0 and letters == "" and half:
            value, j = value + half.amount, j + 1
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
    return "weak" if weak and j == k + 1 else "number", sign * value, float(currency), j


def values(tokens: list[Word]) -> list[tuple[str, float, float, int, int]]:
    """Every value: kind, its two numbers, first word, word after the last."""
    marks_of_text = []
    k = 0
    while k < len(tokens):
        word = tokens[k]
        if not word.digit and word.kind not in ("number", "weak", "parts", "fraction", "minus", "month", "weekday"):
            k += 1
            continue
        if word.kind == "weekday":
            marks_of_text.append(("weekday", word.amount, 0.0, k, k + 1))
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
            marks_of_text.append(("date", float(date), float(other), k, j))
            marks_of_text += [("weak", float(part), 0.0, k, j) for part in (date // 10000, date % 100) if part]
            k = j
            continue
        if word.kind == "month":
            k += 1
            continue
        if word.kind == "minus":
            following = tokens[k + 1] if k + 1 < len(tokens) and may_be_signed(tokens[k + 1].before) else None
            k += 1
            if following and (following.digit or following.kind in ("number", "weak", "fraction")):
                kind, a, b, j = number_at(tokens, k)
                if kind:
                    marks_of_text.append(("number", -a, b, k - 1, j))
                    k = j
            continue
        time = clock_time(tokens, k) if word.digit else None
        if time:
            marks_of_text.append(("time", float(time[0]), float(time[1]), k, time[2]))
            k = time[2]
            continue
        kind, a, b, j = number_at(tokens, k)
        if kind and not (word.digit and is_mark(word)):
            marks_of_text.append((kind, a, b, k, j))
        k = j
        if k < len(tokens) and tokens[k].kind == "minus" and tight(tokens[k].before) in (" ", "-"):
            k += 1
    return marks_of_text


def agrees(anchor_date: int, context_date: int, years: set[float]) -> bool:
    """Whether every part of the date that is said is the same in the other; a year may be said elsewhere."""
    if anchor_date < 0 or context_date < 0:
        return False
    for size, base in ((10000, 10000), (100, 100), (100, 1)):
        part, other = anchor_date // base % size, context_date // base % size
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
            for anchor_date in (int(a), int(b)):
                if any(agrees(anchor_date, context_date, numbers) for context_date in (int(x), int(y))):
                    return True
        if kind == "time" and other == "time" and (a == x or ((b or y) and a % 720 == x % 720)):
            return True
        if kind == "weekday" and other == "weekday" and a == x:
            return True
    return False
