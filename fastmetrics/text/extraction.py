r"""The answer within what a model wrote: after ``####``, in ``\boxed{}``, behind "the answer is", by a pattern …

An extractor reads a whole column, each distinct text once.
"""

from __future__ import annotations

import functools
import itertools
import json
import re
import string
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.base.arrays import (
    arrow_numbers,
    arrow_texts,
    decoded,
    is_text,
    known_true,
    map_texts,
    numpy_values,
    plain,
)
from fastmetrics.base.errors import Argument, OptionError, UnknownNameError
from fastmetrics.base.options import NotAllowedError
from fastmetrics.base.patterns import Pattern, UserPattern
from fastmetrics.text.lexicons import lexicon
from fastmetrics.text.plain_numbers import sense_beside_number
from fastmetrics.text.stated_choices import LONE, stated_choices
from fastmetrics.text.thoughts import without_thoughts

# One way to find an answer in each text of a column.


Extract: TypeAlias = Callable[[pa.Array], pa.Array]
"""The answers in texts without nulls; null where a text has no such place."""


def each(find: Callable[[str], str | None]) -> Extract:
    """An extractor by a function of one text, which returns None or an empty text for no answer; equal texts once."""

    def extract(texts: pa.Array) -> pa.Array:
        coded = texts.dictionary_encode()
        return arrow_texts([answer or None for answer in map(find, coded.dictionary.to_pylist())]).take(coded.indices)

    return extract


def _line(place: int) -> Extract:
    """The first or the last line that is not blank."""
    return each(lambda text: text.strip().splitlines()[place].strip() if text.strip() else None)


def _hashes(text: str) -> str | None:
    """The rest of the line behind the last ``####``, as in GSM8K."""
    return text.rpartition("####")[2].strip().partition("\n")[0].strip() if "####" in text else None


_FENCE = re.compile(r"```[^\n`]*\n(.*?)(?:\n[ \t]*```|\Z)", re.DOTALL)


def _code(text: str) -> str | None:
    """The contents of the last fenced block, up to the next fence that begins a line."""
    blocks = _FENCE.findall(text) if "```" in text else []
    return blocks[-1].strip() if blocks else None


_NUMBER = re.compile(r"(?<![\w.,])[-−+]?(?:[$€£¥₽]\s?)?\d+(?:[, ']\d{3})*(?:[.,]\d+)?(?:\s?%)?(?!\w)")
_WORDS = re.compile(r"[^\W\d]{2}(?=[^\W\d_]*[ \n])")


_GLUED = re.compile(r"\\|\^|[√∛]|[\d)}][/:][\d({]|\d[eE][-+−]?\d")
"""What makes a number one with what stands at it: \\frac{2}{3}, x^2, 3/4, 15:00, 1.5e6."""
_AROUND = "\"'`*_.,;:!?()[]<>$"
_BEHIND = re.compile(r"[ \xa0]?([万亿億兆만억]|[^\W\d_]{2,})")
"""A word behind a number."""
_DATED = re.compile(r"(?:\d{1,2}\.?[ \xa0](?:de )?)?([^\W\d_]{3,})\.?[ \xa0](?:de )?(?:\d{1,2}, )?$")
"""A word before a year, with the day on either side of it: "5 January", "January 5, ", "5 de enero de "."""


@functools.cache
def _scales() -> frozenset[str]:
    """English and Russian words behind a number that make it another one: million, dozen, squared."""
    lines = (line.split() for line in lexicon("values"))
    return frozenset(word for kind, _, *words in lines if kind in ("scale", "unit", "dozen", "after") for word in words)


