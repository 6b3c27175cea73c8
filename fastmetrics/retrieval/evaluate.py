"""Evaluating rankings against judgements: retrieval measures per query, and over the queries.

A ranking is streamed; the judgements are held in memory.  If the rows of a ranking are grouped by query (queries, and
rows within a query, in any order), memory is bounded by a few batches and the longest query.  A ranking that is not
grouped is read once to count, then once for every 16 million rows; each row in memory takes about 50 bytes plus the
document's id."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.base.arrays import Flags, Floats, Ints
from fastmetrics.base.arrow import arrow_numbers, numpy_values
from fastmetrics.base.errors import Argument, InputError
from fastmetrics.base.score_metadata import MissingQueries
from fastmetrics.base.threads import ordered
from fastmetrics.kernels import rankings as id_kernels
from fastmetrics.kernels.rankings import Ids, all_ranked, in_rank_order
from fastmetrics.retrieval.judgements import Judgements, judgements
from fastmetrics.retrieval.measure_names import Measure
from fastmetrics.retrieval.measure_names import measures as parse_measures
from fastmetrics.retrieval.rank_result import RankResult, Settings, described
from fastmetrics.retrieval.rankings import GradedRankings, Rankings, frozen, graded, offsets, spans, take_ids, text_ids
from fastmetrics.tables.rankings import Triples


class QueryBlock(NamedTuple):
    """Whole queries of a ranking: query i has the documents and scores ``starts[i]:starts[i + 1]``, in any order."""

    places: Ints
    docs: pa.Array
    scores: Floats
    starts: Ints
    names: pa.Array


def grouped(rows: Triples, judged: Judgements) -> Iterator[QueryBlock]:
    """Blocks of whole queries of a ranking whose rows are grouped by query."""
    pending: list[pa.RecordBatch] = []
    for batch in rows.batches():
        query = batch["query"]
        edges = _edges(query)
        if pending and str(pending[-1]["query"][-1]) != str(query[0]):
            edges = np.concatenate(([0], edges))
        if edges.size:
            yield _block([*pending, batch.slice(0, int(edges[-1]))], edges, judged)
            pending = []
        pending.append(batch.slice(int(edges[-1]) if edges.size else 0))
    if pending:
        yield _block(pending, np.array([pending[-1].num_rows]), judged)


def _edges(query: pa.Array) -> Ints:
    """The rows at which a new query starts."""
    if pa.types.is_dictionary(query.type):
        codes = numpy_values(query.indices)
        return np.flatnonzero(codes[1:] != codes[:-1]) + 1
    changed = pc.not_equal(query.slice(1), query.slice(0, len(query) - 1))
    return np.flatnonzero(numpy_values(changed)) + 1


def _block(parts: list[pa.RecordBatch], edges: Ints, judged: Judgements) -> QueryBlock:
    """Queries that end at the rows ``edges`` of the last part; the parts before it belong to the first query."""
    ends = edges + sum(part.num_rows for part in parts[:-1])
    starts = frozen(np.concatenate(([0], ends)))
    later = parts[-1]["query"].take(arrow_numbers(edges[:-1], pa.int64()))
    names = pa.concat_arrays([column.cast(pa.large_string()) for column in (parts[0]["query"].slice(0, 1), later)])
    docs = pa.concat_arrays([part["doc"] for part in parts]) if len(parts) > 1 else parts[0]["doc"]
    scores = np.concatenate([numpy_values(part["value"]) for part in parts])
    return QueryBlock(judged.places(names), docs, frozen(scores), starts, names)


def regrouped(rows: Triples, judged: Judgements) -> Iterator[QueryBlock]:
    """Blocks of whole queries of any ranking: the judged queries in their order, then the names of unjudged ones."""
    counts = np.zeros(len(judged), np.int64)
    for batch in rows.batches():
        places = judged.places(batch["query"])
        counts += np.bincount(places[places >= 0], minlength=counts.size)
        names = batch["query"].filter(arrow_numbers(places < 0, pa.bool_())).unique().cast(pa.large_string())
        yield _empty_block(names)
    first = 0
    while first < counts.size:
        last = first + max(1, int(np.searchsorted(np.cumsum(counts[first:]), rows.sizes.ungrouped_rows, side="right")))
        yield from _gathered(rows, judged, counts, first, last)
        first = last


def _gathered(rows: Triples, judged: Judgements, counts: Ints, first: int, last: int) -> Iterator[QueryBlock]:
    """Blocks of the queries at positions ``first:last``, from one pass over the ranking."""
    codes: list[Ints] = []
    docs: list[pa.Array] = []
    scores: list[Floats] = []
    for batch in rows.batches():
        places = judged.places(batch["query"])
        selected = np.flatnonzero((places >= first) & (places < last))
        codes.append((places[selected] - first).astype(np.int32))
        docs.append(batch["doc"].take(pa.array(selected)).cast(pa.large_string()))
        scores.append(batch["value"].to_numpy()[selected])
    order = np.argsort(np.concatenate(codes), kind="stable")
    every_doc, every_score = pa.concat_arrays(docs), np.concatenate(scores)
    del codes, docs, scores
    starts = offsets(counts[first:last])
    present = np.flatnonzero(counts[first:last])
    while present.size:
        some = present[
            : max(1, int(np.searchsorted(starts[present + 1], starts[present[0]] + rows.sizes.rows, side="right")))
        ]
        picked = order[starts[some[0]] : starts[some[-1] + 1]]
        names = judged.queries.take(pa.array(some + first))
        sizes = offsets(counts[first:last][some])
        yield QueryBlock(some + first, every_doc.take(pa.array(picked)), frozen(every_score[picked]), sizes, names)
        present = present[some.size :]


def _empty_block(names: pa.Array) -> QueryBlock:
    none = pa.array([], pa.large_string())
    return QueryBlock(
        np.full(len(names), -1), none, frozen(np.zeros(0)), offsets(np.zeros(len(names), np.int64)), names
    )


@dataclass(frozen=True)
class RankPlan:
    """The settings of the evaluation of every block."""

    judged: Judgements
    measures: list[Measure]
    level: float
    duplicates: str
    depth: int | None
    name: str


@dataclass
class _Results:
    """The results so far: a value per measure and judged query."""

    values: Floats
    seen: Flags
    unjudged: dict[str, None] = field(default_factory=dict)
    n_duplicates: int = 0


class _NotGroupedError(Exception):
    """The rows of a query are not adjacent."""


def evaluated_ranking(
    ranking: Any,
    qrels: Any,
    measures: str | Sequence[str],
    settings: Settings,
    threads: int,
) -> RankResult:
    """The result of one ranking in any form, or of its opened rows; ``settings`` are checked."""
    rows = ranking if isinstance(ranking, Triples) else Triples(ranking, "score")
    judged = judgements(qrels, settings.duplicates)
    plan = RankPlan(
        judged, parse_measures(measures), settings.relevance_level, settings.duplicates, settings.depth, rows.name
    )
    try:
        results = _evaluate(grouped(rows, judged), plan, threads)
    except _NotGroupedError:
        results = _evaluate(regrouped(rows, judged), plan, threads)
    return _result(results, plan, settings)


def _evaluate(blocks: Iterable[QueryBlock], plan: RankPlan, workers: int) -> _Results:
    """Score blocks in ``workers`` threads while the next blocks are read."""
    count = len(plan.judged)
    results = _Results(np.full((len(plan.measures), count), np.nan), np.zeros(count, np.bool_))

    def score(block: QueryBlock) -> tuple[Ints, Floats, int]:
        return block.places, *_score(block, plan)

    for places, values, repeated in ordered(score, _seen_once(blocks, results), workers):
        _collect(results, places, values, repeated)
    return results


def _collect(results: _Results, places: Ints, values: Floats, repeated: int) -> None:
    results.values[:, places[places >= 0]] = values[:, places >= 0]
    results.n_duplicates += repeated


def _seen_once(blocks: Iterable[QueryBlock], results: _Results) -> Iterator[QueryBlock]:
    """The blocks; raises if a query occurs in two of them."""
    for block in blocks:
        places = block.places[block.places >= 0]
        before = np.count_nonzero(results.seen)
        results.seen[places] = True
        if np.count_nonzero(results.seen) < before + places.size:
            raise _NotGroupedError
        results.unjudged.update(
            dict.fromkeys(block.names.filter(arrow_numbers(block.places < 0, pa.bool_())).to_pylist())
        )
        yield block


class Interned(NamedTuple):
    """A block with documents as ids."""

    block: QueryBlock
    ids: Ids


def interned(block: QueryBlock) -> Interned:
    """The block with its documents hashed."""
    return Interned(block, text_ids(block.docs))


def evaluated(interned: Interned, plan: RankPlan) -> tuple[Floats, int]:
    """One row per measure, one column per query of the block; and the number of documents listed again."""
    block, ids = interned
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
        judged = GradedRankings(top, offsets(sizes), judged.ideal, judged.ideal_starts)
    return np.array([measure(judged, level=plan.level) for measure in plan.measures]), repeated


def _judged(block: QueryBlock, ids: Ids, plan: RankPlan, *, in_order: bool) -> GradedRankings:
    """The block's grades in rank order; ``in_order`` looks them up in that order, as duplicates require."""
    starts, everyone = block.starts, np.ones(block.starts.size - 1, np.bool_)
    scores, docs = block.scores, ids
    if in_order:
        places = frozen(np.arange(float(scores.size)))
        order = in_rank_order(places, scores, docs, starts).astype(np.int64)
        scores, docs = frozen(scores[order]), take_ids(docs, order)
    judged = graded(Rankings(docs, starts, everyone, "text"), *plan.judged.of(block.places))
    if all_ranked(scores, docs, starts):
        return judged
    ranked = frozen(in_rank_order(judged.grades, scores, docs, starts))
    return GradedRankings(ranked, starts, judged.ideal, judged.ideal_starts)


