"""``fm.rank``: rankings against judgements, measures by query and over the queries, and what is missing or
undefined."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import reduce
from operator import add
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.base import shared_parameters as shared
from fastmetrics.base.arrays import Floats, Ints, arrow_numbers, floats_of_arrow, numpy_values
from fastmetrics.base.columns import is_column
from fastmetrics.base.display import Grid, Shown, lines_of
from fastmetrics.base.errors import Argument, InputError, OptionError
from fastmetrics.base.notes import Figure, Note, said
from fastmetrics.base.options import Choice, Cutoff, Flag, Level, Optional, argument, by_name, of_hint
from fastmetrics.base.public_names import __version__
from fastmetrics.base.score_metadata import RANKING, MissingQueries, RowCounts, ScoreMetadata
from fastmetrics.base.shared_parameters import Help, also_named
from fastmetrics.base.threads import cores, ordered
from fastmetrics.kernels import rankings as id_kernels
from fastmetrics.kernels.rankings import Ids, all_ranked, in_rank_order
from fastmetrics.retrieval.measures import Measure
from fastmetrics.retrieval.measures import measures as parse_measures
from fastmetrics.retrieval.rankings import (
    GradedRankings,
    Judgements,
    Rankings,
    frozen,
    graded,
    judgements,
    offsets,
    spans,
    take_ids,
    text_ids,
)
from fastmetrics.tables.addresses import shown_address
from fastmetrics.tables.opening import is_paths
from fastmetrics.tables.outputs import check_without_target, table_target, write_whole
from fastmetrics.tables.rankings import Triples

# The result of evaluating one ranking: values per query, their means, and counts of what is missing or undefined.


@dataclass(frozen=True)
class Settings:
    """The options of an evaluation that change its numbers."""

    relevance_level: float
    missing: str
    no_relevant: str
    duplicates: str
    depth: int | None
    drop_self: bool = False


@dataclass(frozen=True)
class RankResult(Shown):
    """The result of :func:`rank`.

    ``per_query`` has a row per judged query: a column query_id and one float64 column per measure, with the requested
    name; NaN = undefined, null = left out because the ranking lacks the query.  ``mean`` combines the defined queries
    (num_… measures are summed, gm_… measures use the geometric mean).  ``missing`` are the judged queries that the
    ranking lacks, scored by the rule ``settings.missing``, ``unjudged`` its queries without a judgement, which are not
    scored.  ``n_undefined`` counts, per measure, the queries without relevant documents (for accuracy, without a pair
    of documents), and ``notes`` states how these and the missing queries are scored.  ``n_duplicates`` counts documents
    listed again for the same query.
    """

    per_query: pa.Table
    mean: dict[str, float]
    missing: list[str]
    unjudged: list[str]
    n_undefined: dict[str, int]
    n_duplicates: int
    settings: Settings
    measures: Sequence[Measure]
    deepest: int = 0
    """The largest number of documents that the ranking has for a query."""

    @property
    def missing_queries(self) -> MissingQueries:
        """The number of missing queries, and the rule for them."""
        return MissingQueries(len(self.missing), int(self.per_query.num_rows), self.settings.missing)

    @property
    def n_scored(self) -> int:
        """Number of queries that are scored: the judged ones, without the missing ones if these are left out."""
        return int(self.per_query.num_rows) - (len(self.missing) if self.settings.missing == "skip" else 0)

    @property
    def n(self) -> dict[str, int]:
        """Per measure, the number of queries in its mean: the scored ones for which it is defined."""
        columns = {name: floats_of_arrow(self.per_query[name].combine_chunks(), name) for name in self.mean}
        return {name: int(np.count_nonzero(~np.isnan(values))) for name, values in columns.items()}

    @property
    def notes(self) -> list[str]:
        """How missing queries, and queries for which a measure is not defined, are scored, if there are any; and the
        measures with a cut-off that no query reaches.
        """
        absent = "undefined_zero" if self.settings.no_relevant == "zero" else "undefined_excluded"
        by_count: dict[tuple[int, str], list[str]] = {}
        for measure in self.measures:
            kind = "undefined_pairs" if measure.family.needs == "pairs" else absent
            by_count.setdefault((self.n_undefined[measure.name], kind), []).append(measure.name)
        beyond = [measure.name for measure in self.measures if (measure.options.get("k") or 0) > self.deepest > 0]
        return said(
            self.missing_queries.notes,
            [Note(kind, names=names, n=n, of=self.n_scored) for (n, kind), names in by_count.items() if n],
            beyond and Note("short_ranking", names=beyond, n=self.deepest),
        )

    def grids(self) -> list[Grid]:
        """The measures over all queries, each with the number of queries in its mean."""
        n = self.n
        return [lines_of(self.mean.items(), "measure=0", "all queries=1", ("n", lambda item: n[item[0]]))]

    def remarks(self) -> list[str]:
        """The number of queries, and the treatment of missing queries and of queries without relevant documents."""
        return [Note("scored_queries", n=self.n_scored), *self.notes]

    def record(self) -> Sequence[Figure]:
        """The mean of each measure."""
        return [Figure(name, mean, n=self.n[name]) for name, mean in self.mean.items()]

    def to_arrow(self) -> pa.Table:
        """One row per query, ``per_query``."""
        return self.per_query

    def to_dict(self) -> dict[str, Any]:
        """Everything except the values per query, as plain values for JSON."""
        return {
            "n": self.n,
            "n_scored": self.n_scored,
            "n_judged": self.missing_queries.judged,
            "n_missing": len(self.missing),
            "missing": self.settings.missing,
            "n_unjudged": len(self.unjudged),
            "n_duplicates": self.n_duplicates,
            "n_undefined": self.n_undefined,
            "notes": self.notes,
            "mean": {name: None if math.isnan(mean) else mean for name, mean in self.mean.items()},
        }


def described(
    table: pa.Table,
    measures: Sequence[Measure],
    missing: MissingQueries,
    settings: Settings,
    by_ranking: Mapping[str, MissingQueries] | None = None,
) -> pa.Table:
    """The values per query with the metadata of a score file: settings, counts of nulls, missing queries."""
    scores: dict[str, Mapping[str, Any]] = {}
    counts: dict[str, RowCounts] = {}
    for measure in measures:
        own = {"judged_only": True} if measure.judged_only else {}
        scores[measure.name] = {"measure": measure.family.names[0], **measure.options, **own, **asdict(settings)}
        column = table[measure.name].combine_chunks()
        undefined = int(np.isnan(floats_of_arrow(column, measure.name)).sum()) - column.null_count
        counts[measure.name] = RowCounts(len(column), column.null_count, undefined, 0)
    metadata = ScoreMetadata(
        version=__version__, scores=scores, metrics=counts, missing_queries=missing, missing_by_ranking=by_ranking
    )
    return table.replace_schema_metadata(metadata.for_schema())


@dataclass(frozen=True)
class RankReport(Shown):
    """The results of :func:`rank` for several rankings, by name; prints as a table of rankings × measures."""

    results: dict[str, RankResult]

    def to_dict(self) -> dict[str, Any]:
        """Means and counts of each ranking."""
        return {name: result.to_dict() for name, result in self.results.items()}

    @property
    def per_query(self) -> pa.Table:
        """The values of each ranking and query: the columns ranking and query_id, and one for each measure."""
        tables = [
            result.per_query.add_column(0, RANKING, pa.array([name] * result.per_query.num_rows, pa.string()))
            for name, result in self.results.items()
        ]
        first = next(iter(self.results.values()))
        by_ranking = {name: result.missing_queries for name, result in self.results.items()}
        missing = reduce(add, by_ranking.values())
        whole = pa.concat_tables(table.replace_schema_metadata() for table in tables)
        return described(whole, first.measures, missing, first.settings, by_ranking)

    def records(self) -> Sequence[Mapping[str, Any]]:
        """One row per ranking: its name, the counts of queries, the rule for missing ones, the mean of each measure.

        ``n_scored`` are the queries that are scored, also where a measure is undefined and has no part in its mean.
        """
        counts = ("n_scored", "n_missing", "missing")
        every = ((name, result.to_dict()) for name, result in self.results.items())
        return [
            {"ranking": name, **{key: one[key] for key in counts}, **self.results[name].mean} for name, one in every
        ]

    def grids(self) -> list[Grid]:
        """One row per ranking."""
        counts = ("scored=n_scored", "missing=n_missing", "unjudged=n_unjudged")
        measures = dict.fromkeys(name for result in self.results.values() for name in result.mean)
        means = [(name, lambda one, name=name: one["mean"][name]) for name in measures]
        lines = [{"ranking": name, **result.to_dict()} for name, result in self.results.items()]
        return [lines_of(lines, "ranking", *counts, *means)]

    def remarks(self) -> list[str]:
        """The notes of each ranking, with its name if there are several."""
        noted = [(name, note) for name, result in self.results.items() for note in result.notes]
        return [Note("of_ranking", name=name, note=note) if len(self.results) > 1 else note for name, note in noted]

    def record(self) -> Sequence[Figure]:
        """The mean of each measure, by ranking."""
        return [row._replace(system=name) for name, result in self.results.items() for row in result.record()]


# Evaluating rankings against judgements: retrieval measures per query, and over the queries.
#
# The judgements are held in memory.  A ranking whose rows are grouped by query (queries, and rows within a query, in
# any order) is streamed: memory is bounded by a few batches and the longest query.  Another one is held in memory too.


class QueryBlock(NamedTuple):
    """Whole queries of a ranking: query i has the documents and scores ``starts[i]:starts[i + 1]``, in any order."""

    places: Ints
    docs: pa.Array
    scores: Floats
    starts: Ints
    names: pa.Array


def grouped(batches: Iterable[pa.RecordBatch], judged: Judgements) -> Iterator[QueryBlock]:
    """Blocks of whole queries of a ranking whose rows are grouped by query."""
    pending: list[pa.RecordBatch] = []
    for batch in batches:
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
    docs = (
        pa.concat_arrays([part["doc"].cast(pa.large_string()) for part in parts]) if len(parts) > 1 else parts[0]["doc"]
    )
    scores = np.concatenate([numpy_values(part["value"]) for part in parts])
    return QueryBlock(judged.places(names), docs, frozen(scores), starts, names)


def together(rows: Triples) -> list[pa.RecordBatch]:
    """All rows of a ranking, those of a query after each other in their order."""
    ids = pa.large_string()
    types = pa.schema([("query", ids), ("doc", ids), ("value", pa.float64())])
    table = pa.Table.from_batches([batch.cast(types) for batch in rows.batches()])
    codes = table["query"].combine_chunks().dictionary_encode().indices
    return table.take(pa.array(np.argsort(numpy_values(codes), kind="stable"))).to_batches(rows.sizes.rows)


class _NotGroupedError(Exception):
    """The rows of a query are not adjacent."""


class Evaluation:
    """A ranking, block by block, against judgements: a value for each measure and judged query."""

    def __init__(self, judged: Judgements, measures: list[Measure], settings: Settings, name: str) -> None:
        self.judged, self.measures, self.settings, self.name = judged, measures, settings, name
        self.values = np.full((len(measures), len(judged)), np.nan)
        self.seen = np.zeros(len(judged), np.bool_)
        self.unjudged: dict[str, None] = {}
        self.n_duplicates = self.deepest = 0

    def run(self, batches: Iterable[pa.RecordBatch], workers: int) -> None:
        """Score blocks of queries in ``workers`` threads while the next ones are read."""

        def score(block: QueryBlock) -> tuple[Ints, Floats, int]:
            return block.places, *self.evaluated(block, text_ids(block.docs))

        for places, values, repeated in ordered(score, self._once(grouped(batches, self.judged)), workers):
            self.values[:, places[places >= 0]] = values[:, places >= 0]
            self.n_duplicates += repeated

    def _once(self, blocks: Iterable[QueryBlock]) -> Iterator[QueryBlock]:
        """The blocks; raises if a query occurs in two of them."""
        for block in blocks:
            places = block.places[block.places >= 0]
            before = np.count_nonzero(self.seen)
            self.seen[places] = True
            self.deepest = max(self.deepest, int(np.diff(block.starts).max(initial=0)))
            if np.count_nonzero(self.seen) < before + places.size:
                raise _NotGroupedError
            unknown = block.names.filter(arrow_numbers(block.places < 0, pa.bool_()))
            self.unjudged.update(dict.fromkeys(unknown.to_pylist()))
            yield block

    def evaluated(self, block: QueryBlock, ids: Ids) -> tuple[Floats, int]:
        """One row per measure, one column per query of the block; and the number of documents listed again."""
        again = np.flatnonzero(id_kernels.repeats(ids, block.starts))
        if again.size and self.settings.duplicates == "error":
            row = int(again[0])
            query = block.names[int(np.searchsorted(block.starts, row, side="right")) - 1]
            raise InputError(
                f"{self.name}: document {block.docs[row]} is listed twice for query {query}; ",
                Argument("duplicates", "first"),
                " keeps the better",
            )
        starts = block.starts
        is_ranked = all_ranked(block.scores, ids, starts)
        if again.size and not is_ranked:  # of a document's places the best counts, so it is looked up in their order
            places = frozen(np.arange(float(block.scores.size)))
            ids = take_ids(ids, in_rank_order(places, block.scores, ids, starts).astype(np.int64))
        ranked = Rankings(ids, starts, np.ones(starts.size - 1, np.bool_), "text")
        judged = graded(ranked, *self.judged.of(block.places))
        if not (is_ranked or again.size):
            grades = frozen(in_rank_order(judged.grades, block.scores, ids, starts))
            judged = GradedRankings(grades, starts, judged.ideal, judged.ideal_starts)
        if self.settings.depth is not None:
            sizes = np.minimum(np.diff(starts), self.settings.depth)
            top = frozen(judged.grades[spans(starts[:-1], sizes)])
            judged = GradedRankings(top, offsets(sizes), judged.ideal, judged.ideal_starts)
        level = self.settings.relevance_level
        return np.array([measure(judged, level=level) for measure in self.measures]), again.size

    def result(self) -> RankResult:
        """The values of all queries, and the figures over them."""
        settings, level, queries = self.settings, self.settings.relevance_level, self.judged.queries
        absent = np.flatnonzero(~self.seen)
        skip = settings.missing == "skip"
        if absent.size and not skip:
            empty = self.judged.of_nothing(absent)
            values = np.array([measure(empty, level=level) for measure in self.measures])
            self.values[:, absent] = np.nan_to_num(values)
        scored = self.seen | (not skip)
        columns: dict[str, Any] = {"query_id": queries.cast(pa.string())}
        mean, undefined = {}, {}
        judged = self.judged.of_nothing(np.arange(scored.size))
        for measure, values in zip(self.measures, self.values, strict=True):
            defined = measure.defined(judged, level=level)
            undefined[measure.name] = int(np.count_nonzero(scored & ~(defined & ~np.isnan(values))))
            if settings.no_relevant == "undefined":
                values = np.where(defined, values, np.nan)
            columns[measure.name] = arrow_numbers(values, pa.float64(), ~scored)
            mean[measure.name] = measure.over(values[scored & ~np.isnan(values)])
        names = queries.take(arrow_numbers(absent, pa.int64())).to_pylist()
        missing = MissingQueries(len(names), scored.size, settings.missing)
        per_query = described(pa.table(columns), self.measures, missing, settings)
        counts = undefined, self.n_duplicates
        deepest = min(self.deepest, settings.depth or self.deepest)
        return RankResult(per_query, mean, names, list(self.unjudged), *counts, settings, self.measures, deepest)


def evaluated_ranking(
    ranking: Any,
    qrels: Any,
    measures: str | Sequence[str],
    settings: Settings,
    threads: int,
    columns: Mapping[str, str] | None = None,
) -> RankResult:
    """The result of one ranking in any form, or of its opened rows; ``settings`` are checked."""
    named = by_name("columns", columns, "names")
    rows = ranking if isinstance(ranking, Triples) else Triples(ranking, "score", named=named)
    rows.drop_self = settings.drop_self
    judged = judgements(qrels, settings.duplicates, columns)
    chosen = judged, parse_measures(measures), settings, rows.name
    try:
        (evaluation := Evaluation(*chosen)).run(rows.batches(), threads)
    except _NotGroupedError:
        (evaluation := Evaluation(*chosen)).run(together(rows), threads)
    if evaluation.unjudged and not evaluation.seen.any():
        raise InputError(
            f"{rows.name}: no query is judged: the ranking has the query {next(iter(evaluation.unjudged))!r}, the "
            f"judgements have {judged.queries[0].as_py()!r}"
        )
    return evaluation.result()


# ``fm.rank``: rankings against judgements, in memory or in files.


MEASURES = ("ndcg@10", "mrr", "recall@100")
"""The default measures."""
RankingNames = Annotated[
    Mapping[str, str] | None, Help("Your column names: query_id=topic,doc_id=passage,score=bm25,relevance=grade.")
]


@also_named(metrics="measures")
def rank(
    rankings: Annotated[Any, Help("A ranking, several paths, or rankings by name in a dict.")],
    qrels: Annotated[Any, Help("The relevance judgements.")],
    measures: shared.Measures = MEASURES,
    *,
    output: Annotated[str | Path | None, Help("Write the values of each query to this file.")] = None,
    relevance_level: shared.RelevanceLevel = 1,
    no_relevant: shared.NoRelevant = "undefined",
    duplicates: shared.Duplicates = "error",
    depth: shared.Depth = None,
    drop_self: shared.DropSelf = False,
    missing: Annotated[
        Literal["zero", "skip"] | None,
        Help(
            "Judged queries that a ranking lacks: skip (left out, as by trec_eval; the default for one "
            "ranking), or zero (score 0, as by trec_eval -c; the default for several)."
        ),
    ] = None,
    columns: RankingNames = None,
    threads: shared.Threads = None,
    overwrite: shared.Overwrite = False,
) -> Any:
    """Evaluate a ranking, or several, against ``qrels``, query by query, with trec_eval's numbers.

    ``rankings`` and ``qrels`` are paths (TREC text, Parquet, Arrow, JSON lines, CSV, JSON dictionaries), tables, or
    dictionaries ``{query: {document: score or grade}}``, also ``{query: [documents]}``, best first.  Documents are
    ranked by score descending, then by id descending, byte by byte.  ``measures`` (also ``metrics=``) have the names of
    trec_eval, ir_measures or ranx.  ``columns`` names those of tables: query_id, doc_id, score and relevance.

    Judged queries that one ranking lacks are left out of its means, as by trec_eval; of several rankings they score 0,
    so that none gains by failing.  They are counted either way.

    >>> ranking = {"q1": {"d1": 0.5, "d2": 1.5}, "q2": {"d3": 1.0}}
    >>> result = rank(ranking, {"q1": {"d1": 1}, "q2": {"d3": 2, "d4": 1}}, "ndcg@10,mrr,P@1")
    >>> result.mean["mrr"]
    0.75
    >>> result.per_query.column_names
    ['query_id', 'ndcg@10', 'mrr', 'P@1']

    Several rankings are a list of paths, or a dictionary ``{name: ranking}``; the result is then a report with the
    ``results`` by name.

    >>> bad = {"q1": {"d1": 1.5, "d2": 0.5}}
    >>> report = rank({"good": ranking, "bad": bad}, {"q1": {"d2": 1}, "q2": {"d3": 1}}, "mrr")
    >>> report.to_arrow().select(["ranking", "n_scored", "n_missing", "missing", "mrr"]).to_pylist()[1]
    {'ranking': 'bad', 'n_scored': 2, 'n_missing': 1, 'missing': 'zero', 'mrr': 0.25}

    ``output`` is a file for the values per query, which ``compare`` reads (``system="ranking"``).

    Raises ``InputError`` for data that cannot be scored, ``UnknownNameError`` for an unknown measure, ``OptionError``
    for an invalid option, for no ranking and for two of one name, ``OutputError`` if the output cannot be written.
    Source: trec_eval 10.
    """
    several = _several(rankings)
    if output is None:
        check_without_target(overwrite=overwrite)
    single = several is None or len(several) == 1
    settings = Settings(
        float(argument("relevance_level", relevance_level, of_hint(Level))),
        argument("missing", missing, Optional(Choice("zero", "skip"))) or ("skip" if single else "zero"),
        argument("no_relevant", no_relevant, Choice("zero", "undefined")),
        argument("duplicates", duplicates, Choice("error", "first")),
        argument("depth", depth, of_hint(Cutoff)),
        argument("drop_self", drop_self, Flag()),
    )
    workers = cores(threads)  # checked before any input is read
    place = None if output is None else table_target(output, [rankings, qrels], overwrite=overwrite)
    judged = judgements(qrels, duplicates, columns) if several is not None else qrels
    results = {
        name: evaluated_ranking(ranking, judged, measures, settings, workers, columns)
        for name, ranking in ({"": rankings} if several is None else several).items()
    }
    result = RankReport(results) if several is not None else results[""]
    if place is not None:
        written = next(iter(results.values())) if single else result
        table, figures = written.per_query, written.to_dict()
        stored = ScoreMetadata.of_schema(table.schema).stored
        write_whole(table, place, {**stored, **(figures if single else {"rankings": figures})}, {"query_id"})
    return result


def _several(rankings: Any) -> dict[str, Any] | None:
    """The rankings by name, or None for one ranking; raises ``OptionError`` for no path and for two equal paths.

    >>> list(_several(["a.run", "b.run"]) or ()), _several({"q1": {"d1": 0.5}})
    (['a.run', 'b.run'], None)
    """
    if isinstance(rankings, list | tuple) and not rankings:
        raise OptionError("expected at least one ranking in addition to the judgements")
    if isinstance(rankings, list | tuple) and is_paths(rankings):
        return by_path(rankings)
    if isinstance(rankings, Mapping) and any(map(_is_ranking, rankings.values())):
        return dict(rankings)
    return None


def by_path(rankings: Sequence[str | Path]) -> dict[str, Any]:
    """Paths by what messages show of them; raises ``OptionError`` for a path that occurs twice."""
    repeated = [path for path, count in Counter(map(shown_address, rankings)).items() if count > 1]
    if repeated:
        raise OptionError(f"rankings: the path {repeated[0]!r} occurs twice")
    return {shown_address(path): path for path in rankings}


def _is_ranking(value: Any) -> bool:
    """Whether this is a ranking, rather than the documents of a query or a column of a table."""
    if isinstance(value, Mapping):
        return any(isinstance(inner, Mapping) or is_column(inner) for inner in value.values())
    return not (value is None or isinstance(value, int | float) or is_column(value))
