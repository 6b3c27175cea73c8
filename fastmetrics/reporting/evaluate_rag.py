"""``fm.evaluate_rag``: questions, a search in chunks, a bot that reads them, the scores of its answers, a report."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from fastmetrics.base import shared_parameters as shared
from fastmetrics.base.arrays import is_text
from fastmetrics.base.column_names import PREFIX, is_axis, listed, resolve
from fastmetrics.base.columns import check_type
from fastmetrics.base.display import Grid, NotebookTables, number
from fastmetrics.base.errors import (
    Argument,
    ColumnError,
    FileFormatError,
    MissingExtraError,
    OptionError,
    OutputError,
    UnknownColumnError,
    quoted,
)
from fastmetrics.base.options import MOST, Choice, Flag, Neighbours, Whole, argument
from fastmetrics.base.progress import Progress
from fastmetrics.base.public_names import __version__
from fastmetrics.base.score_metadata import ScoreMetadata
from fastmetrics.base.shared_parameters import Help
from fastmetrics.base.threads import cores
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
from fastmetrics.results.main_metric import concerns_of, first_metrics
from fastmetrics.results.score_columns import declared_better
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
from fastmetrics.vectors.embedder import SUFFIX, embedder_of
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
    another kind than those of the rankings.
    """
    ids = rankings["retrieved_ids"].combine_chunks()
    read = pc.list_slice(ids, 0, k)
    wanted = read.flatten().unique()

    def texts_of_names(schema: pa.Schema, pieces: Iterator[Piece]) -> pa.Table:
        own = schema.field(id).type
        if len(wanted) and is_text(own) != is_text(wanted.type):
            raise ColumnError(f"{name}: the ids are of type {own}, and those of the index of type {wanted.type}")
        batches = (piece.batch() for piece in pieces)
        rows = (batch.filter(pc.is_in(_written(batch[id]), _written(wanted), skip_nulls=True)) for batch in batches)
        return pa.Table.from_batches(rows, schema=schema)

    rows = gathered(chunks, {id: "any", text: "text"}, texts_of_names)
    names, texts = _written(rows[id].combine_chunks()), rows[text].combine_chunks()
    at = np.asarray(pc.index_in(names, _written(wanted)))
    numbers, filled = (np.bincount(at[mask], minlength=len(wanted)) for mask in (slice(None), texts.is_valid()))
    for wrong, what in (
        (numbers == 0, "of a retrieved chunk is not among them; were the vectors made of other chunks?"),
        (numbers > 1, "is that of several chunks; expected one chunk for each id"),
        (filled < numbers, f"has no text: column {text!r} is null"),
    ):
        if wrong.any():
            raise ColumnError(f"{name}: the id {wanted[int(wrong.argmax())].as_py()!r} {what}")
    items = texts.take(pc.index_in(_written(read.flatten()), names))
    mask = read.is_null() if read.null_count else None
    contexts = pa.LargeListArray.from_arrays(read.offsets.cast(pa.int64()), items, mask=mask)
    columns: dict[str, Any] = dict(zip(questions.column_names, questions.columns, strict=True))
    retrieved = (ids, rankings["retrieved_scores"], read, contexts)
    return pa.table(columns | dict(zip(CONTEXTS, retrieved, strict=True)))


def _written(ids: pa.Array) -> pa.Array:
    """Ids of one kind as texts, equal where the ids are, whatever the width of their type."""
    return ids.cast(pa.large_string())


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


# The files of a run, and the chunks that it searches.


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
_FIRST = 5
"""The metrics that a command prints, of the many in the report."""
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
                kind = ColumnError if column == getattr(ChunkSettings, option) else UnknownColumnError
                raise kind(unknown, Argument(option))
        schema = source.select(dict.fromkeys(source.names, "any")).schema
        check_type(f"{name}: ", settings.text, "text", schema.field(settings.text).type)
        if vector is None and any(holds_vectors(column.type) for column in schema):
            vector = vector_column(schema, None, "vector")
        return cls(path, source, settings, vector)

    @property
    def name(self) -> str:
        """The path for messages."""
        return shown_address(as_local(self.path))

    @property
    def identity(self) -> Any:
        """What tells these rows from others, as far as anything does."""
        return self.name if self.source.unstable is not None else self.source.fingerprint

    def searched(self, path: str | Path, column: str, threads: int | None) -> tuple[Any, dict[str, Any]]:
        """An index of the vectors at a path; vectors in a table of PostgreSQL are searched there, with options."""
        id, metric = self.settings.id, self.settings.metric
        if self.vector is not None and is_database(self.path):
            place = DatabaseTable.of(str(self.path))
            if place.scheme == "postgresql" and place.table is not None:
                options = {"table": place.table, "vector": self.vector, "id": id, "metric": metric}
                return place.connection, {**options, "pgvector": self.settings.pgvector}
        rows = whole_table(open_table(path), {id: "any", column: "vector"})
        if rows[id].null_count:
            expected = f"{rows[id].null_count:,} ids are null; expected the id of each chunk"
            raise ColumnError(f"{self.name}: column {id!r}: {expected}")
        vectors = Vectors.of_column(rows[column], f"{self.name}: column {column!r}")
        return Index.build(vectors, metric=metric, names=rows[id].combine_chunks(), threads=threads), {}


