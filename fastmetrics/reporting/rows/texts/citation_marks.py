"""The citation marks of answers, and whether the cited contexts support their sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from fastmetrics.base.arrays import text_of_strings
from fastmetrics.metrics.cited_support import PATTERN
from fastmetrics.reporting.rows.texts.scored_claims import ScoredClaims
from fastmetrics.text.segmentation import statements

SUPPORTED, UNSUPPORTED, PLAIN, NO_CONTEXT = "cited_supported", "cited_unsupported", "cited", "cited_nothing"
"""The cited context has all values and claims of the sentence; lacks some; nothing to check; no such context."""


class Mark(NamedTuple):
    """A mark: its span in characters, the number of the cited context (from 1), and its status."""

    start: int
    stop: int
    number: int
    state: str


class _Sentence(NamedTuple):
    row: int
    start: int
    text: str


def citation_marks(answers: Sequence[str], contexts: Sequence[Sequence[str]], scored: ScoredClaims) -> list[list[Mark]]:
    """The marks ``[n]`` of each answer, in order.

    A sentence is what ``grounding_overlap`` takes for one.  A mark is supported where the context that it cites
    supports each number, date and claim of its sentence, as ``anchors`` finds them in that context alone.
    Claims are those that were ``scored``.

    >>> scored = ScoredClaims(window=30, claims="triples")
    >>> [found] = citation_marks(["It opened in 1889 [1]. It is tall [3]."], [["The tower opened in 1889."]], scored)
    >>> [(mark.start, mark.number, mark.state) for mark in found]
    [(18, 1, 'cited_supported'), (34, 3, 'cited_nothing')]
    """
    marks: list[list[Mark]] = [[] for _ in answers]
    checked: list[tuple[int, Mark, str, str]] = []
    for row, start, text in _sentences(answers):
        for match in re.finditer(PATTERN, text):
            number = min(int(match[1][:9]), 10**9)
            is_present = 1 <= number <= len(contexts[row])
            mark = Mark(start + match.start(), start + match.end(), number, PLAIN if is_present else NO_CONTEXT)
            marks[row].append(mark)
            if is_present:
                checked.append((row, mark, re.sub(PATTERN, "", text), contexts[row][number - 1]))
    if checked:
        anchors = scored.anchors([sentence[2] for sentence in checked], [[sentence[3]] for sentence in checked])
        for (row, mark, _, _), some in zip(checked, anchors, strict=True):
            if some:
                state = SUPPORTED if all(anchor.supported for anchor in some) else UNSUPPORTED
                marks[row][marks[row].index(mark)] = mark._replace(state=state)
    return marks


def _sentences(answers: Sequence[str]) -> Iterator[_Sentence]:
    """The sentences of the answers that contain a mark, and the position of each, in characters."""
    rows = [row for row, answer in enumerate(answers) if re.search(PATTERN, answer)]
    text = text_of_strings([answers[row] for row in rows])
    cut = statements(text)
    assert cut.groups is not None
    for at, row in enumerate(rows):
        begin = int(text.starts[at])
        for statement in range(int(cut.groups[at]), int(cut.groups[at + 1])):
            start, stop = int(cut.starts[statement]), int(cut.stops[statement])
            before = bytes(text.data[begin:start]).decode()
            yield _Sentence(row, len(before), bytes(text.data[start:stop]).decode())
