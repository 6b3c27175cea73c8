"""Numbers, dates and times, and which of them others hold, in plain Python (S3)."""

import re
from typing import Any

from tests.reference.marks import CURRENCIES, HYPHENS, SAYS, Word, plain, sign_and_point, tight

THIN = "[ \u00a0\u2000-\u200a\u202f]"
"""The spaces within a number."""


def day_at(tokens: list[Word], k: int) -> int:
    """5 or 5th."""
    number = tokens[k].number() if k < len(tokens) and tokens[k].digit else None
    if (
        number is None
        or number[1] > 2
        or not 1 <= number[0] <= 31
        or number[2] not in ("", "st", "nd", "rd", "th", "er", "e")
    ):
        return 0
    return number[0]


def stamp(tokens: list[Word], k: int) -> bool:
    """Whether word k is the 05T10 of 2024-01-05T10:30:00Z."""
    return k < len(tokens) and re.fullmatch("[0-9]{2}[tT][0-9]{2}", tokens[k].raw) is not None


def numeric_date(tokens: list[Word], k: int) -> tuple[int, int]:
    """ISO, European and American dates in digits."""
    first, second, third = (plain(tokens, k + i) for i in range(3))
    if stamp(tokens, k + 2) and first and first[1] == 4:
        third = int(tokens[k + 2].raw[:2]), 2
    if first is None or second is None or third is None or second[1] > 2:
        return 0, -1
    (x, nx), (y, _), (z, nz) = first, second, third
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
    readings.append(-1)
    return (readings[0], readings[1]) if len(readings) > 1 else (0, -1)


def joined(tokens: list[Word], k: int) -> bool:
    """Whether nothing but spaces, dashes, commas, full stops and the like stands before word k."""
    if k >= len(tokens):
        return False
    gap = tokens[k].before
    return not re.search(r"[!?…。！？\n%‰]", gap) and not gap.startswith("]") and not gap.endswith("[")


def month_of_year(tokens: list[Word], k: int) -> int:
    """12/2024, 2024-12 or 2024/12, where no third number follows."""
    one, two = plain(tokens, k), plain(tokens, k + 1)
    if one is None or two is None or tokens[k + 1].before not in ("-", "/"):
        return 0
    if k + 2 < len(tokens) and tokens[k + 2].digit and tight(tokens[k + 2].before) in tuple("/-:.,"):
        return 0
    for (year, n), (month, size), most in ((one, two, (2,)), (two, one, (1, 2))):
        if n == 4 and 1900 <= year < 2100 and 1 <= month <= 12 and size in most:
            return int(year * 10000 + month * 100)
    return 0


def named_date(tokens: list[Word], k: int) -> tuple[int, int]:
    """Dates with the name of a month."""
    day, j, first_year = day_at(tokens, k), k, 0
    if not day and tokens[k].digit:
        number, j = plain(tokens, k), k + 1
        first_year = number[0] if number and number[1] == 4 and number[0] >= 1000 else 0
        if not first_year or not joined(tokens, j):
            return 0, k
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
    if first_year:
        return (first_year * 10000 + month * 100 + day, j) if day else (0, k)
    year = 0
    at = j + (joined(tokens, j) and tokens[j].kind == "of")
    if joined(tokens, at):
        number = plain(tokens, at)
        year = number[0] if number and number[1] == 4 and number[0] >= 1000 else 0
    return year * 10000 + month * 100 + day, at + 1 if year else j


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
    groups: list[int] = []
    end = j
    while n + 2 * len(groups) < 11 and end < len(tokens) and tight(tokens[end].before) == ",":
        pair = plain(tokens, end)
        if pair is None or pair[1] != 2:
            break
        groups.append(pair[0])
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


def beyond(amount: float) -> float:
    """The number words that may follow one of this amount as part of the same number are less."""
    return 100 if amount >= 100 else 10 if amount >= 20 and amount % 10 == 0 else 0


def linked(tokens: list[Word], k: int) -> bool:
    """Whether word k exists and only a space or a hyphen stands before it."""
    return k < len(tokens) and tight(tokens[k].before) in ("-", " ")


SCALES = ("scale", "unit")
COUNTS = ("number", "weak", "ordinal")