@dataclass(frozen=True)
class RagFolder:
    """The folder of a run, where each verb goes on from its own output; ``goes_on`` if an earlier run left files."""

    path: Path
    goes_on: bool
    progress: Callable[[Progress], None] | None

    @classmethod
    def of(cls, path: Path, inputs: Sequence[str | Path], progress: Any, *, overwrite: bool) -> RagFolder:
        """The folder at a path, which is made if there is none; ``overwrite`` deletes the files of an earlier run.

        Raises ``OutputError`` for a folder with other files alone, and where an output would replace one of the
        ``inputs``.
        """
        try:
            path.mkdir(parents=True, exist_ok=True)
            is_empty = not any(path.iterdir())
        except OSError as error:
            raise OutputError(f"cannot write {path}: {error.strerror}") from error
        if not is_empty and not any(_has_mark(path / name) for name in (QUESTIONS, RANKINGS, RETRIEVED)):
            raise OutputError(f"{path}: the folder has other files; choose a new or empty folder")
        for name in FILES:
            check_not_read(path / name, inputs)
        for name in (STORE, *reversed(FILES)) if overwrite else ():
            (path / name).unlink(missing_ok=True)
            shutil.rmtree(_parts(path / name), ignore_errors=True)
        return cls(path, not (is_empty or overwrite), progress)

    def output(self, name: str, *made_from: str) -> dict[str, Any]:
        """The output of a verb: it goes on from what it has, unless this is older than what it is made from."""
        path = self.path / name
        begun = [one for one in (_parts(path) / "run.json", path) if one.exists()][:1]
        newest = max((_time(self.path / other) for other in made_from), default=0)
        lasts = all(_time(one) >= newest for one in begun)
        how = {"resume": self.goes_on and lasts, "overwrite": not lasts or has_parts(_parts(path))}
        return {"output": path, "progress": self.progress, **how}

    def table(
        self,
        name: str,
        made_from: Sequence[str],
        settings: Mapping[str, Any],
        make: Callable[[], tuple[pa.Table, Mapping[str, Any]]],
    ) -> None:
        """The output of a verb that makes a table in memory, with its ``settings`` in the metadata.

        Raises ``OutputError`` if the output that is there was made with others.
        """
        place = self.output(name, *made_from)
        path, own = place["output"], json.loads(json.dumps({"fastmetrics": __version__, **settings}, default=str))
        if place["resume"] and path.exists():
            compare(path, read_metadata(path).get(_STAGE, {}), own)
            return
        table, metadata = make()
        target = table_target(path, [], overwrite=True)
        write_whole(table, target, {**metadata, _STAGE: own}, set(table.column_names))

    def read(self, name: str) -> pa.Table:
        """The rows of an output."""
        source = open_table(self.path / name)
        return whole_table(source, dict.fromkeys(source.names, "any"))

    def by_repeat(self, name: str) -> pa.Table:
        """The rows of an output with an id for each repeat of a question, and its metadata."""
        table, numbers = self.read(name), self.read(RETRIEVED)[REPEAT]
        ids = pc.binary_join_element_wise(table["id"].cast(pa.string()), numbers.cast(pa.string()), " #")
        table = table.set_column(table.column_names.index("id"), "id", ids)
        return table.replace_schema_metadata(pq.read_schema(self.path / name).metadata)


_STAGE = "stage"
"""The key of the settings of a table made in memory, in the metadata of its file."""


def _has_mark(path: Path) -> bool:
    """Whether a run made a file, questions or what was retrieved for them, or was killed while it made it."""
    try:
        metadata = read_metadata(path)
    except FileFormatError:
        return _parts(path).is_dir() and is_ours(_parts(path))
    embeddings = ScoreMetadata.of(metadata).embeddings or {}
    return _STAGE in metadata or _EMBEDDING in embeddings.get("columns", {})


