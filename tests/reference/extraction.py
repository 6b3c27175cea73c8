r"""The answer within a text, one text at a time: by regular expressions over the whole text."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

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
    rf"|(?:{'|'.join(_UNSPACED)})(?:(?:应该|應該|就)?[是为為][:：]?|[:：])"
    r"|(?P<tag>(?:(?<=<)|(?<=<final_))answer>)",
    re.IGNORECASE,
)
_TAG_END = re.compile(r"</(?:final_)?answer>", re.IGNORECASE)
_HEADING = re.compile(rf"(?:{'|'.join((*_CUES, *_SUFFIXED, *_UNSPACED))})[^\S\n]*\n\s*", re.IGNORECASE)
_BEFORE = re.compile(r"\W*(?:(?:the|my|final|correct|short)\W+)*", re.IGNORECASE)
"""A line that consists of a cue, such as a heading, and what may stand before the cue."""
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


def _answer(text: str, row: int) -> str | None:
    """What follows the last cue that an answer follows, in the whole text without its Markdown."""
    text = _unmarked(text, row)
    return next(filter(None, (_answer_at(text, place) for place in _cues(text))), None)


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
    """The last number as it is written, with its sign, thousands and per cent, or what it is glued to if that is an
    expression or a time; words of scale and of months, which change it too, are left to tables of right values."""
    found = list(_NUMBER.finditer(text))
    if not found:
        return None
    start, stop = found[-1].span()
    while start > 0 and not text[start - 1].isspace():
        start -= 1
    while stop < len(text) and not text[stop].isspace():
        stop += 1
    whole = text[start:stop].rsplit("=", maxsplit=1)[-1].strip("\"'`*_.,;:!?()[]<>$")
    joined = any(sign in whole for sign in "\\^√∛") or re.search(r"[\d)}][/:][\d({]|\d[eE][-+−]?\d", whole)
    return whole if joined else found[-1][0].strip()


def _line(text: str, place: int) -> str | None:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[place] if lines else None


def _code(text: str, row: int) -> str | None:
    """The contents of the last fenced block."""
    blocks = _FENCE.findall(text)
    return str(blocks[-1]).strip() if blocks else None


EXTRACTORS: Mapping[str, Callable[[str, int], str | None]] = {
    "boxed": _boxed,
    "hashes": _hashes,
    "answer": _answer,
    "last_number": _last_number,
    "first_line": lambda text, row: _line(text, 0),
    "last_line": lambda text, row: _line(text, -1),
    "code": _code,
    "strip_markdown": _unmarked,
    "whole": lambda text, row: text,
}


def extracted(text: str | None, names: list[str]) -> str | None:
    return None if text is None else next(filter(None, (EXTRACTORS[name](text, 0) for name in names)), "")
