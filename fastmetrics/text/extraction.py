r"""The answer within what a model wrote: after ``####``, in ``\boxed{}``, behind "the answer is", by a pattern …

An extractor reads a whole column: kernels find the span of the answer in each text.  Behind "the answer is" they find
the line alone, from which on regular expressions read the answer: its forms are many, and the line is short.
"""

from __future__ import annotations

import functools
import itertools
import json
import re
import string
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.base.arrays import (
    Bytes,
    Flags,
    Ints,
    Text,
    arrow_numbers,
    arrow_texts,
    decoded,
    is_text,
    known_true,
    map_texts,
    numpy_values,
    plain,
    text_of_arrow,
)
from fastmetrics.base.errors import Argument, OptionError, UnknownNameError
from fastmetrics.base.options import NotAllowedError
from fastmetrics.base.patterns import Pattern, UserPattern
from fastmetrics.kernels import extraction as kernels
from fastmetrics.kernels.byte_search import gather
from fastmetrics.text.conventions import is_digit, is_word
from fastmetrics.text.stated_choices import LONE, stated_choices
from fastmetrics.text.thoughts import without_thoughts
from fastmetrics.text.tokenize import frozen

# One way to find an answer in each text of a column.


Extract: TypeAlias = Callable[[pa.Array, Ints], pa.Array]
"""The answers in texts without nulls, which belong to these rows; null where a text has no such place."""


def each(find: Callable[[str, int], str | None]) -> Extract:
    """An extractor by a function of one text and its row, which returns None or an empty text for no answer."""

    def extract(texts: pa.Array, rows: Ints) -> pa.Array:
        found = map(find, texts.to_pylist(), rows.tolist())
        return arrow_texts([answer or None for answer in found])

    return extract


Span: TypeAlias = Callable[[Bytes, Ints, Ints], tuple[Ints, Ints]]
"""A kernel that finds the begin and the end of the answer in each text."""


def _spans(find: Span) -> Extract:
    """An extractor by a kernel."""

    def extract(texts: pa.Array, rows: Ints) -> pa.Array:
        text = _text(texts)
        return _taken(text, *find(text.data, text.starts, text.stops))

    return extract


def _text(texts: pa.Array) -> Text:
    text = text_of_arrow(texts, "answer")
    return Text(frozen(text.data), frozen(text.starts), frozen(text.stops), text.valid)


def _taken(text: Text, begins: Ints, ends: Ints) -> pa.Array:
    """The bytes of each span as texts; null for an empty one."""
    bounds = np.empty(len(begins) + 1, np.int64)
    data = gather(text.data, begins, ends, bounds)
    valid = pa.py_buffer(np.packbits(ends > begins, bitorder="little"))
    buffers = [valid, pa.py_buffer(bounds), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.large_string(), len(begins), buffers)


def _replaced(found: pa.Array, rows: Flags, texts: pa.Array, change: Callable[[str], str]) -> pa.Array:
    """The answers, those of some rows by a change of their texts."""
    mask = arrow_numbers(rows, pa.bool_())
    changed = [change(text) or None for text in texts.filter(mask).to_pylist()]
    return pc.replace_with_mask(found, mask, arrow_texts(changed)) if changed else found


@_spans
def _first_line(data: Bytes, starts: Ints, stops: Ints) -> tuple[Ints, Ints]:
    return kernels.lines_at(data, starts, stops, False)


@_spans
def _last_line(data: Bytes, starts: Ints, stops: Ints) -> tuple[Ints, Ints]:
    return kernels.lines_at(data, starts, stops, True)


@_spans
def _last_number(data: Bytes, starts: Ints, stops: Ints) -> tuple[Ints, Ints]:
    """The last number as it is written, with its sign, thousands and per cent."""
    return kernels.last_numbers(data, starts, stops, frozen(is_digit()), frozen(is_word()))


_WRAPPED = re.compile(r"\\(?:text|mathrm|mathbf|textbf)\s*\{([^{}]*)\}")


def _boxed(texts: pa.Array, rows: Ints) -> pa.Array:
    r"""The contents of the last ``\boxed{…}``, whose braces may be nested, or the word after ``\boxed``."""
    text = _text(texts)
    begins, ends, commands = kernels.in_boxes(text.data, text.starts, text.stops)
    found = _taken(text, begins, ends)
    return _replaced(found, commands, found, lambda answer: _WRAPPED.sub(r"\1", answer).strip())


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


def _without_markdown(texts: pa.Array, rows: Ints) -> pa.Array:
    text = _text(texts)
    marked = kernels.marked(text.data, text.starts, text.stops)
    begins, ends = kernels.whole_texts(text.data, text.starts, text.stops)
    return _replaced(_taken(text, begins, ends), marked, texts, _unmarked)


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


class _Words(NamedTuple):
    """Words in the form that kernels take: word i is ``data[bounds[i]:bounds[i + 1]]``."""

    data: Bytes
    bounds: Ints


def _packed(words: Sequence[str]) -> _Words:
    coded = [word.encode() for word in words]
    bounds = np.concatenate([[0], np.cumsum([len(word) for word in coded])])
    return _Words(np.frombuffer(b"".join(coded), np.uint8), bounds)


