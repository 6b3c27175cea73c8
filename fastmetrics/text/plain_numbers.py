r"""Numbers in all languages: what words beside numbers say, by CLDR's data, and texts with numbers in plain spelling.

A kernel reads numbers, dates and times among words (``kernels.values``).  Names of months and words of scale
("Milliarden", "января") come from `babel <https://babel.pocoo.org>`_, which has the data of Unicode's CLDR; each
distinct word beside a number is looked up once.  A name that means two things, or a word that begins like a name and is
none ("millionär"), makes the number beside it unread.

What is no row of words is rewritten before: numbers joined with letters (5万, 3億), digits of other scripts, times in
words, ``\frac{3}{4}``.  What then still changes a number (``\sqrt{2}``, ``x^2+1``, > 5) becomes one word that stands
for it: it equals what is written alike, and nothing else can be told of it.
"""

from __future__ import annotations

import bisect
import functools
import math
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from fastmetrics.base.arrays import Flags, Text
from fastmetrics.text.lexicons import lexicon

# Words beside numbers, by the script of their letters.


_LEAST = 5
"""The letters of the shortest name of which a longer word may be a form."""


def _stems(word: str, kind: str) -> Iterator[tuple[str, int]]:
    """The beginnings of a name that its other forms share, and how many letters these may have more."""
    if kind == "scale" and len(word) > _LEAST:
        yield from ((word[: len(word) - cut], 6) for cut in range(3) if len(word) - cut > _LEAST)
    elif kind == "month" and len(word) > _LEAST:
        yield from ((word[: len(word) - cut], 3) for cut in range(3 if len(word) > 7 or word > "\u0370" else 1))


class _Names(NamedTuple):
    """What the languages of one script call things: each word with its senses, kind and amount."""

    senses: Mapping[str, tuple[str, float | None]]
    stems: Mapping[str, Mapping[str, int]]
    """Beginnings of names and how many letters may follow them in another form, by their first letters."""
    hours: Mapping[str, bool]
    """Words for hours, and whether they say a time of day rather than a duration."""
    periods: Mapping[str, int]
    """Parts of the day: 0 before noon, 1 after, 2 of the night."""
    counted: frozenset[str]
    """Words that make a month of a number, as in "tháng 1"."""


@functools.lru_cache(maxsize=1 << 16)
def sense_beside_number(word: str) -> tuple[str, float | None] | None:
    """The kind of a folded word that stands beside a number, and its amount; None for a word that changes no number.

    ``unclear`` is a word beside which a number may be another, ``hard`` one that ``plain`` takes apart.

    >>> sense_beside_number("milliarden"), sense_beside_number("février"), sense_beside_number("metres")
    (('scale', 9.0), ('month', 102.0), None)
    """
    if "0" <= word[0] <= "9":
        tail = word.lstrip("0123456789")
        if tail in _READ_TAILS:
            return None
        joined = tail in _VARIABLES or re.fullmatch(r"h\d\d", tail) or sense_beside_number(tail) is not None
        return ("hard", None) if joined else None
    names = _names(_script(word[0]))
    sense = names.senses.get(word)
    if sense is not None or word[:_LEAST] not in names.stems:
        return sense
    stems = names.stems[word[:_LEAST]]
    longer = (len(word) - size <= stems.get(word[:size], 0) for size in range(_LEAST, len(word)))
    return ("unclear", None) if any(longer) else None


_VARIABLES = frozenset("xyzni")
_READ_TAILS = frozenset(("", "k", "m", "mn", "mln", "b", "bn", "bln"))
"""What the kernel reads within a word of digits."""


@functools.lru_cache(maxsize=4096)
def _script(letter: str) -> str:
    """The script of a letter as CLDR's tables of languages say it: Latn, Cyrl …; Zyyy for any other."""
    name = unicodedata.name(letter, "").split(" ")[0]
    return _SCRIPTS.get(name, "Asia" if ord(letter or "a") >= 0x800 else "Zyyy")


_SCRIPTS = {
    **{"LATIN": "Latn", "CYRILLIC": "Cyrl", "GREEK": "Grek", "ARABIC": "Arab", "HEBREW": "Hebr", "ARMENIAN": "Armn"},
    "FEMININE": "Latn",
}