def _last_number(text: str) -> str | None:
    """The last number as it is written, with its sign, thousands and per cent, and with what makes it another one: a
    word of scale, or the expression, time or date that it is a part of, which is for ``number_match`` to read."""
    near = text[-_NEAR:]
    break_ = _WORDS.search(near) if len(text) > _NEAR else None
    found = [] if break_ is None else list(_NUMBER.finditer(near, break_.end()))  # two letters are in no number
    if not found:
        near, found = text, list(_NUMBER.finditer(text))
    if not found:
        return None
    start, stop = found[-1].span()
    behind = _BEHIND.match(near, stop)
    if behind is not None:
        word = behind[1].lower()
        if word in _scales() or (sense_beside_number(word) or ("",))[0] == "scale":
            return near[start : behind.end()].strip()
    dated = (
        _DATED.search(near, max(0, start - 40), start) if stop - start == 4 and near[start:stop].isdecimal() else None
    )
    if dated is not None and (sense_beside_number(dated[1].lower()) or ("",))[0] == "month":
        return near[dated.start() : stop].strip()
    whole = (near[:start].split() or [""])[-1] if start and not near[start - 1].isspace() else ""
    whole += near[start:stop] + (
        (near[stop:].split() or [""])[0] if stop < len(near) and not near[stop].isspace() else ""
    )
    whole = whole.rpartition("=")[2].strip(_AROUND)
    return whole if _GLUED.search(whole) else near[start:stop].strip()


_NEAR = 120
"""Characters at the end of a text in which its last number is sought first."""

_BOX = re.compile(r"\\(?:boxed|fbox)\s*")
_WRAPPED = re.compile(r"\\(?:text|mathrm|mathbf|textbf)\s*\{([^{}]*)\}")
_BRACE = re.compile("[{}]")


def _boxed(text: str) -> str | None:
    r"""The contents of the last ``\boxed{…}``, whose braces may be nested, or the word after ``\boxed``."""
    boxes = list(_BOX.finditer(text)) if "\\" in text else []
    if not boxes:
        return None
    rest = text[boxes[-1].end() :]
    if not rest.startswith("{"):
        return rest.split(maxsplit=1)[0].rstrip("$.") if rest.strip() else None
    depth = 0
    for brace in _BRACE.finditer(rest):
        depth += 1 if brace[0] == "{" else -1
        if not depth:
            return _WRAPPED.sub(r"\1", rest[1 : brace.start()]).strip()
    return None


# Texts without Markdown.


_MARKDOWN = (
    (("```",), re.compile(r"^[ \t]*```[^\n]*\n?", re.MULTILINE), ""),
    (tuple("#>-*+"), re.compile(r"^[ \t]{0,3}(?:#{1,6}[ \t]+|>[ \t]?|[-*+][ \t]+)", re.MULTILINE), ""),
    (("](",), re.compile(r"!?\[([^\[\]\n]*)\]\([^()\s]*(?:[ \t]\"[^\"\n]*\")?\)"), r"\1"),
    (("**", "__", "~~", "`"), re.compile(r"(\*\*\*|\*\*|__|~~|`)(?=\S)([^\n]{1,1000}?)(?<=\S)\1"), r"\2"),
    (("*",), re.compile(r"(?<![\w*])\*(?=[^\s*])([^*\n]{1,1000}?)(?<=\S)\*(?![\w*])"), r"\1"),
)
"""Signs of Markdown, their marks and what stays of each: fences, heads of lines, links, and marks around words."""


def _unmarked(text: str) -> str:
    for signs, pattern, rest in _MARKDOWN:
        for sign in signs:
            if sign in text:  # a search for signs takes a tenth of the pattern's time
                text = pattern.sub(rest, text)
                break
    return text.strip()


# What follows the last "the answer is", "Antwort:", "答案是" and so on, up to the end of the sentence or line.