@functools.cache
def _cue_bytes() -> tuple[Bytes, Bytes, Ints, Bytes]:
    """The cues as ``last_cues`` takes them."""
    capitals = [
        "".join(up if len(up.encode()) == len(c.encode()) else c for c, up in map(_cased, cue)) for cue in _ALL_CUES
    ]
    small, capital = _packed(_ALL_CUES), _packed(capitals)
    begins = np.zeros((256, 256), np.uint8)
    begins[[10, 42, 96, 126, 95]] |= kernels.MARK
    begins[93, 40] |= kernels.MARK  # ](
    begins[0xC4, 0xB0] |= kernels.MARK  # İ, whose small letter is that of another
    for first in small.bounds[:-1].tolist():
        for one, two in itertools.product(*((small.data[at], capital.data[at]) for at in (first, first + 1))):
            begins[one, two] |= kernels.CUE
    return small.data, capital.data, small.bounds, begins.ravel()


def _cased(character: str) -> tuple[str, str]:
    return character, character.upper()


def _answer(texts: pa.Array, rows: Ints) -> pa.Array:
    text = _text(texts)
    lines, cues, marked = kernels.last_cues(text.data, text.starts, text.stops, *map(frozen, _cue_bytes()))
    answers: list[str | None] = [None] * len(text)
    data = text.data.data
    chosen = np.flatnonzero(lines >= 0)
    places = (array[chosen].tolist() for array in (text.starts, lines, cues, text.stops, marked))
    for row, start, line, cue, stop, has_marks in zip(chosen.tolist(), *places, strict=True):
        if has_marks:
            answer = _answer_in(str(data[line:stop], "utf-8"))
        else:
            head = str(data[line:cue], "utf-8")
            answer = _answer_at((head + str(data[cue:stop], "utf-8")).rstrip(), len(head))
        if answer is None and (line > start or not has_marks):
            answer = _answer_in(str(data[start:stop], "utf-8"))
        answers[row] = answer
    return arrow_texts(answers)


# The letter of a choice.


def _choice(texts: pa.Array, rows: Ints) -> pa.Array:
    """The letter of the choice that each text states, as ``choice_match`` finds it."""
    numbers = stated_choices(texts)
    return _LETTERS.take(arrow_numbers(np.maximum(numbers, 0) % LONE, pa.int32(), numbers < 0))


_LETTERS = arrow_texts(string.ascii_uppercase)


# The extractors by name.


EXTRACTORS: Mapping[str, Extract] = {
    "boxed": _boxed,
    "hashes": _spans(kernels.behind_hashes),
    "answer": _answer,
    "choice": _choice,
    "last_number": _last_number,
    "first_line": _first_line,
    "last_line": _last_line,
    "code": _spans(kernels.in_fences),
    "strip_markdown": _without_markdown,
    "strip_thoughts": lambda texts, rows: without_thoughts(texts),
    "whole": lambda texts, rows: texts,
}
"""The extractors by name; ``regex:PATTERN`` and ``json:PATH`` are two more."""


@dataclass(frozen=True)
class _Then:
    """What an extractor finds in what another one finds."""

    first: Extract
    second: Extract

    def __call__(self, texts: pa.Array, rows: Ints) -> pa.Array:
        return _within(self.first(texts, rows), rows, self.second)


def _within(texts: pa.Array, rows: Ints, extract: Extract) -> pa.Array:
    """What an extractor finds in those of some texts that are not null."""
    if texts.null_count == 0:
        return extract(texts, rows)
    given = texts.is_valid()
    found = extract(texts.filter(given), rows[numpy_values(given)])
    return pc.replace_with_mask(texts.cast(pa.large_string()), given, found.cast(pa.large_string()))


def _regex(pattern: UserPattern) -> Extract:
    """The first group of the last match of a pattern."""

    def find(text: str, row: int) -> str | None:
        found = None
        for match in pattern.matches(text, row):
            found = match[1] if match[1] is not None else found
        return None if found is None else found.strip()

    return each(find)


def _json(steps: Sequence[str]) -> Extract:
    """The value at a path of the first JSON in a text that has it; an object or a list is JSON again."""

    def find(text: str, row: int) -> str | None:
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
    >>> [extractor(spec)(texts, np.arange(3)).to_pylist() for spec in ("answer", "hashes", "boxed")]
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
            Pattern().take(rest)
        except ValueError as error:
            raise OptionError(Argument("extract", spec), f": {error}; expected {Pattern()}") from error
        if not re.compile(rest).groups:
            raise OptionError(
                Argument("extract", spec), " has no group; put the part to extract in brackets: regex:Answer: (.+)"
            )
        return _regex(UserPattern("extract", rest))
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
        rows = np.flatnonzero(left)
        mask = arrow_numbers(left, pa.bool_())
        if len(rows):
            answers = pc.replace_with_mask(answers, mask, way(texts.filter(mask), rows).cast(pa.large_string()))
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
            found = pc.coalesce(way(working, np.arange(len(working))).cast(texts.type), working)
            texts = pc.replace_with_mask(texts, marked, found) if len(found) else texts
        return texts

    return map_texts(column, change) if ways else column
