"""What each stage of the evaluation of a RAG system does, from the files of the stages before."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from fastmetrics.base.arrow import check_type
from fastmetrics.base.errors import Argument, ColumnError, MissingExtraError, OutputError, quoted
from fastmetrics.base.input_columns import PREFIX, resolve
from fastmetrics.engines.job import FileSettings, Progress
from fastmetrics.models.answer import OUTPUT_TYPES, REPEAT, answer
from fastmetrics.models.bots import Bot
from fastmetrics.models.call_sender import Spending
from fastmetrics.models.embed import embed
from fastmetrics.models.judge import JudgedFiles, judge
from fastmetrics.models.judge_batch import JudgeSettings
from fastmetrics.reporting.rag.chunk_settings import ChunkSettings
from fastmetrics.reporting.rag.contexts import CONTEXTS, with_contexts
from fastmetrics.reporting.rag.stages import Stages
from fastmetrics.reporting.report import report
from fastmetrics.scoring.score import score
from fastmetrics.tables.addresses import as_local, is_database, shown_address
from fastmetrics.tables.databases import DatabaseTable
from fastmetrics.tables.outputs import table_place, write_whole
from fastmetrics.tables.sources import TableSource
from fastmetrics.tables.table_rows import whole_table
from fastmetrics.vectors.embedder import SUFFIX, Embedder
from fastmetrics.vectors.neighbors import Index
from fastmetrics.vectors.search import search
from fastmetrics.vectors.vector_arrays import Vectors, holds_vectors, vector_column

QUESTIONS, CHUNKS, RANKINGS, RETRIEVED, ANSWERS, JUDGED, SCORES, REPORT = (
    *("questions.parquet", "chunks.parquet", "rankings.parquet", "retrieved.parquet", "answers.parquet"),
    *("judged.parquet", "scores.parquet", "report.html"),
)
"""The files of the stages, in their order."""
TIERS = ("tier0", "tier1", "tier2", "tier3")
_EMBEDDING = f"question{SUFFIX}"
_OUTPUT_COLUMNS = {*OUTPUT_TYPES, *CONTEXTS, _EMBEDDING, REPEAT, "total_tokens", f"answer{SUFFIX}"}
"""The columns that an evaluation makes; those of another system beside the questions are left out."""


@dataclass(frozen=True)
class RagChunks:
    """The chunks: their path or address, the opened table, and settings; ``vector`` is None without vectors."""

    path: str | Path
    source: TableSource
    settings: ChunkSettings
    vector: str | None

    @classmethod
    def of(cls, path: str | Path, settings: ChunkSettings) -> RagChunks:
        """The chunks at a path; raises ``ColumnError`` if the table lacks a column, or holds no texts."""
        source, name, vector = FileSettings().open(path), shown_address(as_local(path)), settings.vector
        for option, column in {"id": settings.id, "text": settings.text, "vector": vector}.items():
            if column is not None and column not in source.names:
                unknown = f"{name}: no column {column!r}, only {quoted(source.names)}; name that of the chunks with "
                raise ColumnError(unknown, Argument(option))
        schema = source.select(dict.fromkeys(source.names, "any")).schema
        check_type(f"{name}: ", settings.text, "text", schema.field(settings.text).type)
        if vector is None and any(holds_vectors(column.type) for column in schema):
            vector = vector_column(schema, None, "vector")
        return cls(path, source, settings, vector)

    @property
    def id(self) -> str:
        """The column of ids."""
        return self.settings.id

    @property
    def text(self) -> str:
        """The column of texts."""
        return self.settings.text

    @property
    def name(self) -> str:
        """The path for messages."""
        return shown_address(as_local(self.path))

    @property
    def table(self) -> DatabaseTable | None:
        """The table of PostgreSQL that has the vectors, if it is one."""
        if self.vector is None or not is_database(self.path):
            return None
        table = DatabaseTable.of(str(self.path))
        return table if table.scheme == "postgresql" and table.table is not None else None


@dataclass(frozen=True)
class RagRun:
    """An evaluation in the folder of its ``stages``.

    ``spending`` (of the answers), ``judgements`` (of the ``judging``) and ``notes`` are filled while it runs.
    """

    stages: Stages
    questions: str | Path
    chunks: RagChunks
    bot: Bot
    judging: JudgeSettings | None
    embedder: Embedder
    columns: Mapping[str, str]
    threads: int | None
    progress: Callable[[Progress], None] | None
    spending: list[Spending] = field(default_factory=list)
    judgements: list[JudgedFiles] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def _again(self) -> dict[str, Any]:
        """The options of a stage that goes on where a killed run ended."""
        return {"resume": self.stages.resume, "overwrite": True, "progress": self.progress}

    def _identity(self, source: TableSource, name: str) -> Any:
        """What identifies the rows of a table; raises ``OutputError`` if nothing does and earlier files were made."""
        if source.unstable is None:
            return source.fingerprint
        if self.stages.has_files:
            refused = f"cannot go on in {self.stages.folder}: {name}: {source.unstable}; choose "
            raise OutputError(refused, Argument("overwrite", True), " to start again")
        return name

    def embed_questions(self) -> None:
        """The questions with their embeddings, without the columns of another system."""
        source = FileSettings().open(self.questions)
        left_out = [name for name in source.names if name in _OUTPUT_COLUMNS or name.startswith(PREFIX)]
        own = [name for name in source.names if name not in left_out]
        if left_out:
            self.notes.append(f"not read: {quoted(left_out)}, which the evaluation makes")
        if "question" not in resolve(own, self.columns, needed={"question"}):
            raise ColumnError(
                f"{shown_address(as_local(self.questions))}: no column 'question', only {quoted(own)}; name it with ",
                Argument("columns", {"question": ...}),
            )
        settings = {
            "questions": self._identity(source, "the questions"),
            "columns": dict(self.columns),
            "embedder": self.embedder.signature,
        }

        def make(path: Path) -> None:
            embed(
                self.questions, self.embedder, "question", output=path, columns=self.columns, keep=own, **self._again()
            )

        self.stages.run(QUESTIONS, settings, [], make)

    def search_chunks(self, k: int, index: Path | None) -> None:
        """The rankings of the chunks for each question, and before the embeddings of chunks that have none."""
        chunks = self.chunks
        metric, pgvector = chunks.settings.metric, chunks.settings.pgvector
        identity = self._identity(chunks.source, chunks.name)
        vectors: str | Path = chunks.path
        column, files = chunks.vector, [QUESTIONS]
        if chunks.vector is None and index is None:
            settings = {"chunks": identity, "text": chunks.text, "id": chunks.id, "embedder": self.embedder.signature}

            def embed_chunks(path: Path) -> None:
                columns = {"id": chunks.id}
                embed(chunks.path, self.embedder, [chunks.text], output=path, columns=columns, keep=[], **self._again())

            vectors = self.stages.run(CHUNKS, settings, [], embed_chunks)
            column, files = f"{chunks.text}{SUFFIX}", [QUESTIONS, CHUNKS]

        def make(path: Path) -> None:
            options: dict[str, Any] = {"k": k, "column": _EMBEDDING, "threads": self.threads}
            searched: Any = index
            if index is None and chunks.table is not None:
                searched = chunks.table.connection
                options |= {"table": chunks.table.table, "vector": column, "id": chunks.id}
                options |= {"metric": metric, "pgvector": pgvector}
            elif index is None:
                searched = self._index(vectors, str(column))
            run = search(searched, self.stages.path(QUESTIONS), **options)
            write_whole(run.table, table_place(path, [], overwrite=True), run.settings, set(run.table.column_names))

        settings = {
            "chunks": identity,
            "k": k,
            "index": None if index is None else str(index),
            "metric": metric,
            "pgvector": pgvector,
            "vector": column,
        }
        self.stages.run(RANKINGS, settings, files, make)

    def _index(self, path: str | Path, column: str) -> Index:
        """An index of the vectors of chunks."""
        id, metric = self.chunks.id, self.chunks.settings.metric
        table = whole_table(FileSettings().open(path), {id: "any", column: "vector"})
        if table[id].null_count:
            expected = f"{table[id].null_count:,} ids are null; expected the id of each chunk"
            raise ColumnError(f"{self.chunks.name}: column {id!r}: {expected}")
        vectors = Vectors.of_column(table[column], f"{self.chunks.name}: column {column!r}")
        return Index.build(vectors, metric=metric, names=table[id].combine_chunks(), threads=self.threads)

    def retrieve(self) -> None:
        """The questions, in columns of the usual names, with the texts of their chunks."""
        chunks = self.chunks

        def make(path: Path) -> None:
            questions, rankings = self._read(QUESTIONS), self._read(RANKINGS)
            own = {name: questions[column] for name, column in resolve(questions.column_names, self.columns).items()}
            others = [name for name in questions.column_names if name not in {*own, *self.columns.values()}]
            table = pa.table({"id": rankings["id"], **own, **{name: questions[name] for name in others}})
            table = with_contexts(table, rankings, chunks.source, chunks.name, id=chunks.id, text=chunks.text)
            write_whole(table, table_place(path, [], overwrite=True), {}, set(table.column_names))

        settings = {"chunks": self._identity(chunks.source, chunks.name), "id": chunks.id, "text": chunks.text}
        self.stages.run(RETRIEVED, settings, [QUESTIONS, RANKINGS], make)

    def answer(self, repeats: int, watch: Callable[[Spending], None] | None) -> None:
        """The answers of the bot."""

        def make(path: Path) -> bool:
            options = {"repeats": repeats, "watch": watch, **self._again()}
            done = answer(self.stages.path(RETRIEVED), self.bot, output=path, **options)
            self.spending.append(done.spending)
            return not done.failed

        bot = {**self.bot.settings, "name": self.bot.name}
        settings = {"bot": bot, "repeats": repeats}
        self.stages.run(ANSWERS, settings, [RETRIEVED], make)

    def judge(self, watch: Callable[[Spending], None] | None) -> None:
        """The judgements of the answers beside these, if there is a judge."""
        judging = self.judging
        if judging is None:
            return

        def make(path: Path) -> bool:
            answers = self.stages.path(ANSWERS)
            keep = FileSettings().open(answers).names
            done = judge(answers, judging, output=path, keep=keep, watch=watch, **self._again())
            self.judgements.append(done)
            self.notes.extend(done.summary.notes)
            return not done.failed and done.spending.refusal is None

        model = judging.configured_model
        settings = {
            "rubrics": {rubric.axis: rubric.settings() for rubric in judging.loaded_rubrics},
            "judge": {"model": model.name, "endpoint": model.endpoint, "parameters": dict(model.parameters)},
            **{name: getattr(judging, name) for name in ("repeats", "structured", "max_chars", "keep_replies")},
        }
        self.stages.run(JUDGED, settings, [ANSWERS], make)

    @property
    def _rated(self) -> str:
        """The file of the answers, with the judgements if there is a judge."""
        return ANSWERS if self.judging is None else JUDGED

    def score(self, metrics: Sequence[str] | str | None, suites: Sequence[str] | str) -> Path:
        """The scores of the answers, of all tiers by default."""
        columns = {"embedding": _EMBEDDING}
        chosen = TIERS if not metrics and not suites else suites
        settings = {"metrics": metrics, "suites": chosen, "embedder": self.embedder.signature}

        def make(path: Path) -> None:
            options: dict[str, Any] = {"columns": columns, "suites": chosen, "embedder": self.embedder}
            answers = self.stages.path(self._rated)
            done = score(answers, metrics, output=path, threads=self.threads, **options, **self._again())
            self.notes.extend(done.summary.notes)

        return self.stages.run(SCORES, settings, [self._rated], make)

    def report(self, repeats: int) -> None:
        """The report; only a note for repeats, whose rows have no ids of their own, and without the extra."""
        if repeats > 1:
            self.notes.append("no report: the repeats of a question share its id")
            return

        def make(path: Path) -> None:
            answers = self.stages.path(ANSWERS)
            judged = None if self.judging is None else self.stages.path(JUDGED)
            report(self.stages.path(SCORES), path, texts=answers, judged=judged, overwrite=True, threads=self.threads)

        try:
            self.stages.run(REPORT, {}, [self._rated, SCORES], make)
        except MissingExtraError as error:
            self.notes.append(f"no report: {error}")

    def _read(self, name: str) -> pa.Table:
        source = FileSettings().open(self.stages.path(name))
        return whole_table(source, dict.fromkeys(source.names, "any"))
