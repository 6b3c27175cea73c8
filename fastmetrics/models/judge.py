"""Judging every row of a table with a model, ``fm.judge``: in memory, or into a score file with a summary."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from fastmetrics.base.errors import Argument, OptionError
from fastmetrics.base.input_columns import kept_columns
from fastmetrics.base.limits import SIZES
from fastmetrics.base.options import LimitedText, Optional, argument
from fastmetrics.base.score_metadata import BatchSums, RowCounts, ScoreMetadata
from fastmetrics.engines.column_maker import ColumnMaker, Progress, RunOptions, RunResult, check_without_output
from fastmetrics.engines.run import Threads, make_columns
from fastmetrics.metrics.notes import column_notes
from fastmetrics.models.call_sender import ModelCalls, Spending
from fastmetrics.models.call_store import CallStore, check_apart
from fastmetrics.models.judge_batch import BEHIND, BatchJudge, JudgePlan, JudgeSettings, plan_judging
from fastmetrics.models.judged_columns import (
    IDENTICAL,
    MISSING,
    SCORED,
    UNSETTLED,
    added,
    counted,
    failed_calls,
    open_calls_output,
    summed,
)
from fastmetrics.models.judged_tables import described, open_answers, sampled, with_row_numbers
from fastmetrics.models.prompts import Rubric
from fastmetrics.results.summary import MetricSummary, Summary, summarize
from fastmetrics.scoring.score import about_run, now
from fastmetrics.stats.summed_scores import fingerprint_text
from fastmetrics.stats.sums import State
from fastmetrics.tables.encoders import undefined_as_null
from fastmetrics.tables.opening import FileSettings
from fastmetrics.tables.protected_inputs import check_not_read
from fastmetrics.tables.table_chunks import Limits

# Counts of judged rows (sums of scores, statuses, repairs, tokens) and their summary.


def observe(axes: Sequence[str], part: pa.RecordBatch | pa.Table) -> dict[str, Any]:
    """The sums of a part's scores, its rows by status, and the sums in its metadata."""
    states = {}
    for axis in axes:
        states[axis] = State()
        states[axis].add(part.column(axis))
    return {
        "scores": {axis: state.to_json() for axis, state in states.items()},
        "judged": {axis: counted(part, axis) for axis in axes},
        **BatchSums.of([part]).to_json(),
    }


def conclude(axes: Sequence[str], observed: Sequence[Mapping[str, Any]], rejected: int) -> ScoreMetadata:
    """The metadata about judged rows: missing and failed rows, statuses and repairs."""
    judged = judged_of(axes, observed)
    metrics = {}
    for axis in axes:
        statuses = judged[axis]["statuses"]
        rows, missing = sum(statuses.values()), statuses.get(MISSING, 0)
        undefined = sum(State.from_json(part["scores"][axis]).n_undefined for part in observed)
        failed = rows - missing - sum(statuses.get(status, 0) for status in SCORED)
        metrics[axis] = RowCounts(rows, missing, undefined, failed)
    sums = BatchSums.added(observed)
    return ScoreMetadata(
        metrics=metrics,
        n_rejected=rejected,
        judged=judged,
        cautions=sums.cautions or None,
        fingerprint={rows: fingerprint_text(of_rows) for rows, of_rows in sums.fingerprint.items()} or None,
    )