_CUES = (
    *("answer", "solution", "result", "choice", "option", "antwort", "lösung", "ergebnis"),
    *("réponse", "respuesta", "risposta", "resposta", "الإجابة", "الجواب"),
)
_SUFFIXED = ("ответ", "итог", "cevap", "cevab", "yanıt", "sonuç")
_UNSPACED = ("答案", "回答", "答")
"""What stands before an answer: words, beginnings of words, and words that others follow without a space."""
_IS = "is|would be|ist|lautet|est|es|è|é|هي|هو"
_ANSWER = re.compile(
    rf"\b(?:{'|'.join(_CUES)})\b(?:\s(?:الصحيحة|الصحيح|النهائية|النهائي)\b)?\W{{0,4}}\s*"
    rf"(?:(?:to|of|for|auf|zu|à|de|a)\b[^\n.:]{{0,80}}?)?\s*(?:\b(?:{_IS})\b|[:=：])(?:\s*:)?"
    rf"|\b(?:{'|'.join(_SUFFIXED)})\w*\s*(?:[:=—–-]|\bявляется\b)"
    rf"|(?:{'|'.join(_UNSPACED)})(?:(?:应该|應該|就)?[是为為][:：]?|[:：])"
    r"|(?P<tag>(?:(?<=<)|(?<=<final_))answer>)",
    re.IGNORECASE,
)
_TAG_END = re.compile(r"</(?:final_)?answer>", re.IGNORECASE)
_HEADING = re.compile(rf"(?:{'|'.join((*_CUES, *_SUFFIXED, *_UNSPACED))})[^\S\n]*\n\s*", re.IGNORECASE)
_BEFORE = re.compile(r"\W*(?:(?:the|my|final|correct|short)\W+)*", re.IGNORECASE)
"""A line that consists of a cue, such as a heading, and what may stand before the cue."""
_END = re.compile(r"\n|(?<=\S)\.(?=\s+[A-ZА-ЯЁ\u0590-\u08ff])|[;。؛]")


def _answer_at(text: str, place: int) -> str | None:
    """The answer behind a cue at a place of a text without Markdown; None if none is stated there."""
    found = _ANSWER.match(text, place)
    if found is None:
        found = _HEADING.match(text, place)
        if found is None or _BEFORE.fullmatch(text, text.rfind("\n", 0, place) + 1, place) is None:
            return None
    elif found["tag"] is not None:
        return _TAG_END.split(text[found.end() :], maxsplit=1)[0].strip() or None
    rest = _TAG_END.split(text[found.end() :], maxsplit=1)[0].lstrip(" \t:").lstrip("\n")
    end = _END.search(rest)
    rest = rest[: None if end is None else end.start()].strip()
    rest = rest.removesuffix("}").rstrip() if rest.startswith('"') else rest  # the end of an object in JSON
    rest = rest.removesuffix(".").strip().strip("\"'“”«»$").strip()
    return rest or None


def _answer_in(text: str) -> str | None:
    """The answer behind the last cue of a text with Markdown that states one."""
    text = _unmarked(text)
    lowered, places = text.replace("İ", "i").lower(), []  # of the same length
    for cue in _ALL_CUES:
        place = lowered.find(cue)
        while place >= 0:
            places.append(place)
            place = lowered.find(cue, place + 1)
    answers = (_answer_at(text, place) for place in sorted(places, reverse=True))
    return next(filter(None, answers), None)


_ALL_CUES = (*_CUES, *_SUFFIXED, *_UNSPACED)


_ASCII_CUES = tuple(filter(str.isascii, _ALL_CUES))
_HIDDEN = re.compile(r"[*~`_](?<=[^\W_][*~`_])[*~`_]*[^\W\d_]|\]\(|İ")
"""What may hide a cue, as in "ans**wer**"."""


def _answer(text: str) -> str | None:
    """The answer behind the last cue that has one: sought from the line of the last cue on, then in the whole text."""
    lowered = text.lower()
    last = max(map(lowered.rfind, _ASCII_CUES if text.isascii() else _ALL_CUES))
    hides = _HIDDEN.search(text, max(last, 0)) is not None
    if last < 0 or hides:
        return _answer_in(text) if hides else None
    line = text.rfind("\n", 0, last) + 1
    rest = text[line:].rstrip()
    bare = _unmarked(rest)
    found = _answer_at(rest, last - line) if bare == rest else None
    if found is None:
        found = _answer_in(rest)
    return _answer_in(text) if found is None and line else found


