"""Judging every row of a table with a model: ``judge`` in memory, and the summary of the results."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from fastmetrics.core.arrays import Ints
from fastmetrics.core.batch_sizes import SIZES
from fastmetrics.core.column_kinds import check
from fastmetrics.core.corpus_counts import METADATA, add_counts
from fastmetrics.core.frames import open_frame, with_index
from fastmetrics.core.name_lists import listed
from fastmetrics.core.threads import ordered
from fastmetrics.derive.call_settings import LONGEST_REPLY_BYTES
from fastmetrics.derive.call_store import CallStore
from fastmetrics.derive.judge_maker import ASKED, BEHIND, JudgeMaker
from fastmetrics.derive.judge_plan import plan_judging
from fastmetrics.derive.judge_settings import JudgeSettings
from fastmetrics.derive.judge_until import Until, judge_until
from fastmetrics.derive.judged_counts import conclude, observe
from fastmetrics.derive.row_sample import sampled
from fastmetrics.derive.rubric import Rubric
from fastmetrics.tables.chunks import batch_of
from fastmetrics.tables.output.encoders import undefined_as_null


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
    lists: Sequence[str] | str = (),
    keep_replies: bool = False,
    times: bool = False,
    sample: int | None = None,
    seed: int = 1,
    until: str | None = None,
    baseline: Any = None,
    store: str | os.PathLike[str] | None = None,
    retry: Sequence[str] | str = (),
    concurrency: int = 16,
    rpm: float | None = None,
    tpm: float | None = None,
    timeout: float = 60.0,
    tries: int = 5,
    max_reply_bytes: int = LONGEST_REPLY_BYTES,
    max_calls: int | None = None,
    max_cost: float | None = None,
    max_unparsed: int = 20,
    prices: Mapping[str, Any] | str | os.PathLike[str] | None = None,
) -> pa.Table:
    """Let a model rate every row of ``table``, which may be any table that ``score`` accepts.

    ``rubrics`` are names of built-in rubrics (relevance, faithfulness, safety, robustness, correctness: 1 to 5;
    answer_relevance, answer_faithfulness, e2e: 0 to 1), in a ``language``, or .toml files of the same format.
    ``model`` is called at ``base_url``, an address with an OpenAI-compatible chat completions API (by default the
    environment variable OPENAI_BASE_URL, or OpenAI's own), with the key in OPENAI_API_KEY.

    Returns the ``id``, the columns in ``keep`` and for each rubric X the columns ``judge_X`` (float64), ``_reason``,
    ``_status``, ``_repairs``, ``_prompt_tokens``, ``_completion_tokens`` and ``_call`` (equal in rows that share their
    calls).  A row without a score is null, never 0.  Its status is ``unparsed`` (also for a score outside the range),
    ``truncated``, ``refused``, ``http``, ``timeout``, ``budget``, ``missing`` (an input is null) or ``too_long`` (a
    prompt of more than ``max_chars`` characters); its reason gives details.  A comparison of identical answers is a tie
    without a call, with the status ``identical``.  ``keep_replies`` adds ``_reply`` and ``_trace``, the model's
    reasoning; ``times`` adds ``_latency_ms``, the milliseconds of one judgement.  With ``repeats``, score and latency
    are means over the repeats that have one, and ``_scores``, ``_statuses`` and ``_latencies_ms`` list all repeats.

    Every reply is stored in ``store``, an SQLite file (by default in the user's cache), under a hash of the model, the
    ``endpoint`` (by default host and path of the address), the ``parameters`` (by default a temperature of 0), the
    messages and the number of the repeat.  Stored calls are not repeated, except for the statuses in ``retry``
    (unparsed, truncated, refused); the next run repeats transient failures.  Identical prompts are sent once.

    ``concurrency`` limits the concurrent calls; a refusal for too many requests halves the limit, and replies raise it
    again.  ``rpm`` and ``tpm`` limit requests and tokens per minute.  A call has at most ``tries`` attempts of at most
    ``timeout`` seconds each, and a reply of more than ``max_reply_bytes`` bytes gives the status ``http``.  After
    ``max_calls`` requests, or when ``max_cost`` by the table of ``prices`` (``{model: {"input": …, "output": …}}`` per
    million tokens, or a file of it) might be exceeded, the remaining rows get the status ``budget``.  A call counts
    with its highest possible cost until it returns: one token per byte of the prompt, and a reply of
    ``parameters["max_tokens"]`` tokens, or 4,096.  A run stops if none of its first ``max_unparsed`` replies has a
    score (0: never), because all others would probably cost money for nothing; the error shows a reply.  ``sample``
    judges a random sample of that size, drawn with ``seed``.  ``lists`` is that of ``score``.

    ``until`` ends judging, and paying, once the answer is known: ``"correctness.delta.low > 0 or width < 0.02"``.  It
    compares ``n``, ``mean``, ``low``, ``high`` and ``width`` of a rubric's mean score (of all rubrics without a name)
    and of its change ``delta`` against the ``baseline``, an earlier judged file or table with the same ids; ``and``
    binds before ``or``.  Rows are judged in random order, drawn with ``seed``, so that those judged represent all; the
    result has the order of the table, and the other rows the status ``unasked`` and no score.  The intervals are
    confidence sequences, of 95 % together however often one looks, so stopping on them is valid.

    >>> import tempfile, fastmetrics as fm
    >>> table = {"id": [1], "question": ["Capital of France?"], "answer": ["Paris"]}
    >>> store = f"{tempfile.mkdtemp()}/calls.sqlite"
    >>> judged = fm.judge(table, "safety", model="m", base_url="http://localhost:1/v1", store=store, max_calls=0)
    >>> judged.select(["id", "judge_safety", "judge_safety_status"]).to_pylist()
    [{'id': 1, 'judge_safety': None, 'judge_safety_status': 'budget'}]

    Raises ``ServiceError`` if the server refuses calls or fails repeatedly, or if no first reply has a score (received
    replies are in the store), ``ColumnError`` for a rubric placeholder without a column, ``FileFormatError`` for a file
    that is not a rubric, ``OptionError`` for an invalid setting, ``MissingExtraError`` if the package ``openai`` is not
    installed.
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
        max_reply_bytes=max_reply_bytes,
        max_calls=max_calls,
        max_cost=max_cost,
        max_unparsed=max_unparsed,
        prices=prices,
        keep_replies=keep_replies,
    )
    frame = open_frame(table)
    names = list(dict.fromkeys(frame.names))
    drawn = {} if sample is None else {"rows": sample, "seed": seed}
    plan = plan_judging(names, settings, columns, schema, listed(keep), times=times, sample=drawn, lists=lists)
    schema_of, pieces = frame.read(list(plan.kinds))
    for name, kind in plan.kinds.items():
        check("", name, kind, schema_of.field(name).type)
    held = pa.concat_tables(pieces, promote_options="permissive")
    if sample is not None:
        held = sampled(held, sample, seed)
    ending = Until.of(plan, until, seed, baseline)
    if ending is not None:
        plan = replace(plan, until=ending.signature)
    budget, ended = settings.budget(), None
    with CallStore(settings.store_path) as calls, settings.window(calls, budget) as window:
        maker = JudgeMaker(plan, window)
        if ending is not None:
            ended, asked = judge_until(
                ending, held.num_rows, partial(_rows_of, held), maker, lambda: budget.spending.ended
            )
            held = held if asked is None else held.append_column(ASKED, pa.array(asked))
        made = [maker(batch_of(held.schema)), *ordered(maker, _batches(held), BEHIND)]
    whole = pa.concat_tables([pa.Table.from_batches([one]).replace_schema_metadata() for one in made])
    observed = observe(plan.axes, whole.combine_chunks(), add_counts(made))
    judged = pa.Table.from_batches([undefined_as_null(one, set(plan.keep)) for one in whole.to_batches()], whole.schema)
    said = {**plan.signature, **conclude(plan.axes, [observed], 0)}
    if ended is not None:
        said["ended_by_until"] = ended.to_json()
    if frame.index is not None and sample is None:
        judged = with_index(judged, frame.index)
    return judged.replace_schema_metadata({**(judged.schema.metadata or {}), METADATA: json.dumps(said)})


def _rows_of(table: pa.Table, numbers: Ints) -> pa.Table:
    return table.take(pa.array(numbers))


def _batches(table: pa.Table) -> Iterator[pa.RecordBatch]:
    yield from (batch for batch in table.to_batches(max_chunksize=SIZES.asked_rows) if batch.num_rows)
