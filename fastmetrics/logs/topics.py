"""``fm.logs.topic_coverage``: topics of a log's questions by k-means, and gaps of the knowledge base (the RAG
benchmark).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Annotated, Any

import faiss
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.base import shared_parameters as shared
from fastmetrics.base.arrays import Floats, Ints, floats_of_arrow, numpy_values
from fastmetrics.base.column_names import listed
from fastmetrics.base.columns import codes_of, with_index_of
from fastmetrics.base.display import Grid, Shown, lines_of
from fastmetrics.base.errors import ColumnError
from fastmetrics.base.notes import Note, said
from fastmetrics.base.options import Optional, Rows, Seed, Whole, argument
from fastmetrics.base.shared_parameters import Help
from fastmetrics.base.threads import cores, ordered
from fastmetrics.logs.chunks import as_text, chunk_ids, listed_ids
from fastmetrics.logs.domains import words_of
from fastmetrics.logs.log import Columns, QuestionVectors, Units, abstains, answered, row_table, with_vectors
from fastmetrics.tables.input_files import PLAIN, Reading
from fastmetrics.text.lexicons import lexicon
from fastmetrics.vectors.faiss_search import faiss_threads
from fastmetrics.vectors.vector_arrays import one_blas_thread

# k-means of unit vectors: centres from a sample by FAISS, then all rows in one pass; independent of threads.


ROUNDS = 25
TRIES = 5
SAMPLE = 50_000
_BLOCK = 8_192


def clusters(units: Units, k: int, seed: int, threads: int, sample: int = SAMPLE) -> tuple[Ints, Units]:
    """The number of each row's centre, and the centres: the best of several runs by distance to their rows.

    The centres come from a uniform sample of at most ``sample`` rows.  If there are fewer than ``k`` distinct rows,
    each is a centre.
    """
    rng = np.random.default_rng(seed)
    some = units if len(units) <= sample else units[np.sort(rng.choice(len(units), sample, replace=False))]
    distinct = np.unique(some, axis=0)
    centres = distinct if len(distinct) <= k else _trained(some, k, seed)
    return assigned(units, centres, threads), centres


def _trained(rows: Units, k: int, seed: int) -> Units:
    options: dict[str, Any] = {"niter": ROUNDS, "nredo": TRIES, "seed": seed, "min_points_per_centroid": 1}
    means: Any = faiss.Kmeans(rows.shape[1], k, max_points_per_centroid=len(rows), **options)
    with faiss_threads(1), one_blas_thread():
        means.train(np.ascontiguousarray(rows))
    return np.asarray(means.centroids, np.float32)


def assigned(units: Units, centres: Units, threads: int) -> Ints:
    """The nearest centre of each row by Euclidean distance; ties go to the first."""
    halves = 0.5 * np.einsum("ij,ij->i", centres, centres)

    def block(start: int) -> Ints:
        return (units[start : start + _BLOCK] @ centres.T - halves).argmax(axis=1).astype(np.int64)

    with one_blas_thread():
        blocks = list(ordered(block, range(0, len(units), _BLOCK), threads))
    return np.concatenate([np.zeros(0, np.int64), *blocks])


MOST, FEWEST = 20, 3
"""The most topics that are tried if no number is given, and the questions of a topic below which it counts as none."""
_FEW_ROWS = 2_000
"""The questions by which numbers of topics are compared."""
_FEW_DISTINCT = 9
"""Distinct questions that are a topic each, if they are asked again and again."""


def number_of_topics(units: Units, seed: int) -> tuple[int, float, int]:
    """The number of clusters with the greatest mean silhouette, the latter, and the most clusters that were tried.

    These are 2 to 20, at most a fifth of the rows and half of the distinct ones.  The silhouettes are those of the
    distinct rows, so that a question asked again is no topic: (b - a) / max(a, b), with a the mean distance to the own
    cluster and b to the nearest other one (Rousseeuw 1987); 0 in a cluster of one, or of fewer than three rows, so that
    twins make no topic.  Rows are an even sample of 2,000.  Of equal numbers the least counts; 1 if none is above 0.
    Fewer than ten distinct rows are a cluster each, if there are five times as many rows.
    """
    rng = np.random.default_rng(seed)
    rows = units if len(units) <= _FEW_ROWS else units[np.sort(rng.choice(len(units), _FEW_ROWS, replace=False))]
    _, firsts, times = np.unique(rows, axis=0, return_index=True, return_counts=True)
    order, most = np.argsort(firsts), len(rows) // 5
    rows, times = rows[firsts[order]], times[order]
    n, best = len(rows), (0.0, -1)
    if 0 < n <= min(most, _FEW_DISTINCT):
        return n, math.nan, n
    most = min(MOST, most, n // 2)
    if most < 2:
        return 1, math.nan, 1
    with one_blas_thread():
        squares = np.einsum("ij,ij->i", rows, rows, dtype=np.float64)
        distances = np.sqrt(np.maximum(squares[:, None] + squares - 2.0 * (rows.astype(np.float64) @ rows.T), 0.0))
        np.fill_diagonal(distances, 0.0)
    for k in range(2, most + 1):
        labels, _ = clusters(rows, k, seed, 1)
        sizes = np.bincount(labels, minlength=k)
        with one_blas_thread():
            sums = distances @ np.eye(k)[labels]
        own = sums[np.arange(n), labels] / np.maximum(sizes[labels] - 1, 1)
        others = np.where(sizes > 0, sums / np.maximum(sizes, 1), np.inf)
        others[np.arange(n), labels] = np.inf
        nearest = others.min(axis=1)
        larger = np.maximum(own, nearest)
        silhouettes = np.divide(nearest - own, larger, out=np.zeros(n), where=np.isfinite(larger) & (larger > 0))
        is_topic = (sizes > 1) & (np.bincount(labels, times, k) >= FEWEST)
        best = max(best, (round(float(np.where(is_topic[labels], silhouettes, 0.0).mean()), 6), -k))
    return (-best[1], best[0], most) if best[0] > 0 else (1, math.nan, most)


# The typical words and questions of a topic.


WORDS, SAMPLES = 10, 5


def typical_words(questions: pa.Array, topic: Ints, n: int) -> list[list[str]]:
    """The 10 words of each topic with the largest class-based TF-IDF; ties in the order of the words.

    W = f(word, topic) · ln(1 + A / f(word)), with A the mean number of words of a topic.  Source: Grootendorst 2022.
    """
    words = words_of(questions)
    stop = pa.array([*lexicon("stop_en"), *lexicon("stop_ru")], pa.large_string())
    mask = ~np.asarray(pc.is_in(words.spelled, stop))[words.ids] & (topic[words.rows] >= 0)
    ids, owner = words.ids[mask], topic[words.rows[mask]]
    every = np.bincount(ids, minlength=len(words.spelled))
    pairs, counts = np.unique(owner * max(len(words.spelled), 1) + ids, return_counts=True)
    owner, ids = np.divmod(pairs, max(len(words.spelled), 1))
    weights = counts * np.log1p(len(mask[mask]) / n / every[ids]) if n else counts
    lists = []
    for at in range(n):
        own = np.flatnonzero(owner == at)
        least = np.partition(weights[own], -WORDS)[-WORDS] if len(own) > WORDS else 0.0
        own = own[weights[own] >= least]
        spelled = words.spelled.take(pa.array(ids[own])).to_pylist()
        lists.append([word for _, word in sorted(zip((-weights[own]).tolist(), spelled, strict=True))[:WORDS]])
    return lists


def samples(questions: pa.Array, units: Units, topic: Ints, n: int) -> list[list[str]]:
    """The 5 distinct questions of each topic nearest to its centre; ties go to the first rows."""
    codes = np.asarray(questions.dictionary_encode().indices.fill_null(-1)).astype(np.int64)
    lists = []
    for at in range(n):
        rows = np.flatnonzero((topic == at) & (codes >= 0))
        near = units[rows] @ units[rows].mean(axis=0) if len(rows) else np.zeros(0)
        rows = rows[np.argsort(-near.round(6), kind="stable")]
        first = np.sort(np.unique(codes[rows], return_index=True)[1])[:SAMPLES]
        lists.append(questions.take(pa.array(rows[first])).to_pylist())
    return lists


# ``fm.logs.topic_coverage``: topics of a log's questions, and gaps of the knowledge base (the RAG benchmark).


_WORDS = 6


@dataclass(frozen=True)
class Topic:
    """One topic; figures that need a missing column are None."""

    topic: int
    """The topic's number, from 0, in descending order of questions."""
    questions: int
    words: Sequence[str]
    """The most typical words of the topic, by class-based TF-IDF."""
    samples: Sequence[str]
    """The distinct questions nearest to the topic's centre."""
    failed: Sequence[str]
    """Those among the questions that failed most."""
    chunks: int | None
    """Distinct chunks in the first positions of the topic's rankings."""
    sources: int | None
    """Distinct sources of these chunks; None without the chunks' sources."""
    abstain_rate: float | None
    """Share of the topic's answers, those that are not missing, that abstain."""
    unanswered_rate: float | None
    """Share of the topic's questions without an answer: missing, blank or abstaining."""
    gap: float | None
    """Questions · share of failures: the number of failed questions."""
    scores: Mapping[str, float]


