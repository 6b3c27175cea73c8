"""The first replies of a judge: a run stops early if none of them has a score."""

from __future__ import annotations

import threading

from fastmetrics.base.errors import Argument, ServiceError
from fastmetrics.derive.calls.call import Model
from fastmetrics.derive.replies.reply_parsing import OK, TRUNCATED, UNPARSED, Reading

_SHOWN = 300
_WITHOUT_SCORE = (UNPARSED, TRUNCATED)


class FirstReplies:
    """Counts the first replies of a model that have no score, up to ``most``; 0 is no limit.

    A judge that never replies in the requested form would fail on every row, and every reply costs money.  While
    ``undecided``, the caller holds ``turn`` and makes at most ``left`` judgements at a time.
    """

    def __init__(self, model: Model, most: int) -> None:
        self._model = model
        self._most = most
        self._replies: dict[bytes, int] = {}
        self._shown: Reading | None = None
        self._failure: ServiceError | None = None
        self.undecided = most > 0
        self.turn = threading.Lock()

    @property
    def left(self) -> int:
        """The number of judgements to make next, each of which may take a second request."""
        if self._failure is not None:
            raise self._failure
        return max(1, (self._most - sum(self._replies.values())) // 2)

    def add(self, key: bytes, reading: Reading, replies: int) -> None:
        """Record a judgement, by the key of its call, and its number of replies.

        A score ends the count.  Calls without a reply and refusals do not count: they say nothing about other rows.
        Raises ``ServiceError`` at the last of the replies without a score.
        """
        if reading.status == OK:
            self.undecided = False
        elif self.undecided and reading.status in _WITHOUT_SCORE:
            self._replies[key] = replies
            self._shown = self._shown or reading
            if sum(self._replies.values()) >= self._most:
                self._failure = ServiceError(*self._message(self._shown))
                raise self._failure

    def _message(self, reading: Reading) -> tuple[object, ...]:
        cut = ", cut at the token limit," if reading.status == TRUNCATED else ""
        text = (reading.text or "").strip()[:_SHOWN]
        count = sum(self._replies.values())
        return (
            f"{self._model.endpoint}: none of the first {count:,} replies of {self._model.name!r} has a score; "
            f"one of them{cut} is {text!r}. Try another model, another rubric or other ",
            Argument("parameters"),
            ". These replies are stored: the same run does not pay for them again. To judge the other rows all the "
            "same, use ",
            Argument("max_unparsed", 0),
        )
