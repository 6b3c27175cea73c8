"""The result of evaluating one ranking: values per query, their means, and counts of what is missing or undefined."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np
import pyarrow as pa

from fastmetrics.base.arrow import numpy_values
from fastmetrics.base.display import Grid, Shown, number
from fastmetrics.base.public_names import __version__
from fastmetrics.base.score_metadata import MissingQueries, RowCounts, ScoreMetadata
from fastmetrics.retrieval.measure_names import Measure


@dataclass(frozen=True)
class Settings:
    """The options of an evaluation that change its numbers."""

    relevance_level: float
    missing: str
    no_relevant: str
    duplicates: str
    depth: int | None


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

    @property
    def missing_queries(self) -> MissingQueries:
        """The number of missing queries, and the rule for them."""
        return MissingQueries(len(self.missing), int(self.per_query.num_rows), self.settings.missing)

    @property
    def n(self) -> int:
        """Number of queries that are scored: the judged ones, without the missing ones if these are left out."""
        return int(self.per_query.num_rows) - (len(self.missing) if self.settings.missing == "skip" else 0)

    @property
    def notes(self) -> list[str]:
        """How missing queries, and queries for which a measure is not defined, are scored, if there are any."""
        zero = self.settings.no_relevant == "zero"
        absent = (
            "have no relevant document and score 0; no_relevant='undefined' excludes them from the mean"
            if zero
            else "have no relevant document and are excluded from the mean; no_relevant='zero' scores them 0"
        )
        pair = "have no retrieved pair of a relevant and another document, and are excluded from the mean"
        by_count: dict[tuple[int, str], list[str]] = {}
        for measure in self.measures:
            count = self.n_undefined[measure.name]
            reason = pair if measure.family.needs == "pairs" else absent
            by_count.setdefault((count, reason), []).append(measure.name)
        undefined = [
            f"{', '.join(names)}: {count:,} of {self.n:,} queries {reason}"
            for (count, reason), names in by_count.items()
            if count
        ]
        return [*self.missing_queries.notes, *undefined]

    def grids(self) -> list[Grid]:
        """The measures over all queries."""
        return [Grid(("measure", "all queries"), [(name, number(mean)) for name, mean in self.mean.items()])]

    def remarks(self) -> list[str]:
        """The number of queries, and the treatment of missing queries and of queries without relevant documents."""
        return [f"{self.n:,} queries", *self.notes]

    def to_dict(self) -> dict[str, Any]:
        """Everything except the values per query, as plain values for JSON."""
        return {
            "n": self.n,
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
    columns = {measure.name: table[measure.name] for measure in measures}
    metadata = ScoreMetadata(
        version=__version__,
        scores={measure.name: _settings(measure, settings) for measure in measures},
        metrics={name: _counts(column) for name, column in columns.items()},
        missing_queries=missing,
        missing_by_ranking=by_ranking,
    )
    return table.replace_schema_metadata(metadata.for_schema())


def metadata_of(result: RankResult | RankReport, per_query: pa.Table) -> dict[str, Any]:
    """The metadata of a file of values per query."""
    figures = {"rankings": result.to_dict()} if isinstance(result, RankReport) else result.to_dict()
    return {**ScoreMetadata.of_schema(per_query.schema).stored, **figures}


def _settings(measure: Measure, settings: Settings) -> Mapping[str, Any]:
    own = {"judged_only": True} if measure.judged_only else {}
    return {"measure": measure.family.names[0], **measure.options, **own, **asdict(settings)}


def _counts(column: pa.ChunkedArray) -> RowCounts:
    undefined = sum(int(np.isnan(numpy_values(chunk.drop_null())).sum()) for chunk in column.chunks)
    return RowCounts(len(column), column.null_count, undefined, 0)


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
            result.per_query.add_column(0, "ranking", pa.array([name] * result.per_query.num_rows, pa.string()))
            for name, result in self.results.items()
        ]
        first = next(iter(self.results.values()))
        by_ranking = {name: result.missing_queries for name, result in self.results.items()}
        missing = reduce(add, by_ranking.values())
        whole = pa.concat_tables(table.replace_schema_metadata() for table in tables)
        return described(whole, first.measures, missing, first.settings, by_ranking)

    def to_arrow(self) -> pa.Table:
        """One row per ranking: its name, the counts of queries, the rule for missing ones, the mean of each measure."""
        results = self.results.values()
        measures = dict.fromkeys(name for result in results for name in result.mean)
        return pa.table(
            {
                "ranking": pa.array(list(self.results), pa.string()),
                "n": pa.array([result.n for result in results], pa.int64()),
                "n_missing": pa.array([len(result.missing) for result in results], pa.int64()),
                "missing": pa.array([result.settings.missing for result in results], pa.string()),
                **{name: pa.array([result.mean[name] for result in results], pa.float64()) for name in measures},
            }
        )

    def grids(self) -> list[Grid]:
        """One row per ranking."""
        measures = list(next(iter(self.results.values())).mean)
        rows = [
            (
                name,
                *(str(count) for count in (result.n, len(result.missing), len(result.unjudged))),
                *(f"{result.mean[measure]:.4f}" for measure in measures),
            )
            for name, result in self.results.items()
        ]
        return [Grid(("ranking", "n", "missing", "unjudged", *measures), rows)]

    def remarks(self) -> list[str]:
        """The notes of each ranking, with its name if there are several."""
        noted = [(name, note) for name, result in self.results.items() for note in result.notes]
        return [f"{name}: {note}" if len(self.results) > 1 else note for name, note in noted]