@dataclass(frozen=True)
class Topics(Shown):
    """The topics of a log's questions, most frequent first, and the ``gaps``: the topics' numbers by failures."""

    questions: int
    left_out: int
    """Rows without a question or its vector."""
    k: int
    seed: int
    failure: str | None
    """The definition of a failure; None if the log has no suitable column."""
    avg_chunks_per_topic: float | None
    topics: Sequence[Topic]
    gaps: Sequence[int]
    assignment: pa.Table = field(repr=False)
    empty: int = 0
    """The clusters that are nearest to no question, which are no topics."""
    silhouette: float | None = None
    """The mean silhouette by which the number of topics was chosen; None if it was given, or is 1."""
    most: int | None = None
    """The most topics that were tried; None if their number was given."""

    def to_arrow(self) -> pa.Table:
        """One row per topic."""
        return pa.Table.from_pylist([{**asdict(topic), **asdict(topic).pop("scores")} for topic in self.topics])

    def to_rows(self) -> pa.Table:
        """The rows of the log in order: ``row`` from 0, ``id`` and ``question`` if known, ``topic`` (null: none); and
        the index of a pandas frame, which ``to_pandas()`` restores.
        """
        return self.assignment

    def grids(self) -> list[Grid]:
        """The topics, and the gaps, largest first."""
        scores = [
            (name, lambda one, name=name: one.scores[name]) for name in (self.topics[0].scores if self.topics else ())
        ]
        rates = ("abstain=abstain_rate", "unanswered=unanswered_rate")
        words = ("words", lambda one: " ".join(one.words[:_WORDS]))
        number = ("topic", lambda one: str(one.topic))
        grids = [lines_of(self.topics, number, "questions", "chunks", "sources", *rates, *scores, words)]
        worst = [next(topic for topic in self.topics if topic.topic == gap) for gap in self.gaps]
        example = ("for example", lambda one: (one.failed or [""])[0])
        head = ("gap: topic", number[1])
        return [*grids, *([lines_of(worst, head, "failures=gap", example)] if worst else [])]

    @property
    def _choice(self) -> str | None:
        """How the number of topics was chosen; None if it was given."""
        if self.silhouette is not None:
            return Note("topics_chosen", silhouette=self.silhouette, most=self.most)
        return None if self.most is None else Note("topics_each" if self.k > 1 else "one_topic")

    def remarks(self) -> list[str]:
        """Notes on the data behind the figures."""
        return said(
            Note("topics", n=self.questions, topics=len(self.topics), seed=self.seed),
            self._choice,
            self.empty and Note("empty_clusters", n=self.empty, of=self.k),
            not self.empty and len(self.topics) < self.k and Note("few_questions", n=self.k),
            any(one.unanswered_rate is not None for one in self.topics) and Note("topic_rates"),
            Note("failures", what=self.failure) if self.failure else Note("no_failures"),
            self.left_out and Note("left_out", n=self.left_out, why="a question or vector"),
        )