@functools.cache
def _languages() -> Mapping[str, list[str]]:
    """The languages that are official somewhere and have data, by script; those with letters from U+0800 on are one."""
    from babel import localedata
    from babel.core import get_global
    from babel.languages import get_official_languages

    likely, by_script = get_global("likely_subtags"), defaultdict(list)
    territories = get_global("territory_languages")
    codes = {code for land in territories for code in get_official_languages(land, regional=True, de_facto=True)}
    for code in sorted(code for code in codes if localedata.exists(code)):
        script = (code.split("_") if "_" in code else likely.get(code, "__").split("_"))[1]
        by_script[script if script in _SCRIPTS.values() else "Asia"].append(code)
    by_script["Latn"].append("en_IN")  # lakh and crore
    return by_script


@functools.cache
def _names(script: str) -> _Names:
    """The names of all languages of one script."""
    from babel import localedata

    found: dict[str, set[tuple[str, float | None]]] = defaultdict(set)
    votes: dict[tuple[str, tuple[str, float | None]], int] = defaultdict(int)
    hours: dict[str, bool] = {}
    periods: dict[str, set[int]] = defaultdict(set)
    counted: set[str] = set()
    compounds: set[str] = set()
    quarters: set[str] = set()
    english = _units(localedata.load("en", merge_inherited=False))
    for code in _languages().get(script, []):
        data = localedata.load(code, merge_inherited=False)
        for weight, told in (
            (_LONG, {*_scales(data, "long"), *_months(data, counted)}),
            (1, {*_scales(data, "short")}),
        ):
            for word, sense in told:
                found[word].add(sense)
                votes[word, sense] += weight
        for name in _patterns(data.get("unit_patterns", {}).get("duration-hour", {})):
            hours.update(dict.fromkeys([word for word in _words(name)[-1:] if len(word) > 1 or word > "\u0800"], False))
        for unit in _COMPOUND:
            widths = data.get("unit_patterns", {}).get(unit, {})
            for name in _patterns(widths if code == "en" or script == "Asia" else {"long": widths.get("long")}):
                least = 1 + (code != "en")
                compounds.update(word for word in _words(name) if len(word) > least or word > "\u0800" or word == "h")
        for name in data.get("quarters", {}).get("format", {}).get("wide", {}).values():
            quarters.update(word for word in _words(name) if len(word) > _LEAST and word.isalpha())
        for name, half in _day_periods(data):
            periods[name].add(half)
    hours = {word: says for word, says in hours.items() if word not in english} | dict.fromkeys(_CLOCKS, True)
    senses = {word: _one(word, some, votes) for word, some in found.items()}
    senses = {word: sense for word, sense in senses.items() if word not in english or votes[word, sense] > 2 * _LONG}
    senses = dict.fromkeys(compounds, ("compound", None)) | dict.fromkeys(quarters, ("quarter", None)) | senses
    senses |= dict.fromkeys({word for name in (*hours, *counted) for word in _words(name)}, ("hard", None))
    stems = {stem: more for word, sense in senses.items() for stem, more in _stems(word, sense[0])}
    halves = {name: half for name, some in periods.items() if len(some) == 1 for half in some}
    by_head: dict[str, dict[str, int]] = defaultdict(dict)
    for stem in stems.keys() - english:
        by_head[stem[:_LEAST]][stem] = stems[stem]
    return _Names(senses, dict(by_head), hours, halves, frozenset(counted))


_COMPOUND = (
    *(f"duration-{unit}" for unit in ("year", "month", "week", "day", "hour", "minute", "second")),
    *("length-foot", "length-inch", "mass-pound", "mass-ounce"),
)
"""Units of which two make one quantity: 3 hours 20 minutes."""
_CLOCKS = ("uhr", "clock", "点", "點", "時", "시")
"""Words that say a time of day, where CLDR's hours are durations."""


def _one(word: str, some: set[tuple[str, float | None]], votes: Mapping[Any, int]) -> tuple[str, float | None]:
    """The one sense of a word that languages have several for: that of five times as many languages, or none."""
    some = some - {("unclear", None)} or some
    best, *others = sorted(some, key=lambda sense: -votes[word, sense])
    clear = all(votes[word, best] >= 5 * votes[word, other] or _same(best, other) for other in others)
    return best if clear else ("unclear", None)


def _same(one: tuple[str, float | None], other: tuple[str, float | None]) -> bool:
    return one[0] == other[0] == "month" and int(one[1] or 0) == int(other[1] or 0)


def _words(name: str) -> list[str]:
    return re.findall(r"\w+", name.lower())


