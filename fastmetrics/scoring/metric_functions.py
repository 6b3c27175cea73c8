"""Metrics called with raw columns: ``fm.token_f1(answer, reference)`` and the like, and the anchors behind a
verdict.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from fastmetrics.base.arrays import Floats
from fastmetrics.base.column_names import COLUMNS, listed
from fastmetrics.base.columns import (
    aligned_table,
    as_arrow,
    by_index,
    ids_of_series,
    of_kinds,
    tells_rows,
    with_index_of,
)
from fastmetrics.base.errors import UnknownNameError, warn_of
from fastmetrics.base.score_metadata import BatchSums
from fastmetrics.base.threads import cores
from fastmetrics.kernels.byte_search import count_characters
from fastmetrics.metrics.batch import Batch
from fastmetrics.metrics.claim_support import ANCHOR_KINDS, passage_in
from fastmetrics.metrics.claim_support import anchors as find_anchors
from fastmetrics.metrics.metric import REGISTRY, Metric
from fastmetrics.metrics.rouge import KINDS, PARTS
from fastmetrics.metrics.score_names import Score, parse
from fastmetrics.metrics.verdict import in_words
from fastmetrics.plans.corpus_values import cautions_of, finished
from fastmetrics.plans.notes import notes_of
from fastmetrics.plans.plan import Plan
from fastmetrics.plans.score_batch import ScoredRows, Scorer, VocabularyPool, fit, map_batches, slices

# Metrics called with raw columns: ``fm.token_f1(answers, references)`` and the like, and several by ``fm.rouge``.


_CALLS: dict[str, tuple[Metric, Callable[..., Any]]] = {}


def callable_of(name: str) -> Callable[..., Any]:
    """The function ``fastmetrics.<name>``, the same object as long as the declaration is the same."""
    metric = REGISTRY[name]
    if _CALLS.get(name, (None,))[0] is not metric:
        _CALLS[name] = metric, _called_with_columns(metric)
    return _CALLS[name][1]


def _called_with_columns(metric: Metric) -> Callable[..., Any]:
    """A metric called with raw columns and its options."""

    @functools.wraps(metric.function)
    def call(*columns: Any, threads: int | None = None, **keywords: Any) -> Any:
        present, options = columns_and_options(metric, columns, keywords)
        return (score_columns if metric.corpus is None else count_columns)(metric, present, options, threads)

    call.__signature__ = _signature(metric)  # type: ignore[attr-defined]
    return call


def columns_and_options(
    metric: Metric, columns: Sequence[Any], keywords: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The columns by canonical name, and the options, of a metric called with both.

    Raises ``TypeError`` for columns that are missing or too many.
    """
    present = dict(zip(metric.needs, columns, strict=False))
    if len(columns) > len(metric.needs):
        raise TypeError(
            f"{metric.name}() takes {len(metric.needs)} columns ({', '.join(metric.needs)}), got {len(columns)}"
        )
    options: dict[str, Any] = {}
    for option, value in keywords.items():
        (present if option in metric.needs and option not in present else options)[option] = value
    present = {column: values for column, values in present.items() if values is not None}
    lacking = [column for column in metric.required if column not in present]
    if lacking:
        raise TypeError(f"{metric.name}() needs the columns {', '.join(lacking)}")
    if not metric.fits(present):
        raise TypeError(f"{metric.name}() needs the columns {metric.rows.either}")
    return present, options


def _signature(metric: Metric) -> inspect.Signature:
    """The signature: the columns by position or name, then the options and ``threads`` by name."""
    keyword, either = inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD
    columns = [
        inspect.Parameter(name, either, default=None if name in metric.optional else inspect.Parameter.empty)
        for name in metric.needs
    ]
    defaults = {**metric.defaults, **dict.fromkeys(metric.text_options)}
    options = [inspect.Parameter(name, keyword, default=value) for name, value in defaults.items()]
    return inspect.Signature([*columns, *options, inspect.Parameter("threads", keyword, default=None)])


