"""The forms of replies, by the kind of rubric: a score, a decision, a preference, or a list of claims."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from fastmetrics.derive.replies.reply_parsing import grade_of


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


def _one_of(scores: Mapping[Any, float], value: Any) -> float | None:
    word = value.strip().lower() if isinstance(value, str) else value
    return scores.get(word) if isinstance(word, str | bool) else None


_CLAIM = {
    "type": "object",
    "properties": {"claim": {"type": "string"}, "supported": {"type": "boolean"}},
    "required": ["claim", "supported"],
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
}
"""The form of the reply for each kind of rubric."""
