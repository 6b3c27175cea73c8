"""A judge's opinion on every row of a table: ``judge`` in memory, and the summary of what it said."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from fastmetrics.core.batch_sizes import SIZES
from fastmetrics.core.column_kinds import check
from fastmetrics.core.corpus_counts import METADATA, add_counts
from fastmetrics.core.frames import open_frame, with_index
from fastmetrics.core.name_lists import listed
from fastmetrics.core.threads import ordered
from fastmetrics.derive.call_store import CallStore
from fastmetrics.derive.judge_maker import JudgeMaker
from fastmetrics.derive.judge_plan import plan_judging
from fastmetrics.derive.judge_settings import JudgeSettings
from fastmetrics.derive.judged_counts import conclude, observe
from fastmetrics.derive.row_sample import sampled
from fastmetrics.derive.rubric import Rubric
from fastmetrics.tables.chunks import batch_of
from fastmetrics.tables.output.encoders import undefined_as_null

BEHIND = 3
"""Batches under way: while the last calls of one are waited for, the next ones fill the window."""


def judge(
    table: Any,
    rubrics: str | Path | Rubric | Sequence[str | Path | Rubric],
    *,
    model: str,
    base_url: str | None = None,
    endpoint: str | None = None,
    language: str = "en",
    parameters: Mapping[str, Any] | None = None,
    repeats: int = 1,
    structured: bool = True,
    max_chars: int = 400_000,
    columns: Mapping[str, str] | None = None,
    schema: str | None = None,
    keep: Sequence[str] | str = (),
    keep_replies: bool = False,
    times: bool = False,
    sample: int | None = None,
    seed: int = 1,
    store: str | os.PathLike[str] | None = None,
    retry: Sequence[str] | str = (),
    concurrency: int = 16,
    rpm: float | None = None,
    tpm: float | None = None,
    timeout: float = 60.0,
    tries: int = 5,
    max_calls: int | None = None,
    max_cost: float | None = None,
    prices: Mapping[str, Any] | str | os.PathLike[str] | None = None,
) -> pa.Table:
    """Ask a model for its opinion on every row of ``table``, which is anything that ``score`` takes.

    ``rubrics`` are names of this package's (relevance, faithfulness, safety, robustness, correctness: 1 to 5;
    answer_relevance, e2e: 0 to 1), in a ``language``, or files ending in .toml that have the same form.  ``model`` is
    asked at ``base_url``, an address that speaks OpenAI's protocol of chat completions (by default what the
    environment variable OPENAI_BASE_URL says, or OpenAI's own), with the key in OPENAI_API_KEY.

    Returns the ``id``, the columns in ``keep`` and for each rubric X the columns ``judge_X`` (float64), ``_reason``,
    ``_status``, ``_repairs``, ``_prompt_tokens`` and ``_completion_tokens``.  A row without a score is null, never 0;
    its status says why: ``unparsed`` (also a score outside of the range), ``truncated``, ``refused``, ``http``,
    ``timeout``, ``budget``, ``missing`` (an input is null) or ``too_long`` (a question of more than ``max_chars``
    characters), and its reason says more.  ``keep_replies`` adds ``_reply`` and ``_trace``, the model's reasoning;
    ``times`` adds ``_latency_ms``.  With ``repeats`` the score is the mean of those that there are, and ``_scores``
    and ``_statuses`` list them.

    Every reply is kept in ``store``, a file of SQLite (by default in the user's cache), under a hash of the model, the
    ``endpoint`` (by default host and path of the address), the ``parameters`` (a temperature of 0 unless given), the
    messages and the number of the repeat.  What is there is not asked again, but for the statuses in ``retry``
    (unparsed, truncated, refused); failures on the way are asked again by the next run.  Equal questions are asked
    once.

    At most ``concurrency`` calls are under way; a refusal for too many requests halves that, replies raise it again.
    ``rpm`` and ``tpm`` are requests and tokens a minute.  A call is tried ``tries`` times, each time for ``timeout``
    seconds at most.  After ``max_calls`` requests, or when ``max_cost`` by the table of ``prices`` (``{model:
    {"input": …, "output": …}}`` for a million tokens, or a file of it) might be exceeded, the other rows get the status
    ``budget``.  ``sample`` takes so many rows, drawn with ``seed``.

    >>> import tempfile, fastmetrics as fm
    >>> table = {"id": [1], "question": ["Capital of France?"], "answer": ["Paris"]}
    >>> store = f"{tempfile.mkdtemp()}/calls.sqlite"
    >>> judged = fm.judge(table, "safety", model="m", base_url="http://localhost:1/v1", store=store, max_calls=0)
    >>> judged.select(["id", "judge_safety", "judge_safety_status"]).to_pylist()
    [{'id': 1, 'judge_safety': None, 'judge_safety_status': 'budget'}]

    Raises ``ServiceError`` where the server refuses or fails call after call (what came is in the store),
    ``ColumnError`` for a placeholder of a rubric without a column, ``FileFormatError`` for a file that is no rubric,
    ``OptionError`` for a setting that cannot be, ``MissingExtraError`` where the package ``openai`` is not installed.
    """
    settings = JudgeSettings(
        rubrics=rubrics,
        model=model,
        base_url=base_url,
        endpoint=endpoint,
        language=language,
        parameters=parameters,
        repeats=repeats,
        structured=structured,
        max_chars=max_chars,
        store=store,
        retry=retry,
        concurrency=concurrency,
        rpm=rpm,
        tpm=tpm,
        timeout=timeout,
        tries=tries,
        max_calls=max_calls,
        max_cost=max_cost,
        prices=prices,
        keep_replies=keep_replies,
    )
    frame = open_frame(table)
    names = list(dict.fromkeys(frame.names))
    drawn = {} if sample is None else {"rows": sample, "seed": seed}
    plan = plan_judging(names, settings, columns, schema, listed(keep), times=times, sample=drawn)
    schema_of, pieces = frame.read(list(plan.kinds))
    for name, kind in plan.kinds.items():
        check("", name, kind, schema_of.field(name).type)
    held = pa.concat_tables(pieces, promote_options="permissive")
    if sample is not None:
        held = sampled(held, sample, seed)
    with CallStore(settings.store_path) as calls, settings.window(calls, settings.budget()) as window:
        maker = JudgeMaker(plan, window)
        made = [maker(batch_of(held.schema)), *ordered(maker, _batches(held), BEHIND)]
    whole = pa.concat_tables([pa.Table.from_batches([one]).replace_schema_metadata() for one in made])
    observed = observe(plan.axes, whole.combine_chunks(), add_counts(made))
    judged = pa.Table.from_batches([undefined_as_null(one, set(plan.keep)) for one in whole.to_batches()], whole.schema)
    said = {**plan.signature, **conclude(plan.axes, [observed], 0)}
    if frame.index is not None and sample is None:
        judged = with_index(judged, frame.index)
    return judged.replace_schema_metadata({**(judged.schema.metadata or {}), METADATA: json.dumps(said)})


def _batches(table: pa.Table) -> Iterator[pa.RecordBatch]:
    yield from (batch for batch in table.to_batches(max_chunksize=SIZES.asked_rows) if batch.num_rows)
