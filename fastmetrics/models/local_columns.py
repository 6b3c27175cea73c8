"""The columns of local models: ``fm.models.entailment`` and its like, and ``fm.models.apply``, which makes them."""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pyarrow as pa

from fastmetrics.base import shared_parameters as shared
from fastmetrics.base.column_names import kept_columns, resolve
from fastmetrics.base.display import row_count
from fastmetrics.base.errors import Argument, ColumnError, UnknownColumnError, UnknownNameError
from fastmetrics.base.options import Choice, Whole, argument
from fastmetrics.base.progress import Progress
from fastmetrics.base.public_names import __version__
from fastmetrics.base.score_metadata import BatchSums, RowCounts, ScoreMetadata
from fastmetrics.base.shared_parameters import Help
from fastmetrics.engines.column_maker import ColumnMaker, RunOptions, RunResult, check_without_output
from fastmetrics.engines.run import make_columns, open_output
from fastmetrics.models.judged_columns import summed
from fastmetrics.models.local_folders import Folder, LocalSettings
from fastmetrics.models.local_models import EXACT, BertScore, Classifier, Entailment, LocalModel, Rerank, key_of
from fastmetrics.plans.notes import unread_notes
from fastmetrics.results.summary import summarize
from fastmetrics.tables.good_rows import good_batches
from fastmetrics.tables.input_files import Files, FileSettings, file_settings
from fastmetrics.tables.opening import open_table
from fastmetrics.tables.readers import Limits
from fastmetrics.tables.sources import TableSource

_LIMITS = Limits(batch_rows=256)
"""Few rows a batch, for progress by rows; the pairs of some hundred rows are enough to go together by length."""

_Settings = Annotated[
    Any, Help("Settings of :class:`LocalSettings`, by name: precision, device, cache, threads, labels.")
]

# The models, by what they make.


def entailment(
    model: Folder,
    *,
    sentences: Annotated[
        Literal["mean", "min"],
        Help("Of an answer's sentences: the mean, or min, the worst (least entailed, most contradicted)."),
    ] = "mean",
    **settings: _Settings,
) -> LocalModel:
    """A model of entailment, for :func:`apply`: it makes the columns ``entailment`` and ``contradiction``.

    Each sentence of the ``answer``, without its citation, is judged with each of the ``contexts`` as the premise; a
    context that does not fit into the model is read in windows.  Of a sentence the best context counts, then the mean
    or the worst of the sentences.  ``model`` is a folder with labels named entailment and, for the second column,
    contradiction (a cross-encoder of natural language inference), or with one score of support.  A function receives
    pairs (context, sentence); its ``labels`` name its columns.

    Null without contexts, without an answer or a sentence; 0 for an empty list of contexts, which support nothing.

    >>> import numpy as np, fastmetrics as fm
    >>> model = fm.models.entailment(lambda pairs: [float(sentence in context) for context, sentence in pairs])
    >>> table = {"answer": ["It rained. It froze.", "It rained."], "contexts": [["It rained. We slept."], None]}
    >>> fm.models.apply(table, model)["entailment"].to_pylist()
    [0.5, None]

    Raises ``InputError`` for a folder without a model or a tokenizer, ``OptionError`` for labels that nobody states,
    ``MissingExtraError`` without sentence-transformers.
    """
    argument("sentences", sentences, Choice("mean", "min"))
    return Entailment(model, LocalSettings(**settings), sentences=sentences)


def rerank(
    model: Folder, *, k: Annotated[int, Help("Contexts of each row in the mean.")] = 5, **settings: _Settings
) -> LocalModel:
    """A reranker, for :func:`apply`: it makes ``context_relevance``, a list, and the mean of the first ``k`` of it.

    Each of the ``contexts`` is scored with the ``question``, by a cross-encoder of one score, on its own scale; the
    best window of a long context counts.  Null for a context without text, and the mean null without any.

    >>> import fastmetrics as fm
    >>> model = fm.models.rerank(lambda pairs: [float(question in context) for question, context in pairs], k=1)
    >>> made = fm.models.apply({"question": ["Ada"], "contexts": [["Ada wrote.", "Bob read."]]}, model)
    >>> made["context_relevance"].to_pylist(), made["context_relevance@1"].to_pylist()
    ([[1.0, 0.0]], [1.0])

    Raises ``OptionError`` for a model with several labels, and the errors of :func:`entailment`.
    """
    argument("k", k, Whole(1, 1 << 31))
    return Rerank(model, LocalSettings(**settings), k=k)


