"""Estimating the calls and cost of a judge or a bot without sending anything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fastmetrics.base.display import row_count
from fastmetrics.base.errors import OptionError
from fastmetrics.base.limits import SIZES
from fastmetrics.metrics.prices import REPLY_TOKENS
from fastmetrics.models.answer import AnswerMaker, check_prompts, plan_answering
from fastmetrics.models.bots import Bot
from fastmetrics.models.call_sender import tokens_of
from fastmetrics.models.call_setup import CallSettings
from fastmetrics.models.call_store import CallStore
from fastmetrics.models.calls import BUDGET, REPLY, Answer, Call
from fastmetrics.models.judge_batch import JudgementMaker, JudgeSettings, plan_judging
from fastmetrics.models.judged_tables import described, open_answers, sampled
from fastmetrics.tables.good_rows import good_batches
from fastmetrics.tables.input_files import FileSettings, file_settings
from fastmetrics.tables.opening import open_table
from fastmetrics.tables.readers import Limits
from fastmetrics.tables.sources import TableSource


@dataclass(frozen=True)
class CallsEstimate:
    """The estimate: rows, calls to make, stored calls, tokens, and the cost.

    Each call counts once, however many rows share it.  Tokens are estimated: four bytes per prompt token, and about 120
    tokens per reply.  The cost is None without prices.
    """

    rows: int
    calls: int
    stored_calls: int
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
            f"{row_count(self.rows)}: {self.calls:,} calls to make, {self.stored_calls:,} already stored\n"
            f"about {self.prompt_tokens:,} prompt tokens and {self.completion_tokens:,} completion tokens; {cost}"
        )


def estimate_judging(
    table: Any,
    settings: JudgeSettings,
    *,
    columns: Mapping[str, str] | None = None,
    schema: str | None = None,
    lists: Sequence[str] | str = (),
    pairwise: bool = False,
    sample: int | None = None,
    seed: int = 0,
    files: FileSettings | None = None,
) -> CallsEstimate:
    """The calls that :func:`judge` would make with the same arguments; reads all rows and sends nothing.

    Attempts after a failure are not included, nor second requests after replies that are still to come.

    >>> import tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "rows.jsonl").write_text('{"question": "Capital of France?", "answer": "Paris"}')
    >>> settings = JudgeSettings("safety", "m", store=folder / "calls.sqlite")
    >>> print(estimate_judging(folder / "rows.jsonl", settings))  # doctest: +ELLIPSIS
    1 row: 1 calls to make, 0 already stored
    about ... prompt tokens and 120 completion tokens; cost unknown: no prices given

    Raises the errors of opening and reading the table, and ``ColumnError`` for a placeholder without a column.
    """
    settings, sampling = replace(settings, max_unparsed=0), described(sample, seed)
    source, _ = open_answers(table, pairwise, settings.loaded_rubrics, columns, schema, file_settings(files))
    plan = plan_judging(source.names, settings, columns, schema, sample=sampling, lists=lists)
    plan = replace(plan, keep=(), identity={})
    source = sampled(source, plan.columns, sample, seed)
    return _estimated(source, plan, settings)


def estimate_answering(
    table: Any,
    bot: Bot,
    *,
    columns: Mapping[str, str] | None = None,
    repeats: int = 1,
    retry: Sequence[str] | str = (),
    sample: int | None = None,
    seed: int = 0,
    files: FileSettings | None = None,
) -> CallsEstimate:
    """The calls that :func:`answer` would make, as in :func:`estimate_judging`.

    Raises ``OptionError`` for a bot without a model, and ``InputError`` for a prompt that is too long for the model.
    """
    if not isinstance(bot, CallSettings):
        raise OptionError("only the calls of a model can be estimated: this bot has none")
    source = open_table(table, file_settings(files))
    plan = plan_answering(source.names, bot, columns=columns, keep=(), repeats=repeats, retry=retry)
    source = sampled(source, plan.columns, sample, seed)

    check_prompts(source, plan)
    return _estimated(source, plan, bot)


class _CallsToMake:
    """Takes the place of a sender: stored replies are returned, and the other calls are recorded instead of made."""

    def __init__(self, store: CallStore) -> None:
        self._store = store
        self.missing: dict[bytes, int] = {}
        """The tokens of each call to make."""
        self.stored: set[bytes] = set()

    def is_old(self, answer: Answer) -> bool:
        """Whether an answer is stored: this run stores none."""
        return answer.outcome == REPLY

    def ask(self, calls: Sequence[Call], *, again: bool = False) -> list[Answer]:
        """The stored replies; without one, or ``again``, an answer that was not paid for."""
        stored_calls = {} if again else self._store.find([call.key for call in calls])
        replies = {key: answer for key, answer in stored_calls.items() if answer.outcome == REPLY}
        new = {call.key: call for call in calls if call.key not in replies and call.key not in self.missing}
        self.missing |= {key: tokens_of(call) for key, call in new.items()}
        self.stored |= replies.keys()
        return [replies.get(call.key, Answer(BUDGET, "")) for call in calls]


def _estimated(source: TableSource, plan: AnswerMaker | JudgementMaker, settings: CallSettings) -> CallsEstimate:
    """The calls of all rows, by the code that would make them, stored calls separately."""
    selection = source.select(plan.columns)
    rows = 0
    with CallStore(settings.store_path) as store:
        calls = _CallsToMake(store)
        make = replace(plan, sender=calls)
        for batch in good_batches(source, selection, limits=Limits(batch_rows=SIZES.call_rows)):
            rows += batch.num_rows
            make(batch)
    prompt_tokens = sum(calls.missing.values())
    written = len(calls.missing) * REPLY_TOKENS
    cost = None if settings.price is None else settings.price.cost(prompt_tokens, written)
    return CallsEstimate(
        rows, len(calls.missing), len(calls.stored - calls.missing.keys()), prompt_tokens, written, cost
    )