def spelled(tokens: list[Word], k: int) -> tuple[float, bool, int]:
    """Number words: groups below a thousand, each with a smaller scale than the one before."""
    value, scale, j = 0.0, 15.0, k + 1
    group, room = tokens[k].amount, beyond(tokens[k].amount)
    if tokens[k].kind == "unit":
        group, room, j = 1.0, 0, k
    elif group == 0.5 and linked(tokens, j) and tokens[j].kind == "article" and linked(tokens, j + 1):
        j += tokens[j + 1].kind in SCALES
    whole = [(group, j)] if j > k else []  # the numbers that end with the first word, a hundred or a scale
    while j == k or (linked(tokens, j) and tokens[j - 1].kind != "ordinal"):
        step = 2 if tokens[j].kind == "and" and room >= 100 and linked(tokens, j + 1) else 1
        kind, amount = tokens[j + step - 1].kind, tokens[j + step - 1].amount
        if kind in COUNTS and amount in range(1, int(room)):
            group, room, j = group + amount, beyond(amount), j + step
        elif step == 1 and kind in SCALES and amount == 2 and 0 < group < 100:
            group, room, j = group * 100, 100, j + 1
            whole.append((value + group, j))
        elif step == 1 and kind in SCALES and 2 < amount < scale and group > 0:
            value, group, room, scale, j = value + group * 10**amount, 0.0, 1000, amount, j + 1
            whole.append((value, j))
        elif step == 1 and kind in SCALES and whole and j > whole[-1][1]:
            return whole[-1][0], False, whole[-1][1]  # the last words belong to the next number
        else:
            break
    value += group
    if linked(tokens, j) and j > k:
        if tokens[j].kind == "parts" and tokens[j - 1].kind != "ordinal":
            return value / tokens[j].amount, False, j + 1
        if value == 1 and j == k + 1 and tokens[j].kind == "ordinal" and tight(tokens[j].after) != "-":
            return value / tokens[j].amount, False, j + 1
    return value, tokens[k].kind in ("weak", "unit") and j == k + 1, j


def part_after(tokens: list[Word], j: int) -> tuple[float, int]:
    """The fraction of "and a half" and the like at word j."""
    kinds = [tokens[i].kind if linked(tokens, i) else "" for i in range(j, j + 4)]
    if kinds[0] != "and":
        return 0.0, j
    skipped = 2 if kinds[1] == "article" else 1
    kind, then = kinds[skipped : skipped + 2]
    word = tokens[j + skipped] if kind else None
    if word and kind == "weak" and word.amount == 0.5:
        return 0.5, j + skipped + 1
    if word and (kind == "parts" or (kind == "ordinal" and skipped == 2)):
        return 1 / word.amount, j + skipped + 1
    if word and kind in ("number", "weak") and then == "parts" and 1 <= word.amount < tokens[j + skipped + 1].amount:
        return word.amount / tokens[j + skipped + 1].amount, j + skipped + 2
    return 0.0, j


SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")


def exponent_after(tokens: list[Word], j: int) -> tuple[int, int]:
    """The exponent directly after the word before j."""
    if j < len(tokens):
        gap, raw = tokens[j].before, tokens[j].raw
        if gap == "⁻" and re.fullmatch("[⁰¹²³⁴-⁹]{1,2}", raw):
            return -int(raw.translate(SUPERSCRIPTS)), j + 1
        found = re.fullmatch(r"(?:\^|\*\*)[({]?([-+−]?)", gap)
        if found and re.fullmatch("[0-9]{1,2}", raw):
            return int(raw) * (-1 if found[1] in ("-", "−") else 1), j + 1
    return 0, j


def power_of_ten(tokens: list[Word], k: int) -> tuple[int, int]:
    """The exponent of the power of ten at word k."""
    found = re.fullmatch("10([⁰¹²³⁴-⁹]{0,2})", tokens[k].raw) if k < len(tokens) else None
    if found and found[1]:
        return int(found[1].translate(SUPERSCRIPTS)), k + 1
    exponent, j = exponent_after(tokens, k + 1) if found else (0, k)
    return (exponent, j) if j > k + 1 else (0, k)


