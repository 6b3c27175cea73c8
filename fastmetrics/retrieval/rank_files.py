"""Runs and judgements in files, to a file of values per query and a report of means."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fastmetrics.errors import OptionError
from fastmetrics.retrieval.evaluate import MEASURES, RankResult, rank
from fastmetrics.retrieval.judgements import judgements
from fastmetrics.tables.output.write_table import write_whole


@dataclass(frozen=True)
class RankReport:
    """What :func:`rank_files` found, by run; as text it is a table of runs × measures."""

    results: dict[str, RankResult]

    def to_json(self) -> str:
        """Means and counts of each run."""
        return json.dumps({name: result.to_dict() for name, result in self.results.items()}, indent=2)

    def __str__(self) -> str:
        measures = list(next(iter(self.results.values())).mean)
        rows = [["run", "n", "missing", "unjudged", *measures]]
        for name, result in self.results.items():
            numbers = [str(result.n), str(len(result.missing)), str(len(result.unjudged))]
            rows.append([name, *numbers, *(f"{result.mean[measure]:.4f}" for measure in measures)])
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join(_cells(row, widths)) for row in rows]
        noted = [(name, note) for name, result in self.results.items() for note in result.notes]
        lines += [f"{name}: {note}" if len(self.results) > 1 else note for name, note in noted]
        return "\n".join([*lines[: len(rows)], *([""] if noted else []), *lines[len(rows) :]])


def rank_files(
    paths: Sequence[str | Path],
    out: str | Path | None = None,
    measures: str | Sequence[str] | None = None,
    *,
    overwrite: bool = False,
    guard: bool = True,
    **options: Any,
) -> RankReport:
    """Evaluate the runs ``paths[:-1]`` by the judgements ``paths[-1]``; ``options`` are those of ``rank``.

    The values per query of a run go to ``out``; there, undefined is null, and the metadata hold means and counts.  Ids
    that a spreadsheet would run get a quote in front in CSV and TSV, unless ``guard=False``.
    Raises ``OptionError`` for less than one run, or for ``out`` with more than one.
    """
    *runs, qrels = paths
    if not runs:
        raise OptionError("expected at least one run and the judgements")
    if len({str(run) for run in runs}) < len(runs):
        raise OptionError("a run is named twice")
    if out is not None and len(runs) > 1:
        raise OptionError(f"values per query are written of one run, not of {len(runs)}")
    judged = judgements(qrels, options.get("duplicates", "error"))
    results = {str(run): rank(run, judged, measures or MEASURES, **options) for run in runs}
    if out is not None:
        (result,) = results.values()
        metadata = {"options": options, **result.to_dict()}
        write_whole(result.per_query, out, metadata, {"query_id"}, overwrite=overwrite, guard=guard)
    return RankReport(results)


def _cells(row: list[str], widths: list[int]) -> list[str]:
    first, *rest = (cell.rjust(width) for cell, width in zip(row, widths, strict=True))
    return [first.strip().ljust(widths[0]), *rest]
