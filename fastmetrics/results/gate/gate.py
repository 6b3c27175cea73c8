"""Checking scores against rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.base.errors import Argument, OptionError
from fastmetrics.base.options import Choice, Optional, Real, Seed, Whole, argument
from fastmetrics.base.score_metadata import counts_column
from fastmetrics.base.threads import cores
from fastmetrics.results.compare.comparison_options import check_sequential
from fastmetrics.results.gate.checks import GateChecks, GateSettings
from fastmetrics.results.gate.gate_result import CheckedRule, Gate
from fastmetrics.results.gate.rule_metrics import GateMetrics
from fastmetrics.results.gate.rule_rows import GateRows, columns_read
from fastmetrics.results.gate.rules import Rule, parse_rules, read_rules
from fastmetrics.results.rows.pairing import check_settings, pair_runs
from fastmetrics.results.runs.declared_metrics import column_named
from fastmetrics.results.runs.list_runs import latest_run
from fastmetrics.results.runs.open_runs import open_run
from fastmetrics.results.runs.score_run import ScoreRun
from fastmetrics.results.summary.summary import summarize
from fastmetrics.stats.mean_interval import SEQUENTIAL

UNPAIRED = ("worst", "ignore")
"""How rows without a score count in rules that do not say it."""


def gate(
    scores: Any,
    require: Sequence[str] | str = (),
    *,
    rules: str | Path | None = None,
    baseline: Any = None,
    latest: bool = False,
    unpaired: Literal["worst", "ignore"] = "worst",
    min_n: int | None = None,
    better: Mapping[str, str] | None = None,
    cluster: str | None = None,
    confidence: float = 0.95,
    correction: Literal["none", "bonferroni"] = "none",
    interval: Literal["auto", "sequential"] = "auto",
    on: str | None = None,
    pairing: Literal["id", "position"] = "id",
    allow_differences: bool = False,
    seed: int = 0,
    threads: int | None = None,
) -> Gate:
    """Check scores against rules; ``passed`` of the result is True if all rules are met.

    ``scores`` is a score file, a folder, an address or a table of scores; of a folder with several runs, ``latest``
    takes the last one in the order of :func:`fastmetrics.results.runs.list_runs.list_runs`.  ``require`` contains
    rules as text, ``rules`` is a TOML file of rules (:func:`fastmetrics.results.gate.rules.read_rules`).

    A rule is a metric, what it reads, a comparison and a number.  Every reading has a name:

    - ``token_f1 >= 0.6`` reads the mean, and the output says if its interval crosses 0.6.  Other figures are ``std``,
      ``min``, ``max``, ``sum``, percentiles (``latency_ms.p95 < 800``), counts of rows (``n``, ``n_missing``,
      ``n_undefined``, ``n_error``, ``n_unpaired``) and their shares (``token_f1.share_missing <= 1%``).  A label
      (``abstain_rate``) and a corpus metric are figures too.
    - ``token_f1.low >= 0.6`` and ``.high`` read a bound of the mean's interval.
    - ``token_f1.drop <= 0.02`` reads the less favourable bound of the drop's interval: it is met if the rows show that
      the scores are not worse than the ``baseline`` by more.  ``delta`` is the same for scores − baseline, whatever
      direction is better.  ``drop <= 0.02`` applies to every metric with a direction that both runs have.
    - ``token_f1.drop.point <= 0.02`` and ``delta.point`` read the change of the mean itself.
    - ``token_f1.equivalent <= 0.01`` is met if two one-sided tests at the level 1 − ``confidence`` show that the change
      lies within ±0.01, and ``token_f1.not_worse <= 0.01`` if one shows that the scores are not worse by more: bounds
      of the interval at the level 2·``confidence`` − 1.  Both are verdicts of ``compare(margin=0.01)`` too.
    - A change compared with a percentage (``drop <= 2%``) is relative to the baseline's mean over the same rows.

    Rows without a score count as the worst score of the metric's bounds: rows that the baseline scores and the scores
    lack, for whatever reason, and, with or without a baseline, rows that failed or miss an input.  Rows where the
    metric is undefined do not count, unless the baseline scores them.  Rows that only the scores have are in no change.
    A rule on a metric without a worst score (``latency_ms`` has no highest value) is not met if there are such rows,
    unless it states the score to count, ``with unpaired=60000``, or leaves them out, ``with unpaired=ignore``;
    ``unpaired`` sets this for all rules that do not.  The output states how many rows there are.

    ``where language=ru`` restricts a rule to some rows, by columns that the runs kept; ``where language=*`` applies it
    to each value.  A rule needs 5 rows with a score, one that reads an interval 20 rows and 12 clusters, the numbers
    from which on intervals hold their level; ``min_n`` sets another number for all rules, and ``with n >= 50`` for one.
    Counts of rows need none.  With ``*``, smaller segments are skipped and counted; if all are, the rule is not met.
    An undefined figure meets no rule.

    ``interval="sequential"`` is for looking while rows still arrive: rules that read an interval read confidence
    sequences (:func:`fastmetrics.stats.mean_interval.confidence_sequence`), which hold however often
    one looks and whenever one stops.  Rows count in the order of the files, so new rows must be appended; rows of the
    baseline after the last row of the scores have not arrived and are in no rule.  It needs metrics with declared
    bounds and independent rows.

    ``confidence`` is the level of intervals; ``correction="bonferroni"`` raises it so that all intervals that rules of
    this call read hold together.  ``better={"my_score": "lower"}`` states the direction of scores that declare none,
    which ``drop`` needs.  ``cluster``, ``on``, ``pairing``, ``allow_differences`` and ``seed`` are as in
    :func:`fastmetrics.results.compare.compare.compare`.

    Parameters:

    - ``scores``: A score file, folder, address or table.
    - ``require``: A rule, repeatable: 'token_f1.mean >= 0.6'.
    - ``rules``: A TOML file of rules.
    - ``baseline``: The baseline scores for rules on delta and drop.
    - ``latest``: Take the last run of a folder of several.
    - ``unpaired``: Rows without a score count as the worst score of the metric, or are left out.
    - ``min_n``: Rows with a score that a rule needs; by default 5, or 20 if it reads an interval.
    - ``better``: Which direction is better, of scores and labels: my_score=lower,hallucinated=lower.
    - ``cluster``: The column whose equal values mark dependent rows: document, session or question.
    - ``confidence``: Confidence level of the intervals.
    - ``correction``: Correction of the intervals for the number of rules that read one.
    - ``interval``: Kind of the intervals: auto chooses the one that fits the data; sequential ones, of means and
      differences, hold at every look while rows are appended.
    - ``on``: The column that pairs the rows; by default the id (of validate, without one, the position).
    - ``pairing``: What pairs the rows: id (or the column of on), position (row i of each run is the same question), or,
      of compare, none: runs that share no rows, as independent samples.
    - ``allow_differences``: Compare runs even if their options or versions differ.
    - ``seed``: Random seed.
    - ``threads``: Number of threads, from 1 to 1,024; by default one for each core available to this process, of
      profile one.

    >>> import fastmetrics as fm
    >>> found = fm.gate({"token_f1": [0.5, 1.0, 0.9, 0.7, 0.8]}, ["token_f1 >= 0.6", "token_f1.min > 0.5"])
    >>> found.passed, [one.met for one in found]
    (False, [True, False])

    Raises ``OptionError`` for a malformed rule, for ``drop`` of a metric without a direction, and for a folder of
    several runs, ``UnknownNameError`` for an unknown name in a rule, and the errors of ``compare``.
    """
    argument("unpaired", unpaired, Choice(*UNPAIRED))
    argument("min_n", min_n, Optional(Whole(1, 1_000_000_000)))
    argument("confidence", confidence, Real(0.0, 1.0, above=True, below=True))
    argument("correction", correction, Choice("none", "bonferroni"))
    argument("interval", interval, Choice("auto", SEQUENTIAL))
    argument("pairing", pairing, Choice("id", "position"))
    argument("seed", seed, Seed)
    cores(threads)
    check_sequential(interval, cluster)
    all_rules = [
        *(parse_rules(require) if len(require) or rules is None else []),
        *(read_rules(rules) if rules else []),
    ]
    for rule in all_rules:
        if rule.is_change and baseline is None:
            raise OptionError(f"rule {rule.text!r} needs a ", Argument("baseline"))
    path, chosen = latest_run(scores) if latest else (scores, None)
    run = open_run(path, table="scores", latest=True)
    base = None if baseline is None else open_run(baseline, table="baseline")
    run, base = (
        _prefetched(run, all_rules, cluster, on),
        None if base is None else _prefetched(base, all_rules, cluster, on),
    )
    rows, differences = _rows(run, base, all_rules, cluster, on, pairing, allow_differences)
    rows = _in_order(rows) if interval == SEQUENTIAL else rows
    excluded = [*columns_read(all_rules, cluster), *([on] if on is not None else [])]
    metrics = GateMetrics(rows, better or {}, excluded, partial(summarize, run.score_batches))
    checks = GateChecks(rows, metrics, GateSettings(unpaired, min_n, confidence, correction, interval, seed, threads))
    checked = checks.of(all_rules)
    notes = [*([] if chosen is None else [chosen]), *differences, *checks.notes]
    for each in (run, base):
        notes += [] if each is None else [*_missing_queries(each), *each.drift_notes]
    notes += _looks(rows, checked) if interval == SEQUENTIAL else []
    return Gate(run.name, checked, None if base is None else base.name, confidence, correction, notes, interval)


def _prefetched(run: ScoreRun, rules: Sequence[Rule], cluster: str | None, on: str | None) -> ScoreRun:
    """The run with the columns of the rules at hand."""
    metrics = [None if rule.metric is None else column_named(rule.metric, run.scores) for rule in rules]
    if all(name in run.scores for name in metrics):
        scores = [name for name in metrics if name is not None]
    else:  # a metric of the whole table, or all of them
        scores = [*run.scores, *map(counts_column, run.counted), *run.summed_columns]
    return run.by_column([*scores, *columns_read(rules, cluster), *run.keys(on)])


def _rows(
    run: ScoreRun,
    base: ScoreRun | None,
    rules: Sequence[Rule],
    cluster: str | None,
    on: str | None,
    pairing: str,
    allow_differences: bool,
) -> tuple[GateRows, list[str]]:
    """The rows of both runs, and notes on differences between them."""
    if base is None:
        repeated = None if cluster is not None else _repeated(run)
        notes = [] if repeated is None else [f"rows with one {repeated!r} are several answers to a question: a cluster"]
        return GateRows(run, None, run.read(run.columns[:1]).num_rows, cluster or repeated), notes
    changes = [rule for rule in rules if rule.is_change]
    columns = [column_named(rule.metric, run.scores) for rule in changes if rule.metric is not None]
    metrics = run.scores if len(columns) < len(changes) else columns
    notes = check_settings([base, run], metrics, allow_differences)
    paired = pair_runs([base, run], on, pairing, allow_differences, repeats=True)
    repeats = [repeated.describe() for repeated in paired.repeated if repeated is not None]
    return GateRows(run, paired, paired.n, cluster), [*notes, *paired.notes, *repeats]


def _in_order(rows: GateRows) -> GateRows:
    """The rows in their order of arrival; raises ``OptionError`` if they are not independent."""
    if rows.cluster is not None:
        several = f"rows with one {rows.cluster!r} are several answers to a question"
        raise OptionError(
            f"{several}, but ", Argument("interval", SEQUENTIAL), " needs independent rows: one answer each"
        )
    return replace(rows, sequential=True)


def _looks(rows: GateRows, checks: Sequence[CheckedRule]) -> list[str]:
    """Notes on rows that have not arrived, and on rules that do not hold at every look."""
    later = rows.n - len(rows.every)
    notes = [f"{later:,} rows of the baseline after the last row of the scores are in no rule"] if later else []
    figures = [check for check in checks if not (check.rule.reads_interval or check.rule.is_count)]
    if figures:
        notes.append(
            f"{figures[0].title}{f' and {len(figures) - 1:,} more' if len(figures) > 1 else ''} read a figure of this "
            "look: who stops as soon as it is met passes too often"
        )
    return notes


def _repeated(run: ScoreRun) -> str | None:
    """The column of ids if some of them repeat; intervals then need clusters."""
    name = run.id_column
    if name is None:
        return None
    ids = run.column(name, "")
    if pa.types.is_nested(ids.type) or pa.types.is_null(ids.type):
        return None
    return name if pc.count_distinct(ids).as_py() < pc.count(ids).as_py() else None


def _missing_queries(run: ScoreRun) -> list[str]:
    queries = run.missing_queries
    return [] if queries is None else [f"{run.name}: {note}" for note in queries.notes]