def times_power(tokens: list[Word], letters: str, j: int) -> tuple[int, int]:
    """The exponent after a number up to word j."""
    if letters == "x10":
        return exponent_after(tokens, j)
    if j >= len(tokens):
        return 0, j
    if letters == "e":
        number = plain(tokens, j)
        if number and number[1] <= 2 and (tokens[j].before == "+" or tight(tokens[j].before) == "-"):
            return number[0] * (1 if tokens[j].before == "+" else -1), j + 1
        return 0, j
    k = j
    if tokens[j].kind == "times" and joined(tokens, j):
        k = j + 1
        if not joined(tokens, k):
            return 0, j
    elif not tokens[j].digit or not re.fullmatch(f"{THIN}*[*·×∙⋅]{THIN}*", tokens[j].before):
        return 0, j
    exponent, end = power_of_ten(tokens, k)
    return (exponent, end) if end > k else (0, j)


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


def percents(gap: str) -> int:
    """The decimals of the first sign of per cent or per mille."""
    found = re.search("[%‰]", gap)
    return 0 if found is None else 2 if found[0] == "%" else 3


def shift_after(tokens: list[Word], decimals: int, letters: str, j: int) -> tuple[int, int]:
    """The decimals after the scales and the per cent that follow a number."""
    decimals -= SHIFTS.get(letters, 0)
    while (
        j < len(tokens) and decimals > -10 and tokens[j].kind in SCALES and tight(tokens[j].before) in (" ", "-", ".")
    ):
        decimals -= int(tokens[j].amount)
        j += 1
    if "%" in tokens[j - 1].after or "‰" in tokens[j - 1].after:
        decimals += percents(tokens[j - 1].after)
    elif linked(tokens, j) and tokens[j].kind == "percent":
        decimals, j = decimals + int(tokens[j].amount), j + 1
    elif j + 1 < len(tokens) and tokens[j].kind == "per" and tokens[j + 1].kind == "cent":
        decimals, j = decimals + int(tokens[j + 1].amount), j + 2
    return decimals, j


def range_shift(tokens: list[Word], j: int) -> int:
    """The decimals that the end of 5-7% and "5 to 7%" adds to the start."""
    spoken = linked(tokens, j) and tokens[j].kind == "to" and linked(tokens, j + 1)
    end = tokens[j + spoken : j + spoken + 1]
    close = not spoken and bool(end) and tight(end[0].before) == "-"
    if not end or not end[0].digit:
        return 0
    if not (spoken or close or re.fullmatch(f"{THIN}*[{HYPHENS}]{THIN}*", end[0].before)):
        return 0
    second = grouped(tokens, j + spoken)
    if second is None or re.fullmatch("e[0-9]+|x10", second[2]):
        return 0
    shift = shift_after(tokens, second[1], *second[2:])[0] - second[1]
    return shift if close else max(shift, 0)


