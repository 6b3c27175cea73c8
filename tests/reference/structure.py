"""JSON by its fields, and code by its tokens, in plain Python over the module json."""

from __future__ import annotations

import io
import json
import math
import re
import tokenize
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

Field = Callable[[str, str], float | None] | None
"""How a field is compared as text; None for one that is ignored."""

MISSING = object()


class Number(str):
    """A number as it is written."""

    @property
    def decimal(self) -> tuple[bool, str, int]:
        """Its sign, the digits that count, and the power of ten of the last."""
        mantissa, _, power = self.lower().partition("e")
        whole, _, rest = mantissa.removeprefix("-").partition(".")
        digits = (whole + rest).lstrip("0")
        kept = digits.rstrip("0")
        exponent = max(-(10**15), min(10**15, int(power or 0)))
        return (
            (mantissa.startswith("-"), kept, exponent - len(rest) + len(digits) - len(kept)) if kept else (False, "", 0)
        )


def whole(text: str) -> str:
    """A text with U+FFFD for each half of a surrogate pair."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _refuse(word: str) -> Any:
    raise ValueError(word)


def _member(value: Any) -> Any:
    return (
        whole(value) if type(value) is str else [_member(item) for item in value] if isinstance(value, list) else value
    )


def read(text: str) -> Any:
    """The value of a text; raises ``ValueError`` if it is no JSON."""
    value = json.loads(
        text,
        parse_int=Number,
        parse_float=Number,
        parse_constant=_refuse,
        object_pairs_hook=lambda pairs: {whole(key): _member(value) for key, value in pairs},
    )
    return _member(value)


def is_json(text: str) -> bool:
    """Whether a text is JSON."""
    try:
        read(text)
    except ValueError:
        return False
    return True


def json_valid(answer: str | None) -> float | None:
    """1 for JSON, else 0."""
    return None if answer is None else float(is_json(answer))


def rule_at(path: tuple[Any, ...], fields: Mapping[tuple[Any, ...], Field]) -> Any:
    """The rule of the longest path that leads to this one, with None for any item; MISSING without one."""
    steps = tuple(None if isinstance(step, int) else step for step in path)
    return next((fields[steps[:n]] for n in range(len(steps), -1, -1) if steps[:n] in fields), MISSING)


def canonical(value: Any, path: tuple[Any, ...], fields: Mapping[tuple[Any, ...], Field]) -> Any:
    """What equal values have in common, whatever the order of members and items."""
    if isinstance(value, dict):
        kept = {key: (*path, key) for key in value if rule_at((*path, key), fields) is not None}
        return "object", frozenset((key, canonical(value[key], inner, fields)) for key, inner in kept.items())
    if isinstance(value, list):
        if rule_at((*path, 0), fields) is None:
            return "list", frozenset()
        return "list", frozenset(Counter(canonical(item, (*path, 0), fields) for item in value).items())
    return ("number", value.decimal) if isinstance(value, Number) else (type(value).__name__, value)


def aligned(value: Any, other: Any, path: tuple[Any, ...], fields: Mapping[tuple[Any, ...], Field]) -> Any:
    """A value whose lists have the order of another one's: equal items at their places, the rest one after another."""
    if isinstance(value, dict):
        members = other if isinstance(other, dict) else {}
        return {key: aligned(value[key], members.get(key), (*path, key), fields) for key in value}
    if not isinstance(value, list):
        return value
    others = other if isinstance(other, list) else []
    free: dict[Any, list[int]] = {}
    for place, item in enumerate(others):
        free.setdefault(canonical(item, (*path, 0), fields), []).append(place)
    places: list[int | None] = []
    for item in value:
        equal = free.get(canonical(item, (*path, 0), fields))
        places.append(equal.pop(0) if equal else None)
    left = iter([place for place in range(len(others) + len(value)) if place not in places])
    taken = [next(left) if place is None else place for place in places]
    items = {
        place: aligned(item, others[place] if place < len(others) else None, (*path, 0), fields)
        for place, item in zip(taken, value, strict=True)
    }
    return items or []


def leaves(value: Any, path: tuple[Any, ...], fields: Mapping[tuple[Any, ...], Field]) -> Iterator[tuple[Any, Any]]:
    """The paths with their values, without those that are ignored."""
    if rule_at(path, fields) is None:
        return
    inner = [*(value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ())]
    if not inner:
        yield path, value
    for step, item in inner:
        yield from leaves(item, (*path, step), fields)


def same(value: Any, other: Any) -> bool:
    """Whether two values without fields are equal."""
    if isinstance(value, Number) and isinstance(other, Number):
        return value.decimal == other.decimal
    return type(value) is type(other) and value == other


def text_of(value: Any) -> str | None:
    """The text of a value that a metric compares."""
    return (
        {True: "true", False: "false"}[value] if isinstance(value, bool) else value if isinstance(value, str) else None
    )


