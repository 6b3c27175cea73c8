"""The thoughts of a reasoning model in its text, separated from the answer: blocks, channels and headings."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.base.arrays import (
    ANGLE,
    HEADING,
    Ints,
    Text,
    decoded,
    few_texts,
    is_text,
    known_true,
    numpy_values,
)

# The marks of thoughts.


_TAGS = "think|thinking|thoughts?|reasoning|reflection|analysis|scratchpad"
_WORDS = "think|thinking|thought|reasoning"

_OPENING = (
    rf"<(?:seed:)?(?:{_TAGS})(?:\s[^<>]{{0,200}})?>|\[(?:{_WORDS})\]|◁think▷"
    r"|<\|(?:start_|begin_of_)?(?:think|thinking|thought)(?:_start)?\|>|<\|channel>thought"
    r"|<details\s[^<>]{0,200}reasoning[^<>]{0,200}>"
)
_CLOSING = (
    rf"</(?:seed:)?(?:{_TAGS})\s*>|\[/(?:{_WORDS})\]|◁/think▷"
    r"|<\|(?:/|end_|end_of_)(?:think|thinking|thought)\|>|<\|(?:think|thought)_end\|>|<channel\|>|</details>"
)
_CHANNEL = r"<\|channel\|>\s*(?:analysis|commentary|final)"
_BARE_CHANNEL = r"^\s*analysis[A-Z]|assistantfinal"
"""Channels of a server that drops the special tokens, and keeps what stands between them."""

_HEADING = (
    r"^[\s#*_]*(?:(?:here(?:'s|’s| is) (?:a|my|the) )?(?:thinking|thought|reasoning) process[^\n:]{0,60}:[*_]*"
    r"|thinking(?:\.\.\.|…)\s*\n)"
)
_CONCLUSION = re.compile(
    r"^[ \t#*_]*(?:(?:\.\.\.|…)done thinking\.?"
    r"|(?:here(?:'s|’s| is) (?:my|the) |final )"
    r"(?:answer|response|output|reply|verdict|judge?ment|score)\b[^\n:]{0,20}:)"
    r"[*_]*",
    re.IGNORECASE | re.MULTILINE,
)
"""What follows a thought under a heading."""

_MARKS = rf"(?i:{_OPENING}|{_CLOSING}|{_CHANNEL}|{_HEADING})|{_BARE_CHANNEL}"
_ANY = re.compile(_MARKS)
_TAG = re.compile(rf"{_OPENING}|{_CLOSING}|<\|(?:channel|message|start)\|>", re.IGNORECASE)
_TOKEN = re.compile(rf"\\[^\n]|(?P<quote>[\"`\n])|(?P<opening>{_OPENING})|(?P<closing>{_CLOSING})", re.IGNORECASE)
_SECTION = re.compile(_CHANNEL.replace("?:", ""), re.IGNORECASE)
_MESSAGE = "<|message|>"
_SECTION_END = re.compile(r"<\|(?:end|return|call|start|channel)\|>")
_START = re.compile(r"<\|start\|>\s*assistant\s*$")
_ANSWER = re.compile(
    r"\s*(?:<(answer|response|output|final_answer)>|<\|(?:begin_of_solution|start_response)\|>)", re.IGNORECASE
)
_ANSWER_END = re.compile(r"<\|(?:end_of_solution|end_response)\|>\Z", re.IGNORECASE)
_QUOTES = "\"'`“”«»"


class Thoughts(NamedTuple):
    """A text in parts: the thoughts, the answer, and whether the text ends within a thought."""

    thought: str | None
    answer: str
    is_cut: bool


def split_thoughts(text: str) -> Thoughts:
    """The thoughts and the answer of a text.

    A thought is a block such as ``<think>…</think>``, ``<reasoning>…</reasoning>`` or ``[THINK]…[/THINK]``, in any
    case; every harmony channel but ``final``; or what follows a heading such as ``Thinking Process:``, up to a closing
    mark or a heading such as ``Final answer:``.  Blocks may be nested or several.  A closing mark without an opening
    one ends a thought that began with the text: the chat template had opened it.  An opening mark without a closing one
    cuts the text, if its line begins with it; elsewhere it is text.  A mark in quotes or code is text, too.  Text
    without thoughts is returned as it is.

    >>> split_thoughts("<think>2 or 4?</think>\\nIt is 4.")
    Thoughts(thought='2 or 4?', answer='It is 4.', is_cut=False)
    >>> split_thoughts("[THINK]2 or 4? Perhaps 2")
    Thoughts(thought='2 or 4? Perhaps 2', answer='', is_cut=True)
    """
    if _ANY.search(text) is None:
        return Thoughts(None, text, False)
    for split in (_channels, _bare_channels, _blocks, _under_heading):
        parts = split(text)
        if parts is not None:
            thoughts, answers, is_cut = parts
            return Thoughts(_joined(thoughts), _unwrapped(_joined(answers)), is_cut)
    return Thoughts(None, text, False)


def has_marks(text: str) -> bool:
    """Whether a text holds a mark of a thought, in quotes or not.

    >>> has_marks("<thinking> is a tag"), has_marks("I am thinking")
    (True, False)
    """
    return _TAG.search(text) is not None


_Parts = tuple[list[str], list[str], bool]
"""Thoughts, pieces of the answer, and whether the last thought has no end."""


def _joined(pieces: list[str]) -> str:
    return "\n".join(piece.strip() for piece in pieces if piece.strip())


def _unwrapped(answer: str) -> str:
    """An answer after a thought without the tags around it, as in ``<answer>…</answer>``."""
    mark = _ANSWER.match(answer)
    if mark is None:
        return answer
    rest = answer[mark.end() :].strip()
    if mark[1] is None:
        return _ANSWER_END.sub("", rest).strip()
    end = f"</{mark[1].lower()}>"
    return rest[: -len(end)].strip() if rest.lower().endswith(end) else rest


def _channels(text: str) -> _Parts | None:
    """The parts of a text with harmony channels: ``<|channel|>analysis<|message|>…<|end|>``."""
    marks = list(_SECTION.finditer(text))
    if not marks:
        return None
    thoughts, name = [_START.sub("", _section(text[: marks[0].start()]))], ""
    answers: list[str] = []
    for place, mark in enumerate(marks):
        stop = marks[place + 1].start() if place + 1 < len(marks) else len(text)
        name = mark[0].split("|>")[-1].strip().lower()
        _, found, content = text[mark.end() : stop].partition(_MESSAGE)
        content = content if found else ""
        (answers if name == "final" else thoughts).append(_section(content))
    return thoughts, answers, name != "final"


def _section(content: str) -> str:
    """The content of a channel up to its end."""
    end = _SECTION_END.search(content)
    return content if end is None else content[: end.start()]


def _bare_channels(text: str) -> _Parts | None:
    """The parts of a text with channels whose special tokens were dropped: ``analysis…assistantfinal…``."""
    if re.match(r"\s*analysis", text) is None or re.search(_BARE_CHANNEL, text) is None:
        return None
    thought, found, answer = text.rpartition("assistantfinal")
    thought = thought if found else answer
    return [re.sub(r"^\s*analysis", "", thought)], [answer] if found else [], not found


def _blocks(text: str) -> _Parts | None:
    """The parts of a text with blocks between an opening and a closing mark; linear in its length."""
    last = max((mark.start() for mark in _TOKEN.finditer(text) if mark["closing"]), default=-1)
    thoughts: list[str] = []
    answers: list[str] = []
    depth = begin = end = blank = 0  # ``blank`` is where the line, or what follows a block, begins
    quotes = {'"': False, "`": False}
    for token in _TOKEN.finditer(text):
        quote, start, stop = token["quote"], token.start(), token.end()
        is_text = _is_quoted(text, start, stop)
        if quote is not None and not depth:
            if quote == "\n":
                quotes, blank = {'"': False, "`": False}, stop
            else:
                quotes[quote] = not quotes[quote]
        elif token["opening"] and depth:
            depth += not is_text
        elif token["opening"] and not is_text:
            at_start = blank >= 0 and not text[blank:start].strip()
            if at_start or (start < last and not any(quotes.values())):
                answers.append(text[end:start])
                depth, begin = 1, stop
            else:
                blank = -1
        elif token["closing"] and not is_text and (depth or not any(quotes.values())):
            depth = max(0, depth - 1)
            if not depth:
                if len(answers) == len(thoughts):  # the template had opened it
                    thoughts, answers, begin = [], [""], 0
                thoughts.append(text[begin:start])
                end = blank = stop
                quotes = {'"': False, "`": False}
    if depth:
        return [*thoughts, text[begin:]], answers, True
    return (thoughts, [*answers, text[end:]], False) if thoughts else None


def _is_quoted(text: str, start: int, stop: int) -> bool:
    """Whether a mark stands alone in quotes or code."""
    return start > 0 and stop < len(text) and text[start - 1] in _QUOTES and text[stop] in _QUOTES


def _under_heading(text: str) -> _Parts | None:
    """The parts of a text that begins with a heading of thoughts."""
    heading = re.match(_HEADING, text, re.IGNORECASE)
    if heading is None:
        return None
    conclusions = list(_CONCLUSION.finditer(text, heading.end()))
    if not conclusions:
        return [text[heading.end() :]], [], True
    return [text[heading.end() : conclusions[-1].start()]], [text[conclusions[-1].end() :]], False


# The thoughts in a column of texts.


_FAST = (
    r"</?(?i:(?:seed:)?(?:"
    + _TAGS
    + r")[\s>])|<\|/?(?i:channel|start|begin|end|think)",  # a first sign that is always the same is found fast
    r"^\s*(?:(?i:\[(?:" + _WORDS + r")\]|◁think▷)|analysis[A-Z])|(?i:" + _HEADING + ")",
)


def hold_thoughts(texts: pa.Array, text: Text) -> Ints:
    """Which texts hold one of the frequent marks of thoughts; fast, for a note.  ``text`` is the view of the texts.

    Patterns read the texts alone that have a ``<`` or begin like a thought.

    >>> from fastmetrics.base.arrays import text_of_arrow
    >>> texts = pa.array(["<think>2?</think>4", "[THINK]2?", "four", None])
    >>> hold_thoughts(texts, text_of_arrow(texts, "answer")).tolist()
    [0, 1]
    """
    found = []
    for sign, pattern in zip((ANGLE, HEADING), _FAST, strict=True):
        rows = text.with_sign(sign)
        if len(rows):
            marked = pc.match_substring_regex(few_texts(texts, rows), pattern)
            found.append(rows[numpy_values(known_true(marked))])
    return np.unique(np.concatenate(found)) if found else np.zeros(0, np.int64)


def without_thoughts(column: pa.Array) -> pa.Array:
    """Texts without their thoughts; a text that is only thoughts is empty.  A column of no texts stays as it is.

    >>> without_thoughts(pa.array(["<think>2?</think>4", "<think>2?", "four", None])).to_pylist()
    ['4', '', 'four', None]
    """
    column = decoded(column)
    if not is_text(column.type):
        return column
    marked = known_true(pc.match_substring_regex(column, _MARKS))
    answers = [split_thoughts(text).answer for text in column.filter(marked).to_pylist()]
    return pc.replace_with_mask(column, marked, pa.array(answers, column.type)) if answers else column