def bert_score(
    model: Annotated[str | Path, Help("The folder of a model.")],
    *,
    layer: Annotated[int | None, Help("The layer whose vectors are compared; by default the last.")] = None,
    idf: Annotated[
        bool | str | Path,
        Help("Weigh tokens by their rarity in the references of the table, or in the lines of a file."),
    ] = False,
    baseline: Annotated[
        str | Path | None, Help("Rescale by a file of the package bert-score: lines of LAYER,P,R,F.")
    ] = None,
    **settings: _Settings,
) -> LocalModel:
    """BERTScore, for :func:`apply`: ``bert_score_precision``, ``bert_score_recall`` and ``bert_score_f1``.

    Each token of the ``answer`` is matched with the most similar one of the ``reference``, and the reverse, as the
    package bert-score does; its ``num_layers`` is ``layer`` (17 for roberta-large).  Of several references the best
    counts, for each of the three.  An empty text scores 0, as there; a null one is null.

    >>> import fastmetrics as fm
    >>> fm.models.bert_score("no/such/folder")
    Traceback (most recent call last):
    fastmetrics.base.errors.InputError: model no/such/folder: expected a folder with a config.json; it downloads none

    Raises ``OptionError`` for a layer that the model does not have, and the errors of :func:`entailment`.
    """
    own = {"layer": layer, "idf": idf, "baseline": None if baseline is None else str(baseline)}
    return BertScore(model, LocalSettings(**settings), **own)


def classifier(
    model: Folder, column: Annotated[str, Help("The column of texts.")], **settings: _Settings
) -> LocalModel:
    """A classifier of texts, for :func:`apply`: the probability of each of its labels, in ``<column>_<label>``.

    Labels are those of the model's configuration; where it says that a text may have several, each has a probability
    of its own.  A text that is longer than the model is cut off, which is counted.  Null for a null or blank text.

    >>> import fastmetrics as fm
    >>> polite = lambda texts: [[float("please" in text), float("please" not in text)] for (text,) in texts]
    >>> model = fm.models.classifier(polite, "answer", labels=["polite", "other"])
    >>> fm.models.apply({"answer": ["please wait", None]}, model)["answer_polite"].to_pylist()
    [1.0, None]

    Raises ``OptionError`` for a model of one score, and the errors of :func:`entailment`.
    """
    return Classifier(model, LocalSettings(**settings), column=column)


# Making their columns.


_CUT = "hold a text that is longer than the model, of which it reads the beginning"