UNANSWERED = "unanswered"


def topic_coverage(
    log: shared.Log,
    *,
    topics: Annotated[
        int | None, Help("Number of topics; by default the one of 2 to 20 that divides the questions best.")
    ] = None,
    embedder: shared.Embedder = None,
    cache: shared.Cache = None,
    k: shared.K = 5,
    seed: shared.Seed = 42,
    chunks: shared.Chunks = None,
    chunk_column: shared.ChunkColumn = None,
    source_column: Annotated[str, Help("Column of sources in the table of chunks.")] = "source",
    scores: shared.Averaged = (),
    failure: Annotated[
        str | None, Help("Score from 0 to 1; failure is 1 - score. By default unanswered questions fail.")
    ] = None,
    columns: shared.Columns = None,
    schema: shared.Schema = None,
    reading: Reading = None,
    threads: shared.Threads = None,
) -> Topics:
    """Cluster the questions of a log into topics, count what the knowledge base has on each, and list the gaps.

    ``log`` has a column ``question`` or ``question_embedding``.  k-means (FAISS, the best of 5 runs on an even sample
    of 50,000 questions) finds at most ``topics`` clusters of the unit vectors, by default the number from 2 to 20 (at
    most a fifth of the questions and half of the distinct ones) with the greatest mean silhouette (Rousseeuw 1987) of
    the distinct ones of 2,000, where a topic of fewer than three questions, or of one asked again, counts 0.  Fewer
    than ten distinct ones, asked five times or more on average, are a topic each.  A ``seed`` gives the same topics.

    ``frame["topic"] = found.to_rows().to_pandas()["topic"]``: ``to_rows()`` has the ``topic`` of each row of the log,
    its ``id`` and ``question``, and the index of a pandas frame.  A topic has its number of questions, samples of all
    and of the failed ones, typical words by class-based TF-IDF (count in the topic · ln(1 + mean number of words per
    topic / count in all topics), without stop words), the number of distinct chunks in the first ``k`` positions of
    ``retrieved_ids`` and of their sources (``chunks`` with a ``source_column``), the share of its answers that
    abstain, that of all its questions that are unanswered (missing, blank or abstaining), and the means of the columns
    that ``scores`` names.

    Gaps are topics with failures, ordered by questions · mean failure.  The failure of a question is 1 if it is
    unanswered, else 0; or 1 − the score that ``failure`` names, which must be from 0 to 1.  Source: the RAG benchmark;
    Grootendorst 2022 (class-based TF-IDF).

    >>> vectors = [[1.0, 0.0], [0.9, 0.1], [0.0, 1.0]]
    >>> log = {"question": ["lost card", "card lost", "pay rent"], "answer": ["", "", "ok"]}
    >>> found = topic_coverage(log | {"question_embedding": vectors}, topics=2)
    >>> [(one.questions, one.words, one.gap) for one in found.topics], found.gaps
    ([(2, ['card', 'lost'], 2.0), (1, ['pay', 'rent'], 0.0)], [0])

    Raises ``ColumnError`` for a log without vectors where there is no embedder, and for scores that it has not,
    ``OptionError`` for fewer than 1 topic.
    """
    workers = cores(threads)
    topics, k = argument("topics", topics, Optional(Whole(1, 10_000))), argument("k", k, Rows)
    seed = argument("seed", seed, Seed)
    score_names = list(dict.fromkeys(listed(scores)))
    more_columns = list(dict.fromkeys([*score_names, *([failure] if failure not in (None, UNANSWERED) else [])]))
    sources = None if chunks is None else chunk_ids(chunks, chunk_column, source_column)
    how, needed = Columns(columns, schema, reading or PLAIN), ["answer"] if failure == UNANSWERED else []
    table, vectors = with_vectors(log, needed, ("id", "answer", "retrieved_ids"), how, embedder, cache, more_columns)
    has = set(table.column_names)
    silhouette, most = math.nan, None
    if topics is None:
        topics, silhouette, most = number_of_topics(vectors.units[vectors.valid], seed)
    topic, n, empty = _topics(vectors, topics, seed, workers)
    rows = np.flatnonzero(topic >= 0)
    sizes = np.bincount(topic[rows], minlength=n)

    def mean(values: Floats) -> Floats:
        """The mean of each topic's rows that have a value."""
        known = rows[~np.isnan(values[rows])]
        counts = np.bincount(topic[known], minlength=n)
        sums = np.bincount(topic[known], values[known], n)
        return np.divide(sums, counts, out=np.full(n, np.nan), where=counts > 0)

    of_topics: dict[str, Any] = {}
    if "retrieved_ids" in has:
        of_topics |= _chunks(table["retrieved_ids"].combine_chunks(), k, topic, n, sources)
    if "answer" in has:
        answers = table["answer"].combine_chunks()
        flags = np.where(numpy_values(answers.is_valid()), abstains(answers).astype(np.float64), np.nan)
        of_topics |= {"abstain_rate": mean(flags), "unanswered_rate": mean(_failures(table, UNANSWERED))}
    fails = None
    if failure is not None or "answer" in has:
        fails = _failures(table, failure or UNANSWERED)
        of_topics["gap"] = sizes * np.nan_to_num(mean(fails))
    if "question" in has:
        texts = table["question"].combine_chunks()
        of_topics |= {"words": typical_words(texts, topic, n), "samples": samples(texts, vectors.units, topic, n)}
        if fails is not None:
            of_topics["failed"] = samples(texts, vectors.units, _failing(fails, rows, topic, n), n)
    means = {name: mean(floats_of_arrow(table[name].combine_chunks(), name)) for name in score_names}
    gap = of_topics.get("gap", np.zeros(n))
    plain = {name: values.tolist() if isinstance(values, np.ndarray) else values for name, values in of_topics.items()}
    nothing: dict[str, Any] = {name: [] if name in ("words", "samples", "failed") else None for name in _FIGURES}
    found = [
        Topic(
            topic=at,
            questions=int(sizes[at]),
            **{name: plain[name][at] if name in plain else nothing[name] for name in _FIGURES},
            scores={name: float(values[at]) for name, values in means.items()},
        )
        for at in range(n)
    ]
    return Topics(
        questions=len(rows),
        left_out=len(topic) - len(rows),
        k=topics,
        seed=seed,
        failure=failure or (UNANSWERED if "answer" in has else None),
        avg_chunks_per_topic=float(of_topics["chunks"].mean()) if "chunks" in of_topics and n else None,
        topics=found,
        gaps=[at for at in np.argsort(-gap, kind="stable").tolist() if gap[at] > 0],
        assignment=with_index_of(row_table(table, {"topic": pa.array(topic, mask=topic < 0)}), log),
        empty=empty,
        silhouette=None if math.isnan(silhouette) else silhouette,
        most=most,
    )