def equality(value: Any, other: Any, rule: Any, absolute: float, relative: float) -> float:
    """How equal two values at the same path are."""
    texts = text_of(value), text_of(other)
    if rule is not MISSING:
        if texts[0] is None or texts[1] is None:
            return float(same(value, other))
        score: float = rule(*texts)
        return float(type(value) is type(other) and value == other) if math.isnan(score) else score
    if isinstance(value, Number) and isinstance(other, Number) and (absolute or relative) and not same(value, other):
        stated, wanted = float(value), float(other)
        return float(abs(stated - wanted) <= max(absolute, relative * abs(wanted)))
    return float(same(value, other))


def counted(
    answer: str,
    reference: str,
    fields: Mapping[tuple[Any, ...], Field] | None = None,
    lists: str = "ordered",
    absolute: float = 0.0,
    relative: float = 0.0,
) -> tuple[float, int, int, int] | None:
    """Equal fields, those of the answer, those of the reference, and paths of both; None if the answer is no JSON."""
    fields = fields or {}
    wanted = read(reference)
    if not is_json(answer):
        return None
    stated = read(answer)
    if lists == "any":
        stated = aligned(stated, wanted, (), fields)
    ours, theirs = (dict(leaves(value, (), fields)) for value in (stated, wanted))
    both = [path for path in ours if path in theirs]
    equal = [equality(ours[path], theirs[path], rule_at(path, fields), absolute, relative) for path in both]
    return math.fsum(equal), len(ours), len(theirs), len(both)


def json_match(
    answer: str | None, references: list[str | None] | None, *, strict: bool = False, extra: bool = True, **options: Any
) -> float | None:
    """The share of equal fields, or whether all are; of several references the best score counts."""

    def of(reference: str) -> float:
        if not is_json(reference):
            return math.nan
        counts = counted(answer or "", reference, **options)
        if counts is None:
            return 0.0
        equal, n, m, both = counts
        size = n + m - both if extra else m
        return math.nan if not size else float(equal == size) if strict else equal / size

    return best(answer, references, of)


def json_f1(answer: str | None, references: list[str | None] | None, **options: Any) -> float | None:
    """2 · equal / (n + m)."""

    def of(reference: str) -> float:
        if not is_json(reference):
            return math.nan
        counts = counted(answer or "", reference, **options)
        if counts is None:
            return 0.0
        equal, n, m, _ = counts
        return 2 * equal / (n + m) if n + m else math.nan

    return best(answer, references, of)


def best(answer: str | None, references: list[str | None] | None, of: Callable[[str], float]) -> float | None:
    """The highest score of the references that have one."""
    texts = [text for text in references or [] if text is not None]
    if answer is None or not texts:
        return None
    scores = [score for score in map(of, texts) if not math.isnan(score)]
    return max(scores) if scores else math.nan


# Code.


_TOKEN = {
    "sql": re.compile(
        r"(?s)/\*.*?(?:\*/|\Z)|--[^\n]*|'[^']*(?:'|\Z)|\"[^\"]*(?:\"|\Z)|`[^`]*(?:`|\Z)|[\w$\x80-\U0010ffff]+|\S"
    ),
    "c": re.compile(
        r"(?s)/\*.*?(?:\*/|\Z)|//[^\n]*|'(?:\\.|[^'\\])*(?:'|\\?\Z)|\"(?:\\.|[^\"\\])*(?:\"|\\?\Z)|`(?:\\.|[^`\\])*(?:`|\\?\Z)"
        r"|[\w$\x80-\U0010ffff]+|\S"
    ),
}


def tokens(code: str, language: str) -> list[str]:
    """The tokens of SQL or of a language like C."""
    found = [
        token
        for token in _TOKEN[language].findall(code)
        if token[:2] not in ("/*", "--" if language == "sql" else "//")
    ]
    if language == "sql":
        found = [
            token if token[0] in "'\"`" else re.sub("[A-Z]+", lambda capitals: capitals[0].lower(), token)
            for token in found
        ]
        while found and found[-1] == ";":
            found.pop()
    return found


def sql_match(answer: str | None, references: list[str | None] | None) -> float | None:
    """1 if the tokens are equal."""
    return best(answer, references, lambda text: float(tokens(answer or "", "sql") == tokens(text, "sql")))


def python_tokens(code: str) -> list[str]:
    """The tokens of Python that the module ``tokenize`` finds, with the names of those for lines and indentation."""
    kept = []
    for token in tokenize.generate_tokens(io.StringIO(code).readline):
        if token.type in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT):
            kept.append(tokenize.tok_name[token.type])
        elif token.type not in (tokenize.COMMENT, tokenize.NL, tokenize.ENDMARKER):
            kept.append(token.string)
    return kept


def code_match(answer: str | None, references: list[str | None] | None) -> float | None:
    """1 if the tokens of Python are equal."""
    return best(answer, references, lambda text: float(python_tokens(answer or "") == python_tokens(text)))