def _parts(path: Path) -> Path:
    """The folder of the parts of an unfinished file."""
    return path.with_name(f"{path.name}{WORK_SUFFIX}")


def _time(path: Path) -> int:
    return os.stat(path).st_mtime_ns


def with_question(questions: pa.Table, name: str) -> pa.Table:
    """The vectors of the questions that are not null, with their row numbers as ids; the others have no ranking.

    Raises ``ColumnError`` if all are null.
    """
    has = np.asarray(questions[_EMBEDDING].is_valid())
    if not has.any():
        raise ColumnError(f"{name}: expected questions, but the question is null in all {len(has):,} rows")
    return pa.table({"id": np.flatnonzero(has), _EMBEDDING: questions[_EMBEDDING].filter(pa.array(has))})


def for_all(rankings: pa.Table, questions: pa.Table) -> pa.Table:
    """The rankings of all questions, null for those that are null, which were not searched."""
    if len(rankings) == len(questions):
        return rankings
    places, own = np.arange(len(questions)), resolve(questions.column_names, None, needed={"id"}).get("id")
    rows = rankings.take(pc.index_in(pa.array(places), rankings["id"].combine_chunks()))
    ids = pa.array(places) if own is None else questions[own]
    return rows.set_column(rows.column_names.index("id"), "id", ids)


def ranked(runs: Sequence[pa.Table]) -> pa.Table:
    """The rankings of repeated searches, those of a question one after the other, with the number of each."""
    if len(runs) == 1:
        return runs[0]
    count, repeats = len(runs[0]), len(runs)
    order = np.arange(count * repeats).reshape(repeats, count).T.ravel()
    numbers = np.tile(np.arange(1, repeats + 1), count)
    return pa.concat_tables(runs).take(pa.array(order)).append_column(REPEAT, pa.array(numbers))


