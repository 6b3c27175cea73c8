"""Grounding: support of answers by the passages that they cite (the RAG project)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.base.arrays import Flags, Floats, Ints, Text, decoded
from fastmetrics.base.columns import as_array, by_index, ids_of_series
from fastmetrics.base.errors import ColumnError
from fastmetrics.base.options import Real
from fastmetrics.base.shared_parameters import Help
from fastmetrics.metrics.abstention import PHRASES, Citation, Patterns, Refusals, check_phrases, refusals_in
from fastmetrics.metrics.answerability_flags import answerable
from fastmetrics.metrics.batch import Batch, Caution, Number, Options, Raw, need
from fastmetrics.metrics.cited_support import (
    PATTERN,
    REASONS,
    SUPPORTED,
    Cache,
    Embeds,
    Ids,
    Sentences,
    Support,
    cut,
    embedder_of,
    english_model,
    strings_of,
    support,
    with_numbers,
)
from fastmetrics.metrics.metric import REGISTRY, RowHooks, metric
from fastmetrics.metrics.pair_counts import divide
from fastmetrics.text.citation_marks import with_plain_marks

Cosine = Annotated[float, Real(-1.0, 1.0), "the cosine from which on a sentence counts as supported"]

TAU_SIM = 0.65
"""The RAG project's lowest cosine at which the cited passage supports a sentence."""


@dataclass(frozen=True, eq=False)
class Grounding:
    """The judged sentences of each answer, and which answers abstain."""

    support: Support
    abstained: Flags


@dataclass(frozen=True)
class GroundingOptions:
    """What a citation is, and how it is compared with the answer."""

    threshold: Cosine = TAU_SIM
    phrases: Patterns = PHRASES
    pattern: Citation = PATTERN
    embedder: Embeds = None
    cache: Cache = None


def grounding_in(batch: Batch, column: str, options: Options) -> Grounding:
    """Answers compared with the contexts of the same batch."""
    key = ("grounding", *(_hashable(options[setting.name]) for setting in fields(GroundingOptions)))
    return batch.remember(key, lambda: _grounding(batch, column, options))


Grounded = Annotated[Grounding, need(grounding_in, options=GroundingOptions, columns={"context_ids": Ids})]
_COUNTS = "counts of contexts"


