"""Parsing a judge's reply: JSON objects in text, recorded repairs, and the forms of replies by the kind of rubric."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from fastmetrics.models.calls import completion
from fastmetrics.text.thoughts import has_marks, split_thoughts

# The JSON objects in a text, and whether each of them stands for itself or is quoted; linear in the text's length.


_TOKEN = re.compile(r"\\[^\n]|[\"'{}\n]")
# Every alternative matches wherever it starts: a pattern that fails at the end of the text starts anew at each quote.
_COMMA = re.compile(r'("[^"\\]*(?:\\.[^"\\]*)*"?)|,(?=\s*[}\]])', re.DOTALL)
_LOOSE = re.compile(
    r'(?P<string>"[^"\\]*(?:\\.[^"\\]*)*"?)'
    r"|(?P<quotes>'(?:[^'\\]|\\.|'(?!\s*[,:}\]]))*'?|“[^”]*”?)"
    r"|(?P<comments>//[^\n]*|#[^\n]*|/\*(?:[^*]|\*(?!/))*(?:\*/)?)"
    r"|(?P<names>[A-Za-z_]\w*)"
    r"|(?P<ratio>\d+(?:\.\d+)?\s?/\s?\d+(?:\.\d+)?)"
    r"|(?P<number>\d[\w.]*)",
    re.DOTALL,
)
"""What models write in JSON and JSON does not have, and strings, in which nothing is replaced."""

_NO_ESCAPE = re.compile(r'(\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})|\\')
"""An escape of JSON, or a backslash that begins none, as in formulas and paths."""

_LITERALS = {"True": "true", "False": "false", "None": "null"}
_OPENING = re.compile(r"[ \t]*(?:```[\w-]*)?(?:[ \t`*_\[(]|<\w{1,20}>)*")
_CLOSING = re.compile(r"(?:[\s`*_\])}]|<\|\w{1,20}\|>|</\w{1,20}>)*")
_FENCED = re.compile(r"```[\w-]*\s*$")
_ENDS = (*".!?。！？{", "//")
"""What may follow an object that ends its sentence: the end of the sentence, another object, or a comment."""

_REPAIRS = ("commas", "lines", "escapes", "quotes", "comments", "names")
_TRIMMED = " \t\r\n"


class Braces(NamedTuple):
    """Where a pair of braces begins, and where it ends, in characters."""

    start: int
    stop: int


class FoundObject(NamedTuple):
    """A JSON object in a text.

    ``repairs`` turned the text into the object: "fences" or "braces" for the text around it, then "commas", "lines"
    (line breaks in a string), "escapes" (backslashes that JSON does not have), "quotes", "comments" and "names" (of
    fields without quotes, or Python's literals).
    ``alone`` tells whether its line holds nothing else before it, ``quoted`` whether it is part of a sentence that goes
    on, or of a line that quotes: ``The answer says {"score": 5} but I refuse``.
    """

    content: dict[str, Any]
    repairs: tuple[str, ...]
    alone: bool
    quoted: bool


def objects_in(text: str, *, loose: bool = False) -> Iterator[FoundObject]:
    """The outermost JSON objects in a text, in their order, with what models write and JSON does not have repaired.

    A line break ends a string, as JSON strings contain none, unless the reading is ``loose``; then a string may be in
    single quotes, too.

    >>> [(one.content, one.quoted) for one in objects_in('It says {"score": 5} but I say {"score": 1}.')]
    [({'score': 5}, True), ({'score': 1}, False)]
    """
    whole = _object(text)
    if whole is not None:
        yield FoundObject(whole, (), True, False)
        return
    before = 0
    for start, stop in _closed_braces(text, loose=loose):
        content, repairs = _repaired(text[start:stop])
        if content is not None:
            line = text[max(before, text.rfind("\n", before, start) + 1) : start]
            first = before == 0 or "\n" in text[before:start]
            alone = first and _OPENING.fullmatch(line) is not None
            quoted = line.lstrip().startswith(">") or _goes_on(text, stop)
            yield FoundObject(content, (*_surroundings(text, before, start, stop), *repairs), alone, quoted)
        before = stop


def _surroundings(text: str, before: int, start: int, stop: int) -> tuple[str, ...]:
    """The repair that the text around an object needs, from the end of the object ``before``."""
    opening, end = text[before:start], _after(text, stop)
    closing = text[stop:end]
    if before == 0 and end == len(text) and not (opening + closing).strip():
        return ()
    return ("fences",) if "```" in closing and _FENCED.search(opening, max(0, opening.rfind("```"))) else ("braces",)


def _after(text: str, stop: int) -> int:
    """The end of the closing marks and the white space after an object."""
    closing = _CLOSING.match(text, stop)
    return stop if closing is None else closing.end()


def _goes_on(text: str, stop: int) -> bool:
    """Whether the sentence with an object goes on after it."""
    end = _after(text, stop)
    if end == len(text) or text.startswith(_ENDS, end):
        return False
    return text[end].islower() if "\n" in text[stop:end] else not text[end].isupper()


def _closed_braces(text: str, *, loose: bool) -> list[Braces]:
    """The outermost closed pairs of braces that are in no object without an end.

    Quotes count within braces only, since one in prose need not be closed.
    """
    pairs: list[Braces] = []
    opened: list[int] = []  # where the braces that are still open begin
    quote = ""
    at = text.find("{")
    while at >= 0 and (token := _TOKEN.search(text, at)) is not None:
        at = token.end()
        sign = token[0]
        if sign == "\n":
            quote = quote if loose else ""
        elif sign == '"' or (sign == "'" and loose and _delimits(text, token.start(), quote)):
            quote = "" if quote == sign else quote or sign
        elif quote:  # an escape, as in \", is a token of its own and changes nothing
            continue
        elif sign == "{":
            opened.append(token.start())
        elif sign == "}":
            # Pairs within this one are not outermost.  They are recorded all the same, since the one around them may
            # never close: in '{ see {"score": 5}' only the inner pair is closed.
            start = opened.pop()
            while pairs and pairs[-1].start > start:
                pairs.pop()
            pairs.append(Braces(start, at))
            if not opened:  # between objects is prose, whose quotes mean nothing
                at = text.find("{", at)
    unfinished = min((start for start in opened if _begins_object(text, start)), default=len(text))
    return [pair for pair in pairs if pair.start < unfinished]


def _delimits(text: str, at: int, quote: str) -> bool:
    """Whether a single quote begins or ends a string, by the sign before or after it; others are apostrophes."""
    if quote == "'":
        after = _first_sign(text, at + 1, 1)
        return after in ",:}]"
    return not quote and _first_sign(text, at - 1, -1) in "{[,:"


def _first_sign(text: str, at: int, step: int) -> str:
    """The first sign from a place on, in a direction, that is no white space."""
    while 0 <= at < len(text) and text[at] in _TRIMMED:
        at += step
    return text[at] if 0 <= at < len(text) else " "


def _begins_object(text: str, start: int) -> bool:
    """Whether a brace begins an object, with the name of a field, and not prose."""
    return _first_sign(text, start + 1, 1) in "\"'"


def _repaired(piece: str) -> tuple[dict[str, Any] | None, tuple[str, ...]]:
    """The object in a pair of braces, which may be doubled as in a template, and the repairs that it needed."""
    if piece.startswith("{{") and piece.endswith("}}"):
        piece = piece[1:-1]
    content = _object(piece)
    if content is not None:
        return content, ()
    content = _object(_COMMA.sub(_without_comma, piece))
    if content is not None:
        return content, ("commas",)
    used: set[str] = set()
    plain = _LOOSE.sub(lambda found: _as_json(found, used), piece)
    text = _COMMA.sub(_without_comma, plain)
    content = _object(text)
    if content is None:
        content = _object(text, strict=False)
        used.add("lines")
    used |= {"commas"} if text != plain else set()
    return content, tuple(kind for kind in _REPAIRS if kind in used)


def _as_json(found: re.Match[str], used: set[str]) -> str:
    """A part of an object as JSON has it, with the kind of the repair recorded."""
    kind, part = str(found.lastgroup), found[0]
    if kind == "number":
        return part
    if kind == "string":
        text = _NO_ESCAPE.sub(lambda sign: sign[1] or "\\\\", part)
        used |= {"escapes"} if text != part else set()
        return text
    if kind == "ratio":  # a grade such as 4/5, which the scale explains
        return json.dumps(part)
    if kind == "names":
        if part in ("true", "false", "null"):
            return part
        used.add(kind)
        return _LITERALS.get(part) or json.dumps(part)
    used.add(kind)
    if kind == "comments":
        return " "
    inner = part[1:-1].replace("\\'", "'")
    return '"' + re.sub(r'(\\.)|"', lambda sign: sign[1] or '\\"', inner, flags=re.DOTALL) + '"'


def _without_comma(match: re.Match[str]) -> str:
    return match[1] or ""


def _object(text: str, *, strict: bool = True) -> dict[str, Any] | None:
    try:
        content = json.loads(text, strict=strict, object_pairs_hook=_fields)
    except (ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) else None


def _fields(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The fields of an object, their names in lowercase; raises ``ValueError`` for a field with two values."""
    fields = {name.lower(): value for name, value in pairs}
    if len(fields) < len(pairs) and any(fields[name.lower()] != value for name, value in pairs):
        raise ValueError("a field has two values")
    return fields


# Parsing a judge's reply: JSON, or text that known, recorded repairs turn into JSON.


OK, UNPARSED, TRUNCATED, REFUSED = "ok", "unparsed", "truncated", "refused"

_NUMBER = re.compile(r"\s*[+-]?\d+(?:\.\d+)?\s*")
_RATIO = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(?:/|out of|of|из)\s*(\d+(?:\.\d+)?)\s*")


class Reading(NamedTuple):
    """A judgement of a row: its score with a reason, or why there is none, and the repairs of the reply.

    ``text`` is the reply's text, and ``trace`` the model's reasoning, if there are any.  The tokens and the latency are
    those of all ``n_replies`` replies, ``call`` is the id of the first call, and ``is_old`` tells whether a reply was
    stored before the run.
    """

    status: str
    score: float | None = None
    reason: str | None = None
    repairs: tuple[str, ...] = ()
    text: str | None = None
    trace: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    latency_ms: float | None = None
    call: str | None = None
    n_replies: int = 0
    is_old: bool = False

    def followed_by(self, second: Reading) -> Reading:
        """The judgement after a second reply, since the first could not be read, with the tokens and times of both."""
        return second._replace(
            repairs=(AGAIN, *second.repairs) if second.status == OK else (),
            prompt_tokens=total([self.prompt_tokens, second.prompt_tokens]),
            completion_tokens=total([self.completion_tokens, second.completion_tokens]),
            latency_ms=total([self.latency_ms, second.latency_ms]),
            call=self.call,
            n_replies=self.n_replies + second.n_replies,
            is_old=self.is_old or second.is_old,
        )


AGAIN = "asked again"
"""The repair of an unreadable reply: the model was asked again."""


def total(counts: Iterable[Any]) -> Any:
    """The sum of the known values, or None."""
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


Score: TypeAlias = Callable[[Mapping[str, Any]], float | None]
"""Computes a score from the object in a reply, or None if it has none."""


def read_reply(body: str, score: Score) -> Reading:
    """Parse the body of a chat completion; ``score`` computes the score from the object in the reply.

    >>> import json
    >>> body = {"choices": [{"message": {"content": 'It is {"score": 4, "reason": "good",}.'}}]}
    >>> read_reply(json.dumps(body), lambda found: grade_of(found, 1, 5))[:4]
    ('ok', 4.0, 'good', ('braces', 'commas'))
    """
    reply = completion(body)
    thought, answer, is_cut = split_thoughts(reply.text or "")
    trace = reply.trace or thought
    # what a reply that goes on says after an object, before its tokens end, may take the score back
    goes_on = reply.truncated and not answer.rstrip(_ATTACHED).endswith("}")
    verdict = None if is_cut or goes_on or reply.refused else _verdict(answer, score)
    if verdict is not None:
        value, chosen = verdict
        more = ("number in text",) if isinstance(chosen.content.get("score"), str) else ()
        reason = chosen.content.get("reason")
        return Reading(OK, value, reason if isinstance(reason, str) else None, chosen.repairs + more, reply.text, trace)
    status = REFUSED if reply.refused else TRUNCATED if reply.truncated else UNPARSED
    lacks = CUT_THOUGHT if is_cut else reply.lacks
    return Reading(status, reason=reply.refused or lacks, text=reply.text, trace=trace)


_ATTACHED = " \t\r\n`*_])"
"""What may stand after the object of a reply that its tokens end with."""

CUT_THOUGHT = "a reply that ends within its thoughts"
"""What a reply is whose thoughts have no end."""


def _verdict(text: str, score: Score) -> tuple[float, FoundObject] | None:
    """The last object with a score, unless two objects have different scores or the object is a quotation.

    An object within a line of prose is a verdict only with a reason, as the requested form has it.  A text with a mark
    of thoughts outside its objects has none: it may be a draft.
    """
    for loose in (False, True):
        last: tuple[float, FoundObject] | None = None
        values: set[str] = set()
        for candidate in objects_in(text, loose=loose):
            value = score(candidate.content)
            if value is not None:
                values.add(repr(value))  # NaN, a list without claims, equals itself in text only
                if not candidate.quoted and (candidate.alone or isinstance(candidate.content.get("reason"), str)):
                    last = value, candidate
        if values:
            return last if len(values) == 1 and not _holds_marks(text, loose=loose) else None
    return None


def _holds_marks(text: str, *, loose: bool) -> bool:
    """Whether a text holds a mark of thoughts outside its objects."""
    if not has_marks(text):
        return False
    ends = [0, *(place for pair in _closed_braces(text, loose=loose) for place in pair), len(text)]
    return any(has_marks(text[start:stop]) for start, stop in zip(ends[::2], ends[1::2], strict=True))


def grade_of(fields: Mapping[str, Any], low: float, high: float) -> float | None:
    """The number under "score" if it is within the range: also as text, or of the highest score, as in ``4/5``.

    >>> grade_of({"score": "4"}, 1, 5), grade_of({"score": "4/5"}, 1, 5), grade_of({"score": "4/10"}, 1, 5)
    (4.0, 4.0, None)
    >>> grade_of({"score": 6}, 1, 5), grade_of({"score": True}, 0, 1)
    (None, None)
    """
    value = fields.get("score")
    if isinstance(value, str):
        ratio = _RATIO.fullmatch(value)
        if ratio is not None and float(ratio[2]) == high:
            value = float(ratio[1])
        elif _NUMBER.fullmatch(value):
            value = float(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if low <= value <= high else None


# The forms of replies, by the kind of rubric: a score, a decision, a preference, or a list of claims.


@dataclass(frozen=True)
class ReplyForm:
    """The form of a reply: ``field`` is the JSON field of the score, of the JSON type ``type``.

    ``examples`` describe the content of the field, by language; ``score`` computes a score from the reply's object,
    given the lowest and the highest possible score.
    """

    field: str
    type: Mapping[str, Any]
    examples: Mapping[str, str]
    score: Callable[[Mapping[str, Any], float, float], float | None]

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of a reply; the reason comes first, so that a model reasons before it judges."""
        properties = {"reason": {"type": "string"}, self.field: self.type}
        required = ["reason", self.field]
        return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}

    def example(self, language: str) -> str:
        """An example of a reply."""
        reason = {"ru": "одно-два предложения"}.get(language, "one or two sentences")
        return f'{{"reason": "{reason}", "{self.field}": {self.examples.get(language, self.examples["en"])}}}'


_YES = {True: 1.0, False: 0.0, "true": 1.0, "yes": 1.0, "show": 1.0, "false": 0.0, "no": 0.0, "hide": 0.0}
_BETTER = {"first": 1.0, "tie": 0.5, "second": 0.0}


def decision_of(fields: Mapping[str, Any], low: float = 0.0, high: float = 1.0) -> float | None:
    """1 for show and 0 for do not show.

    >>> decision_of({"show": True}), decision_of({"show": "No"}), decision_of({"show": 7})
    (1.0, 0.0, None)
    """
    return _one_of(_YES, fields.get("show"))


def preference_of(fields: Mapping[str, Any], low: float = 0.0, high: float = 1.0) -> float | None:
    """1 if the first is better, 0 if the second is, 0.5 for a tie.

    >>> preference_of({"better": "first"}), preference_of({"better": "tie"}), preference_of({"better": "A"})
    (1.0, 0.5, None)
    """
    return _one_of(_BETTER, fields.get("better"))


def support_of(fields: Mapping[str, Any], low: float = 0.0, high: float = 1.0) -> float | None:
    """The share of the claims that are supported; NaN without claims.

    >>> support_of({"claims": [{"claim": "a", "supported": True}, {"claim": "b", "supported": False}]})
    0.5
    """
    claims = fields.get("claims")
    if not isinstance(claims, list):
        return None
    marks = [_one_of(_YES, claim.get("supported")) if isinstance(claim, Mapping) else None for claim in claims]
    values = [mark for mark in marks if mark is not None]
    if len(values) < len(marks):
        return None
    return sum(values) / len(values) if values else math.nan


def ranked_of(fields: Mapping[str, Any], low: float = 0.0, high: float = 1.0) -> float | None:
    """The average precision of contexts that are useful or not, in the order of their numbers from 1.

    The mean of the shares of useful contexts among the first k, over the numbers k of the useful ones (context
    precision of Ragas); 0 without a useful context, NaN without contexts.

    >>> ranked_of({"contexts": [{"context": 1, "useful": False}, {"context": 2, "useful": True}]})
    0.5
    """
    contexts = fields.get("contexts")
    if not isinstance(contexts, list) or not all(isinstance(one, Mapping) for one in contexts):
        return None
    marks = {repr(one.get("context")): _one_of(_YES, one.get("useful")) for one in contexts}
    ranks = range(1, len(contexts) + 1)
    if marks.keys() != set(map(repr, ranks)) or None in marks.values():
        return None
    useful = [rank for rank in ranks if marks[repr(rank)]]
    if not useful:
        return 0.0 if contexts else math.nan
    return sum(count / rank for count, rank in enumerate(useful, 1)) / len(useful)


def _one_of(scores: Mapping[Any, float], value: Any) -> float | None:
    word = value.strip().lower() if isinstance(value, str) else value
    return scores.get(word) if isinstance(word, str | bool) else None


_CLAIM = {
    "type": "object",
    "properties": {"claim": {"type": "string"}, "supported": {"type": "boolean"}},
    "required": ["claim", "supported"],
    "additionalProperties": False,
}

_CONTEXT = {
    "type": "object",
    "properties": {"context": {"type": "integer"}, "useful": {"type": "boolean"}},
    "required": ["context", "useful"],
    "additionalProperties": False,
}

FORMS: Mapping[str, ReplyForm] = {
    "score": ReplyForm("score", {"type": "number"}, {"en": "number", "ru": "число"}, grade_of),
    "decision": ReplyForm("show", {"type": "boolean"}, {"en": "true or false", "ru": "true или false"}, decision_of),
    "pairwise": ReplyForm(
        "better",
        {"type": "string", "enum": list(_BETTER)},
        {"en": '"first", "second" or "tie"', "ru": '"first" (первый), "second" (второй) или "tie" (поровну)'},
        preference_of,
    ),
    "claims": ReplyForm(
        "claims",
        {"type": "array", "items": _CLAIM},
        {
            "en": '[{"claim": "one statement of the answer", "supported": true or false}, ...]',
            "ru": '[{"claim": "одно утверждение ответа", "supported": true или false}, ...]',
        },
        support_of,
    ),
    "ranked": ReplyForm(
        "contexts",
        {"type": "array", "items": _CONTEXT},
        {
            "en": '[{"context": 1, "useful": true or false}, ...]',
            "ru": '[{"context": 1, "useful": true или false}, ...]',
        },
        ranked_of,
    ),
}
"""The form of the reply for each kind of rubric."""
