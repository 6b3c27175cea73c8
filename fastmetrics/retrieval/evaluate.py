"""Evaluating runs against judgements: retrieval measures per query, and over the queries.

A run is streamed; the judgements are held in memory.  If the rows of a run are grouped by query (queries, and rows
within a query, in any order), memory is bounded by a few batches and the longest query.  A run that is not grouped is
read once to count, then once for every 16 million rows; each row in memory takes about 50 bytes plus the document's id.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa

from fastmetrics.core.allowed_values import Choice, Cutoff, Level, argument, of_hint
from fastmetrics.core.arrays import Flags, Floats, Ints
from fastmetrics.core.missing_queries import MissingQueries
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
from fastmetrics.retrieval.rank_result import RankResult, Settings, described
from fastmetrics.retrieval.rankings import Judged, Rankings, judge
from fastmetrics.tables.retrieval_runs import Triples

MEASURES = ("ndcg@10", "mrr", "recall@100")
"""The default measures."""


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
    missing: Literal["zero", "skip"] = "skip",
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

    ``relevance_level`` is the lowest relevant grade of the binary measures (trec_eval's -l).  ``missing`` is the rule
    for judged queries that the run lacks: ``"skip"``, trec_eval's default, leaves them out, ``"zero"`` scores them 0 as
    empty rankings (trec_eval's -c).  They are counted either way, and the default is ``"zero"`` where runs are compared
    (:func:`rank_runs`, :func:`compare_rankings`), so that no run gains by failing.  ``no_relevant`` sets
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
    relevance_level = float(argument("relevance_level", relevance_level, of_hint(Level)))
    depth = argument("depth", depth, of_hint(Cutoff))
    workers = cores(threads)
    rows = Triples(run, "score")
    judged = judgements(qrels, duplicates)
    plan = Plan(judged, named(measures), relevance_level, duplicates, depth, rows.name)
    try:
        found = _evaluate(grouped(rows, judged), plan, workers)
    except _NotGroupedError:
        found = _evaluate(regrouped(rows, judged), plan, workers)
    return _result(found, plan, Settings(relevance_level, missing, no_relevant, duplicates, depth))


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


def _result(found: _Found, plan: Plan, settings: Settings) -> RankResult:
    absent = np.flatnonzero(~found.seen)
    skip = settings.missing == "skip"
    if absent.size and not skip:
        sizes = offsets(np.zeros(absent.size, np.int64))
        names = plan.judged.queries.take(pa.array(absent))
        empty = Block(absent, pa.array([], pa.large_string()), frozen(np.zeros(0)), sizes, names)
        values, repeated = _score(empty, plan)
        _collect(found, absent, np.nan_to_num(values), repeated)
    scored = found.seen | (not skip)
    columns: dict[str, Any] = {"query_id": plan.judged.queries.cast(pa.string())}
    mean, undefined = {}, {}
    judged = plan.judged.of_nothing(np.arange(scored.size))
    for one, values in zip(plan.measures, found.values, strict=True):
        defined = one.defined(judged, level=plan.level)
        undefined[one.name] = int(np.count_nonzero(scored & ~(defined & ~np.isnan(values))))
        if settings.no_relevant == "undefined":
            values = np.where(defined, values, np.nan)
        columns[one.name] = pa.array(values, mask=~scored)
        mean[one.name] = one.over(values[scored & ~np.isnan(values)])
    names = plan.judged.queries.take(pa.array(absent)).to_pylist()
    missing = MissingQueries(len(names), scored.size, settings.missing)
    per_query = described(pa.table(columns), plan.measures, missing, settings)
    counts = undefined, found.n_duplicates
    return RankResult(per_query, mean, names, list(found.unjudged), *counts, settings, plan.measures)
