"""Estimating the calls and cost of a judge or a bot without sending anything."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import pyarrow as pa

from fastmetrics.core.batch_sizes import SIZES
from fastmetrics.core.prices import REPLY_TOKENS
from fastmetrics.derive.answer_maker import AnswerMaker, Bot, plan_answering
from fastmetrics.derive.budget import tokens_of
from fastmetrics.derive.call import REPLY, Call
from fastmetrics.derive.call_settings import CallSettings
from fastmetrics.derive.call_store import CallStore
from fastmetrics.derive.full_context_bot import FullContextBot
from fastmetrics.derive.judge_files import Paths, drawn
from fastmetrics.derive.judge_maker import JudgeMaker
from fastmetrics.derive.judge_plan import plan_judging
from fastmetrics.derive.judge_settings import JudgeSettings
from fastmetrics.errors import FileFormatError, OptionError
from fastmetrics.tables import Source, open_source
from fastmetrics.tables.chunks import Limits, cut


@dataclass(frozen=True)
class Estimate:
    """The estimate: rows, calls not yet stored, stored calls, tokens, and the cost.

    Tokens are estimated: four bytes per prompt token, and about 120 tokens per reply.  The cost is None without prices.
    """

    rows: int
    calls: int
    known: int
    prompt_tokens: int
    completion_tokens: int
    cost: float | None

    def __str__(self) -> str:
        cost = (
            "cost unknown: no prices given"
            if self.cost is None
            else f"estimated cost {self.cost:,.4g} by the table of prices"
        )
        return (
            f"{self.rows:,} rows: {self.calls:,} calls to make, {self.known:,} already stored\n"
            f"about {self.prompt_tokens:,} prompt tokens and {self.completion_tokens:,} completion tokens; {cost}"
        )


def estimate_judging(
    inputs: Paths,
    settings: JudgeSettings,
    *,
    columns: Mapping[str, str] | None = None,
    schema: str | None = None,
    sample: int | None = None,
    seed: int = 1,
    format: str | None = None,
    max_row_bytes: int | None = None,
) -> Estimate:
    """The calls that :func:`judge_files` would make with the same arguments; reads all rows and sends nothing.

    Retries and follow-up questions after unreadable replies are not included.

    >>> import tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "rows.jsonl").write_text('{"question": "Capital of France?", "answer": "Paris"}')
    >>> settings = JudgeSettings("safety", "m", store=folder / "calls.sqlite")
    >>> print(estimate_judging(folder / "rows.jsonl", settings))  # doctest: +ELLIPSIS
    1 rows: 1 calls to make, 0 already stored
    about ... prompt tokens and 120 completion tokens; cost unknown: no prices given

    Raises the errors of opening and reading the files, and ``ColumnError`` for a placeholder without a column.
    """
    source, sampling = drawn(open_source(inputs, format, max_row_bytes), sample, seed)
    plan = plan_judging(source.schema.names, settings, columns, schema, sample=sampling)
    kinds = {yours: kind for yours, kind in plan.kinds.items() if yours in plan.columns.values()}
    return _estimated(source, kinds, JudgeMaker(plan).calls, settings)


def estimate_answering(
    inputs: Paths,
    bot: Bot,
    *,
    columns: Mapping[str, str] | None = None,
    sample: int | None = None,
    seed: int = 1,
    format: str | None = None,
    max_row_bytes: int | None = None,
) -> Estimate:
    """The calls that :func:`answer_files` would make, as in :func:`estimate_judging`.

    Raises ``OptionError`` for a bot without a model, and ``InputError`` for a prompt that is too long for the model.
    """
    if not isinstance(bot, FullContextBot):
        raise OptionError("only the calls of the full-context bot can be estimated")
    source, _ = drawn(open_source(inputs, format, max_row_bytes), sample, seed)
    maker = AnswerMaker(plan_answering(source.schema.names, bot, columns=columns, keep=()))
    return _estimated(source, {maker.question: "text"}, maker.checked_calls, bot)


def _estimated(
    source: Source,
    kinds: Mapping[str, str],
    calls_of: Callable[[pa.RecordBatch], Iterable[Call]],
    settings: CallSettings,
) -> Estimate:
    """The calls of all rows, stored calls separately."""
    selection = source.select(kinds)
    rows = known = tokens = 0
    seen: set[bytes] = set()
    with CallStore(settings.store_path) as store:
        for _, chunk in cut(source.chunks(selection), Limits(batch_rows=SIZES.asked_rows)):
            if chunk.rejects:
                raise FileFormatError(str(chunk.rejects[0]))
            if not len(chunk.rows):
                continue
            rows += len(chunk.rows)
            calls = {call.key: call for call in calls_of(source.conform(chunk, selection)) if call.key not in seen}
            seen |= set(calls)
            held = {key for key, answer in store.find(list(calls)).items() if answer.outcome == REPLY}
            known += len(held)
            tokens += sum(tokens_of(call) for key, call in calls.items() if key not in held)
    calls_left = len(seen) - known
    written = calls_left * REPLY_TOKENS
    cost = None if settings.price is None else settings.price.cost(tokens, written)
    return Estimate(rows, calls_left, known, tokens, written, cost)