def asked(questions: pa.Table, rankings: pa.Table, columns: Mapping[str, str]) -> pa.Table:
    """The question of each ranking, in columns of the usual names.

    Of the repeats of a question the first alone has its embedding, so that tier 0 measures distinct questions.
    """
    repeats = len(rankings) // len(questions) if len(questions) else 1
    table = questions.take(pa.array(np.repeat(np.arange(len(questions)), repeats)))
    own = {name: table[column] for name, column in resolve(table.column_names, columns).items()}
    others = [name for name in table.column_names if name not in {*own, *columns.values()}]
    made = {"id": rankings["id"], **own, **{name: table[name] for name in others}}
    if REPEAT in rankings.column_names:
        first = pc.equal(rankings[REPEAT], 1)
        made[_EMBEDDING] = pc.if_else(first, made[_EMBEDDING], None)
        made[REPEAT] = rankings[REPEAT]
    return pa.table(made)


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

    @property
    def first(self) -> Sequence[str]:
        """The metrics to look at first: those of the judge, then one of quality, of retrieval, of cost and of form."""
        names = [name for name, figures in self.summary.items() if figures.n]
        better = declared_better(names, {})
        ways = {name: better.get(name) for name in names}
        firsts = first_metrics(concerns_of(names, str), str, ways)
        return list(dict.fromkeys([*filter(is_axis, names), *firsts.values()]))[:_FIRST]

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
    judging = judge_of(judges, chosen)
    if isinstance(chosen, CallBot):
        local_path(chosen.store_path, "store")
    rows, asking, columns = RagChunks.of(chunks, reading), open_table(questions), columns or {}
    index: Any = None if reading.index is None else local_path(reading.index, "index")
    own = [name for name in asking.names if name not in _OUTPUT_COLUMNS and not name.startswith(PREFIX)]
    if "question" not in resolve(own, columns, needed={"question"}):
        expected = f"{shown_address(as_local(questions))}: no column 'question', only {quoted(own)}; name it with "
        raise ColumnError(expected, Argument("columns", {"question": ...}))
    files = RagFolder.of(local_path(output, "output"), [questions, chunks], progress, overwrite=overwrite)
    for what, source in {"the questions": asking, rows.name: rows.source}.items():
        if files.goes_on and source.unstable is not None:
            refused = f"cannot go on in {files.path}: {what}: {source.unstable}; choose "
            raise OutputError(refused, Argument("overwrite", True), " to start again")
    if isinstance(chosen, FunctionBot) and chosen.store is None:
        chosen = replace(chosen, store=files.path / STORE)
    left_out = [name for name in asking.names if name not in own]
    notes = [f"not read: {quoted(left_out)}, which the evaluation makes"] if left_out else []

    embed(questions, model, "question", columns=columns, keep=own, **files.output(QUESTIONS))

    vectors, column, made_from = chunks, rows.vector, [QUESTIONS]
    if rows.vector is None and index is None:
        embed(chunks, model, [reading.text], columns={"id": reading.id}, keep=[], **files.output(CHUNKS))
        vectors, column, made_from = files.path / CHUNKS, f"{reading.text}{SUFFIX}", [QUESTIONS, CHUNKS]

    def found() -> tuple[pa.Table, Mapping[str, Any]]:
        place, how = rows.searched(vectors, str(column), threads) if index is None else (index, {})
        how |= {"k": depth, "column": _EMBEDDING, "threads": threads}
        every, queries = files.read(QUESTIONS), files.path / QUESTIONS
        some = with_question(every, shown_address(as_local(questions))) if every[_EMBEDDING].null_count else None
        runs = [search(place, queries if some is None else some, **how) for _ in range(repeats)]
        return ranked([for_all(run.table, every) for run in runs]), runs[0].settings

    settings: dict[str, Any] = {"chunks": rows.identity, "k": depth, "repeats": repeats, "index": index and str(index)}
    settings |= {"metric": reading.metric, "pgvector": reading.pgvector, "vector": column}
    files.table(RANKINGS, made_from, settings, found)

    def retrieved() -> tuple[pa.Table, Mapping[str, Any]]:
        rankings = files.read(RANKINGS)
        table = asked(files.read(QUESTIONS), rankings, columns)
        return with_contexts(table, rankings, rows.source, rows.name, id=reading.id, text=reading.text, k=k), {}

    settings = {"chunks": rows.identity, "columns": dict(columns), "id": reading.id, "text": reading.text, "k": k}
    files.table(RETRIEVED, [QUESTIONS, RANKINGS], settings, retrieved)

    answered = answer(files.path / RETRIEVED, chosen, watch=watch, **files.output(ANSWERS, RETRIEVED))

    rated, judged, rubrics = ANSWERS, None, list[str]()
    if judging is not None:
        answers = files.path / ANSWERS
        judged = judge(answers, judging, keep=open_table(answers).names, watch=watch, **files.output(JUDGED, ANSWERS))
        rated, rubrics = JUDGED, [rubric.axis for rubric in judging.loaded_rubrics]

    by_default = not metrics and not suites
    wanted = dict.fromkeys([*listed(metrics), *(BESIDE_TIERS if by_default else ()), *rubrics])
    place = files.output(SCORES, rated)
    scores = place["output"]
    if place["resume"] and scores.exists():  # the name is no setting of a score
        compare(scores, {"name": read_metadata(scores).get("name")}, {"name": name})
    options: dict[str, Any] = {"columns": {"embedding": _EMBEDDING}, "suites": TIERS if by_default else suites}
    options |= {"name": name, "embedder": model, "threads": threads}
    options["keep"] = [REPEAT, *listed(keep)] if repeats > 1 and listed(keep) != ["all"] else keep
    scored = score(files.path / rated, list(wanted), **options, **place)
    summary = summarize(scores)

    notes += [note for one in (judged, scored) if one is not None and not one.complete for note in one.summary.notes]
    if repeats > 1 and baseline is not None:
        notes.append("the report has no baseline: `compare` takes the repeats of a question as one")
        baseline = None
    shown = [files.by_repeat(one) if repeats > 1 else files.path / one for one in (SCORES, ANSWERS, rated)]
    options = {"texts": shown[1], "judged": None if judged is None else shown[2], "baseline": baseline}
    try:
        report(shown[0], files.path / REPORT, overwrite=True, threads=threads, language=language, **options)
    except MissingExtraError as error:
        notes.append(f"no report: {error}")
    by_rubric = {} if judged is None else judged.metadata["judged"]
    statuses = {axis: counts["statuses"] for axis, counts in by_rubric.items()}
    return RagEvaluation(
        folder=files.path,
        summary=summary,
        statuses=answered.counts,
        spending=None if answered.complete else answered.spending,
        judging=None if judged is None or judged.complete else judged.spending,
        judged=statuses,
        failed=failed_calls(summed([answered.counts, *statuses.values()])),
        notes=[*failure_notes(answered.metadata["answered"]), *(note for note in notes if note not in summary.notes)],
    )