# The letter of a choice.


def _choice(texts: pa.Array) -> pa.Array:
    """The letter of the choice that each text states, as ``choice_match`` finds it."""
    numbers = stated_choices(texts)
    return _LETTERS.take(arrow_numbers(np.maximum(numbers, 0) % LONE, pa.int32(), numbers < 0))


_LETTERS = arrow_texts(string.ascii_uppercase)


# The extractors by name.


EXTRACTORS: Mapping[str, Extract] = {
    "boxed": each(_boxed),
    "hashes": each(_hashes),
    "answer": each(_answer),
    "choice": _choice,
    "last_number": each(_last_number),
    "first_line": _line(0),
    "last_line": _line(-1),
    "code": each(_code),
    "strip_markdown": each(_unmarked),
    "strip_thoughts": without_thoughts,
    "whole": lambda texts: texts,
}
"""The extractors by name; ``regex:PATTERN`` and ``json:PATH`` are two more."""


@dataclass(frozen=True)
class _Then:
    """What an extractor finds in what another one finds."""

    first: Extract
    second: Extract

    def __call__(self, texts: pa.Array) -> pa.Array:
        return _within(self.first(texts), self.second)


def _within(texts: pa.Array, extract: Extract) -> pa.Array:
    """What an extractor finds in those of some texts that are not null."""
    if texts.null_count == 0:
        return extract(texts)
    given = texts.is_valid()
    return pc.replace_with_mask(
        texts.cast(pa.large_string()), given, extract(texts.filter(given)).cast(pa.large_string())
    )


def _regex(pattern: UserPattern) -> Extract:
    """The first group of the last match of a pattern in which it has a part."""

    def extract(texts: pa.Array) -> pa.Array:
        found = pattern.matches(texts.to_pylist())
        return arrow_texts(
            [next((mark.groups[0].strip() for mark in marks[::-1] if mark.groups[0]), "") or None for marks in found]
        )

    return extract


def _json(steps: Sequence[str]) -> Extract:
    """The value at a path of the first JSON in a text that has it; an object or a list is JSON again."""

    def find(text: str) -> str | None:
        for found in itertools.islice(re.finditer(r"[{\[]", text), _MOST_TRIED):
            try:
                value = _at(json.JSONDecoder().raw_decode(text, found.start())[0], steps)
                if value is not None:
                    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            except (ValueError, RecursionError):
                pass  # a brace of prose, or JSON that is cut or too deep
        return None

    return each(find)


def _at(value: Any, steps: Sequence[str]) -> Any:
    """The value at a path; None where there is none."""
    for step in steps:
        if isinstance(value, Mapping) and step in value:
            value = value[step]
        elif isinstance(value, list) and re.fullmatch(r"-?\d{1,9}", step) and -len(value) <= int(step) < len(value):
            value = value[int(step)]
        else:
            return None
    return value


_MOST_TRIED = 50
"""The braces and brackets of a text from which on JSON is sought."""


def extractor(spec: str) -> Extract:
    r"""The extractor of a name, ``regex:PATTERN`` with a group, or ``json:PATH`` such as ``json:result.answer``.

    ``strip_thoughts+last_number`` is the second extractor of what the first one finds.

    >>> texts = pa.array(["So it rains. The final answer is **(B)**.", "6 × 7\n#### 42", r"so $\boxed{\frac{1}{2}}$"])
    >>> [extractor(spec)(texts).to_pylist() for spec in ("answer", "hashes", "boxed")]
    [['(B)', None, None], [None, '42', None], [None, None, '\\frac{1}{2}']]

    Raises ``UnknownNameError`` for another name, ``OptionError`` for a pattern that is none or has no group.
    """
    name, plus, then = spec.partition("+")
    if plus and name in EXTRACTORS:
        return _Then(EXTRACTORS[name], extractor(then))
    kind, colon, rest = spec.partition(":")
    if colon and kind == "json":
        return _json([step for step in re.split(r"[.\[\]]", rest) if step])
    if colon and kind == "regex":
        try:
            return _regex(UserPattern(Pattern(groups=1).take(rest)))
        except ValueError as error:
            reason = f": {error}" if str(error) else ""
            raise OptionError(Argument("extract", spec), f"{reason}; expected {Pattern()}") from error
    if spec not in EXTRACTORS:
        raise UnknownNameError.of("extractor", spec, [*EXTRACTORS, "regex:PATTERN", "json:PATH"])
    return EXTRACTORS[spec]