_FIGURES = ("words", "samples", "failed", "chunks", "sources", "abstain_rate", "unanswered_rate", "gap")


def _topics(vectors: QuestionVectors, topics: int, seed: int, threads: int) -> tuple[Ints, int, int]:
    """The number of each row's topic, the most frequent being 0, −1 for rows without; the number of topics, and of
    clusters without rows.
    """
    labels, centres = clusters(vectors.units[vectors.valid], topics, seed, threads)
    used, which, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    rank = np.empty(len(used), np.int64)
    rank[np.argsort(-sizes, kind="stable")] = np.arange(len(used))
    topic = np.full(len(vectors.valid), -1)
    topic[vectors.valid] = rank[which.ravel()] if len(used) else which
    return topic, len(used), len(centres) - len(used)


def _failures(table: pa.Table, failure: str) -> Floats:
    """How far each row failed, from 0 to 1."""
    column = table["answer" if failure == UNANSWERED else failure].combine_chunks()
    if failure == UNANSWERED:
        return 1.0 - answered(column).astype(np.float64)
    values = floats_of_arrow(column, failure)
    wrong = np.flatnonzero((values < 0) | (values > 1))
    if wrong.size:
        row = int(wrong[0])
        raise ColumnError(f"column {failure!r}, row {row}: {values[row]:g}; expected a failure score from 0 to 1")
    return 1.0 - values


