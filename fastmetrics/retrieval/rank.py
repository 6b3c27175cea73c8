"""``fm.rank``: rankings against judgements, in memory or in files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from fastmetrics.base.columns import is_column
from fastmetrics.base.errors import OptionError
from fastmetrics.base.options import Choice, Cutoff, Level, Optional, argument, of_hint
from fastmetrics.base.threads import cores
from fastmetrics.retrieval.evaluate import evaluated_ranking
from fastmetrics.retrieval.judgements import judgements
from fastmetrics.retrieval.rank_result import RankReport, Settings, metadata_of
from fastmetrics.tables.addresses import shown_address
from fastmetrics.tables.outputs import check_without_place, table_place, write_whole
from fastmetrics.tables.sources import is_paths

MEASURES = ("ndcg@10", "mrr", "recall@100")
"""The default measures."""


def rank(
    rankings: Any,
    qrels: Any,
    measures: str | Sequence[str] = MEASURES,
    *,
    output: str | Path | None = None,
    relevance_level: float = 1,
    no_relevant: Literal["zero", "undefined"] = "undefined",
    duplicates: Literal["error", "first"] = "error",
    depth: int | None = None,
    missing: Literal["zero", "skip"] | None = None,
    threads: int | None = None,
    overwrite: bool = False,
    guard: bool = True,
) -> Any:
    """Evaluate a ranking, or several, against ``qrels``, query by query, with trec_eval's numbers.

    ``rankings``, a ranking or several, and ``qrels`` are paths (TREC text, Parquet, Arrow, JSON lines, CSV, JSON
    dictionaries, compressed or not), Arrow tables, pandas or Polars frames, or dictionaries ``{query: {document: score
    or grade}}``.  Columns are found by name; queries and documents are matched by their id as text.  Documents are
    ranked by score descending, then by id descending, byte by byte; scores are 64-bit and grades may be fractions.
    ``measures`` use the names of trec_eval, ir_measures or ranx (:mod:`fastmetrics.retrieval.measure_names`).

    ``relevance_level`` is the lowest relevant grade of the binary measures (trec_eval's -l).  ``missing`` is the rule
    for judged queries that the ranking lacks: ``"skip"``, trec_eval's default and that of one ranking, leaves them out,
    ``"zero"`` scores them 0 as empty rankings (trec_eval's -c), which is the default of several rankings, so that no
    ranking gains by failing.  They are counted either way.  ``no_relevant`` sets whether a query without relevant
    documents is undefined and excluded from the mean (the default, as of ``score``), or with ``"zero"`` scores 0, as in
    trec_eval (``n_undefined`` counts it either way).  ``duplicates="first"`` keeps the best rank of a document listed
    twice, instead of raising.  ``depth`` truncates every ranking (trec_eval's -M).

    Parameters:

    - ``rankings``: A ranking, several paths, or rankings by name in a dict.
    - ``qrels``: The relevance judgements.
    - ``measures``: Measures: ndcg@10,mrr,RBP(p=0.8).
    - ``output``: Write the values of each query to this file.
    - ``relevance_level``: The lowest grade that counts as relevant.
    - ``no_relevant``: Score of a row or query without relevant documents: undefined (excluded from the mean), or zero,
      as in trec_eval.
    - ``duplicates``: A document listed twice for one query: error, or first (keep the first).
    - ``depth``: Use only this many documents of each query.
    - ``missing``: Judged queries that a ranking lacks: skip (left out, as by trec_eval; the default for one ranking),
      or zero (score 0, as by trec_eval -c; the default for several).
    - ``threads``: Number of threads, from 1 to 1,024; by default one for each core available to this process, of
      profile one.
    - ``overwrite``: Replace the output if it exists.
    - ``guard``: Write a leading quote in CSV before text that a spreadsheet would run as a formula (=, +, -, @ …).

    >>> ranking = {"q1": {"d1": 0.5, "d2": 1.5}, "q2": {"d3": 1.0}}
    >>> result = rank(ranking, {"q1": {"d1": 1}, "q2": {"d3": 2, "d4": 1}}, "ndcg@10,mrr,P@1")
    >>> result.mean["mrr"]
    0.75
    >>> result.per_query.column_names
    ['query_id', 'ndcg@10', 'mrr', 'P@1']

    Several rankings are a list of paths, or a dictionary ``{name: ranking}``; the result is then a report, which prints
    as a table of rankings × measures, has the ``results`` by name, and gives a table with ``to_arrow``.

    >>> bad = {"q1": {"d1": 1.5, "d2": 0.5}}
    >>> report = rank({"good": ranking, "bad": bad}, {"q1": {"d2": 1}, "q2": {"d3": 1}}, "mrr")
    >>> report.to_arrow().select(["ranking", "n", "n_missing", "missing", "mrr"]).to_pylist()[1]
    {'ranking': 'bad', 'n': 2, 'n_missing': 1, 'missing': 'zero', 'mrr': 0.25}

    ``output`` is a file for the values per query: Parquet, Arrow, JSON lines, CSV or TSV by its suffix.  That of
    several rankings has the column ``ranking``, by which ``compare`` tells them apart (``system="ranking"``).
    Undefined values are null in it, as are those of queries that are left out; the metadata contain means, counts and
    settings.  In CSV and TSV, ids that a spreadsheet would run get a leading quote, unless ``guard=False``.  An
    existing file is replaced only with ``overwrite=True``.

    Raises ``InputError`` for data that cannot be scored, ``UnknownNameError`` for an unknown measure, ``OptionError``
    for an invalid option, for no ranking and for two rankings of the same name, ``OutputError`` if the output cannot be
    written.  Source: trec_eval 10.
    """
    by_name = _several(rankings)
    if output is None:
        check_without_place(overwrite=overwrite, guard=guard)
    single = by_name is None or len(by_name) == 1
    settings = Settings(
        float(argument("relevance_level", relevance_level, of_hint(Level))),
        argument("missing", missing, Optional(Choice("zero", "skip"))) or ("skip" if single else "zero"),
        argument("no_relevant", no_relevant, Choice("zero", "undefined")),
        argument("duplicates", duplicates, Choice("error", "first")),
        argument("depth", depth, of_hint(Cutoff)),
    )
    workers = cores(threads)  # checked before any input is read
    place = None if output is None else table_place(output, [rankings, qrels], overwrite=overwrite)
    judged = judgements(qrels, duplicates) if by_name is not None else qrels
    results = {
        name: evaluated_ranking(ranking, judged, measures, settings, workers)
        for name, ranking in ({"": rankings} if by_name is None else by_name).items()
    }
    result = RankReport(results) if by_name is not None else results[""]
    if place is not None:
        written = next(iter(results.values())) if single else result
        table = written.per_query
        write_whole(table, place, metadata_of(written, table), {"query_id"}, guard=guard)
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
