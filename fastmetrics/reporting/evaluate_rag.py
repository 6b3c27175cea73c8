"""``fm.evaluate_rag``: questions, a search in chunks, a bot that reads them, the scores of its answers, a report."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pyarrow.types as pt

from fastmetrics.base import shared_parameters as shared
from fastmetrics.base.arrays import is_text
from fastmetrics.base.column_names import PREFIX, listed, resolve
from fastmetrics.base.columns import check_type
from fastmetrics.base.display import Grid, NotebookTables, number
from fastmetrics.base.errors import (
    Argument,
    ColumnError,
    FileFormatError,
    MissingExtraError,
    OptionError,
    OutputError,
    quoted,
)
from fastmetrics.base.options import MOST, Choice, Flag, Neighbours, Whole, argument
from fastmetrics.base.progress import Progress
from fastmetrics.base.public_names import __version__
from fastmetrics.base.score_metadata import ScoreMetadata
from fastmetrics.base.shared_parameters import Help
from fastmetrics.base.threads import cores
from fastmetrics.engines.column_maker import RunResult
from fastmetrics.models.answer import OUTPUT_TYPES, REPEAT, answer, bot_of, failure_notes
from fastmetrics.models.bots import Bot, CallBot, FunctionBot, PromptBot
from fastmetrics.models.call_sender import Spending
from fastmetrics.models.call_setup import CallOptions
from fastmetrics.models.embed import embed
from fastmetrics.models.judge import judge
from fastmetrics.models.judge_batch import JudgeSettings
from fastmetrics.models.judged_columns import failed_calls, summed
from fastmetrics.models.prompts import Rubric
from fastmetrics.reporting.report import report
from fastmetrics.results.summary import Summary, summarize
from fastmetrics.scoring.score import score
from fastmetrics.tables.addresses import WORK_SUFFIX, as_local, is_database, shown_address
from fastmetrics.tables.databases import DatabaseTable
from fastmetrics.tables.good_rows import Piece, gathered, whole_table
from fastmetrics.tables.input_files import local_path
from fastmetrics.tables.opening import open_table
from fastmetrics.tables.outputs import read_metadata, table_target, write_whole
from fastmetrics.tables.resume import compare, has_parts, is_ours
from fastmetrics.tables.sources import TableSource
from fastmetrics.tables.targets import check_not_read
from fastmetrics.vectors.embedder import SUFFIX, Embedder, embedder_of
from fastmetrics.vectors.neighbors import Index
from fastmetrics.vectors.search import search
from fastmetrics.vectors.vector_arrays import Vectors, holds_vectors, vector_column

# How the chunks of a RAG system are read and searched, as one object.


@dataclass(frozen=True, kw_only=True)
class ChunkSettings:
    """The columns of the chunks of :func:`evaluate_rag`, and how they are searched.

    >>> ChunkSettings(text="body").text
    'body'

    Raises ``OptionError`` for an unknown distance.
    """

    index: Annotated[str | Path | None, Help("The folder of an index of the chunks; by default one is built.")] = None
    text: Annotated[str, Help("The column of the texts of chunks.")] = "text"
    vector: Annotated[str | None, Help("The column of vectors of the chunks; by default the only one.")] = None
    id: Annotated[str, Help("The column of ids of the chunks.")] = "id"
    metric: Annotated[Literal["cosine", "euclidean", "dot"], Help("Distance of vectors: cosine, euclidean or dot.")] = (
        "cosine"
    )
    pgvector: Annotated[str | None, Help("Settings of pgvector: ef_search=100,iterative_scan=relaxed_order.")] = None

    def __post_init__(self) -> None:
        """Raise ``OptionError`` for an unknown distance."""
        argument("metric", self.metric, Choice("cosine", "euclidean", "dot"))


# The texts of the chunks that a search retrieved, beside the questions: the contexts that a bot reads.


CONTEXTS = ("retrieved_ids", "retrieved_scores", "context_ids", "contexts")
"""The columns of what was retrieved."""


def with_contexts(
    questions: pa.Table, rankings: pa.Table, chunks: TableSource, name: str, *, id: str, text: str, k: int
) -> pa.Table:
    """The questions, in the order of their rankings, with the ids and scores of the retrieved chunks, and the texts of
    the first ``k``.

    Only the texts that were retrieved are held.  Raises ``ColumnError`` for an id without a text, with several, or of
    another type than those of the rankings.
    """
    ids = rankings["retrieved_ids"].combine_chunks()
    read = pc.list_slice(ids, 0, k)
    retrieved_names = read.flatten().unique()

    def texts_of_names(schema: pa.Schema, pieces: Iterator[Piece]) -> pa.Table:
        batches = (piece.batch() for piece in pieces)
        own = _as_type(retrieved_names, schema.field(id).type, name)
        rows = (batch.filter(pc.is_in(batch[id], value_set=own, skip_nulls=True)) for batch in batches)
        return pa.Table.from_batches(rows, schema=schema)

    rows = gathered(chunks, {id: "any", text: "text"}, texts_of_names)
    names, texts = rows[id].combine_chunks(), rows[text].combine_chunks()
    own = _as_type(retrieved_names, names.type, name)
    numbers = np.bincount(np.asarray(pc.index_in(names, own)), minlength=len(own))
    without = np.asarray(pc.index_in(own, names.filter(texts.is_valid())).is_null())
    for wrong, what in (
        (numbers == 0, "of a retrieved chunk is not among them; were the vectors made of other chunks?"),
        (numbers > 1, "is that of several chunks; expected one chunk for each id"),
        (without, f"has no text: column {text!r} is null"),
    ):
        if wrong.any():
            raise ColumnError(f"{name}: the id {retrieved_names[int(wrong.argmax())].as_py()!r} {what}")
    rows_of_names = pc.index_in(own, names)
    items = texts.take(rows_of_names.take(pc.index_in(read.flatten(), retrieved_names)))
    contexts = pa.LargeListArray.from_arrays(read.offsets.cast(pa.int64()), items)
    columns: dict[str, Any] = dict(zip(questions.column_names, questions.columns, strict=True))
    retrieved = (ids, rankings["retrieved_scores"], read, contexts)
    return pa.table(columns | dict(zip(CONTEXTS, retrieved, strict=True)))


def _as_type(names: pa.Array, type_: pa.DataType, shown: str) -> pa.Array:
    """Ids in the type of those of the chunks, of the same kind; null for an integer that it does not hold."""
    if names.type == type_ or (is_text(names.type) and is_text(type_)):
        return names.cast(type_)
    if pt.is_integer(names.type) and pt.is_integer(type_):
        bits, signed = type_.bit_width, pt.is_signed_integer(type_)
        low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
        return pa.array([value if low <= value <= high else None for value in names.to_pylist()], type_)
    if not len(names):
        return pa.nulls(0, type_)
    raise ColumnError(f"{shown}: the ids are of type {type_}, and those of the index of type {names.type}")


# The judge of the answers of a RAG system: by default the model of the bot.


def judge_with(rubrics: Any, calls: Mapping[str, Any], model: str, base_url: str | None = None) -> JudgeSettings:
    """A judge with the settings of the ``calls`` of a bot, without the parameters of its model.

    A ``base_url`` of its own replaces the bot's server and the name of that server in the store.
    """
    names = {option.name for option in fields(CallOptions)} - {"parameters"}
    shared = {name: calls[name] for name in names if name in calls}
    if base_url is not None:
        shared["base_url"] = base_url
    return JudgeSettings(rubrics, model, **shared)


def judge_of(judges: Any, bot: Bot) -> JudgeSettings | None:
    """The judge, if there are ``judges``: settings, or rubrics for the model of the bot.

    Raises ``OptionError`` for rubrics if the bot has no model, and the errors of ``JudgeSettings``.
    """
    if judges is None or isinstance(judges, JudgeSettings):
        return judges
    if not isinstance(bot, PromptBot):
        raise OptionError(
            Argument("judges", judges), f": the bot {bot.name} has no model for them; expected a JudgeSettings"
        )
    return judge_with(judges, vars(bot), bot.model)


# What each stage of the evaluation of a RAG system does, from the files of the stages before.


QUESTIONS, CHUNKS, RANKINGS, RETRIEVED, ANSWERS, JUDGED, SCORES, REPORT = (
    *("questions.parquet", "chunks.parquet", "rankings.parquet", "retrieved.parquet", "answers.parquet"),
    *("judged.parquet", "scores.parquet", "report.html"),
)
"""The files of the stages, in their order."""
FILES = (QUESTIONS, CHUNKS, RANKINGS, RETRIEVED, ANSWERS, JUDGED, SCORES, REPORT)
STORE = "answers.sqlite"
"""The file of answers of a function that has no store of its own."""
TIERS = ("tier0", "tier1", "tier2", "tier3", "latency_and_cost")
DEPTH = 10
"""The number of ids that a search returns at least: the largest cut-off of the tiers."""
BESIDE_TIERS = ("abstained", "hallucination")
"""Metrics of answers and contexts that are scored beside the tiers."""
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
        source, name, vector = open_table(path), shown_address(as_local(path)), settings.vector
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


# The folder of a run: the file of each stage says in its metadata what it was made from.


_STAGE = "stage"
"""The key of the settings of a stage in the metadata of its file, if these are not those of a verb."""


def opened_folder(folder: Path, inputs: Sequence[str | Path], *, overwrite: bool) -> bool:
    """Whether an earlier run left files in the folder, which is made if there is none; ``overwrite`` deletes them.

    Raises ``OutputError`` for a folder with other files alone, and where a stage would replace one of the ``inputs``.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        is_empty = not any(folder.iterdir())
    except OSError as error:
        raise OutputError(f"cannot write {folder}: {error.strerror}") from error
    if not is_empty and not any(_has_mark(folder / name) for name in (QUESTIONS, RANKINGS, RETRIEVED)):
        raise OutputError(f"{folder}: the folder has other files; choose a new or empty folder")
    for name in FILES:
        check_not_read(folder / name, inputs)
    for name in (STORE, *reversed(FILES)) if overwrite else ():
        (folder / name).unlink(missing_ok=True)
        shutil.rmtree(_parts(folder / name), ignore_errors=True)
    return not (is_empty or overwrite)