@dataclass(frozen=True)
class ColumnScores:
    """The scores of raw columns under a plan, batch by batch."""

    planned: Plan
    batches: Sequence[ScoredRows]
    sums: BatchSums

    def values(self, name: str) -> Iterator[Any]:
        """The scores of a column, NaN where there are none, or the lists stored in it."""
        return (rows.scores[name][0] if name in rows.scores else rows.stored[name] for rows in self.batches)

    def columns(self, name: str) -> list[pa.Array]:
        """The scores of a column, null for rows that lack an input."""
        return [rows.column(name) for rows in self.batches]

    def whole(self, name: str) -> Floats:
        """All scores of a column, NaN where there are none."""
        return np.concatenate([*self.values(name)] or [np.zeros(0)])


_PLANS: dict[object, tuple[Sequence[Score], Plan]] = {}
"""The plans of recent calls: they know how the columns are read."""
_MOST_PLANS = 64


def _planned(scores: Sequence[Score], columns: tuple[str, ...]) -> Plan:
    """The plan of scores of raw columns, that of an earlier call where it has the same."""
    key = columns, tuple((score.name, id(score.metric), repr(score.options)) for score in scores)
    known = _PLANS.get(key)
    if known is None:
        if len(_PLANS) >= _MOST_PLANS:
            _PLANS.clear()
        known = _PLANS[key] = tuple(scores), Plan(tuple(scores), dict(zip(columns, columns, strict=True)))
    return known[1]


def scored_columns(
    scores: Sequence[Score], columns: Mapping[str, Any], threads: int | None, pool: VocabularyPool | None = None
) -> ColumnScores:
    """Metrics over the same raw columns of equal length (canonical name: values), scored as a table is.

    With a ``pool``, that of a function which other tools call, one thread is the one that calls.
    """
    planned = _planned(scores, tuple(name for name, values in columns.items() if values is not None))
    workers, table = cores(threads), table_of_columns(columns, planned.kinds)
    scorer = Scorer(fit(planned, lambda: slices(table)), pool)
    alone = pool is not None and workers == 1
    batches = list(
        map(scorer.rows, slices(table))
        if alone
        else map_batches(scorer.rows, slices(table, workers), workers, at_once=True)
    )
    if not batches and any(score.metric.corpus is not None for score in scores):  # no rows have counts too
        batches = [scorer.rows(pa.RecordBatch.from_pylist([], table.schema))]
    return ColumnScores(planned, batches, BatchSums.added(rows.sums.to_json() for rows in batches))


def score_together(scores: Sequence[Score], columns: Mapping[str, Any], threads: int | None) -> dict[str, Floats]:
    """Several metrics over the same raw columns, by score name; their notes are a warning."""
    scored = scored_columns(scores, columns, threads)
    warn_of(notes_of(scored.planned, scored.sums))
    return {score.name: scored.whole(score.name) for score in scores}


def score_columns(
    metric: Metric, columns: Mapping[str, Any], options: Mapping[str, Any], threads: int | None
) -> Floats:
    """One metric over raw columns of equal length: one float64 per row, NaN where it has no score."""
    score = Score(metric.name, metric, metric.options(options), metric.name)
    return score_together([score], columns, threads)[metric.name]


def count_columns(metric: Metric, columns: Mapping[str, Any], options: Mapping[str, Any], threads: int | None) -> Any:
    """One corpus metric over raw columns of equal length: the result of its ``finish``."""
    score = Score(metric.name, metric, metric.options(options), metric.name)
    scores_read = [parse(spec) for spec in metric.reads(score.options)]
    for other in scores_read:
        if not other.metric.fits([column for column, values in columns.items() if values is not None]):
            raise TypeError(f"{metric.name}() needs the columns of {other.name}: {', '.join(other.metric.needs)}")
    scored = scored_columns([score, *scores_read], columns, threads)
    value = finished(score, scored.sums.counts[metric.name], scored.values)
    cautions = {**scored.sums.cautions, **cautions_of(metric.name, value)}
    warn_of(notes_of(scored.planned, replace(scored.sums, cautions=cautions)))
    return value