def judged_of(axes: Sequence[str], observed: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The counts of each judged column over all parts."""
    return {axis: added([part["judged"][axis] for part in observed]) for axis in axes}


def summary_of(
    axes: Sequence[str],
    observed: Sequence[Mapping[str, Any]],
    rejected: int,
    columns: Mapping[str, str],
    passed_over: Mapping[str, Sequence[str]],
) -> Summary:
    """The summary of judged rows, with notes on rows without scores and repairs."""
    cautions = BatchSums.added(observed).cautions
    metrics, notes = {}, column_notes(cautions)
    for axis, judged in judged_of(axes, observed).items():
        state = State()
        for part in observed:
            state = state.merge(State.from_json(part["scores"][axis]))
        statuses = judged["statuses"]
        state.tell_apart(0, state.n_missing - statuses.get(MISSING, 0))
        state.add_errors(rejected)
        metrics[axis] = MetricSummary.of(state, {})
        notes += _notes(axis, statuses, judged["repairs"])
    rows = sum(judged_of(axes[:1], observed)[axes[0]]["statuses"].values())
    return Summary(rows, metrics, {}, {}, notes, columns, passed_over)


def _notes(axis: str, statuses: Mapping[str, int], repairs: Mapping[str, int]) -> list[str]:
    rows = sum(statuses.values())
    lost = [f"{count:,} {status}" for status, count in statuses.items() if status not in SCORED]
    without = sum(count for status, count in statuses.items() if status not in SCORED)
    repaired = [f"{count:,} {repair}" for repair, count in repairs.items()]
    notes = [f"{axis}: {without:,} of {rows:,} rows without a score: {', '.join(lost)}"] if lost else []
    same = statuses.get(IDENTICAL, 0)
    notes += [f"{axis}: {same:,} of {rows:,} pairs of answers are identical: ties without a call"] if same else []
    return notes + ([f"{axis}: repaired replies: {', '.join(repaired)}"] if repaired else [])


# Judging every row of a table with a model, ``fm.judge``: in memory, or into a score file.


class JudgementMaker(ColumnMaker):
    """The judgements of a plan, made through a sender; ``about`` returns the metadata about the finished run."""

    def __init__(self, plan: JudgePlan, sender: ModelCalls, about: Callable[[], ScoreMetadata]) -> None:
        self._plan, self._about = plan, about
        self._judge = BatchJudge(plan, sender)

    @property
    def columns(self) -> Mapping[str, str]:
        """The columns that are read."""
        return self._plan.kinds

    @cached_property
    def signature(self) -> Mapping[str, Any]:
        """All settings that affect the judgements."""
        return self._plan.signature.to_json()

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The judgements of a batch."""
        return self._judge(batch)

    def observe(self, part: pa.RecordBatch | pa.Table) -> dict[str, Any]:
        """The sums of a part's scores, and its rows by status."""
        return observe(self._plan.axes, part)

    def lasts(self, observed: Mapping[str, Any]) -> bool:
        """Whether no row of a part needs to be asked again."""
        return not any(status in counts["statuses"] for counts in observed["judged"].values() for status in UNSETTLED)

    def conclude(self, observed: Sequence[Any], rejected: int) -> dict[str, Any]:
        """The metadata about the rows and the run."""
        return (conclude(self._plan.axes, observed, rejected) | self._about()).to_json()

    def concluded(self, run: RunResult, output: str) -> RunResult:
        """The result with the summary, and the rows without a reply."""
        plan = self._plan
        if run.complete:
            summary = summarize(output)
        else:
            summary = summary_of(plan.axes, run.observed, run.rejected, plan.columns, plan.passed_over)
        statuses = summed(axis["statuses"] for axis in run.metadata["judged"].values())
        summary = replace(summary, notes=[*run.notes, *summary.notes])
        return replace(run, summary=summary, failed=failed_calls(statuses))

    def described(self, table: pa.Table, sums: BatchSums) -> tuple[pa.Table, list[str]]:
        """The judgements of a table in memory with the data for ``summarize``; undefined scores are null."""
        described, _ = super().described(table, sums)
        batches = [undefined_as_null(batch, set(self._plan.keep)) for batch in described.to_batches()]
        return pa.Table.from_batches(batches, described.schema), column_notes(sums.cautions)


def judge(
    table: Any,
    rubrics: JudgeSettings | str | Path | Rubric | Sequence[str | Path | Rubric],
    *,
    output: str | Path | None = None,
    columns: Mapping[str, str] | None = None,
    schema: str | None = None,
    lists: Sequence[str] | str = (),
    keep: Sequence[str] | str = (),
    sample: int | None = None,
    seed: int = 0,
    pairwise: bool = False,
    files: FileSettings | None = None,
    resume: bool = False,
    overwrite: bool = False,
    name: str | None = None,
    times: bool = False,
    progress: Callable[[Progress], None] | None = None,
    watch: Callable[[Spending], None] | None = None,
    **settings: Any,
) -> Any:
    """Let a model rate every row of ``table``, in memory or in files, as ``score`` accepts them.

    ``rubrics`` are a :class:`JudgeSettings`, or rubrics with the settings of that class by name, of which ``model`` is
    required.  A rubric is the name of a built-in one, in a ``language``, or a .toml file of the same format.
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

    ``client``, a :class:`ClientSettings` or a TOML file of it, has the limits, time-outs, retries, store and prices of
    calls; some are settings here too.  ``concurrency`` limits the concurrent calls; a refusal for too many requests
    halves the limit, and replies raise it again.  After ``max_calls`` requests, or when ``max_cost`` by prices might
    be exceeded, the remaining rows get the status ``budget``.  A call counts with its highest possible cost until it
    returns: one token per byte of the prompt, and a reply of ``parameters["max_tokens"]`` tokens, or 4,096.  A run
    stops if none of its first ``max_unparsed`` replies has a score (0: never), because all others would probably cost
    money for nothing; the error shows a reply.  ``sample`` judges a random sample of that size, drawn with ``seed``.
    ``lists`` is that of ``score``.

    With ``pairwise``, ``table`` is two tables of answers to the same questions, in a list or in a dict by name, and the
    rubrics compare two answers (``preference``).  The rows are those of the first table; the answers of the second,
    joined by id, are the column ``other_answer``, the second of the rubric's pair.  The score is 1 if the first system
    is better, 0 if the second is; the metadata name both, for :func:`judge_report`.

    Parameters:

    - ``table``: The rows: a table in memory, or paths of files.
    - ``rubrics``: Rubrics: relevance, faithfulness, safety, robustness, correctness (1 to 5), answer_relevance,
      answer_faithfulness, e2e, context_precision, context_recall, supported_claims, show_answer (0 to 1), preference
      (of two answers), or your own .toml files.
    - ``output``: The output: a file, with the format given by its suffix, a folder of parts, or an address.
    - ``columns``: Your column names: answer=text,... A name with a comma: '"answer=a,b"'.
    - ``schema``: The preset of a tool, if its files are not recognised: ragas, mlflow, hf … (docs/columns.md).
    - ``lists``: Columns whose texts are lists, as JSON, Python or NumPy writes them, or joined: reference,contexts=|
    - ``keep``: Columns to copy to the output besides the id, or 'all'; answer and embed copy all by default. A name
      with a comma: '"a,b"'.
    - ``sample``: Read only a random sample of this many rows.
    - ``seed``: Random seed.
    - ``pairwise``: Compare the answers of two tables, joined by id, by rubrics such as preference.
    - ``files``: The settings of files, a ``FileSettings``.
    - ``resume``: Continue an interrupted run; of a complete output of the same settings and inputs, return its counts.
    - ``overwrite``: Replace the output if it exists.
    - ``name``: The name of the run, stored in the output's metadata.
    - ``times``: Store the start and end of the run, and of judge the latency of each call; the bytes of the output then
      differ each time.
    - ``progress``: A function that is called with the progress while rows are judged.
    - ``watch``: A function that is called with the spending before the first call.
    - ``settings``: Settings of :class:`JudgeSettings`, by name, if rubrics are not such settings.

    >>> import tempfile, fastmetrics as fm
    >>> table = {"id": [1], "question": ["Capital of France?"], "answer": ["Paris"]}
    >>> store = f"{tempfile.mkdtemp()}/calls.sqlite"
    >>> judged = fm.judge(table, "safety", model="m", base_url="http://localhost:1/v1", store=store, max_calls=0)
    >>> judged.select(["id", "judge_safety", "judge_safety_status"]).to_pylist()
    [{'id': 1, 'judge_safety': None, 'judge_safety_status': 'budget'}]

    With ``output``, the judgements are written to a file, as the scores of ``score``, whose options of outputs these
    are, and the result has its paths and counts, the ``summary``, the ``spending`` and the rows whose calls ``failed``
    by status.  A repeated run, with or without ``resume``, pays for nothing twice; it
    repeats transient failures.  ``watch`` receives the spending record before the first call.

    >>> import pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> settings = fm.JudgeSettings("safety", "m", base_url="http://localhost:1/v1", store=store, max_calls=0)
    >>> judged = fm.judge(table, settings, output=folder / "judged.parquet")
    >>> judged.summary["judge_safety"].n_error, judged.spending.requests
    (1, 0)

    Raises the errors of ``score``, ``ServiceError`` if the server refuses calls or fails repeatedly, or if no first
    reply has a score (received replies are in the store), ``ColumnError`` for a rubric placeholder without a column,
    ``FileFormatError`` for a file that is not a rubric, ``OptionError`` for an invalid setting, ``MissingExtraError``
    if the package ``httpx`` is not installed.
    """
    if isinstance(rubrics, JudgeSettings) and settings:
        raise OptionError(Argument(next(iter(settings))), ": set it in the JudgeSettings")
    judging = rubrics if isinstance(rubrics, JudgeSettings) else JudgeSettings(rubrics, **settings)
    # large batches keep the sender busy, even while the last calls of a batch are pending
    limits = Limits(batch_rows=max(SIZES.call_rows, judging.calls.concurrency), part_rows=SIZES.answered_part_rows)
    files = files or FileSettings()
    options = RunOptions(files, resume, overwrite, progress, limits)
    argument("name", name, Optional(LimitedText(200, "a name")))
    if output is None:
        check_without_output(options, name=name)
    else:
        check_apart(judging.store_path, output)
        check_not_read(str(output), table if pairwise else ())
    opened, systems = open_answers(table, pairwise, judging.loaded_rubrics, columns, schema, files)
    target = None if output is None else open_calls_output(output, opened, options)
    plan = plan_judging(
        opened.names,
        judging,
        columns,
        schema,
        kept_columns(keep, opened.names),
        has_name=name is not None,
        times=times,
        sample=described(sample, seed),
        lists=lists,
        systems=systems,
    )
    source = sampled(opened, plan.kinds, sample, seed)
    plan = replace(plan, has_blanks=source.has_blanks, keep=with_row_numbers(plan.keep, source))
    budget = judging.budget()
    with CallStore(judging.store_path) as calls, judging.sender(calls, budget) as sender:
        if watch is not None:
            watch(budget.spending)
        maker = JudgementMaker(plan, sender, partial(about_run, name, now() if times else None))
        made = make_columns(maker, source, target, options, Threads(BEHIND))
    return made if target is None else replace(made, spending=budget.spending)