def _score(block: QueryBlock, plan: RankPlan) -> tuple[Floats, int]:
    return evaluated(interned(block), plan)


def _result(results: _Results, plan: RankPlan, settings: Settings) -> RankResult:
    absent = np.flatnonzero(~results.seen)
    skip = settings.missing == "skip"
    if absent.size and not skip:
        sizes = offsets(np.zeros(absent.size, np.int64))
        names = plan.judged.queries.take(arrow_numbers(absent, pa.int64()))
        empty = QueryBlock(absent, pa.nulls(0, pa.large_string()), frozen(np.zeros(0)), sizes, names)
        values, repeated = _score(empty, plan)
        _collect(results, absent, np.nan_to_num(values), repeated)
    scored = results.seen | (not skip)
    columns: dict[str, Any] = {"query_id": plan.judged.queries.cast(pa.string())}
    mean, undefined = {}, {}
    judged = plan.judged.of_nothing(np.arange(scored.size))
    for measure, values in zip(plan.measures, results.values, strict=True):
        defined = measure.defined(judged, level=plan.level)
        undefined[measure.name] = int(np.count_nonzero(scored & ~(defined & ~np.isnan(values))))
        if settings.no_relevant == "undefined":
            values = np.where(defined, values, np.nan)
        columns[measure.name] = arrow_numbers(values, pa.float64(), ~scored)
        mean[measure.name] = measure.over(values[scored & ~np.isnan(values)])
    names = plan.judged.queries.take(arrow_numbers(absent, pa.int64())).to_pylist()
    missing = MissingQueries(len(names), scored.size, settings.missing)
    per_query = described(pa.table(columns), plan.measures, missing, settings)
    counts = undefined, results.n_duplicates
    return RankResult(per_query, mean, names, list(results.unjudged), *counts, settings, plan.measures)