def _failing(fails: Floats, rows: Ints, topic: Ints, n: int) -> Ints:
    """The topics of the rows that failed most in their topic, −1 for the others."""
    known = np.where(np.isnan(fails), 0.0, fails)
    most = np.zeros(n)
    np.maximum.at(most, topic[rows], known[rows])
    return np.where((topic >= 0) & (known > 0) & (known == most[topic]), topic, -1) if n else topic


def _chunks(column: pa.Array, k: int, topic: Ints, n: int, sources: list[pa.Array] | None) -> dict[str, Ints]:
    """The numbers of distinct chunks and sources in the topics' rankings."""
    listed = listed_ids(column, "retrieved_ids")
    listed = listed.where((listed.places < k) & (topic[listed.rows] >= 0))
    topics = topic[listed.rows]
    found = {"chunks": _distinct(topics, listed.codes, n)}
    if sources is not None:
        known, source = as_text(sources[0]), np.append(codes_of(sources[1]), -1)
        source = source[numpy_values(pc.index_in(as_text(listed.words), known), null=-1).astype(np.int64)][listed.codes]
        found["sources"] = _distinct(topics[source >= 0], source[source >= 0], n)
    return found


def _distinct(topics: Ints, codes: Ints, n: int) -> Ints:
    """The number of distinct codes of each topic."""
    pairs = np.unique(np.stack([topics, codes]), axis=1)
    return np.bincount(pairs[0], minlength=n)