@dataclass(frozen=True)
class LocalMaker(ColumnMaker):
    """The kept columns of a table, and those of a local model, whose columns are ``reads`` (canonical: yours)."""

    model: LocalModel
    reads: Mapping[str, str]
    keep: Sequence[str]

    @property
    def columns(self) -> dict[str, str]:
        """The input columns and their kinds."""
        lists = ("contexts", "reference")
        kinds = {yours: "texts" if name in lists else "text" for name, yours in self.reads.items()}
        return {**dict.fromkeys(self.keep, "any"), **kinds}

    @property
    def signature(self) -> dict[str, Any]:
        """All settings that affect the columns."""
        settings = {"metric": self.model.kind, **self.model.signature}
        scores = {
            name: {**settings, "range": list(bounds)} if np.isfinite(bounds).all() else settings
            for name, bounds in self.numbers.items()
        }
        return ScoreMetadata(version=__version__, scores=scores, columns=self.reads, keep=self.keep).to_json()

    @property
    def numbers(self) -> dict[str, tuple[float, float]]:
        """The columns of numbers, with their bounds."""
        return {name: bounds for name, bounds in self.model.outputs.items() if bounds is not None}

    def inputs(self, batch: pa.RecordBatch) -> dict[str, pa.Array]:
        """The columns that the model reads, by their canonical names."""
        return {name: batch.column(yours) for name, yours in self.reads.items()}

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The kept columns, then those of the model; the rows that it did not read whole are counted beside."""
        pairs = self.model.pairs(self.inputs(batch))
        made = self.model.values(pairs, self.model.scores(pairs.texts))
        counts = [int(pairs.is_cut.sum()), int(np.argmax(pairs.is_cut)) if batch.num_rows else 0, 2]
        unread = {name: {_CUT: counts} for name in self.numbers} if counts[0] else {}
        arrays = {name: batch.column(name) for name in self.keep}
        return BatchSums(unread=unread, of_rows=batch.num_rows).on(pa.record_batch({**arrays, **made}))

    def observe(self, part: pa.RecordBatch | pa.Table) -> dict[str, Any]:
        """The rows of a part without a number, by column, and those that were cut off."""
        missing = {name: part.column(name).null_count for name in self.numbers}
        return {**BatchSums.of([part]).to_json(), "of_rows": part.num_rows, "missing": missing}

    def conclude(self, observed: Sequence[Mapping[str, Any]], rejected: int) -> dict[str, Any]:
        """The metadata about all parts."""
        sums = BatchSums.added(observed)
        missing = summed(part["missing"] for part in observed)
        counts = {name: RowCounts(sums.of_rows, missing[name], 0, 0) for name in self.numbers}
        return ScoreMetadata(metrics=counts, n_rejected=rejected, unread=sums.unread or None).to_json()

    def concluded(self, run: RunResult, output: str) -> RunResult:
        """The result with the summary of the columns, and the number of pairs that were computed."""
        return replace(
            run,
            summary=summarize(output),
            counts={"computed": self.model.computed},
            notes=[*run.notes, *self.model.notes],
        )

    def described(self, table: pa.Table, sums: BatchSums) -> tuple[pa.Table, list[str]]:
        """The columns with their metadata; the notes are on the loss, and on texts that were cut off."""
        table, notes = super().described(table, sums)
        return table, [*notes, *self.model.notes, *unread_notes(sums.unread, table.num_rows)]


def apply(
    table: shared.Table,
    model: Annotated[LocalModel, Help("What entailment, rerank, bert_score or classifier returned.")],
    *,
    output: shared.Output = None,
    keep: shared.KeepAll = None,
    columns: shared.Columns = None,
    files: Files = None,
    resume: shared.Resume = False,
    overwrite: shared.Overwrite = False,
    progress: Annotated[
        Callable[[Progress], None] | None, Help("A function that is called with the progress while rows are made.")
    ] = None,
) -> Any:
    """Add the columns of a local model to a table, in memory or in files, for score, compare, gate and the others.

    ``table`` is as in ``score``, ``model`` is what :func:`entailment`, :func:`rerank`, :func:`bert_score` or
    :func:`classifier` returned.  All columns are copied, or the id and those in ``keep``.  Each distinct pair of texts
    is computed once, those of like length together, and stored: an interrupted run loses seconds, and a second run
    computes nothing.

    >>> import fastmetrics as fm
    >>> model = fm.models.rerank(lambda pairs: [float(len(context)) for question, context in pairs])
    >>> fm.models.apply({"question": ["q"], "contexts": [["a", "abc"]]}, model).column_names
    ['question', 'contexts', 'context_relevance', 'context_relevance@5']

    With ``output``, the rows are written to a file; the options of outputs are those of ``score``.  The result has the
    ``summary``, and in ``counts`` the pairs that were ``computed`` rather than found.

    Raises ``ColumnError`` for a column that is missing, contains no text, or has the name of a new one, ``InputError``
    for a model that fails or returns another array, and the errors of reading and writing files.
    """
    files = file_settings(files)
    options = RunOptions(files, resume, overwrite, progress, _LIMITS)
    if output is None:
        check_without_output(options)
    source = open_table(table, files)
    target = None if output is None else open_output(output, source, options)
    maker = _maker(source, model, columns, keep)
    _learn(maker, source)
    return make_columns(maker, source, target, options, 1)


def _maker(
    source: TableSource, model: LocalModel, columns: Mapping[str, str] | None, keep: Sequence[str] | str | None
) -> LocalMaker:
    """The maker for a table with columns of these names."""
    names = source.names
    resolved = resolve(names, columns, needed={"id", *model.reads})
    reads = {name: resolved.get(name, name) for name in model.reads}
    for name, yours in reads.items():
        if yours not in names:
            unknown = UnknownNameError.of("column", yours, names)
            kind = UnknownColumnError if name in (columns or {}) else ColumnError
            raise kind(f"{model.kind}: {unknown}; set its name with ", Argument("columns", {name: ...}))
    copied = [name for name in names if name not in model.outputs]
    if keep is not None:
        copied = list(dict.fromkeys([*filter(None, [resolved.get("id")]), *kept_columns(keep, names)]))
    for name in copied:
        if name not in names:
            raise UnknownColumnError.of("column", name, names)
        if name in model.outputs:
            raise ColumnError(f"cannot keep the column {name!r}: a new column has its name")
    maker = LocalMaker(model, reads, copied)
    source.select(maker.columns)  # all at once: a reader in memory can be read only once
    return maker


def _batches(maker: LocalMaker, source: TableSource) -> Iterator[dict[str, pa.Array]]:
    """The columns that the model reads, batch by batch."""
    selection = source.select(maker.columns)
    for batch in good_batches(source, selection, limits=_LIMITS, skip=True):
        yield maker.inputs(batch)


def _weigh(maker: LocalMaker, source: TableSource) -> None:
    """Let a model weigh the tokens by all rows, if it does."""
    if isinstance(maker.model, BertScore):
        maker.model.weigh(_batches(maker, source))


def _learn(maker: LocalMaker, source: TableSource) -> None:
    """Let the model see the table before its columns are made: for weights of tokens, and the loss of its precision."""
    model = maker.model
    _weigh(maker, source)
    if model.is_exact:
        return
    pairs: dict[tuple[str, ...], None] = {}
    for columns in _batches(maker, source):
        pairs.update(dict.fromkeys(model.pairs(columns).texts))
        if len(pairs) >= EXACT:
            break
    model.measure(list(pairs)[:EXACT])


# What a run will take.


@dataclass(frozen=True)
class PairsEstimate:
    """The estimate: rows, distinct pairs to compute, those found in the store, and the seconds, from 50 pairs."""

    rows: int
    pairs: int
    stored: int
    seconds: float

    def __str__(self) -> str:
        return (
            f"{row_count(self.rows)}: {self.pairs:,} pairs to compute, {self.stored:,} already stored\n"
            f"about {self.seconds:,.0f} s, from {min(self.pairs, _TIMED)} pairs"
        )


_TIMED = 50


def estimate_pairs(
    table: Any,
    model: LocalModel,
    *,
    columns: Mapping[str, str] | None = None,
    files: FileSettings | None = None,
) -> PairsEstimate:
    """The pairs that :func:`apply` would compute, and the time of it; reads all rows, and stores nothing."""
    source = open_table(table, file_settings(files))
    maker = _maker(source, model, columns, ())
    _weigh(maker, source)
    found: dict[bytes, bool] = {}
    sample: dict[bytes, tuple[str, ...]] = {}
    rows = 0
    for batch in _batches(maker, source):
        rows += len(next(iter(batch.values())))
        new = {key: pair for pair in model.pairs(batch).texts if (key := key_of(pair)) not in found}
        for (key, pair), place in zip(new.items(), model.places(list(new)), strict=True):
            found[key] = bool(place >= 0)
            if place < 0:
                sample[key] = pair
        sample = {key: sample[key] for key in heapq.nsmallest(_TIMED, sample)}  # keys are random numbers
    missing = sum(not stored for stored in found.values())
    seconds = 0.0
    if sample:
        pairs = list(sample.values())
        model.compute(pairs[:2])  # the first call is slower than others
        began = time.perf_counter()
        model.compute(pairs)
        seconds = (time.perf_counter() - began) * missing / len(pairs)
    return PairsEstimate(rows, missing, len(found) - missing, seconds)