def table_of_columns(columns: Mapping[str, Any], kinds: Mapping[str, str]) -> pa.Table:
    """Raw columns by canonical name, without absent ones, checked to be of their ``kinds``."""
    given = by_index({name: values for name, values in columns.items() if values is not None})
    table = aligned_table({name: as_arrow(values, name) for name, values in given.items()})
    return of_kinds(table, {name: kinds.get(name, COLUMNS[name].kind) for name in table.column_names})


def rouge(
    answer: Any,
    reference: Any,
    *,
    types: Sequence[str] | str = ("rouge1", "rouge2", "rougeL"),
    stemmer: bool = False,
    tokenizer: str = "rouge",
    threads: int | None = None,
) -> dict[str, Floats]:
    """ROUGE of every answer: precision, recall and F1 for each of ``types``, equal to rouge-score 0.1.2.

    ``types`` are among rouge1 … rouge9, rougeL and rougeLsum.  ``reference`` contains one text or a list of texts per
    row; for each type, the reference with the highest F1 counts.  The arrays have the names of the row metrics, and are
    NaN where an input is missing.

    >>> import fastmetrics as fm
    >>> fm.rouge(["the cat sat on it"], ["The cat sat."], types=["rouge2"])
    {'rouge2_precision': array([0.5]), 'rouge2_recall': array([1.]), 'rouge2_f1': array([0.66666667])}

    Raises ``UnknownNameError`` for another type, ``OptionError`` for another tokenizer, ``ColumnError`` for columns
    that differ in length.
    """
    expected = [f"rouge{kind}" for kind in KINDS]
    types = listed(types)
    for kind in types:
        if kind not in expected:
            raise UnknownNameError.of("type of ROUGE", kind, expected)
    names = [f"{kind}_{part}" for kind in types for part in PARTS]
    options = REGISTRY["rouge1_f1"].options({"stemmer": stemmer, "tokenizer": tokenizer})
    # longer n-grams first: counting them also counts the shorter ones
    scores = [Score(name, REGISTRY[name], options, name) for name in sorted(names, reverse=True)]
    scored = score_together(scores, {"answer": answer, "reference": reference}, threads)
    return {name: scored[name] for name in names}


# Explanations of scores for people: the anchors by name and position (the answer checks).


ANCHOR = pa.struct(
    [
        ("kind", pa.string()),
        ("text", pa.string()),
        ("start", pa.int64()),
        ("stop", pa.int64()),
        ("supported", pa.bool_()),
    ]
)
"""An anchor: its kind, its words, its characters in the answer, and whether the contexts support it."""


def anchors(answer: Any, contexts: Any, *, window: int = 30) -> pa.Table:
    """The anchors of each answer that ``hallucination`` counts, and whether the contexts support them.

    Returns a table with one column ``anchors``: per row a list of ``{kind, text, start, stop, supported}``, where kind
    is number, date, time, weekday or claim, and ``answer[start:stop]`` is the text; null where answer or contexts are
    missing; with the ``id`` of pandas series whose index tells rows apart, and their index in ``to_pandas()``.  A claim
    reads from the first word of its subject (of its verb, where a pronoun is the subject) to the last word of its
    object, and may contain other anchors.  ``window`` is that of ``hallucination``.

    >>> import fastmetrics as fm
    >>> found = fm.scoring.anchors(["It opened in 1890."], [["The tower opened in 1889."]])
    >>> [(anchor["text"], anchor["supported"]) for anchor in found["anchors"][0].as_py() if anchor["kind"] == "number"]
    [('1890', False)]

    Raises ``ColumnError`` for columns that differ in length or contain no text.
    """
    options = REGISTRY["hallucination"].options({"window": window})
    columns = {"answer": answer, "contexts": contexts}
    pieces = [_anchors(batch, options, False) for batch in _batches(columns)]
    return _with_ids(columns, {"anchors": pa.chunked_array(pieces, pa.list_(ANCHOR))})


