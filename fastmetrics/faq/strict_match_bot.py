"""A baseline bot that returns the answer of the most similar FAQ row (the QA framework)."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import pyarrow as pa

from fastmetrics.base.arrow import check_type
from fastmetrics.base.columns import as_array
from fastmetrics.base.errors import ColumnError, InputError
from fastmetrics.base.input_columns import resolve
from fastmetrics.faq.matcher import Matcher


@dataclass(frozen=True)
class FaqReply:
    """The answer of a bot, the similarity and number of its FAQ row, and the latency of the question."""

    answer: str | None
    score: float
    index: int
    latency_ms: float


class StrictMatchBot:
    """A bot that returns the answer of the FAQ row with the highest ``token_cosine``; ties go to the first row.

    ``faq`` is an Arrow table, a pandas or Polars frame, or a dict of columns, with a ``question`` and an ``answer``
    column (or an alias; ``columns={canonical: yours}`` maps other names).  The bot is thread-safe.

    >>> faq = {"question": ["Where is my card?", "How do I pay?"], "answer": ["In the mail.", "Online."]}
    >>> bot = StrictMatchBot(faq)
    >>> bot.answer("how can I pay").answer
    'Online.'

    Raises ``ColumnError`` if a column is missing, ``InputError`` for an empty FAQ.

    Source: the QA framework, strict semantic match.
    """

    name = "strict match"
    reads = ("question",)
    returns = ()
    settings: Mapping[str, Any] = MappingProxyType({"bot": "strict match"})

    def __init__(self, faq: Any, *, columns: Mapping[str, str] | None = None) -> None:
        if not hasattr(faq, "keys") and not hasattr(faq, "columns"):
            raise ColumnError(f"faq: expected a table, got {type(faq).__name__}")
        names = (
            list(faq.column_names) if isinstance(faq, pa.Table | pa.RecordBatch) else list(getattr(faq, "columns", faq))
        )
        mapping = resolve([str(name) for name in names], columns, needed={"question", "answer"})
        for needed in ("question", "answer"):
            if needed not in mapping:
                raise ColumnError(f"faq: needs the column {needed!r}; it has: {', '.join(map(repr, names)) or 'none'}")
        questions, answers = (as_array(faq[mapping[name]], name) for name in ("question", "answer"))
        if len(questions) != len(answers):
            raise InputError(f"faq: {len(questions)} questions and {len(answers)} answers")
        check_type("", mapping["question"], "text", questions.type)
        self._matcher = Matcher(questions)
        self._matcher.match([""], threads=1)  # compiles the kernels, whose time would count as the first latency
        self._answers = answers

    def use_of(self, column: str) -> str:
        """Where a column is named, for messages."""
        return f"the column {column!r} of the bot {self.name!r}"

    def answer(self, question: str | None) -> FaqReply:
        """The answer for one question, none (``index`` −1) for None; ``latency_ms`` is the time of this call."""
        began = time.perf_counter()
        match = self._matcher.match([question], threads=1)
        row = int(match.index[0, 0])
        reply = self._answers[row].as_py() if row >= 0 else None
        return FaqReply(reply, float(match.score[0, 0]), row, 1000 * (time.perf_counter() - began))

    def answer_all(self, questions: Any, *, threads: int | None = None) -> pa.Table:
        """The answers for a column of questions: columns answer, score, index.

        A null question has no answer.  All questions are matched together, so none has a latency of its own:
        :func:`fastmetrics.answer` answers them one by one and measures each.
        """
        match = self._matcher.match(questions, threads=threads)
        rows = pa.array(match.index[:, 0], mask=match.index[:, 0] < 0)
        answers = self._answers.take(rows)
        scores = pa.array(match.score[:, 0], mask=match.index[:, 0] < 0)
        return pa.table({"answer": answers, "score": scores, "index": rows})