def _has_mark(path: Path) -> bool:
    """Whether a stage made a file, questions or what was retrieved for them, or was killed while it made it."""
    try:
        metadata = read_metadata(path)
    except FileFormatError:
        return _parts(path).is_dir() and is_ours(_parts(path))
    embeddings = ScoreMetadata.of(metadata).embeddings or {}
    return _STAGE in metadata or _EMBEDDING in embeddings.get("columns", {})


def _parts(path: Path) -> Path:
    """The folder of the parts of an unfinished file."""
    return path.with_name(f"{path.name}{WORK_SUFFIX}")


@dataclass(frozen=True)
class RagRun:
    """An evaluation in a ``folder``; ``goes_on`` is whether an earlier run left files in it.

    ``spending`` (of the answers), ``judgements`` (of the ``judging``) and ``notes`` are filled while it runs.
    """

    folder: Path
    goes_on: bool
    questions: str | Path
    chunks: RagChunks
    bot: Bot
    judging: JudgeSettings | None
    embedder: Embedder
    columns: Mapping[str, str]
    repeats: int
    threads: int | None
    progress: Callable[[Progress], None] | None
    spending: list[Spending] = field(default_factory=list)
    judgements: list[RunResult] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def _file(self, name: str, made_from: Sequence[str] = ()) -> Path:
        """The file of a stage; one that is older than those that it is made from is deleted, and so are its parts."""
        path = self.folder / name
        newest = max((os.stat(self.folder / other).st_mtime_ns for other in made_from), default=0)
        if path.exists() and os.stat(path).st_mtime_ns < newest:
            path.unlink()
        begun = _parts(path) / "run.json"
        if begun.exists() and os.stat(begun).st_mtime_ns < newest:
            shutil.rmtree(_parts(path))
        return path

    def _output(self, path: Path, source: TableSource | None = None) -> dict[str, Any]:
        """The options of a verb that goes on where a killed run ended, or returns its whole output."""
        resume = source is None or source.unstable is None
        return {"output": path, "resume": resume, "overwrite": has_parts(_parts(path)), "progress": self.progress}

    def _whole(
        self,
        name: str,
        made_from: Sequence[str],
        settings: Mapping[str, Any],
        make: Callable[[], tuple[pa.Table, Mapping[str, Any]]],
    ) -> None:
        """The file of a stage whose verb makes a table, with its ``settings`` in the metadata.

        Raises ``OutputError`` if the file that is there was made with others.
        """
        path = self._file(name, made_from)
        own = json.loads(json.dumps({"fastmetrics": __version__, **settings}, default=str))
        if path.exists():
            compare(path, read_metadata(path).get(_STAGE, {}), own)
            return
        table, metadata = make()
        write_whole(table, table_target(path, []), {**metadata, _STAGE: own}, set(table.column_names))

    def _identity(self, source: TableSource, name: str) -> Any:
        """What identifies the rows of a table; raises ``OutputError`` if nothing does and earlier files were made."""
        if source.unstable is None:
            return source.fingerprint
        if self.goes_on:
            refused = f"cannot go on in {self.folder}: {name}: {source.unstable}; choose "
            raise OutputError(refused, Argument("overwrite", True), " to start again")
        return name

    def embed_questions(self) -> None:
        """The questions with their embeddings, without the columns of another system."""
        source = open_table(self.questions)
        left_out = [name for name in source.names if name in _OUTPUT_COLUMNS or name.startswith(PREFIX)]
        own = [name for name in source.names if name not in left_out]
        if left_out:
            self.notes.append(f"not read: {quoted(left_out)}, which the evaluation makes")
        if "question" not in resolve(own, self.columns, needed={"question"}):
            raise ColumnError(
                f"{shown_address(as_local(self.questions))}: no column 'question', only {quoted(own)}; name it with ",
                Argument("columns", {"question": ...}),
            )
        self._identity(source, "the questions")
        output = self._output(self._file(QUESTIONS), source)
        embed(self.questions, self.embedder, "question", columns=self.columns, keep=own, **output)

    def search_chunks(self, depth: int, index: Path | None) -> None:
        """The rankings of the chunks for each question, a search for each repeat, and before the embeddings of chunks
        that have none.
        """
        chunks = self.chunks
        metric, pgvector = chunks.settings.metric, chunks.settings.pgvector
        identity = self._identity(chunks.source, chunks.name)
        vectors: str | Path = chunks.path
        column, files = chunks.vector, [QUESTIONS]
        if chunks.vector is None and index is None:
            vectors = self._file(CHUNKS)
            output = self._output(vectors, chunks.source)
            embed(chunks.path, self.embedder, [chunks.text], columns={"id": chunks.id}, keep=[], **output)
            column, files = f"{chunks.text}{SUFFIX}", [QUESTIONS, CHUNKS]

        def make() -> tuple[pa.Table, Mapping[str, Any]]:
            options: dict[str, Any] = {"k": depth, "column": _EMBEDDING, "threads": self.threads}
            searched: Any = index
            if index is None and chunks.table is not None:
                searched = chunks.table.connection
                options |= {"table": chunks.table.table, "vector": column, "id": chunks.id}
                options |= {"metric": metric, "pgvector": pgvector}
            elif index is None:
                searched = self._index(vectors, str(column))
            runs = [search(searched, self.folder / QUESTIONS, **options) for _ in range(self.repeats)]
            table = pa.concat_tables([run.table for run in runs])
            if self.repeats > 1:  # the repeats of a question follow each other
                order = np.arange(len(table)).reshape(self.repeats, -1).T.ravel()
                numbers = np.tile(np.arange(1, self.repeats + 1), len(table) // self.repeats)
                table = table.take(pa.array(order)).append_column(REPEAT, pa.array(numbers))
            return table, runs[0].settings

        settings = {
            "chunks": identity,
            "k": depth,
            "repeats": self.repeats,
            "index": None if index is None else str(index),
            "metric": metric,
            "pgvector": pgvector,
            "vector": column,
        }
        self._whole(RANKINGS, files, settings, make)

    def _index(self, path: str | Path, column: str) -> Index:
        """An index of the vectors of chunks."""
        id, metric = self.chunks.id, self.chunks.settings.metric
        table = whole_table(open_table(path), {id: "any", column: "vector"})
        if table[id].null_count:
            expected = f"{table[id].null_count:,} ids are null; expected the id of each chunk"
            raise ColumnError(f"{self.chunks.name}: column {id!r}: {expected}")
        vectors = Vectors.of_column(table[column], f"{self.chunks.name}: column {column!r}")
        return Index.build(vectors, metric=metric, names=table[id].combine_chunks(), threads=self.threads)

    def retrieve(self, k: int) -> None:
        """The questions, in columns of the usual names, with the texts of their first ``k`` chunks.

        Of the repeats of a question the first alone has its embedding, so that tier 0 measures distinct questions.
        """
        chunks = self.chunks

        def make() -> tuple[pa.Table, Mapping[str, Any]]:
            questions, rankings = self._read(QUESTIONS), self._read(RANKINGS)
            if self.repeats > 1:
                questions = questions.take(pa.array(np.repeat(np.arange(len(questions)), self.repeats)))
            own = {name: questions[column] for name, column in resolve(questions.column_names, self.columns).items()}
            others = [name for name in questions.column_names if name not in {*own, *self.columns.values()}]
            table = pa.table({"id": rankings["id"], **own, **{name: questions[name] for name in others}})
            if self.repeats > 1:
                is_later = rankings[REPEAT].to_numpy() > 1
                first = pa.array(np.arange(len(table)), mask=is_later)
                embedding = table[_EMBEDDING].take(first)
                table = table.set_column(table.column_names.index(_EMBEDDING), _EMBEDDING, embedding)
                table = table.append_column(REPEAT, rankings[REPEAT])
            return with_contexts(table, rankings, chunks.source, chunks.name, id=chunks.id, text=chunks.text, k=k), {}

        settings = {"chunks": self._identity(chunks.source, chunks.name), "columns": dict(self.columns)}
        settings |= {"id": chunks.id, "text": chunks.text, "k": k}
        self._whole(RETRIEVED, [QUESTIONS, RANKINGS], settings, make)

    def answer(self, watch: Callable[[Spending], None] | None) -> None:
        """The answers of the bot."""
        output = self._output(self._file(ANSWERS, [RETRIEVED]))
        done = answer(self.folder / RETRIEVED, self.bot, watch=watch, **output)
        if not done.complete:
            self.spending.append(done.spending)

    def judge(self, watch: Callable[[Spending], None] | None) -> None:
        """The judgements of the answers beside these, if there is a judge."""
        if self.judging is None:
            return
        answers = self.folder / ANSWERS
        output = self._output(self._file(JUDGED, [ANSWERS]))
        done = judge(answers, self.judging, keep=open_table(answers).names, watch=watch, **output)
        if not done.complete:
            self.judgements.append(done)
            self.notes.extend(done.summary.notes)

    @property
    def _rated(self) -> str:
        """The file of the answers, with the judgements if there is a judge."""
        return ANSWERS if self.judging is None else JUDGED

    def score(
        self,
        metrics: Sequence[str] | str | None,
        suites: Sequence[str] | str,
        keep: Sequence[str] | str,
        name: str | None,
    ) -> Path:
        """The scores of the answers, of all tiers by default, and those of the judge."""
        columns = {"embedding": _EMBEDDING}
        rubrics = [] if self.judging is None else [rubric.axis for rubric in self.judging.loaded_rubrics]
        chosen = TIERS if not metrics and not suites else suites
        beside = BESIDE_TIERS if not metrics and not suites else ()
        kept = [REPEAT, *listed(keep)] if self.repeats > 1 and listed(keep) != ["all"] else keep
        wanted = list(dict.fromkeys([*listed(metrics), *beside, *rubrics]))
        path = self._file(SCORES, [self._rated])
        if path.exists():  # the name is no setting of a score
            compare(path, {"name": read_metadata(path).get("name")}, {"name": name})
        options: dict[str, Any] = {"columns": columns, "suites": chosen, "embedder": self.embedder, "keep": kept}
        done = score(
            self.folder / self._rated, wanted, name=name, threads=self.threads, **options, **self._output(path)
        )
        if not done.complete:
            self.notes.extend(done.summary.notes)
        return path

    def report(self, baseline: str | Path | None, language: str) -> None:
        """The report; only a note without the extra.

        The repeats of a question are rows of their own there, with the number behind the id, and have no baseline.
        """
        if self.repeats > 1 and baseline is not None:
            self.notes.append("the report has no baseline: `compare` takes the repeats of a question as one")
            baseline = None

        scores, answers, judged = (
            self._by_repeat(name) for name in (SCORES, ANSWERS, None if self.judging is None else JUDGED)
        )
        options: dict[str, Any] = {"texts": answers, "judged": judged, "baseline": baseline, "language": language}
        try:
            report(scores, self.folder / REPORT, overwrite=True, threads=self.threads, **options)
        except MissingExtraError as error:
            self.notes.append(f"no report: {error}")

    def _by_repeat(self, name: str | None) -> Any:
        """The file of a stage; of repeats its table, with an id for each repeat."""
        if name is None or self.repeats == 1:
            return None if name is None else self.folder / name
        table, numbers = self._read(name), self._read(RETRIEVED)[REPEAT]
        ids = pc.binary_join_element_wise(table["id"].cast(pa.string()), numbers.cast(pa.string()), " #")
        table = table.set_column(table.column_names.index("id"), "id", ids)
        metadata = dict(pq.read_schema(self.folder / name).metadata or {})
        return table.replace_schema_metadata(metadata)

    def _read(self, name: str) -> pa.Table:
        source = open_table(self.folder / name)
        return whole_table(source, dict.fromkeys(source.names, "any"))


# ``fm.evaluate_rag``: questions, a search in chunks, a bot that reads them, the scores of its answers, a report.


@dataclass(frozen=True)
class RagEvaluation(NotebookTables):
    """The result of ``evaluate_rag``: the folder and the ``summary``.

    ``statuses`` counts the rows by the status of their answers, ``judged`` those of each rubric.  ``spending`` is that
    of the answers of this run, None if it had all; ``judging`` is that of its judgements, None if it had all or there
    is no judge; ``failed`` counts the failed answers and judgements by status; ``notes`` say what was left out.
    """

    folder: Path
    summary: Summary
    statuses: Mapping[str, int]
    judged: Mapping[str, Mapping[str, int]]
    spending: Spending | None
    judging: Spending | None
    failed: Mapping[str, int]
    notes: Sequence[str]

    def to_arrow(self) -> pa.Table:
        """The table of the summary."""
        return self.summary.to_arrow()

    def grids(self) -> Sequence[Grid]:
        """The summary, and the counts of answers by status."""
        counts = [(status, number(count)) for status, count in self.statuses.items()]
        return [*self.summary.grids(), Grid(("answers", "rows"), counts)]

    def remarks(self) -> Sequence[str]:
        """The folder, what was left out, and the notes of the summary."""
        return [f"folder: {self.folder}", *self.notes, *self.summary.remarks()]


def evaluate_rag(
    questions: Annotated[str | Path, Help("Questions: a file, folder, glob or address of rows.")],
    chunks: Annotated[str | Path, Help("Chunks: a file, folder, glob or address of rows, also a table of PostgreSQL.")],
    output: Annotated[str | Path, Help("The folder of the files of all stages.")],
    bot: shared.Bot,
    *,
    embedder: shared.Embedder = "wordllama",
    k: Annotated[int, Help("Chunks per question that the bot reads.")] = 5,
    retrieve: Annotated[
        int | None, Help("Ids of chunks per question that the search returns. Default: 10, or k if that is more.")
    ] = None,
    chunk_settings: Annotated[
        ChunkSettings | None, Help("The columns of the chunks and how they are searched, a ``ChunkSettings``.")
    ] = None,
    judges: Annotated[
        JudgeSettings | str | Path | Rubric | Sequence[str | Path | Rubric] | None,
        Help("A judge of the answers, a ``JudgeSettings``, or rubrics for the bot's model."),
    ] = None,
    metrics: Annotated[Sequence[str] | str | None, Help("Metrics: token_f1,ndcg@5. Default: the tiers.")] = None,
    suites: Annotated[Sequence[str] | str, Help("Suites, as far as the columns allow. Default: tier0 to tier3.")] = (),
    columns: shared.Columns = None,
    keep: shared.Keep = (),
    name: shared.Name = None,
    baseline: Annotated[
        str | Path | None, Help("The scores of an earlier system, with which the report compares these.")
    ] = None,
    language: Annotated[Literal["en", "ru"], Help("The language of the report: en or ru.")] = "en",
    repeats: Annotated[int, Help("Searches and answers of each question, each answer from a call of its own.")] = 1,
    overwrite: shared.Overwrite = False,
    threads: shared.Threads = None,
    progress: Annotated[
        Callable[[Progress], None] | None, Help("A function that is called with the progress of stages that read rows.")
    ] = None,
    watch: Annotated[
        Callable[[Spending], None] | None, Help("A function that is called with the spending before the first call.")
    ] = None,
) -> RagEvaluation:
    """Evaluate a RAG system: embed questions, search chunks, let a bot answer from them, judge, score and report.

    The folder ``output`` gets a file of each stage, from ``questions.parquet`` to ``scores.parquet`` and
    ``report.html`` (docs/retrieval.md).  A run that was killed goes on with the same call.

    ``questions`` are rows with a ``question`` and, for the scores that need them, ``reference`` and ``relevant_ids``.
    ``chunks`` have an ``id``, a ``text`` and perhaps vectors by the same embedder; a table of PostgreSQL is searched
    there.  ``bot`` is a :class:`GivenContextsBot`, or a function of ``question`` and ``contexts``.  Without ``metrics``
    and ``suites``, the scores are those of tier0 to tier3 that the columns allow.

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
    depth = max(k, DEPTH) if retrieve is None else argument("retrieve", retrieve, Whole(k, MOST))
    argument("repeats", repeats, Whole(1, 1_000))
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
    folder = local_path(output, "output")
    goes_on = opened_folder(folder, [questions, chunks], overwrite=overwrite)
    if isinstance(chosen, FunctionBot) and chosen.store is None:
        chosen = replace(chosen, store=folder / STORE)
    run = RagRun(folder, goes_on, questions, rows, chosen, judge, model, columns or {}, repeats, threads, progress)
    run.embed_questions()
    run.search_chunks(depth, index)
    run.retrieve(k)
    run.answer(watch)
    run.judge(watch)
    scores = run.score(metrics, suites, keep, name)
    run.report(baseline, language)
    answered = ScoreMetadata.of(read_metadata(folder / ANSWERS)).answered or {}
    statuses, summary = answered.get("statuses", {}), summarize(scores)
    metadata = ScoreMetadata() if judge is None else ScoreMetadata.of(read_metadata(folder / JUDGED))
    judged = {axis: counts["statuses"] for axis, counts in (metadata.judged or {}).items()}
    return RagEvaluation(
        folder=folder,
        summary=summary,
        statuses=statuses,
        spending=run.spending[0] if run.spending else None,
        judging=run.judgements[0].spending if run.judgements else None,
        judged=judged,
        failed=failed_calls(summed([statuses, *judged.values()])),
        notes=[*failure_notes(answered), *(note for note in run.notes if note not in summary.notes)],
    )