def _hashable(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _grounding(batch: Batch, column: str, options: Options) -> Grounding:
    sentences, idk = sentences_of(batch, column, options)
    refusals = refusals_in(batch, column, options)
    contexts, counts = contexts_of(batch)
    judged = support(sentences, idk, contexts, counts, embedder_of(options), float(options["threshold"]))
    return Grounding(judged, REGISTRY["abstained"].function(refusals) > 0)


def sentences_of(batch: Batch, column: str, options: Options) -> tuple[Sentences, Flags]:
    """The sentences of answers with their citations, and whether they say "I don't know"."""
    refusals: Refusals = refusals_in(batch, column, options)
    sentences = cut(batch.text(column), pattern_of(batch, options))
    groups = sentences.text.groups
    assert groups is not None
    idk = np.zeros(len(sentences.text), np.bool_)
    sizes = np.diff(refusals.groups)
    within = np.arange(len(refusals.idk)) - np.repeat(refusals.groups[:-1], sizes)
    idk[np.repeat(groups[refusals.rows], sizes) + within] = refusals.idk
    return sentences, idk


def contexts_of(batch: Batch) -> tuple[Text, Ints]:
    """The contexts of a prepared batch, and the number in each row."""
    return batch.text("contexts"), batch.remember(_COUNTS, lambda: _counts(batch.columns["contexts"]))


def pattern_of(batch: Batch, options: Options) -> str:
    """The pattern of citations; ids were already replaced by numbers."""
    return PATTERN if "context_ids" in batch.columns else str(options["pattern"])


def prepare(batch: Batch, options: Mapping[str, Any]) -> Batch:
    """The batch with lists of contexts, and with ``answerable`` derived from the references if it is absent.

    If the batch has ids of contexts, citations by id are replaced by numbers.
    """
    key = ("grounded", _hashable(options["phrases"]), options["pattern"])
    return batch.remember(key, lambda: _prepared(batch, options))


def _prepared(batch: Batch, options: Mapping[str, Any]) -> Batch:
    contexts = decoded(batch.columns["contexts"])
    columns = {"answer": batch.columns["answer"], "contexts": _listed(contexts)}
    columns["answerable"] = pa.array((answerable(batch, options) == 1).astype(np.float64))
    counts = _counts(contexts)
    if options["pattern"] == PATTERN and "context_ids" not in batch.columns:
        columns["answer"] = with_plain_marks(decoded(columns["answer"]), counts.tolist())
    if "context_ids" in batch.columns:
        columns["context_ids"] = batch.columns["context_ids"]
        columns["answer"] = with_numbers(
            columns["answer"], columns["context_ids"], contexts, counts, options["pattern"]
        )
    prepared = Batch(columns)
    prepared.remember(_COUNTS, lambda: counts)
    return prepared


def _counts(contexts: pa.Array) -> Ints:
    """The number of contexts in each row, including null passages."""
    if not hasattr(contexts.type, "value_type"):
        return contexts.is_valid().to_numpy(zero_copy_only=False).astype(np.int64)
    sizes: Ints = pc.list_value_length(contexts).fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    return sizes


def _listed(contexts: pa.Array) -> pa.Array:
    """Contexts as lists without nulls: a null passage keeps its number, an empty list is not null."""
    if not hasattr(contexts.type, "value_type"):
        offsets = np.arange(len(contexts) + 1, dtype=np.int64)
        return pa.LargeListArray.from_arrays(offsets, contexts.cast(pa.large_string()), mask=contexts.is_null())
    sizes = _counts(contexts)
    flat = contexts.flatten().cast(pa.large_string()).fill_null("")
    padded = pa.concat_arrays([flat, pa.array([""], pa.large_string())])
    starts = np.concatenate([[0], np.cumsum(sizes)])[:-1]
    offsets = np.concatenate([[0], np.cumsum(np.maximum(sizes, 1))])
    places = np.repeat(np.where(sizes > 0, starts, len(flat)) - offsets[:-1], np.maximum(sizes, 1))
    strings = padded.take(pa.array(places + np.arange(offsets[-1])))
    return pa.LargeListArray.from_arrays(offsets, strings, mask=contexts.is_null())


def _uncited(batch: Batch, options: Mapping[str, Any], columns: Iterable[str]) -> Flags:
    """The rows whose answer does not abstain and has sentences, none of which cites anything."""
    grounding: Grounding = grounding_in(batch, "answer", options)
    sentences = grounding.support.sentences
    assert sentences.text.groups is not None
    marks = np.concatenate([[0], np.cumsum(sentences.marks[:, 0])])
    groups = sentences.text.groups
    return (np.diff(groups) > 0) & (np.diff(marks[groups]) == 0) & ~grounding.abstained


_UNCITED = Caution(
    "cite nothing, so none of their sentences counts as supported",
    "citations are matches of the option pattern: {pattern}",
    _uncited,
    least=0.5,
)


def _cautions(options: Options) -> tuple[Caution, ...]:
    return (_UNCITED, *english_model(options))


@metric(
    bounds=(0, 1),
    better="higher",
    source="S1, overlap",
    labels={"mean": "final_o"},
    check=check_phrases,
    rows=RowHooks(prepare=prepare),
    usual=False,
    caution=_cautions,
    cues=["groundedness"],
)
def grounding_overlap(answer: Grounded, contexts: Raw) -> Floats:
    """Share of the answer's sentences that the cited context supports.

    A sentence is supported if it has exactly one citation ``[n]``, 1 ≤ n ≤ number of contexts, does not say "I don't
    know" (``phrases``, as in ``abstained``), and the cosine of its embedding, without the citation, and that of the
    context is at least ``threshold``.  0 for an answer without sentences or a row without contexts; null where answer
    or contexts are null.  ``pattern`` is the regular expression of a citation; its first group is the number, or one of
    the ``context_ids``, as in ``citation_precision``.  ``embedder`` (a name, a function or an ``Embedder``; wordllama,
    a model of English, by default) and ``cache`` are as in ``Embedder``.  A summary notes answers that cite nothing,
    and rows in other scripts than Latin where the embedder is wordllama.

    >>> import fastmetrics as fm
    >>> fm.grounding_overlap(["Paris is in France [1]. I like it."], [["Paris lies in France."]])
    array([0.5])
    """
    return divide(*answer.support.per_row(), empty=0.0)


@metric(
    bounds=(0, 1),
    better="higher",
    source="S1, faithfulness (fallback)",
    labels={"mean": "final_f"},
    check=check_phrases,
    rows=RowHooks(prepare=prepare),
    usual=False,
    caution=_cautions,
    cues=["groundedness"],
)
def overlap_faithfulness(
    answer: Grounded,
    contexts: Raw,
    answerable: Number = None,  # type: ignore[assignment]
    reference: Raw = None,  # type: ignore[assignment]
) -> Floats:
    """Faithfulness from grounding: min(1, 0.6 + 0.4·grounding_overlap), 0 for abstaining on an answerable question.

    A question is answerable if the column ``answerable`` is true, or, without it, if a reference is not itself an "I
    don't know".  Options as in ``grounding_overlap``.

    >>> import fastmetrics as fm
    >>> fm.overlap_faithfulness(["I don't know.", "I don't know."], [["Paris."], ["Paris."]], [True, False])
    array([0. , 0.6])
    """
    overlap = divide(*answer.support.per_row(), empty=0.0)
    faithful = np.minimum(1.0, 0.6 + 0.4 * overlap)
    return np.where(answer.abstained & (answerable.values == 1), 0.0, faithful)


def grounding_evidence(
    answer: Annotated[Any, Help("The answers.")],
    contexts: Annotated[Any, Help("The contexts of each answer.")],
    *,
    threshold: Annotated[Cosine, Help("The minimum cosine of support.")] = TAU_SIM,
    phrases: Annotated[Patterns, Help("The phrases of abstention.")] = PHRASES,
    pattern: Annotated[Citation, Help("The regular expression of a citation.")] = PATTERN,
    embedder: Annotated[Embeds, Help("The embedding model of texts without vectors.")] = None,
    cache: Annotated[Cache, Help("The folder that stores the embeddings.")] = None,
) -> pa.Table:
    """The evidence of ``grounding_overlap``: one row per sentence.

    Columns: ``row`` of the answer (and its ``id`` in pandas series whose index tells rows apart), ``sentence``,
    ``citation`` (its number, null unless there is exactly one), ``context`` (the cited context, null if out of range),
    ``cosine`` (null if none was needed), ``supported``, and ``reason`` (supported, no citation, several citations,
    citation out of range, says it does not know, below threshold).  Options as in ``grounding_overlap``.

    >>> grounding_evidence(["Paris is in France [1]. I like it."], [["Paris lies in France."]])["reason"].to_pylist()
    ['supported', 'no citation']
    """
    options = {"threshold": threshold, "phrases": phrases, "pattern": pattern, "embedder": embedder, "cache": cache}
    options = REGISTRY["grounding_overlap"].options(options)
    columns = by_index({"answer": answer, "contexts": contexts})
    table = {name: as_array(values, name) for name, values in columns.items()}
    if len(table["answer"]) != len(table["contexts"]):
        raise ColumnError(
            f"columns differ in length: {len(table['answer'])} answers, {len(table['contexts'])} contexts"
        )
    batch = prepare(Batch(table), options)
    judged = grounding_in(batch, "answer", options).support
    marks, text = judged.sentences.marks, batch.text("contexts")
    cited = judged.cited >= 0
    places = np.where(cited, np.cumsum(cited) - 1, 0)
    contexts_cited = strings_of(text.take(judged.cited[cited]))
    context = contexts_cited.take(pa.array(places, mask=~cited))
    ids = ids_of_series(answer, contexts)
    return pa.table(
        {
            "row": judged.sentences.rows,
            **({} if ids is None else {"id": ids.take(pa.array(judged.sentences.rows))}),
            "sentence": strings_of(judged.sentences.text),
            "citation": pa.array(marks[:, 1], mask=marks[:, 0] != 1),
            "context": context,
            "cosine": pa.array(judged.cosine, mask=np.isnan(judged.cosine)),
            "supported": judged.outcome == SUPPORTED,
            "reason": pa.array([REASONS[outcome] for outcome in judged.outcome.tolist()], pa.string()),
        }
    )