def number_at(tokens: list[Word], k: int) -> tuple[str, float, float, int]:
    """The number at word k: kind or nothing, value, currency, next word."""
    word = tokens[k]
    sign = -1.0 if sign_and_point(word)[0] else 1.0
    decimals, letters = 0, ""
    if not word.digit:
        if word.kind == "parts":
            return "weak", 1 / word.amount, 0.0, k + 1
        if word.kind == "fraction":
            return "number", sign * word.amount, 0.0, k + 1
        value, weak, j = spelled(tokens, k)
        if weak and word.kind == "unit":
            return "weak", sign * value, 0.0, j
    else:
        weak = False
        exponent, j = power_of_ten(tokens, k)
        if j > k:
            whole, decimals = 1, -exponent
        else:
            digits = grouped(tokens, k)
            if digits is None:
                return "", 0.0, 0.0, k + 1
            whole, decimals, letters, j = digits
            if re.fullmatch("e[0-9]+", letters):
                decimals, letters = decimals - int(letters[1:]), ""
            elif letters in ("", "e", "x10"):
                exponent, end = times_power(tokens, letters, j)
                if end > j:
                    decimals, letters, j = decimals - exponent, "", end
            if letters == "x10":
                return "", 0.0, 0.0, k + 1
        value = float(whole)
        if decimals == 0 and SAYS.get(letters, ("",))[0] == "fraction":
            value, letters = value + SAYS[letters][1], ""
        if decimals == 0 and letters == "" and j < len(tokens) and tight(tokens[j].before) == "/":
            part = plain(tokens, j)
            if part and part[0] > 0:
                return "number", sign * value / part[0], 0.0, j + 1
        if decimals == 0 and letters == "" and linked(tokens, j) and tokens[j].kind == "fraction":
            value, j = value + tokens[j].amount, j + 1
        elif decimals == 0 and letters == "" and whole < 1000 and j + 1 < len(tokens):
            above, below = plain(tokens, j), plain(tokens, j + 1)
            mixed = tight(tokens[j].before) == " " and tight(tokens[j + 1].before) == "/"
            date = j + 2 < len(tokens) and tight(tokens[j + 2].before) == "/"
            if above and below and mixed and not date and 0 < above[0] < below[0] and max(above[1], below[1]) <= 2:
                value, j = value + above[0] / below[0], j + 2
    if decimals == 0 and letters == "":
        rest, j = part_after(tokens, j)
        value += rest
    own = decimals, j
    decimals, j = shift_after(tokens, decimals, letters, j)
    if word.digit and (decimals, j) == own:
        decimals += range_shift(tokens, j)
    currency, j = money(tokens, k, j)
    value = value / 10.0**decimals if decimals >= 0 else value * 10.0**-decimals
    return "weak" if weak and j == k + 1 else "number", sign * value, float(currency), j


def values(tokens: list[Word]) -> list[tuple[str, float, float, int, int]]:
    """Every value: kind, its two numbers, first word, word after the last."""
    marks_of_text = []
    k = 0
    while k < len(tokens):
        word = tokens[k]
        if not word.digit and word.kind not in (*COUNTS, "unit", "parts", "fraction", "minus", "month", "weekday"):
            k += 1
            continue
        if word.kind == "weekday":
            marks_of_text.append(("weekday", word.amount, 0.0, k, k + 1))
            k += 1
            continue
        date, other, j, stamped = 0, -1, k, False
        if word.digit:
            date, other = numeric_date(tokens, k)
            j = k + 3
            stamped = date > 0 and stamp(tokens, k + 2)
        if date == 0 and word.digit:
            date, j = month_of_year(tokens, k), k + 2
        if date == 0:
            date, j = named_date(tokens, k)
        alone = date < 10000 and date % 100 == 0
        if date and alone and ("a" <= word.raw[0] <= "z" or (date == 500 and word.raw[0] == "M")):
            date = 0
        if date:
            marks_of_text.append(("date", float(date), float(other), k, j))
            marks_of_text += [("weak", float(part), 0.0, k, j) for part in (date // 10000, date % 100) if part]
            if stamped:
                hour, minute = int(tokens[k + 2].raw[3:]), 0
                if j < len(tokens) and tokens[j].digit and tight(tokens[j].before) == ":":
                    minute = int(re.sub("[^0-9].*", "", tokens[j].raw, flags=re.DOTALL))
                while (
                    j < len(tokens) and tokens[j].digit and len(tokens[j].before.encode("utf-8", "surrogatepass")) == 1
                ):
                    j += 1
                if hour < 24 and minute < 60:
                    marks_of_text.append(("time", float(hour * 60 + minute), 0.0, k + 2, j))
            k = j
            continue
        if word.kind == "month":
            k += 1
            continue
        parts = 1
        while word.digit and k + parts < len(tokens) and plain(tokens, k + parts) and tokens[k + parts].before == ".":
            parts += 1
        numbers = [plain(tokens, k + part) for part in range(parts)]
        thousands = numbers[0] is not None and numbers[0][1] <= 3 and all(one[1] == 3 for one in numbers[1:] if one)
        if parts > 2 and not thousands:
            code = sum(one[0] * 100_003.0**place for place, one in enumerate(numbers) if one)
            marks_of_text.append(("code", code, 0.0, k, k + parts))
            k += parts
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


def supported(anchor: tuple[Any, ...], context: list[tuple[Any, ...]]) -> bool:
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
        if kind in ("weekday", "code") and other == kind and a == x:
            return True
    return False