@dataclass(frozen=True)
class Extractors:
    """The allowed values of ``extract``: one extractor, or several in the order in which they are tried."""

    def take(self, value: Any) -> str | tuple[str, ...]:
        """The extractor, or several in a tuple; raises the errors of :func:`extractor`."""
        specs = (value,) if isinstance(value, str) else value
        if not isinstance(specs, list | tuple) or not 0 < len(specs) <= _MOST_EXTRACTORS:
            raise NotAllowedError
        if not all(isinstance(spec, str) for spec in specs):
            raise NotAllowedError
        for spec in specs:
            extractor(spec)
        return str(specs[0]) if len(specs) == 1 else tuple(map(str, specs))

    def __str__(self) -> str:
        return f"one or several of {', '.join(map(repr, EXTRACTORS))}, 'regex:PATTERN' or 'json:PATH'"


_MOST_EXTRACTORS = 20


# The answers in a column of texts.


def extracted(column: pa.Array, specs: Sequence[str]) -> pa.Array:
    """The answers by the first of several extractors that finds one in a row.

    A row without an answer is an empty text, so that it scores as a wrong answer; null stays null.  A column of no
    texts stays as it is.

    >>> extracted(pa.array(["#### 42", "It is 7.", "none", None]), ["hashes", "last_number"]).to_pylist()
    ['42', '7', '', None]
    """
    column = decoded(column)
    return first_found(column, [extractor(spec) for spec in specs]) if is_text(column.type) else column


def first_found(column: pa.Array, ways: Sequence[Extract]) -> pa.Array:
    """The answers by the first of some extractors that finds one in a text; an empty text if none does."""
    texts = column.cast(pa.large_string())
    valid = numpy_values(texts.is_valid())
    left, answers = valid.copy(), texts
    for way in ways:
        mask = arrow_numbers(left, pa.bool_())
        if left.any():
            answers = pc.replace_with_mask(answers, mask, way(texts.filter(mask)).cast(pa.large_string()))
            left = valid & ~(numpy_values(pc.binary_length(answers), null=0) > 0)
    nothing = arrow_texts([""] * int(np.count_nonzero(left)))
    return pc.replace_with_mask(answers, arrow_numbers(left, pa.bool_()), nothing).cast(plain(column.type))


_MARKS = {"hashes": "####", "boxed": "\\"}
"""What a text holds in which these extractors find something."""


def without_working(column: pa.Array, specs: Sequence[str]) -> pa.Array:
    """References, those in which an answer is marked as these extractors find it by that answer alone.

    Tasks such as GSM8K and MATH have whole solutions as references, with the answer after ``####`` or in ``\\boxed{}``.

    >>> without_working(pa.array(["3 + 4 = 7\\n#### 7", "7"]), ["hashes"]).to_pylist()
    ['7', '7']
    """
    ways = [(mark, EXTRACTORS[name]) for name, mark in _MARKS.items() if name in specs]

    def change(texts: pa.Array) -> pa.Array:
        for mark, way in ways:
            marked = known_true(pc.match_substring(texts, mark))
            working = texts.filter(marked)
            found = pc.coalesce(way(working).cast(texts.type), working)
            texts = pc.replace_with_mask(texts, marked, found) if len(found) else texts
        return texts

    return map_texts(column, change) if ways else column