def _patterns(widths: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    for forms in widths.values():
        for form in _items(forms).values():
            yield str(getattr(form, "pattern", form)).replace("{0}", " ").replace("'", "")


def _units(data: Mapping[str, Any]) -> set[str]:
    """The words of the units of a language; units do not change a number."""
    units = data["unit_patterns"].items()
    return {
        word
        for name, widths in units
        if not name.startswith("10p")
        for one in _patterns(widths)
        for word in _words(one)
    }


def _scales(data: Mapping[str, Any], width: str) -> Iterator[tuple[str, tuple[str, float | None]]]:
    """The words of scale of a language: "0 million" for 10⁶."""
    for forms in _items(data.get("compact_decimal_formats", {}).get(width)).values():
        for power, form in _items(forms).items():
            pattern = str(form.pattern).replace("'", "").lower()
            number = re.search(r"0+", pattern)
            if number is None:
                continue
            before, name = pattern[: number.start()].strip(), pattern[number.end() :].strip(" .\u200f\xa0\u202f")
            words = [word for word in re.split(r"[\s\xa0\u202f]+", name) if word not in _LINKS]
            if len(words) == 1 and (len(words[0]) > 1 or words[0] > "\u0800"):
                yield words[0], ("scale", float(round(math.log10(int(power))) - len(number[0]) + 1))
            for word in _words(before):  # "milioni 5"
                if len(word) > _LEAST:
                    yield word, ("unclear", None)


_LINKS = frozenset(("de", "na", "ka"))
_LONG = 6
"""How many shortened names of other languages a written-out one outweighs."""


def _items(data: Any) -> Mapping[Any, Any]:
    """A part of CLDR's data; nothing where another part stands for it."""
    return data if isinstance(data, Mapping) else {}


def _months(data: Mapping[str, Any], counted: set[str]) -> Iterator[tuple[str, tuple[str, float | None]]]:
    """The names of months in a language, whose number is added to 100: lone names are read in two languages alone."""
    for forms in data.get("months", {}).values():
        for width in ("wide", "abbreviated"):
            for month, name in _items(forms.get(width)).items():
                words = [word for word in name.lower().strip(". ").replace("’", " ").split() if word not in ("de", "d")]
                if any(letter.isdecimal() for letter in name):
                    counted.update(word for word in words if word.isalpha() and word.isascii() is False)
                elif len(words) == 1 and len(words[0]) > 2 - (ord(words[0][0]) > 0x800):
                    word = words[0].strip(".")
                    short = 0.0 if width == "wide" else 0.25 if word in _common() else 0.5
                    yield word, ("month", 100.0 + month + short)
                elif words and len(words[0]) > 3:
                    yield words[0], ("unclear", None)


@functools.cache
def _common() -> frozenset[str]:
    """Common words of English and Russian."""
    return frozenset(word for name in ("stop_en", "stop_ru") for line in lexicon(name) for word in line.split())


_HALVES = {
    **{"am": 0, "morning1": 0, "morning2": 0, "pm": 1, "noon": 1, "afternoon1": 1, "afternoon2": 1},
    **{"evening1": 1, "evening2": 1, "night1": 2, "night2": 2},
}


def _day_periods(data: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    for widths in data.get("day_periods", {}).values():
        for names in _items(widths).values():
            for key, name in _items(names).items():
                if key in _HALVES and len(name.strip(". ")) > 2 - (ord(name[0]) > 0x800):
                    yield name.lower().strip(". "), _HALVES[key]


# Words of a vocabulary that only plain spelling makes readable.


STAND_IN = "ꙮ"
"""The first letter of a word that stands for what was not read."""


def is_stand_in(words: Text) -> Flags:
    """Whether each word stands for what was not read."""
    data, first = words.data, words.starts
    some = words.stops - first > 3
    found = np.zeros(len(words), np.bool_)
    for place, byte in enumerate(STAND_IN.encode()):
        found[some] = (data[first[some] + place] == byte) & (found[some] | (place == 0))
    return found


def is_hard(words: Text) -> Flags:
    """Whether each word has digits of another script, or digits beside letters that are not ASCII."""
    data = words.data[: int(words.stops.max(initial=0))]
    high = np.concatenate([[0], np.cumsum(data > 127)])
    digits = np.concatenate([[0], np.cumsum((data >= 48) & (data <= 57))])
    other = np.zeros(len(data), np.bool_)
    for lead, low, last in ((0xD9, 0xA0, 0xA9), (0xDB, 0xB0, 0xB9)):  # Arabic digits
        other[:-1] |= (data[:-1] == lead) & (data[1:] >= low) & (data[1:] <= last)
    others = np.concatenate([[0], np.cumsum(other)])
    asian = np.concatenate([[0], np.cumsum(data >= 0xE0)])
    has_high, has_digit, has_other, has_asian = (
        sums[words.stops] > sums[words.starts] for sums in (high, digits, others, asian)
    )
    hard = (has_high & has_digit) | has_other
    for row in np.flatnonzero(hard & ~has_other).tolist():
        hard[row] = _MIXED.fullmatch(data[words.starts[row] : words.stops[row]].tobytes().decode()) is None
    final = np.maximum(words.stops - 1, 0)
    commands = (data[words.starts] >= 97) & (data[final] >= 48) & (data[final] <= 57) & ~hard if len(data) else hard
    for row in np.flatnonzero(commands).tolist():
        hard[row] = _COMMAND.fullmatch(data[words.starts[row] : words.stops[row]].tobytes()) is not None
    for row in np.flatnonzero(has_asian & ~hard).tolist():
        word = data[words.starts[row] : words.stops[row]].tobytes().decode()
        hard[row] = any(letter.isdecimal() for letter in word)
    return hard


_MIXED = re.compile(r"\d+[½⅓⅔¼¾⅕-⅞]")
_COMMAND = re.compile(rb"(?:[dtc]?frac|sqrt|log|ln)\d+")
"""Commands of LaTeX that lack their braces."""


# Plain spelling.


class Plain(NamedTuple):
    """A text in plain spelling, and where each of its pieces comes from: its start in both texts, in characters,
    and whether it stands there as it was."""

    text: str
    starts: list[int]
    origins: list[int]
    copied: list[bool]

    def origin(self, character: int) -> int:
        """Where a character comes from, in the text as it was."""
        piece = bisect.bisect_right(self.starts, character) - 1
        return self.origins[piece] + (character - self.starts[piece]) * self.copied[piece]


def plain(text: str) -> Plain:
    r"""A text whose numbers are in plain spelling.

    >>> plain(r"It is $-\frac{1}{2}$, not 3億.").text
    'It is  -1/2 , not  300000000 .'
    """
    text = _ascii_digits(text)
    scripts = {_script(letter) for letter in set(text) if letter.isalpha()}
    pieces, starts, origins, copied, at, size = [], [], [], [], 0, 0
    bare = _WORDS.search(_WRAPPERS.sub(" ", text) if "\\" in text else text) is None
    for begin, end, instead in sorted(_changes(text, scripts, bare), key=lambda change: change[0]):
        if begin < at:
            continue
        for piece, origin in ((text[at:begin], at), (instead, begin)):
            copied.append(origin == at and piece is not instead)
            pieces.append(piece)
            starts.append(size)
            origins.append(origin)
            size += len(piece)
        at = end
    starts.append(size)
    origins.append(at)
    copied.append(True)
    return Plain("".join([*pieces, text[at:]]), starts, origins, copied)


_WORDS = re.compile(r"(?<!\\)[^\W\d_]{2}")
_SAME = dict(zip("٫٬．％：−", ".,.%:-", strict=True))
_OTHER_DIGITS = re.compile(rf"[{''.join(_SAME)}]|[^\D0-9]")


def _ascii_digits(text: str) -> str:
    """The text with digits of all scripts as ASCII; it has as many characters."""
    if text.isascii():
        return text
    return _OTHER_DIGITS.sub(lambda found: _SAME.get(found[0]) or str(unicodedata.decimal(found[0])), text)


_NUMBER = r"\d+(?:[.,]\d+)*"
_MONTH_NAMES = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)


def _changes(text: str, scripts: set[str], bare: bool) -> Iterator[tuple[int, int, str]]:
    """What is to be written in another way: begin, end, and what stands there instead; an earlier begin comes first."""
    if "Asia" in scripts:
        yield from _asian_dates(text)
    for script in sorted(scripts):
        names = _names(script)
        yield from _times(text, names, script == "Asia")
        yield from _counted_months(text, names)
        if script == "Asia":
            yield from _asian_names(text, names)
            for found in _ASIAN_OPERATION.finditer(text):
                yield found.start(), found.end(), f" {_written(found[0])} "
    yield from _long_scales(text)
    for found in re.finditer(r"(\d\d?)h([0-5]\d)\b", text):
        if re.match(r"[\w.]", text[: found.start()][-1:]) is None:
            yield found.start(), found.end(), f"{found[1]}:{found[2]}"
    for found in _PARTED.finditer(text):
        yield found.start(), found.end(), f" {_stand_in(''.join(found[0].split()))} "
    for found in _TAIL.finditer(text):
        tail, rest = found[1].lower(), found[2]
        sense = None if tail in _READ_TAILS else sense_beside_number(tail)
        apart = tail[-1] > "\u0dff" or _IN_WORD.search(rest) is None or (tail[-1] == "м" and rest in ("2", "3"))
        if (sense is not None and sense[0] != "hard") or (apart and not tail.isascii()):
            yield found.start(1), found.start(1), " "
    for found in _HEAD.finditer(text):
        yield found.end(), found.end(), " "
    whole = text.strip().strip("$")
    if (
        bare
        and re.search(r",(?!(?:\d\d,)*\d{3}(?!\d))", whole)
        and re.fullmatch(r"(?:\\left|\\)?[(\[{].*(?:\\right|\\)?[)\]}]", whole, re.DOTALL)
    ):
        yield len(text) - len(text.lstrip()), len(text.rstrip()), _stand_in(re.sub(r"\s", "", whole))
    yield from _mathematics(text, bare)


_PARTED = re.compile(
    rf"(?:(?<![\w°])[-−])?{_NUMBER}(?:[°ºª]|\s?[°º]\s?(?={_NUMBER}\s?[′'’])){_NUMBER}"
    rf"(?:[°ºª′'’]{_NUMBER}|\s?[′'’]\s?{_NUMBER}(?=\s?(?:[″”\"]|''|′′)))*"
)
"""Numbers that are parts of one, as in 48°51′24″ and 12º5."""
_SMALL = "²³¹⁰-⁹₀-₉½⅓⅔¼¾⅕-⅞①-⓿"
_TAIL = re.compile(rf"\d([^\W\d_{_SMALL}]+)(?=(\w*))")
_IN_WORD = re.compile(r"[\d_]")
"""What makes the digits before letters a part of the word: "5é3" is no number, as "5a3"; but 5м3 are cubic metres."""
_HEAD = re.compile(rf"[^\W\d_\0-\u0dff{_SMALL}](?=\d)")
"""Where digits follow a letter of a script that writes words without spaces; "a123" is no number in the others."""


_ASIAN_OPERATION = re.compile(
    r"\d+(?:[.,]\d+)*\s?(?:(?:的|の|의)?\s?(?:[一二两三2-9]?(?:平方|立方|次方|乗|제곱)根?|一半|半分|[阶階][乘乗]|[一二三四五]分之[一二三四五])"
    r"(?![米公千厘英尺里キメセ])|(?:乘以?|除以|[加减減])\s?\d+)|根[号號]\s?\d+"
)
"""Operations in scripts without spaces, but for units of areas."""


def _asian_dates(text: str) -> Iterator[tuple[int, int, str]]:
    for found in re.finditer(r"(\d{4})\s*[年년]\s*(\d{1,2})\s*[月월](?:\s*(\d{1,2})\s*[日号號일])?", text):
        day = "" if found[3] is None else f"-{int(found[3]):02}"
        yield found.start(), found.end(), f" {found[1]}-{int(found[2]):02}{day} "
    for found in re.finditer(r"(\d{1,2})\s*[月월]\s*(\d{1,2})\s*[日号號일]", text):
        if 1 <= int(found[1]) <= 12:
            yield found.start(), found.end(), f" {_MONTH_NAMES[int(found[1]) - 1]} {found[2]} "


def _counted_months(text: str, names: _Names) -> Iterator[tuple[int, int, str]]:
    """ "ngày 5 tháng 1 năm 2024"."""
    if names.counted:
        words = "|".join(map(re.escape, sorted(names.counted)))
        for found in re.finditer(
            rf"(\d{{1,2}})\s+(?:{words})\s+(\d{{1,2}})(?:\D{{0,6}}\s(\d{{4}}))?\b", text, re.IGNORECASE
        ):
            if 1 <= int(found[2]) <= 12:
                year = "" if found[3] is None else f" {found[3]}"
                yield found.start(), found.end(), f" {found[1]} {_MONTH_NAMES[int(found[2]) - 1]}{year} "


@functools.lru_cache(maxsize=64)
def _time_pattern(hours: tuple[str, ...], periods: tuple[str, ...]) -> re.Pattern[str]:
    before = [name for name in periods if name > "\u0800"]
    hour, period, early = (
        "|".join(map(re.escape, sorted(some, key=len, reverse=True))) for some in (hours, periods, before)
    )
    return re.compile(
        rf"(?P<at>\b(?:в|во|о|об|у|à|às|as|las|um|alle|ore|ora|kl|klo|om|la)\s+)?(?P<before>(?:{early or '(?!)'})\s*)?"
        rf"(?<![\d.,:])(?P<hour>\d{{1,2}})(?:[:.](?P<minute>\d\d))?(?:\s?(?P<word>{hour or '(?!)'})(?![a-zà-ÿа-я]))?"
        rf"(?:\s?(?P<more>\d{{1,2}})\s?[分분]|(?P<half>半))?(?:,?\s(?:(?:in|de|da|del|of|the|la)\s)*"
        rf"(?P<after>{period or '(?!)'})\b)?",
        re.IGNORECASE,
    )


def _may_be_time(text: str, names: _Names, asian: bool) -> bool:
    """Whether a text has a word for hours, or what may come before a part of the day, behind digits."""
    if asian:
        return any(word in text for word in (*names.hours, *names.periods))
    return any(word in names.hours or word in _OF_DAY for word in _BEHIND_DIGITS.findall(text.lower()))


_BEHIND_DIGITS = re.compile(r"\d\s?([^\W\d_]+)")
_OF_DAY = frozenset(("de", "da", "del", "dal"))


def _times(text: str, names: _Names, asian: bool) -> Iterator[tuple[int, int, str]]:
    """Times in words: "в 3 часа дня", "下午3点半", "15.30 Uhr"."""
    if not _may_be_time(text, names, asian):
        return
    for found in _time_pattern(tuple(names.hours), tuple(names.periods)).finditer(text):
        word, period = found["word"], found["before"] or found["after"]
        clock = word is not None and (names.hours[word.lower()] or found["at"] is not None)
        phrase = found["before"] is not None or (
            period is not None and " " in found[0][found.end("hour") - found.start() :].strip()
        )
        if word is None and (period is None or not (found["minute"] or phrase)):
            continue
        if not clock and period is None:
            continue
        hour, minute = int(found["hour"]), int(found["minute"] or found["more"] or (30 if found["half"] else 0))
        if hour > 23 or minute > 59:
            continue
        half = None if period is None else names.periods[period.strip().lower()]
        if half is not None and 1 <= hour <= 12:
            half = int(6 <= hour < 12) if half == 2 else half
            hour = hour % 12 + 12 * half
        sure = "" if half is None or not 1 <= hour <= 12 else " pm" if hour == 12 else " am"
        begin = found.start("before") if found["before"] else found.start("hour")
        yield begin, found.end(), f" {hour}:{minute:02}{sure} "


@functools.cache
def _asian_patterns() -> tuple[str, str]:
    """The words of scale and the names of months of Asian scripts, as parts of patterns."""
    senses = _names("Asia").senses.items()
    scale, month = (_alternatives(tuple(w for w, sense in senses if sense[0] == kind)) for kind in ("scale", "month"))
    return scale, month


def _asian_names(text: str, names: _Names) -> Iterator[tuple[int, int, str]]:
    """Numbers with words of scale, and names of months, in scripts that join them or whose letters are no words."""
    scale, month = _asian_patterns()
    for found in re.finditer(rf"{_NUMBER}\s?(?:{scale})(?:\s?{_NUMBER}\s?(?:{scale}))*(?:{_NUMBER})?", text):
        total = 0.0
        for number, words in re.findall(rf"({_NUMBER})\s?((?:{scale})*)", found[0]):
            power = sum(names.senses[word][1] or 0 for word in re.findall(scale, words))
            value = float(number.replace(",", "") if "," in number else number)
            total += round(value * 10**power, 6)
        yield found.start(), found.end(), f" {total:.6f} ".replace(".000000", "")
    for found in re.finditer(rf"(?<=\d)[\s.]*({month})|({month})(?=\s*\d)", text):
        name = found[1] or found[2]
        number = int(names.senses[name][1] or 0) % 100
        yield found.start(), found.end(), f" {_MONTH_NAMES[number - 1]} "


@functools.lru_cache(maxsize=16)
def _alternatives(words: tuple[str, ...]) -> str:
    return "|".join(map(re.escape, sorted(words, key=len, reverse=True))) or "(?!)"


LONG_SCALES = ("billion", "billions", "trillion", "trillions")
"""10⁹ and 10¹² in English, 10¹² and 10¹⁸ in most languages beside it."""
ENGLISH = (
    *("the", "and", "of", "with", "that", "this", "from", "were", "are", "its"),
    *("they", "which", "has", "is", "was", "in", "to", "about", "over"),
)
"""Words that show that a text is English."""
_ENGLISH = re.compile(rf"\b(?:{'|'.join(ENGLISH)})\b", re.I)
_FOREIGN = re.compile(
    r"[^\W\d_a-zA-Z]|\bBillion\s+[A-Z][a-z]*[^\Ws]\b|\b[Kk]ron[eo]r\b|\b(?:[Dd]er|[Dd]as|[Ee]s|[Ii]m|[Ll]es?|[Uu]ne|"
    r"und|von|mit|ist|sind|ein|eine|einer|den|dem|etwa|rund|la|des|du|d|et|est|sont|environ|og|av|af|til|er|och|som)\b"
)
"""Words that show that a text with a "billion" is not English: those of German, French and the North."""
_LONG_SCALE = re.compile(rf"\b(?:{'|'.join(LONG_SCALES)})\b", re.I)


def _long_scales(text: str) -> Iterator[tuple[int, int, str]]:
    for found in _LONG_SCALE.finditer(text) if "illion" in text.lower() else ():
        if _ENGLISH.search(text) or _FOREIGN.search(text) is None:
            continue
        word = _ONE[found[0][0].lower(), found[0][-1] in "sS"]
        alone = re.search(r"\d[\s\xa0-]*$", text[: found.start()]) is None
        yield found.start(), found.end(), ("" if alone else "thousand " if found[0][0] in "bB" else "million ") + word


_ONE = {("b", False): "миллиард", ("b", True): "млрд", ("t", False): "триллион", ("t", True): "трлн"}
"""Words without a second meaning, alike in what may stand alone."""


# Mathematics: fractions, powers and roots in LaTeX, algebra, comparisons.


_WRAPPERS = re.compile(
    r"\\(?:left|right|displaystyle|big|Big|boxed|quad|qquad|,|;|!|:|\s)|\\[()\[\]]|\\(?:text|mathrm|mathbf|textbf)\s*\{[^{}]*\}"
)
_TOKEN = (
    r"(?:\\[A-Za-z]+(?:\s*\{[A-Za-z\s]*\})?|\\[^A-Za-z\s]|\d+(?:[.,]\d+|\{,\}\d{3})*|(?<![^\W\d_])(?![aAI]\s+[A-Za-z]{2})[A-Za-zπθ](?![A-Za-z])"
    r"|[-+*/^_=<>≤≥≠±∓×·÷(){}\[\]|!√∛∜π∞°%$&²³¹⁰⁴-⁹⁻])"
)
_RUN = re.compile(rf"{_TOKEN}(?:[ \t]*{_TOKEN})*")
_TAG = re.compile(r"</?[A-Za-z][^<>\n]{0,200}>|[-=]>|^>[ \t](?=.*[^\W\d_]{2})", re.MULTILINE)
_NO_MATHEMATICS = re.compile(
    r"(?<![A-Za-z])(?:[kcdm]?m|ft|in|yd|mi)[²³]|(?<![\w.])\d+(?:\.\d+)?[eE][-+]?\d{1,2}(?!\w)"
    r"|\d{4}-\d\d-\d\d[Tt][\d:.]+(?:Z|[-+]\d\d:?\d\d)?"
)
"""Units of areas, numbers with exponents, and timestamps."""
_INTEGER = r"\d+(?:,\d{3})*"
_PART = rf"(?:\{{\s*([-+]?{_INTEGER})\s*\}}|(\d))"
_FRACTION = re.compile(rf"([-+]?)(\d*)\\[dtc]?frac\s*{_PART}\s*{_PART}")
_POWER_OF_TEN = re.compile(r"([-+]?\d+(?:[.,]\d+)*)?(?:\\times|\\cdot|[×·*x])?10\^\{?([-+]?\d{1,2})\}?")
_CHANGES = re.compile(
    r"\\[A-Za-z]|\{,\}|[\^√∛∜²³¹⁰⁴-⁹±∓<>≤≥≠π∞]|\d[xyzni](?![A-Za-z])|[A-Za-z]\d|[A-Za-zθ](?:\s*[+*/^=÷]|\s-\s|-)|(?:[+*/^÷]\s*|\s-\s|\d-)[A-Za-zθ]"
)


_SIGNS = (
    re.compile(r"[\\^√∛∜²³¹⁰⁴-⁹±∓<>≤≥≠π∞+÷]|\d!"),
    re.compile(r"\d(?:[xyzni]|\s*[-*/=]\s*[A-Za-z])(?![A-Za-z])"),
    re.compile(r"[A-Za-z](?<![A-Za-z]{2})\s*[-*/=]\s*\d"),
)
"""What a text has that is mathematics in part."""


def _mathematics(text: str, bare: bool) -> Iterator[tuple[int, int, str]]:
    if not bare and not any(signs.search(text) for signs in _SIGNS):
        return
    tags = [found.span() for found in _TAG.finditer(text)]
    for begin, end in tags:
        yield begin, end, " "
    blanked = list(re.sub(_NO_MATHEMATICS, lambda found: " " * len(found[0]), text))
    for begin, end in tags:
        blanked[begin:end] = "\n" * (end - begin)
    for found in _RUN.finditer("".join(blanked)):
        begin, end = found.span()
        run = found[0]
        factorial = (
            r"\d!$" if bare else r"(?<![\d.,])1?\d!$" if re.match(r"\s[a-z]", text[end:]) else "(?!)"
        )  # "5! ways"
        while run and (
            (run[-1] in "!(&<>=≤≥+×÷|-" and not re.search(factorial, run)) or (run[-1] == "$" and run.count("$") % 2)
        ):
            run = run[:-1].rstrip()
        end = begin + len(run)
        sums = (bare and "=" not in run and re.search(r"\d\s*[+*÷×·]\s*\d", run)) or re.search(r"\d!(?!.*=)", run)
        if not re.search(r"\d", run) or not (sums or _CHANGES.search(run)):
            continue
        if re.fullmatch(r"[A-Za-mo-wA-Z][-/]\d+|\d+[-/][A-Za-mo-w]|[A-Za-z]\d+|[A-Z]\+\+\s*\d+", run):  # B-52, 5-a, a1
            continue
        yield begin, end, f" {_written(run)} "


def _written(run: str) -> str:
    """A number, or what an equation says a variable is, in plain spelling; else a word that stands for the whole."""
    short = re.sub(r"\s", "", re.sub(_WRAPPERS, " ", run)).replace("{,}", ",").replace("\\$", "¤").strip("$")
    short = re.sub(_RAISED, lambda found: "^" + str(int("".join(map(_digit, found[0])))), short)
    while short[:1] == "{" and short[-1:] == "}":
        short = short[1:-1]
    short = short.strip("$").replace("\\%", "%").replace("¤", "$")
    number = _number(short)
    if number is not None:
        return number
    left, equals, right = short.rpartition("=")
    if equals and re.fullmatch(r"[A-Za-zθ](?:\([^()]*\))?|\\[a-z]+", left):
        number = _number(right)
        if number is not None:
            return number
    return _stand_in(re.sub(r"\\[dt]frac", r"\\frac", short))


def _stand_in(written: str) -> str:
    return STAND_IN + written.encode().hex()


_RAISED = re.compile(r"⁻?[⁰¹²³⁴-⁹]+")


def _digit(raised: str) -> str:
    return "-" if raised == "⁻" else str(unicodedata.digit(raised))


def _number(short: str) -> str | None:
    """A number without spaces in plain spelling; None for anything else."""
    body = re.sub(r"\^\{?\\circ\}?|°$", "", short)
    percent = body.endswith("%")
    body = body.removesuffix("%")
    found = _FRACTION.fullmatch(body)
    if found:
        over, under = (int((found[k] or found[k + 1]).replace(",", "")) for k in (3, 5))
        negative = (found[1] == "-") != ((over < 0) != (under < 0))
        sign, whole = "-" if negative else "", f"{found[2]} " if found[2] else ""
        if under == 0 or (found[2] and (over < 0 or under < 0)):
            return None
        return f"{sign}{whole}{abs(over)}/{abs(under)}{'%' if percent else ''}"
    if re.fullmatch(r"1?\d!", body):
        return str(math.factorial(int(body[:-1])))
    found = _POWER_OF_TEN.fullmatch(body)
    if found:
        return f"{found[1]}×10^{found[2]}" if found[1] else f"10^{found[2]}"
    if re.fullmatch(rf"[-+]?\$?{_NUMBER}", body):
        return body + "%" * percent
    return None
