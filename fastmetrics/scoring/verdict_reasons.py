"""Explanations of scores for people: the anchors by name and position (the answer checks)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.base.columns import as_arrow
from fastmetrics.base.frames import aligned_table
from fastmetrics.kernels.byte_search import count_characters
from fastmetrics.metrics.batch import Batch
from fastmetrics.metrics.claim_support import ANCHOR_KINDS, TRIPLES, PassageIn
from fastmetrics.metrics.claim_support import anchors as find_anchors
from fastmetrics.metrics.metric import REGISTRY
from fastmetrics.metrics.score_batch import slices

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


def anchors(answer: Any, contexts: Any, *, window: int = 30, claims: Any = TRIPLES) -> pa.Table:
    """The anchors of each answer that ``hallucination`` counts, and whether the contexts support them.

    Returns a table with one column ``anchors``: per row a list of ``{kind, text, start, stop, supported}``, where kind
    is number, date, time, weekday or claim, and ``answer[start:stop]`` is the text; null where answer or contexts are
    missing.  A claim reads from the first word of its subject (of its verb, where a pronoun is the subject) to the last
    word of its object, and may contain other anchors; with ``claims="words"`` it is one word.  The options are those of
    ``hallucination``.

    >>> import fastmetrics as fm
    >>> found = fm.anchors(["It opened in 1890."], [["The tower opened in 1889."]])
    >>> [(anchor["text"], anchor["supported"]) for anchor in found["anchors"][0].as_py() if anchor["kind"] == "number"]
    [('1890', False)]

    Raises ``ColumnError`` for columns that differ in length or contain no text.
    """
    options = REGISTRY["hallucination"].options({"window": window, "claims": claims})
    columns = {"answer": answer, "contexts": contexts}
    pieces = [_anchors(batch, options, False) for batch in _batches(columns)]
    return pa.table({"anchors": pa.chunked_array(pieces, pa.list_(ANCHOR))})


def verdicts(question: Any, answer: Any, contexts: Any, **options: Any) -> pa.Table:
    """The verdict on each answer as a word, the scores behind it, and the anchors that no context supports.

    The options are those of ``verdict``.  Returns the columns ``verdict`` (PASS, WARN or FAIL), ``hallucination``,
    ``answer_relevance``, ``keyword_completeness`` and ``unsupported`` (as in ``anchors``); null where an input is
    missing.

    >>> import fastmetrics as fm
    >>> table = fm.verdicts(["When did it open?"], ["The tower opened in 1890."], [["The tower opened in 1889."]])
    >>> table["verdict"].to_pylist(), [anchor["text"] for anchor in table["unsupported"][0].as_py()]
    (['FAIL'], ['1890'])

    Raises ``ColumnError`` for columns that differ in length or contain no text, ``OptionError`` for an invalid option.
    """
    complete = REGISTRY["verdict"].options(options)
    parts = {name: REGISTRY[name] for name in ("verdict", "hallucination", "answer_relevance", "keyword_completeness")}
    pieces: dict[str, list[pa.Array]] = {name: [] for name in (*parts, "unsupported")}
    for batch in _batches({"question": question, "answer": answer, "contexts": contexts}):
        for name, metric in parts.items():
            own_options = {option: complete[option] for option in metric.defaults if option in complete}
            scores, present = metric.compute(batch, metric.options(own_options))
            pieces[name].append(pa.array(scores, mask=~present))
        pieces["unsupported"].append(_anchors(batch, complete, True))
    pieces["verdict"] = [_in_words(scores) for scores in pieces["verdict"]]
    kinds = [pa.string(), pa.float64(), pa.float64(), pa.float64(), pa.list_(ANCHOR)]
    return pa.table({name: pa.chunked_array(pieces[name], kind) for name, kind in zip(pieces, kinds, strict=True)})


def _in_words(scores: pa.Array) -> pa.Array:
    """The words for the values of ``verdict``."""
    return pa.array(["FAIL", "WARN", "PASS"]).take(pc.multiply(scores, 2).cast(pa.int8()))


def _batches(columns: Mapping[str, Any]) -> Iterator[Batch]:
    table = aligned_table({name: as_arrow(values, name) for name, values in columns.items()})
    for rows in slices(table):
        yield Batch(dict(zip(rows.schema.names, rows.columns, strict=True)))


def _anchors(batch: Batch, options: Mapping[str, Any], unsupported: bool) -> pa.Array:
    """The anchors of a batch as a list column, optionally only unsupported ones."""
    need = PassageIn()
    answer, contexts = need.of(batch, "answer", {}), need.of(batch, "contexts", {})
    spans = find_anchors(answer, contexts, options["window"], options["claims"])
    order = np.lexsort((spans.starts, spans.rows))
    if unsupported:
        order = order[~spans.supported[order]]
    rows, starts, stops = spans.rows[order], spans.starts[order], spans.stops[order]
    data, begins = answer.text.data, answer.text.starts[rows]
    texts = [data[a:b].tobytes().decode() for a, b in zip(starts, stops, strict=True)]
    first, size = count_characters(data, begins, starts), count_characters(data, starts, stops)
    kinds = pa.array(ANCHOR_KINDS).take(pa.array(spans.kinds[order]))
    fields = [kinds, pa.array(texts, pa.string()), pa.array(first), pa.array(first + size)]
    values = pa.StructArray.from_arrays([*fields, pa.array(spans.supported[order])], fields=list(ANCHOR))
    offsets = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=batch.n_rows))]).astype(np.int32)
    missing = ~(batch.present("answer") & batch.present("contexts"))
    return pa.ListArray.from_arrays(pa.array(offsets), values, type=pa.list_(ANCHOR), mask=pa.array(missing))
