"""The citations of passages in an answer, in the forms that models write, rewritten as ``[n]``.

**Citations by id** are replaced by numbers before an answer is split into sentences, so a citation after a full stop
stays with its sentence whatever its text. If an id of the row looks like a number, the id wins.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

# The marks of citations.


_LABELS = "doc|document|source|src|context|passage|chunk|ref|reference|документ|источник|контекст|фрагмент"
_ITEM = re.compile(
    rf"(?:(?P<caret>\^)|(?P<label>{_LABELS})[\s.:]*[#№]?|[#№])?\s*(?P<first>[0-9]{{1,4}})"
    r"(?:\s*[-–—]\s*\^?(?P<last>[0-9]{1,4}))?",
    re.IGNORECASE,
)
_BETWEEN = re.compile(r"\s*(?:[,;&]|\band\b|\bи\b)\s*")
_SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹"
_PLAIN = str.maketrans(_SUPERSCRIPTS + "⁻", "0123456789-")
_MARK = re.compile(
    r"\[(?P<inside>[^\[\]\n]{1,200})\]"
    r"|【(?P<lenticular>[^【】\n]{1,200})】"
    rf"|(?:(?<=[^\W\d_]{{3}})|(?<=[.,;:!?)\]\"»”]))(?P<superscript>[{_SUPERSCRIPTS}]+(?:[,⁻][{_SUPERSCRIPTS}]+)*)(?!\w)"
)
_POWERS = re.compile(
    r"\b(?:chi|eta|sin|cos|tan|log|exp|rad|sec|min|inch|foot|feet|yards?|miles?|met(?:er|re)s?|"
    r"\w*(?:met(?:er|re)s?)|сек|мин|метров|метра?|миль)\Z",
    re.IGNORECASE,
)
"""Words before a superscript that is a power."""

_LONGEST_RANGE = 50

# A list of references at the end of an answer.

_HEADING = re.compile(
    r"\s*(?:#{1,6}\s*)?[*_]{0,3}(?:references?|sources?|citations?|bibliography|works cited|footnotes?|"
    r"источники?|источники информации|литература|список литературы|ссылки|сноски)\s*:?\s*[*_]{0,3}\s*:?\s*",
    re.IGNORECASE,
)
_ENTRY = re.compile(r"\s*(?:[-*•]\s*)?(?:\[\^?[^\[\]\n]{1,40}\]|【[^【】\n]{1,60}】|[⁰¹²³⁴⁵⁶⁷⁸⁹]+)")
_NUMBERED = re.compile(r"\s*(?:[-*•]|[0-9]{1,3}[.)])\s+\S")
_DEFINITION = re.compile(r"\s*\[\^?[^\[\]\n]{1,40}\]:\s*\S")

_MAY_DIFFER = (
    r"[【⁰¹²³⁴⁵⁶⁷⁸⁹]|\[\s*(?:[\^#№]|[0-9]+\s*[,;&–—-]|[0-9]+\s+(?:and|и)\b|\s[0-9]|[0-9]+\s)"
    rf"|\[\s*(?i:{_LABELS})[\s.:_#№-]*[0-9]|\n\s*(?:[-*•]\s*)?\["
    r"|(?im:^\s*[#*_ ]*(?:references?|sources?|citations?|bibliography|works cited|footnotes?|источник|литература"
    r"|список литературы|ссылки|сноски))"
)
"""Whatever stands in an answer that :func:`as_numbers` may rewrite."""


def with_plain_marks(answers: pa.Array, counts: list[int]) -> pa.Array:
    """Answers with citations as ``[n]``; ``counts`` are the numbers of contexts.

    >>> with_plain_marks(pa.array(["A [1, 2].", "B [Doc 1]", "C", None]), [2, 2, 2, 2]).to_pylist()
    ['A [1][2].', 'B [1]', 'C', None]
    """
    chosen = pc.fill_null(pc.match_substring_regex(answers, _MAY_DIFFER), fill_value=False)
    rows = [row for row, is_chosen in enumerate(chosen.to_pylist()) if is_chosen]
    texts = [
        as_numbers(answer, {}, counts[row])
        for row, answer in zip(rows, answers.filter(chosen).to_pylist(), strict=True)
    ]
    return pc.replace_with_mask(answers, chosen, pa.array(texts, answers.type)) if rows else answers


def as_numbers(answer: str, places: Mapping[str, int], n_contexts: int) -> str:
    """An answer in which each citation is ``[n]``, without the list of references at its end.

    A citation is ``[1]``, ``[2, 3]``, ``[1-3]``, ``[^1]``, ``[Doc 1]``, ``【1】`` or a superscript, or has an id of
    ``places``, which gives its number.  A group or a superscript without the number of a context is text, and so is a
    superscript after a unit, or in an answer that cites in brackets.

    >>> as_numbers("A [1-3] at 5 km². B【2†source】.", {}, 3), as_numbers("A [a, b], [10, 20]", {"a": 1, "b": 2}, 2)
    ('A [1][2][3] at 5 km². B[2].', 'A [1][2], [10, 20]')
    >>> as_numbers("It is so.¹ Or so.²\\n\\nSources:\\n¹ One\\n² Two", {}, 2)
    'It is so.[1] Or so.[2]'
    """
    pieces, end = [], 0
    answer, citations = citations_in(answer, places, n_contexts)
    for start, stop, numbers in citations:
        pieces += [answer[end:start], *(f"[{number}]" for number in numbers)]
        end = stop
    return "".join([*pieces, answer[end:]])


class Citation(NamedTuple):
    """A citation: its span in characters, and the numbers of the contexts that it cites."""

    start: int
    stop: int
    numbers: list[int]


def citations_in(answer: str, places: Mapping[str, int], n_contexts: int) -> tuple[str, list[Citation]]:
    """An answer without the list of references at its end, and its citations, as in :func:`as_numbers`.

    >>> citations_in("A [1-2], B².", {}, 2)[1]
    [Citation(start=2, stop=7, numbers=[1, 2])]
    """
    answer = without_references(answer)
    in_brackets = any(
        _numbers(mark["inside"], places, n_contexts) for mark in _MARK.finditer(answer) if mark["inside"] is not None
    )
    citations = []
    for mark in _MARK.finditer(answer):
        if mark["superscript"] is not None:
            is_power = in_brackets or _POWERS.search(answer, max(0, mark.start() - 20), mark.start()) is not None
            numbers = [] if is_power else _numbers(mark[0].translate(_PLAIN), {}, n_contexts)
            numbers = numbers if any(1 <= number <= n_contexts for number in numbers) else []
        elif mark["lenticular"] is not None:
            source = re.match(r"[0-9,;\s–—-]+", mark["lenticular"])
            numbers = _numbers(mark["lenticular"] if source is None else source[0], places, None)
        else:
            numbers = _numbers(mark["inside"], places, n_contexts)
        if numbers:
            citations.append(Citation(*mark.span(), numbers))
    return answer, citations


def _numbers(inside: str, places: Mapping[str, int], n_contexts: int | None) -> list[int]:
    """The numbers in the text of a mark; none if it is no citation.

    Without ``n_contexts``, a group need not have the number of a context.
    """
    inside = inside.strip()
    if inside in places:
        return [places[inside]]
    if inside.isascii() and inside.isdecimal():
        return [min(int(inside[:4000]), 10**9)]
    numbers: list[int] = []
    is_sure = n_contexts is None
    for part in _BETWEEN.split(inside):
        item = _ITEM.fullmatch(part)
        if part in places:
            numbers.append(places[part])
            is_sure = True
        elif item is None:
            return []
        else:
            first, last = int(item["first"]), int(item["last"] or item["first"])
            if not 0 <= last - first <= _LONGEST_RANGE:
                return []
            # an id may be a number too
            numbers += [places.get(str(number), number) for number in range(first, last + 1)]
            is_sure = is_sure or item["caret"] is not None or item["label"] is not None
    is_sure = is_sure or any(1 <= number <= (n_contexts or 0) for number in numbers)
    return numbers if is_sure else []


def without_references(answer: str) -> str:
    """An answer without the list of references at its end.

    A list has a heading, such as ``Sources:``, and entries that begin with a citation, or with a number or a bullet if
    the text before cites; without a heading, entries are definitions such as ``[^1]: …``, or lines that begin with a
    citation, after an empty line, of which the text before cites each; a single one must not end as a sentence does.

    >>> without_references("A [1]. B [2].\\n\\n[1] One\\n[2] Two"), without_references("[1] One\\n[2] Two")
    ('A [1]. B [2].', '[1] One\\n[2] Two')
    """
    lines = answer.split("\n")
    entries = len(lines)
    marked = True
    for place in range(len(lines) - 1, -1, -1):
        line = lines[place]
        heading = _HEADING.match(line)
        if heading is not None:
            rest = line[heading.end() :]
            is_heading = (not rest and entries < len(lines)) or (rest and ":" in heading[0] and _ENTRY.match(rest))
            before = "\n".join(lines[:place])
            if is_heading and re.search(r"\w", before) and (marked or _MARK.search(before)):
                return before.rstrip()
        if not line.strip():
            continue
        if _ENTRY.match(line) is None:
            if _NUMBERED.match(line) is None:
                break
            marked = False
        entries = place
    return _without_definitions(answer, lines)


def _without_definitions(answer: str, lines: list[str]) -> str:
    """An answer without the entries at its end that have no heading."""
    begin = len(lines)
    while begin and (not lines[begin - 1].strip() or _ENTRY.match(lines[begin - 1])):
        begin -= 1
    entries = [line for line in lines[begin:] if line.strip()]
    before = "\n".join(lines[:begin])
    if not entries or not re.search(r"\w", before):
        return answer
    if all(_DEFINITION.match(line) for line in entries):
        return before.rstrip()
    marks = [_MARK.match(line.strip().lstrip("-*• ")) for line in entries]
    known = _cited(before)
    cited = [mark is not None and _cited(mark[0]) <= known for mark in marks]
    is_apart = begin < len(lines) and not lines[begin].strip()
    are_titles = len(entries) > 1 or not entries[0].rstrip().endswith((".", "!", "?"))
    return before.rstrip() if all(cited) and is_apart and are_titles else answer


def _cited(text: str) -> set[int]:
    """The numbers that the marks of a text cite."""
    insides = (mark["inside"] or mark["lenticular"] or mark[0].translate(_PLAIN) for mark in _MARK.finditer(text))
    return {number for inside in insides for number in _numbers(inside, {}, None)}
