r"""The answer within what a model wrote: after ``####``, in ``\boxed{}``, behind "the answer is", by a pattern …"""

from __future__ import annotations

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

from fastmetrics.base.arrays import Bytes, Ids, Ints, decoded, is_text, known_true, map_texts, plain, text_of_strings
from fastmetrics.base.errors import Argument, OptionError, UnknownNameError
from fastmetrics.base.options import NotAllowedError
from fastmetrics.base.patterns import Pattern, UserPattern
from fastmetrics.kernels.choices import stated_letters
from fastmetrics.text.thoughts import split_thoughts
from fastmetrics.text.tokenize import frozen

# One way to find an answer in a text.


Extract: TypeAlias = Callable[[str, int], str | None]
"""The answer in a text that belongs to a row; None where the text has no such place."""

_FENCE = re.compile(r"```[^\n`]*\n(.*?)(?:\n[ \t]*```|\Z)", re.DOTALL)
_MARKDOWN = (
    (("```",), re.compile(r"^[ \t]*```[^\n]*\n?", re.MULTILINE), ""),
    (tuple("#>-*+"), re.compile(r"^[ \t]{0,3}(?:#{1,6}[ \t]+|>[ \t]?|[-*+][ \t]+)", re.MULTILINE), ""),
    (("](",), re.compile(r"!?\[([^\[\]\n]*)\]\([^()\s]*(?:[ \t]\"[^\"\n]*\")?\)"), r"\1"),
    (("**", "__", "~~", "`"), re.compile(r"(\*\*\*|\*\*|__|~~|`)(?=\S)([^\n]{1,1000}?)(?<=\S)\1"), r"\2"),
    (("*",), re.compile(r"(?<![\w*])\*(?=[^\s*])([^*\n]{1,1000}?)(?<=\S)\*(?![\w*])"), r"\1"),
)
"""Signs of Markdown, their marks and what stays of each: fences, heads of lines, links, and marks around words."""

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
    rf"|(?:{'|'.join(_UNSPACED)})(?:(?:应该|應該|就)?[是为為][:：]?|[:：])",
    re.IGNORECASE,
)
_END = re.compile(r"\n|(?<=\S)\.(?=\s+[A-ZА-ЯЁ\u0590-\u08ff])|[;。؛]")
_NUMBER = re.compile(r"(?<![\w.,])[-−+]?(?:[$€£¥₽]\s?)?\d+(?:[,  ']\d{3})*(?:[.,]\d+)?(?:\s?%)?(?!\w)")
_BOX = re.compile(r"\\(?:boxed|fbox)\s*")
_WRAPPED = re.compile(r"\\(?:text|mathrm|mathbf|textbf)\s*\{([^{}]*)\}")


def _unmarked(text: str, row: int) -> str:
    for signs, pattern, rest in _MARKDOWN:
        if any(sign in text for sign in signs):  # a search for signs takes a tenth of the pattern's time
            text = pattern.sub(rest, text)
    return text.strip()


def _boxed(text: str, row: int) -> str | None:
    r"""The contents of the last ``\boxed{…}``, whose braces may be nested, or the word after ``\boxed``."""
    boxes = list(_BOX.finditer(text))
    if not boxes:
        return None
    rest = text[boxes[-1].end() :]
    if not rest.startswith("{"):
        return rest.split(maxsplit=1)[0].rstrip("$.") if rest.strip() else None
    depth = 0
    for place, sign in enumerate(rest):
        depth += (sign == "{") - (sign == "}")
        if not depth:
            return _WRAPPED.sub(r"\1", rest[1:place]).strip()
    return None


def _hashes(text: str, row: int) -> str | None:
    """The rest of the line after the last ``####``, as in GSM8K."""
    _, found, rest = text.rpartition("####")
    return rest.strip().partition("\n")[0].strip() if found else None


def _answer(text: str, row: int) -> str | None:
    """What follows the last "the answer is", "Antwort:", "答案是" and so on, up to the end of the sentence or line."""
    text = _unmarked(text, row)
    for found in filter(None, (_ANSWER.match(text, place) for place in _cues(text))):
        rest = text[found.end() :].lstrip(" \t:")
        end = _END.search(rest.lstrip("\n"))
        rest = rest.lstrip("\n")[: None if end is None else end.start()].strip()
        rest = rest.removesuffix(".").strip().strip("\"'“”«»$").strip()
        if rest:
            return rest
    return None


def _cues(text: str) -> list[int]:
    """Where what may stand before an answer begins, from the last place on; faster than a search for the pattern."""
    lowered, places = text.replace("İ", "i").lower(), []  # of the same length
    for cue in (*_CUES, *_SUFFIXED, *_UNSPACED):
        place = lowered.find(cue)
        while place >= 0:
            places.append(place)
            place = lowered.find(cue, place + 1)
    return sorted(places, reverse=True)


def _last_number(text: str, row: int) -> str | None:
    """The last number as it is written, with its sign, thousands and per cent."""
    numbers = _NUMBER.findall(text)
    return str(numbers[-1]).strip() if numbers else None


def _line(text: str, place: int) -> str | None:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[place] if lines else None


def _code(text: str, row: int) -> str | None:
    """The contents of the last fenced block."""
    blocks = _FENCE.findall(text)
    return str(blocks[-1]).strip() if blocks else None


# The letter of a choice, which a kernel finds in whole columns.