def verdicts(question: Any, answer: Any, contexts: Any, **options: Any) -> pa.Table:
    """The verdict on each answer as a word, the scores behind it, and the anchors that no context supports.

    The options are those of ``verdict``.  Returns the columns ``verdict`` (PASS, WARN or FAIL), ``hallucination``,
    ``answer_relevance``, ``keyword_completeness`` and ``unsupported`` (as in ``anchors``); null where an input is
    missing; and the ``id`` of pandas series whose index tells rows apart, and their index in ``to_pandas()``.

    >>> import fastmetrics as fm
    >>> contexts = [["The tower opened in 1889."]]
    >>> table = fm.scoring.verdicts(["When did it open?"], ["The tower opened in 1890."], contexts)
    >>> table["verdict"].to_pylist(), [anchor["text"] for anchor in table["unsupported"][0].as_py()]
    (['FAIL'], ['1890'])

    Raises ``ColumnError`` for columns that differ in length or contain no text, ``OptionError`` for an invalid option.
    """
    complete = REGISTRY["verdict"].options(options)
    columns = {"question": question, "answer": answer, "contexts": contexts}
    scores = [_with_those(REGISTRY[name], complete) for name in _BEHIND_A_VERDICT]
    scored = scored_columns(scores, columns, 1)
    warn_of(notes_of(scored.planned, scored.sums))
    pieces = {name: scored.columns(name) for name in _BEHIND_A_VERDICT}
    pieces["verdict"] = [in_words(values) for values in scored.values("verdict")]
    pieces["unsupported"] = [_anchors(batch, complete, True) for batch in _batches(columns)]
    kinds = [pa.string(), pa.float64(), pa.float64(), pa.float64(), pa.list_(ANCHOR)]
    found = {name: pa.chunked_array(pieces[name], kind) for name, kind in zip(pieces, kinds, strict=True)}
    return _with_ids(columns, found)


def _with_ids(columns: Mapping[str, Any], found: Mapping[str, Any]) -> pa.Table:
    """What was found for the rows of some columns, behind the ids of pandas series, with their index in pandas."""
    ids = ids_of_series(*columns.values())
    series = [values for values in columns.values() if hasattr(values, "iloc") and hasattr(values, "index")]
    first = next((values for values in series if tells_rows(values.index)), series[0] if series else None)
    return with_index_of(pa.table({**({} if ids is None else {"id": ids}), **found}), first)


_BEHIND_A_VERDICT = ("verdict", "hallucination", "answer_relevance", "keyword_completeness")


def _with_those(metric: Metric, options: Mapping[str, Any]) -> Score:
    """The score of a metric with those of the options that it has."""
    own = {option: options[option] for option in metric.defaults if option in options}
    return Score(metric.name, metric, metric.options(own), metric.name)


def _batches(columns: Mapping[str, Any]) -> Iterator[Batch]:
    table = aligned_table({name: as_arrow(values, name) for name, values in by_index(columns).items()})
    for rows in slices(table):
        yield Batch(dict(zip(rows.schema.names, rows.columns, strict=True)))


def _anchors(batch: Batch, options: Mapping[str, Any], unsupported: bool) -> pa.Array:
    """The anchors of a batch as a list column, optionally only unsupported ones."""
    answer, contexts = passage_in(batch, "answer", {}), passage_in(batch, "contexts", {})
    spans = find_anchors(answer, contexts, options["window"])
    order = spans.in_text(unsupported)
    starts, stops = spans.starts[order], spans.stops[order]
    data, begins = answer.text.data, answer.text.starts[spans.rows[order]]
    first, size = count_characters(data, begins, starts), count_characters(data, starts, stops)
    kinds = pa.array(ANCHOR_KINDS).take(pa.array(spans.kinds[order]))
    fields = [kinds, spans.texts(answer.text, order), pa.array(first), pa.array(first + size)]
    values = pa.StructArray.from_arrays([*fields, pa.array(spans.supported[order])], fields=list(ANCHOR))
    missing = ~(batch.present("answer") & batch.present("contexts"))
    return pa.ListArray.from_arrays(spans.bounds_of(order), values, type=pa.list_(ANCHOR), mask=pa.array(missing))
