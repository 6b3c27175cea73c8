"""Citation precision and recall: support of citations and of statements (the RAG project; Gao and others 2023)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.base.arrays import Flags, Floats, Ints
from fastmetrics.metrics.abstention import check_phrases, other_scripts
from fastmetrics.metrics.batch import Batch, Options, Raw, need
from fastmetrics.metrics.cited_support import Ids, citations, cosines, embedder_of, english_model
from fastmetrics.metrics.grounding import GroundingOptions, contexts_of, pattern_of, prepare, sentences_of
from fastmetrics.metrics.metric import Cautions, RowHooks, metric
from fastmetrics.metrics.pair_counts import divide

SOURCE = "S1, overlap; Gao, Yen, Yu and Chen 2023 (ALCE)"


@dataclass(frozen=True)
class Cited:
    """For each row, the numbers of citations and statements, and the supported ones of each."""

    n_citations: Ints
    n_supporting: Ints
    n_statements: Ints
    n_supported: Ints


def cited_in(batch: Batch, column: str, options: Options) -> Cited:
    """Answers compared with all contexts that they cite."""
    names = ("threshold", "embedder", "cache", "pattern")
    key = ("cited", tuple(options["phrases"]), *(options[name] for name in names))
    return batch.remember(key, lambda: _cited(batch, column, options))


Cites = Annotated[Cited, need(cited_in, options=GroundingOptions, columns={"context_ids": Ids})]


def _cited(batch: Batch, column: str, options: Options) -> Cited:
    sentences, idk = sentences_of(batch, column, options)
    contexts, counts = contexts_of(batch)
    owners, numbers, bare = citations(sentences, pattern_of(batch, options))
    owners, numbers = np.unique(np.stack([owners, numbers]), axis=1)  # a context cited twice in a sentence counts once
    rows = sentences.rows
    valid = np.flatnonzero((numbers >= 1) & (numbers <= counts[rows[owners]]) & ~idk[owners])
    assert contexts.groups is not None
    # Citation [n] of row r means the n-th of its contexts, which lie one after the other in ``contexts``.
    places = contexts.groups[:-1][rows[owners[valid]]] + numbers[valid] - 1
    near = cosines(embedder_of(options), bare.take(pa.array(owners[valid])), contexts, places) >= options["threshold"]
    supporting = valid[near]
    # A statement is supported if any of its citations supports it.
    supported = np.zeros(len(idk), np.bool_)
    supported[owners[supporting]] = True
    statements = _statements(bare, idk)

    def per_row(which: Ints) -> Ints:
        return np.bincount(which, minlength=batch.n_rows)

    return Cited(
        n_citations=per_row(rows[owners]),
        n_supporting=per_row(rows[owners[supporting]]),
        n_statements=per_row(rows[statements]),
        n_supported=per_row(rows[statements & supported]),
    )


def _statements(bare: pa.Array, idk: Flags) -> Flags:
    """The sentences that are statements: they contain a word, are not questions and do not say "I don't know"."""
    worded, questions = (
        pc.match_substring_regex(bare, pattern).to_numpy(zero_copy_only=False)
        for pattern in (r"[\p{L}\p{N}]", r"[?？؟][^\p{L}\p{N}]*$")
    )
    states: Flags = worded & ~questions & ~idk
    return states


def _caution(options: Options) -> Cautions:
    """The caution of the default embedder, or of the built-in phrases."""
    return english_model(options) or other_scripts(options)


@metric(
    bounds=(0, 1),
    better="higher",
    source=SOURCE,
    check=check_phrases,
    rows=RowHooks(prepare=prepare),
    usual=False,
    caution=_caution,
    cues=["citation_accuracy"],
)
def citation_precision(answer: Cites, contexts: Raw) -> Floats:
    r"""Share of the answer's citations that support their sentence.

    P = citations that support their sentence / citations.  A context supports a sentence if the cosine of their
    embeddings, without citation marks, is at least ``threshold``, as in ``grounding_overlap``; here a sentence may have
    several citations.  A citation that is out of range, or in an "I don't know" sentence (``phrases``), supports
    nothing; a context cited twice in a sentence counts once.  NaN for an answer without citations (0 in ALCE's script).

    Citations are matches of ``pattern``.  The default reads ``[n]``, and also ``[2, 3]``, ``[1-3]``, ``[^1]``,
    ``[Doc 1]``, ``【1】`` and superscripts, and leaves out a list of references at the end.  The first group is the id
    of a context, if the row has that id in ``context_ids``, otherwise the number of a context, counted from 1.  With
    the default pattern, ``[doc-7]`` is a citation in a row with this id, and text in any other row; with another
    pattern, such as ``pattern=r"\((\w+)\)"``, an unknown id is out of range.  The other options are those of
    ``grounding_overlap``.

    ALCE checks support with an entailment model, and calls a citation precise if its sentence is supported with it and
    not without it; a cosine cannot measure that.

    >>> import fastmetrics as fm
    >>> contexts = [["Paris lies in France.", "Bread is made of flour."]]
    >>> fm.citation_precision(["Paris is in France [a][b]. I like it."], contexts, [["a", "b"]])
    array([0.5])
    """
    return divide(answer.n_supporting, answer.n_citations, empty=np.nan)


@metric(
    bounds=(0, 1),
    better="higher",
    source=SOURCE,
    check=check_phrases,
    rows=RowHooks(prepare=prepare),
    usual=False,
    caution=_caution,
)
def citation_recall(answer: Cites, contexts: Raw) -> Floats:
    """Share of the answer's statements that a cited context supports.

    R = statements with at least one citation that supports them, as in ``citation_precision``, / statements.
    Statements are sentences that contain a word, are not questions and do not say "I don't know".  NaN for an answer
    without statements.  ALCE concatenates all contexts that a sentence cites; the embedding of such a text is less
    specific, so here the nearest context counts.  Options as in ``citation_precision``.

    >>> import fastmetrics as fm
    >>> contexts = [["Paris lies in France.", "Bread is made of flour."]]
    >>> fm.citation_recall(["Paris is in France [1][2]. I like it. And you?"], contexts)
    array([0.5])
    """
    return divide(answer.n_supported, answer.n_statements, empty=np.nan)
