"""Evaluating runs and judgements in files: a file of values per query and a report of means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from fastmetrics.core.display import Grid, Shown
from fastmetrics.core.threads import cores
from fastmetrics.errors import OptionError
from fastmetrics.retrieval.evaluate import MEASURES, rank
from fastmetrics.retrieval.judgements import judgements
from fastmetrics.retrieval.rank_result import RankResult, metadata_of
from fastmetrics.tables.output.write_table import table_place, write_whole
from fastmetrics.tables.remote.addresses import shown


@dataclass(frozen=True)
class RankReport(Shown):
    """The results of :func:`rank_files` by run; prints as a table of runs × measures."""

    results: dict[str, RankResult]

    def to_dict(self) -> dict[str, Any]:
        """Means and counts of each run."""
        return {name: result.to_dict() for name, result in self.results.items()}

    def grids(self) -> list[Grid]:
        """One row per run."""
        measures = list(next(iter(self.results.values())).mean)
        rows = [
            (
                name,
                *(str(count) for count in (result.n, len(result.missing), len(result.unjudged))),
                *(f"{result.mean[measure]:.4f}" for measure in measures),
            )
            for name, result in self.results.items()
        ]
        return [Grid(("run", "n", "missing", "unjudged", *measures), rows)]

    def remarks(self) -> list[str]:
        """The notes of each run, with its name if there are several."""
        noted = [(name, note) for name, result in self.results.items() for note in result.notes]
        return [f"{name}: {note}" if len(self.results) > 1 else note for name, note in noted]


def rank_files(
    runs: str | Path | Sequence[str | Path],
    qrels: str | Path,
    output: str | Path | None = None,
    *,
    measures: str | Sequence[str] = MEASURES,
    relevance_level: float = 1,
    missing: Literal["zero", "skip"] | None = None,
    no_relevant: Literal["zero", "undefined"] = "zero",
    duplicates: Literal["error", "first"] = "error",
    depth: int | None = None,
    threads: int | None = None,
    overwrite: bool = False,
    guard: bool = True,
) -> RankReport:
    """Evaluate runs in files against judgements in another file, with the options of :func:`rank`.

    A run is one or several files: a folder, a glob, a local path or an address, or ``-`` for standard input; likewise
    the judgements.

    ``missing`` is by default ``"skip"`` for one run, as in trec_eval, and ``"zero"`` for several, whose means are
    compared: judged queries that a run lacks score 0, so that no run gains by failing.

    ``output`` is a file for the values per query of a single run: Parquet, Arrow, JSON lines, CSV or TSV by its
    suffix.  Undefined values are null in it, as are those
    of queries that are left out; the metadata contain means, counts and settings.  In CSV and TSV, ids that a
    spreadsheet would run get a leading quote, unless ``guard=False``.  An existing file is replaced only with
    ``overwrite=True``.

    >>> import tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "run").write_text("q1 Q0 d1 1 0.5 bm25\\nq1 Q0 d2 2 0.4 bm25\\n")
    >>> _ = (folder / "qrels").write_text("q1 0 d2 1\\n")
    >>> report = rank_files(folder / "run", folder / "qrels", measures="mrr")
    >>> report.results[str(folder / "run")].mean
    {'mrr': 0.5}

    Raises ``OptionError`` for no run, for two runs of the same name, or for an ``output`` with more than one run,
    ``OutputError`` if the output cannot be written, and the errors of ``rank``.
    """
    paths = [runs] if isinstance(runs, str | Path) else list(runs)
    if not paths:
        raise OptionError("expected at least one run in addition to the judgements")
    if len({str(run) for run in paths}) < len(paths):
        raise OptionError("two runs have the same name")
    if output is not None and len(paths) > 1:
        raise OptionError(f"values per query need exactly one run, got {len(paths)}")
    options: dict[str, Any] = {
        "relevance_level": relevance_level,
        "missing": missing or ("skip" if len(paths) == 1 else "zero"),
        "no_relevant": no_relevant,
        "duplicates": duplicates,
        "depth": depth,
        "threads": threads,
    }
    cores(threads)  # checked before any input is read
    place = None if output is None else table_place(output, [paths, qrels], overwrite=overwrite)
    judged = judgements(qrels, duplicates)
    results = {shown(run): rank(run, judged, measures, **options) for run in paths}
    if place is not None:
        (result,) = results.values()
        write_whole(result.per_query, place, metadata_of(result), {"query_id"}, guard=guard)
    return RankReport(results)