CHOICE_CUES = (
    *("answer", "option", "choice", "choose", "ответ", "Ответ", "вариант", "Вариант", "答案", "选", "答え", "정답"),
    *("antwort", "lösung", "réponse", "respuesta", "risposta", "resposta", "cevap", "cevab", "yanıt"),
    *("الإجابة", "الجواب", "उत्तर"),
)
"""What stands before the letter of a choice, with only ``CHOICE_LINKS`` between."""

CHOICE_LINKS = (
    *("is", "are", "was", "would", "should", "must", "be", "the", "correct", "right", "best", "final", "option"),
    *("choice", "letter", "answer", "to", "this", "question", "therefore", "text", "textbf", "mathbf", "mathrm"),
    *("ответ", "вариант", "буква", "это", "правильный", "верный", "ist", "lautet", "est", "es", "correcta", "doğru"),
    *("هي", "هو", "الصحيحة", "الصحيح"),
)


class _Words(NamedTuple):
    """Words in the form that kernels take: word i is ``data[bounds[i]:bounds[i + 1]]``."""

    data: Bytes
    bounds: Ints


def _packed(words: Sequence[str]) -> _Words:
    coded = [word.encode() for word in words]
    bounds = np.concatenate([[0], np.cumsum([len(word) for word in coded])])
    return _Words(np.frombuffer(b"".join(coded), np.uint8), bounds)


_CHOICE_WORDS = *_packed(CHOICE_CUES), *_packed(CHOICE_LINKS)


def stated_choices(data: Bytes, starts: Ints, stops: Ints, *, digits: bool = False) -> Ids:
    """The letter that each text states, A being 0, or with ``digits`` the digit; below 0 for none or several."""
    return stated_letters(data, starts, stops, *_CHOICE_WORDS, digits)


def _choice(text: str, row: int) -> str | None:
    """The letter of the choice that a text states, as ``choice_match`` finds it."""
    found = text_of_strings([text])
    number = int(stated_choices(frozen(found.data), frozen(found.starts), frozen(found.stops))[0])
    return string.ascii_uppercase[number] if number >= 0 else None


# The extractors by name.


EXTRACTORS: Mapping[str, Extract] = {
    "boxed": _boxed,
    "hashes": _hashes,
    "answer": _answer,
    "choice": _choice,
    "last_number": _last_number,
    "first_line": lambda text, row: _line(text, 0),
    "last_line": lambda text, row: _line(text, -1),
    "code": _code,
    "strip_markdown": _unmarked,
    "strip_thoughts": lambda text, row: split_thoughts(text).answer,
    "whole": lambda text, row: text,
}
"""The extractors by name; ``regex:PATTERN`` and ``json:PATH`` are two more."""


@dataclass(frozen=True)
class _Then:
    """What an extractor finds in what another one finds."""

    first: Extract
    second: Extract

    def __call__(self, text: str, row: int) -> str | None:
        found = self.first(text, row)
        return None if found is None else self.second(found, row)


@dataclass(frozen=True)
class _Regex:
    """The first group of the last match of a pattern."""

    pattern: UserPattern

    def __call__(self, text: str, row: int) -> str | None:
        found = None
        for match in self.pattern.matches(text, row):
            found = match[1] if match[1] is not None else found
        return None if found is None else found.strip()


@dataclass(frozen=True)
class _Json:
    """The value at a path of the first JSON in a text that has it; an object or a list is JSON again."""

    steps: Sequence[str]

    def __call__(self, text: str, row: int) -> str | None:
        for found in itertools.islice(re.finditer(r"[{\[]", text), _MOST_TRIED):
            try:
                value = _at(json.JSONDecoder().raw_decode(text, found.start())[0], self.steps)
                if value is not None:
                    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            except (ValueError, RecursionError):
                pass  # a brace of prose, or JSON that is cut or too deep
        return None


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

    >>> extractor("answer")("So it rains. The final answer is **(B)**.", 0), extractor("hashes")("6 × 7\n#### 42", 0)
    ('(B)', '42')
    >>> extractor("boxed")(r"so $\boxed{\frac{1}{2}}$", 0), extractor("json:a.0")('It is {"a": ["x"]}', 0)
    ('\\frac{1}{2}', 'x')

    Raises ``UnknownNameError`` for another name, ``OptionError`` for a pattern that is none or has no group.
    """
    name, plus, then = spec.partition("+")
    if plus and name in EXTRACTORS:
        return _Then(EXTRACTORS[name], extractor(then))
    kind, colon, rest = spec.partition(":")
    if colon and kind == "json":
        return _Json([step for step in re.split(r"[.\[\]]", rest) if step])
    if colon and kind == "regex":
        try:
            Pattern().take(rest)
        except ValueError as error:
            raise OptionError(Argument("extract", spec), f": {error}; expected {Pattern()}") from error
        if not re.compile(rest).groups:
            raise OptionError(
                Argument("extract", spec), " has no group; put the part to extract in brackets: regex:Answer: (.+)"
            )
        return _Regex(UserPattern("extract", rest))
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
    if not is_text(column.type):
        return column
    ways = [extractor(spec) for spec in specs]
    answers: list[str | None] = []
    for row, text in enumerate(column.to_pylist()):
        found = None if text is None else next(filter(None, (way(text, row) for way in ways)), "")
        answers.append(found)
    return pa.array(answers, plain(column.type))


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
            found = [way(text, 0) or text for text in texts.filter(marked).to_pylist()]
            texts = pc.replace_with_mask(texts, marked, pa.array(found, texts.type)) if found else texts
        return texts

    return map_texts(column, change) if ways else column
