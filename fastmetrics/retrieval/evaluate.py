"""Evaluating runs against judgements: retrieval measures per query, and over the queries.

A run is streamed; the judgements are held in memory.  If the rows of a run are grouped by query (queries, and rows
within a query, in any order), memory is bounded by a few batches and the longest query.  A run that is not grouped is
read once to count, then once for every 16 million rows; each row in memory takes about 50 bytes plus the document's id.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa

from fastmetrics.core.allowed_values import Choice, Cutoff, Level, argument, of_hint
from fastmetrics.core.arrays import Flags, Floats, Ints
from fastmetrics.core.display import Grid, Shown, number
from fastmetrics.core.threads import cores, ordered
from fastmetrics.errors import InputError
from fastmetrics.errors.messages import Argument
from fastmetrics.kernels.ranking import ids as id_kernels
from fastmetrics.kernels.ranking import judge as kernels
from fastmetrics.kernels.ranking.ids import Ids
from fastmetrics.retrieval.ids import frozen, offsets, spans, take_ids, text_ids
from fastmetrics.retrieval.judgements import Judgements, judgements
from fastmetrics.retrieval.measures import Measure
from fastmetrics.retrieval.measures import measures as named
from fastmetrics.retrieval.query_blocks import Block, grouped, regrouped
from fastmetrics.retrieval.rankings import Judged, Rankings, judge
from fastmetrics.tables.retrieval_runs import Triples

MEASURES = ("ndcg@10", "mrr", "recall@100")
"""The default measures."""


@dataclass(frozen=True)
class RankResult(Shown):
    """The result of :func:`rank`.

    ``per_query`` has a column query_id and one float64 column per measure, with the requested name, NaN = undefined.
    ``mean`` combines the defined queries (num_… measures are summed, gm_… measures use the geometric mean).
    ``missing`` are the judged queries that the run lacks, ``unjudged`` the run's queries without a judgement, which are
    not scored.  ``n_undefined`` counts, per measure, the queries without relevant documents, and ``notes`` states how
    they are scored.  ``n_duplicates`` counts documents listed again for the same query.
    """

    per_query: pa.Table
    mean: dict[str, float]
    missing: list[str]
    unjudged: list[str]
    n_undefined: dict[str, int]
    n_duplicates: int
    no_relevant: str = "zero"

    @property
    def notes(self) -> list[str]:
        """How queries without relevant documents are scored, if there are any: one note per number of queries."""
        by_count: dict[int, list[str]] = {}
        for name, count in self.n_undefined.items():
            by_count.setdefault(count, []).append(name)
        how = {
            "zero": "score 0; no_relevant='undefined' excludes them from the mean, the default of score",
            "undefined": "are excluded from the mean; no_relevant='zero' scores them 0",
        }[self.no_relevant]
        return [
            f"{', '.join(names)}: {count:,} of {self.n:,} queries have no relevant document and {how}"
            for count, names in by_count.items()
            if count
        ]

    @property
    def n(self) -> int:
        """Number of queries in ``per_query``."""
        return int(self.per_query.num_rows)

    def grids(self) -> list[Grid]:
        """The measures over all queries."""
        return [Grid(("measure", "all queries"), [(name, number(mean)) for name, mean in self.mean.items()])]

    def remarks(self) -> list[str]:
        """The number of queries, missing queries, and the treatment of queries without relevant documents."""
        missing = [f"{len(self.missing):,} judged queries are not in the run"] if self.missing else []
        return [f"{self.n:,} queries", *missing, *self.notes]

    def to_dict(self) -> dict[str, Any]:
        """Everything except the values per query, as plain values for JSON."""
        return {
            "n": self.n,
            "n_missing": len(self.missing),
            "n_unjudged": len(self.unjudged),
            "n_duplicates": self.n_duplicates,
            "n_undefined": self.n_undefined,
            "notes": self.notes,
            "mean": {name: None if math.isnan(mean) else mean for name, mean in self.mean.items()},
        }


@dataclass(frozen=True)
class Plan:
    """The settings of the evaluation of every block."""

    judged: Judgements
    measures: list[Measure]
    level: float
    duplicates: str
    depth: int | None
    name: str


@dataclass
class _Found:
    """The results so far: a value per measure and judged query."""

    values: Floats
    seen: Flags
    unjudged: dict[str, None] = field(default_factory=dict)
    n_duplicates: int = 0


class _NotGroupedError(Exception):
    """The rows of a query are not adjacent."""


def rank(
    run: Any,
    qrels: Any,
    measures: str | Sequence[str] = MEASURES,
    *,
    relevance_level: float = 1,
    missing: Literal["zero", "skip"] = "zero",
    no_relevant: Literal["zero", "undefined"] = "zero",
    duplicates: Literal["error", "first"] = "error",
    depth: int | None = None,
    threads: int | None = None,
) -> RankResult:
    """Evaluate ``run`` against ``qrels``, query by query, with trec_eval's numbers.

    ``run`` and ``qrels`` are paths (TREC text, Parquet, Arrow, JSON lines, CSV, JSON dictionaries, compressed or not),
    Arrow tables, pandas or Polars frames, or dictionaries ``{query: {document: score or grade}}``.  Columns are found
    by name; queries and documents are matched by their id as text.  Documents are ranked by score descending, then by
    id descending, byte by byte; scores are 64-bit and grades may be fractions.  ``measures`` use the names of
    trec_eval, ir_measures or ranx (:mod:`fastmetrics.retrieval.measures`).

    ``relevance_level`` is the lowest relevant grade of the binary measures (trec_eval's -l).  ``missing`` sets whether
    a judged query that the run lacks counts as an empty ranking (trec_eval's -c) or is skipped.  ``no_relevant`` sets
    whether a query without relevant documents scores 0, as in trec_eval, or is undefined and excluded from the mean
    (``n_undefined`` counts it either way).  ``duplicates="first"`` keeps the best rank of a document listed twice,
    instead of raising.  ``depth`` truncates every ranking (trec_eval's -M).

    >>> run = {"q1": {"d1": 0.5, "d2": 1.5}, "q2": {"d3": 1.0}}
    >>> result = rank(run, {"q1": {"d1": 1}, "q2": {"d3": 2, "d4": 1}}, "ndcg@10,mrr,P@1")
    >>> result.mean["mrr"]
    0.75
    >>> result.per_query.column_names
    ['query_id', 'ndcg@10', 'mrr', 'P@1']

    Raises ``InputError`` for data that cannot be scored, ``UnknownNameError`` for an unknown measure, ``OptionError``
    for an invalid option.  Source: trec_eval 10.
    """
    argument("missing", missing, Choice("zero", "skip"))
    argument("no_relevant", no_relevant, Choice("zero", "undefined"))
    argument("duplicates", duplicates, Choice("error", "first"))
    argument("relevance_level", relevance_level, of_hint(Level))
    argument("depth", depth, of_hint(Cutoff))
    workers = cores(threads)
    rows = Triples(run, "score")
    judged = judgements(qrels, duplicates)
    plan = Plan(judged, named(measures), relevance_level, duplicates, depth, rows.name)
    try:
        found = _evaluate(grouped(rows, judged), plan, workers)
    except _NotGroupedError:
        found = _evaluate(regrouped(rows, judged), plan, workers)
    return _result(found, plan, missing, no_relevant)


def rank_runs(
    runs: Mapping[str, Any], qrels: Any, measures: str | Sequence[str] = MEASURES, **options: Any
) -> pa.Table:
    """Evaluate several runs: a table with one row per run, its name and the mean of each measure.

    ``runs`` maps names to runs as in :func:`rank`; ``options`` are those of :func:`rank`.

    >>> runs = {"good": {"q": {"a": 2, "b": 1}}, "bad": {"q": {"a": 1, "b": 2}}}
    >>> rank_runs(runs, {"q": {"a": 1}}, "mrr").to_pydict()
    {'run': ['good', 'bad'], 'mrr': [1.0, 0.5]}
    """
    judged = judgements(qrels, options.get("duplicates", "error"))
    means = {name: rank(run, judged, measures, **options).mean for name, run in runs.items()}
    columns = [one.name for one in named(measures)]
    return pa.table({"run": list(means)} | {name: [mean[name] for mean in means.values()] for name in columns})


def _evaluate(blocks: Iterable[Block], plan: Plan, workers: int) -> _Found:
    """Score blocks in ``workers`` threads while the next blocks are read."""
    count = len(plan.judged)
    found = _Found(np.full((len(plan.measures), count), np.nan), np.zeros(count, np.bool_))

    def score(block: Block) -> tuple[Ints, Floats, int]:
        return block.places, *_score(block, plan)

    for places, values, repeated in ordered(score, _seen_once(blocks, found), workers):
        _collect(found, places, values, repeated)
    return found


def _collect(found: _Found, places: Ints, values: Floats, repeated: int) -> None:
    found.values[:, places[places >= 0]] = values[:, places >= 0]
    found.n_duplicates += repeated


def _seen_once(blocks: Iterable[Block], found: _Found) -> Iterator[Block]:
    """The blocks; raises if a query occurs in two of them."""
    for block in blocks:
        known = block.places[block.places >= 0]
        if found.seen[known].any() or np.unique(known).size < known.size:
            raise _NotGroupedError
        found.seen[known] = True
        found.unjudged.update(dict.fromkeys(block.names.filter(pa.array(block.places < 0)).to_pylist()))
        yield block


class Interned(NamedTuple):
    """A block with documents as ids."""

    block: Block
    ids: Ids


def interned(block: Block) -> Interned:
    """The block with its documents hashed."""
    return Interned(block, text_ids(block.docs))


def evaluated(read: Interned, plan: Plan) -> tuple[Floats, int]:
    """One row per measure, one column per query of the block; and the number of documents listed again."""
    block, ids = read
    again = id_kernels.repeats(ids, block.starts)
    repeated = int(np.count_nonzero(again))
    if repeated and plan.duplicates == "error":
        row = int(np.flatnonzero(again)[0])
        query = block.names[int(np.searchsorted(block.starts, row, side="right")) - 1]
        raise InputError(
            f"{plan.name}: document {block.docs[row]} is listed twice for query {query}; ",
            Argument("duplicates", "first"),
            " keeps the better",
        )
    judged = _judged(block, ids, plan, in_order=bool(repeated))
    if plan.depth is not None:
        sizes = np.minimum(np.diff(judged.starts), plan.depth)
        top = frozen(judged.grades[spans(judged.starts[:-1], sizes)])
        judged = Judged(top, offsets(sizes), judged.ideal, judged.ideal_starts)
    return np.array([one(judged, level=plan.level) for one in plan.measures]), repeated


def _judged(block: Block, ids: Ids, plan: Plan, *, in_order: bool) -> Judged:
    """The block's grades in rank order; ``in_order`` looks them up in that order, as duplicates require."""
    starts, everyone = block.starts, np.ones(block.starts.size - 1, np.bool_)
    scores, docs = block.scores, ids
    if in_order:
        places = frozen(np.arange(float(scores.size)))
        order = kernels.in_rank_order(places, scores, docs, starts).astype(np.int64)
        scores, docs = frozen(scores[order]), take_ids(docs, order)
    judged = judge(Rankings(docs, starts, everyone, "text"), *plan.judged.of(block.places))
    ranked = frozen(kernels.in_rank_order(judged.grades, scores, docs, starts))
    return Judged(ranked, starts, judged.ideal, judged.ideal_starts)


def _score(block: Block, plan: Plan) -> tuple[Floats, int]:
    return evaluated(interned(block), plan)


def _result(found: _Found, plan: Plan, missing: str, no_relevant: str) -> RankResult:
    absent = np.flatnonzero(~found.seen)
    kept = np.arange(found.seen.size)
    if missing == "skip":
        kept = np.flatnonzero(found.seen)
    elif absent.size:
        sizes = offsets(np.zeros(absent.size, np.int64))
        names = plan.judged.queries.take(pa.array(absent))
        empty = Block(absent, pa.array([], pa.large_string()), frozen(np.zeros(0)), sizes, names)
        _collect(found, absent, *_score(empty, plan))
    columns: dict[str, Any] = {"query_id": plan.judged.queries.take(pa.array(kept)).cast(pa.string())}
    mean, undefined = {}, {}
    judged = plan.judged.of_nothing(kept)
    for one, values in zip(plan.measures, found.values[:, kept], strict=True):
        defined = one.defined(judged, level=plan.level)
        if no_relevant == "undefined":
            values = np.where(defined, values, np.nan)
        columns[one.name] = values
        mean[one.name] = one.over(values[~np.isnan(values)])
        undefined[one.name] = int(np.count_nonzero(~defined))
    names = plan.judged.queries.take(pa.array(absent)).to_pylist()
    return RankResult(pa.table(columns), mean, names, list(found.unjudged), undefined, found.n_duplicates, no_relevant)
