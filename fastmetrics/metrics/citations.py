"""Whether citations support what they stand behind, and statements have one that does (S1; Gao and others 2023)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.core.arrays import Flags, Floats, Ints
from fastmetrics.declaration.batch import Batch
from fastmetrics.declaration.hooks import Rows
from fastmetrics.declaration.metric import metric
from fastmetrics.declaration.representations import Options, Raw
from fastmetrics.metrics.abstention import PHRASES, Citation, Patterns, check_phrases
from fastmetrics.metrics.grounding import TAU_SIM, Cosine, contexts_of, pattern_of, prepare, sentences_of
from fastmetrics.metrics.shared.cited_support import PATTERN, Cache, Embeds, Sentences, citations, cosines, embedder_of
from fastmetrics.metrics.shared.document_ids import Ids
from fastmetrics.metrics.shared.pair_counts import divide

SOURCE = "S1, overlap; Gao, Yen, Yu and Chen 2023 (ALCE)"


@dataclass(frozen=True)
class Cited:
    """What each row cites: counts of citations and of statements, and of those that are supported."""

    n_citations: Ints
    n_supporting: Ints
    n_statements: Ints
    n_supported: Ints


@dataclass(frozen=True)
class CitedIn:
    """Answers held against all contexts that they cite."""

    def of(self, batch: Batch, column: str, options: Options) -> Cited:
        """The citations of ``column`` under the options of the metric that asks."""
        names = ("threshold", "embedder", "cache", "pattern")
        key = ("cited", tuple(options["phrases"]), *(options[name] for name in names))
        return batch.remember(key, lambda: _cited(batch, column, options))


Cites = Annotated[Cited, CitedIn()]


def _cited(batch: Batch, column: str, options: Options) -> Cited:
    sentences, idk = sentences_of(batch, column, options)
    contexts, counts = contexts_of(batch)
    owners, numbers, bare = citations(sentences, pattern_of(batch, options))
    owners, numbers = np.unique(np.stack([owners, numbers]), axis=1)  # a context cited twice in a sentence counts once
    rows = sentences.rows
    valid = np.flatnonzero((numbers >= 1) & (numbers <= counts[rows[owners]]) & ~idk[owners])
    assert contexts.groups is not None
    places = contexts.groups[:-1][rows[owners[valid]]] + numbers[valid] - 1
    near = cosines(embedder_of(options), bare.take(pa.array(owners[valid])), contexts, places) >= options["threshold"]
    supporting = valid[near]
    supported = np.zeros(len(idk), np.bool_)
    supported[owners[supporting]] = True
    statements = _statements(sentences, bare, idk)
    return Cited(
        *(
            np.bincount(which, minlength=batch.n_rows)
            for which in (rows[owners], rows[owners[supporting]], rows[statements], rows[statements & supported])
        )
    )


def _statements(sentences: Sentences, bare: pa.Array, idk: Flags) -> Flags:
    """The sentences that state something: with a word, no question, and no "I don't know"."""
    worded, asked = (
        pc.match_substring_regex(bare, pattern).to_numpy(zero_copy_only=False)
        for pattern in (r"[\p{L}\p{N}]", r"[?？؟][^\p{L}\p{N}]*$")
    )
    states: Flags = worded & ~asked & ~idk
    return states


@metric(
    bounds=(0, 1),
    better="higher",
    source=SOURCE,
    check=check_phrases,
    rows=Rows(prepare=prepare),
    usual=False,
    cues=["citation_accuracy"],
)
def citation_precision(
    answer: Cites,
    contexts: Raw,
    context_ids: Ids = None,
    *,
    threshold: Cosine = TAU_SIM,
    phrases: Patterns = PHRASES,
    pattern: Citation = PATTERN,
    embedder: Embeds = None,
    cache: Cache = None,
) -> Floats:
    r"""Share of the answer's citations that support the sentence they stand in.

    P = citations that support their sentence / citations.  A context supports a sentence if the cosine of its embedding
    and that of the sentence, all marks left out, is at least ``threshold``, as in ``grounding_overlap``, but a sentence
    may have several citations here.  One that is out of range, or stands in an "I don't know" (``phrases``), supports
    nothing; a context cited twice in a sentence counts once.  NaN for an answer without citations (ALCE's script counts
    it as 0).

    A citation is what ``pattern`` finds, by default ``[n]``.  What its first group says is the id of a context, if the
    row has it in ``context_ids``, or else the number of a context, counted from 1.  By default ``[doc-7]`` is a
    citation in a row that has this id, and text in any other; of what another pattern finds, such as
    ``pattern=r"\((\w+)\)"``, an id that the row has not is out of range.  The other options are those of
    ``grounding_overlap``.

    ALCE judges support by a model of entailment, and calls a citation precise if its sentence is supported with it and
    not without; a cosine cannot tell that.

    >>> import fastmetrics as fm
    >>> contexts = [["Paris lies in France.", "Bread is made of flour."]]
    >>> fm.citation_precision(["Paris is in France [a][b]. I like it."], contexts, [["a", "b"]])
    array([0.5])
    """
    return divide(answer.n_supporting, answer.n_citations, empty=np.nan)


@metric(bounds=(0, 1), better="higher", source=SOURCE, check=check_phrases, rows=Rows(prepare=prepare), usual=False)
def citation_recall(
    answer: Cites,
    contexts: Raw,
    context_ids: Ids = None,
    *,
    threshold: Cosine = TAU_SIM,
    phrases: Patterns = PHRASES,
    pattern: Citation = PATTERN,
    embedder: Embeds = None,
    cache: Cache = None,
) -> Floats:
    """Share of the answer's statements that a context they cite supports.

    R = statements with at least one citation that supports them, as in ``citation_precision``, / statements.  These are
    the sentences that hold a word, do not ask, and do not say "I don't know".  NaN for an answer without any.  ALCE
    joins all contexts that a sentence cites to one text, whose embedding would say little; here the nearest counts.
    Options as in ``citation_precision``.

    >>> import fastmetrics as fm
    >>> contexts = [["Paris lies in France.", "Bread is made of flour."]]
    >>> fm.citation_recall(["Paris is in France [1][2]. I like it. And you?"], contexts)
    array([0.5])
    """
    return divide(answer.n_supported, answer.n_statements, empty=np.nan)
