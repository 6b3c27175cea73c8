"""sacreBLEU's paired significance tests on score files with counts, bit by bit."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fastmetrics.core.arrays import Floats, Ints
from fastmetrics.core.display.printed_tables import Grid, Shown
from fastmetrics.core.metadata.corpus_counts import counts_column
from fastmetrics.core.names.name_lists import listed
from fastmetrics.core.process.threads import cores
from fastmetrics.core.settings.allowed_values import Choice, Optional, Whole, argument
from fastmetrics.errors import InputError, OptionError
from fastmetrics.errors.messages import Argument
from fastmetrics.metrics.bleu import HEADS, SMOOTHING, bleu_of_sums, bleu_scorer
from fastmetrics.metrics.corpus_chrf import chrf_of_sums, chrf_scorer
from fastmetrics.plan.corpus_values import many_values
from fastmetrics.plan.plan import Score, parse
from fastmetrics.results.compare.compare import baseline_first
from fastmetrics.results.rows.pairing import PairedRuns, check_settings, pair_runs
from fastmetrics.results.runs.open_runs import open_runs
from fastmetrics.results.runs.score_run import ScoreRun, shared_metrics
from fastmetrics.stats.significance.sacrebleu_resampling import (
    PairedScore,
    SystemCounts,
    paired_bootstrap,
    paired_randomisation,
)

_METRICS = ("corpus_bleu", "corpus_chrf", "corpus_chrf++")
_SAMPLES = {"bs": 1_000, "ar": 10_000}
_SEED, _SEED_VARIABLE = Whole(1, 2**31 - 1), "SACREBLEU_SEED"


@dataclass(frozen=True)
class SacrebleuPaired(Shown):
    """The results for each metric (its ``names`` and ``signatures``) and system, the baseline first."""

    test: str
    systems: Sequence[str]
    metrics: Sequence[str]
    names: Sequence[str]
    signatures: Sequence[str]
    results: Sequence[Sequence[PairedScore]]
    """One list per metric: the figures of each system."""
    notes: Sequence[str] = ()

    def __getitem__(self, key: tuple[str, str]) -> PairedScore:
        """The figures of a metric and a system: ``found["corpus_bleu", "new"]``; raises ``KeyError``."""
        if key[0] not in self.metrics or key[1] not in self.systems:
            raise KeyError(key)
        return self.results[self.metrics.index(key[0])][self.systems.index(key[1])]

    def to_dict(self) -> dict[str, Any]:
        """``{"test", "metrics": [{"metric", "name", "signature", "systems": [{"system", "score", "p", …}]}]}``."""
        tables = [
            {
                "metric": metric,
                "name": name,
                "signature": signature,
                "systems": [{"system": s, **asdict(score)} for s, score in zip(self.systems, row, strict=True)],
            }
            for metric, name, signature, row in zip(
                self.metrics, self.names, self.signatures, self.results, strict=True
            )
        ]
        return {"test": self.test, "baseline": self.systems[0], "metrics": tables, "notes": list(self.notes)}

    def grids(self) -> list[Grid]:
        """One row per system: score, p, and mean ± half-width of the interval."""
        rows = []
        for place, system in enumerate(self.systems):
            cells = [_cells(row[place]) for row in self.results]
            rows.append((f"baseline: {system}" if place == 0 else system, *(cell for two in cells for cell in two)))
        header = [title for name in self.names for title in (f"{name} (μ ± 95 % CI)", "p")]
        return [Grid(("system", *header), rows)]

    def remarks(self) -> list[str]:
        """The signatures, and differences between the runs."""
        return [
            *(f"{name}|{signature}" for name, signature in zip(self.names, self.signatures, strict=True)),
            *self.notes,
        ]


def _cells(score: PairedScore) -> tuple[str, str]:
    around = "" if score.mean is None else f" ({score.mean:.1f} ± {score.ci:.1f})"
    return f"{score.score:.1f}{around}", "" if score.p is None else f"{score.p:.4f}"


def sacrebleu_paired(
    runs: Any,
    *,
    test: Literal["bs", "ar"] = "bs",
    metrics: Sequence[str] | str | None = None,
    samples: int | None = None,
    confidence_samples: int = 0,
    seed: int | None = None,
    baseline: str | None = None,
    system: str | None = None,
    on: str | None = None,
    pairing: Literal["id", "position"] = "id",
    allow_differences: bool = False,
    threads: int | None = None,
) -> SacrebleuPaired:
    """The results of ``sacrebleu --paired-bs`` (``test="bs"``) or ``--paired-ar`` (``"ar"``), bit by bit.

    ``runs`` are as in ``compare``, scored with ``corpus_bleu``, ``corpus_chrf`` or ``corpus_chrf++`` and
    ``keep_counts=True``.  Each is compared with the ``baseline``, by default the first, whose order of rows is used,
    because sacreBLEU's draws depend on it.  ``samples`` is the number of resamples (1,000) or trials (10,000);
    ``confidence_samples`` is the number of resamples of ``--paired-ar-confidence-n``.  The default ``seed`` is the
    environment variable ``SACREBLEU_SEED``, otherwise 12345.

    Each system has its score.  ``bs`` adds the mean over bootstrap samples of the rows, ``ci``, half the width of their
    95 % interval, and p = (1 + #{d* − mean(d*) > d})/(1 + n) with d = |score − score of the baseline|.  ``ar`` adds p =
    (1 + #{d* > d})/(1 + n), with d* from randomly swapped rows.  Quote these numbers for comparison with sacreBLEU.
    The p values of ``compare`` are two-sided, exact for few rows, corrected for multiple comparisons, and independent
    of the order of rows.

    Parameters:

    - ``runs``: The runs, in a list or by name in a dict.
    - ``test``: The test: --paired-bs or --paired-ar of sacreBLEU.
    - ``metrics``: Only these metrics: token_f1,mrr.
    - ``samples``: Number of resamples (default 1000) or trials (default 10000).
    - ``confidence_samples``: Resamples for the intervals of ar, like --paired-ar-confidence-n; 0 for none.
    - ``seed``: Random seed; by default the variable SACREBLEU_SEED, otherwise 12345.
    - ``baseline``: The name of the baseline run; by default the first.
    - ``system``: The column of one file that names the systems.
    - ``on``: The column that pairs the rows; by default the id (of validate, without one, the position).
    - ``pairing``: What pairs the rows: id (or the column of on), position (row i of each run is the same question), or,
      of compare, none: runs that share no rows, as independent samples.
    - ``allow_differences``: Compare runs even if their options or versions differ.
    - ``threads``: Number of threads, from 1 to 1,024; by default one for each core available to this process, of
      profile one.

    >>> import fastmetrics as fm
    >>> references = ["the cat sat on the mat", "it rains in Spain today", "no way out of here"] * 9
    >>> def scored(answers):
    ...     rows = {"id": range(27), "answer": answers * 9, "reference": references}
    ...     return fm.score(rows, "bleu,corpus_bleu", keep_counts=True)
    >>> old = scored(["the cat sat on a mat", "it rained in Spain today", "no way out"])
    >>> new = scored(["the cat sat on the mat", "it rains in Spain", "no way out of here"])
    >>> found = fm.sacrebleu_paired({"old": old, "new": new})["corpus_bleu", "new"]
    >>> round(found.score, 2), round(found.mean, 2), round(found.p, 4)
    (93.55, 93.41, 0.001)

    Raises ``ColumnError`` for runs without counts, ``InputError`` for a row that a run lacks or that was not counted
    (sacreBLEU compares whole files), ``OptionError`` for other metrics and for a seed that sacreBLEU ignores.

    Source: sacreBLEU 2.6; Koehn 2004; Riezler and Maxwell 2005.
    """
    argument("test", test, Choice(*_SAMPLES))
    argument("samples", samples, Optional(Whole(1, 10_000_000)))
    argument("pairing", pairing, Choice("id", "position"))
    argument("confidence_samples", confidence_samples, Whole(0, 10_000_000))
    if test == "bs" and confidence_samples:
        raise OptionError(Argument("confidence_samples", confidence_samples), " goes with ", Argument("test", "ar"))
    chosen, workers = _seed(seed), cores(threads)
    opened = baseline_first(open_runs(runs, system), baseline)
    names = _metrics(opened, listed(metrics))
    keys = [column for run in opened for column in run.keys(on)]
    loaded = [run.by_column([*map(counts_column, names), *keys]) for run in opened]
    notes = check_settings(loaded, names, allow_differences)
    paired = pair_runs(loaded, on, pairing, allow_differences)
    counts = [_whole_files(paired, name) for name in names]
    scores = [parse(loaded[0].spec(name)) for name in names]
    counted = [
        [_counted(score, of_metric[at]) for score, of_metric in zip(scores, counts, strict=True)]
        for at in range(len(loaded))
    ]
    n = samples or _SAMPLES[test]
    if test == "bs":
        results = paired_bootstrap(counted, n, chosen, workers)
    else:
        results = paired_randomisation(counted, n, chosen, workers, confidence_samples)
    updates = {"seed": str(chosen), test: n, **({"bs": confidence_samples} if confidence_samples else {})}
    described = [
        _name_and_signature(score, of_metric[0], updates) for score, of_metric in zip(scores, counts, strict=True)
    ]
    return SacrebleuPaired(
        test,
        [run.name for run in loaded],
        names,
        [name for name, _ in described],
        [signature for _, signature in described],
        [list(row) for row in zip(*results, strict=True)],
        [*notes, *paired.notes],
    )


def _seed(seed: int | None) -> int:
    """The given seed, or that of the environment; raises ``OptionError`` for a seed that sacreBLEU ignores."""
    if seed is not None:
        return int(argument("seed", seed, _SEED))
    text = os.environ.get(_SEED_VARIABLE, "12345")
    if not text.isdecimal() or not 0 < int(text) < 2**31:
        raise OptionError(f"{_SEED_VARIABLE}={text}: expected an integer of at least 1, for reproducible numbers")
    return int(text)


def _metrics(runs: Sequence[ScoreRun], requested: Sequence[str]) -> list[str]:
    """The metrics to test: the requested ones, or all of sacreBLEU's for which every run has counts."""
    names = shared_metrics(runs, requested, counted=True) if requested else []
    for name in names:
        if not _is_tested(runs[0], name):
            raise OptionError(f"sacreBLEU cannot test {name}; it tests {', '.join(_METRICS)}")
    stored = [run.counted for run in runs]
    names = names or [name for name in stored[0] if all(name in some for some in stored) and _is_tested(runs[0], name)]
    return names or shared_metrics(runs, [_METRICS[0]], counted=True)


def _is_tested(run: ScoreRun, name: str) -> bool:
    return parse(run.spec(name)).metric.name in _METRICS


def _whole_files(paired: PairedRuns, name: str) -> Ints:
    """The counts of each run and row in the baseline's order; raises ``InputError`` if a run lacks some of them."""
    counts, has = paired.counts(name)
    for run, counted in zip(paired.runs, has, strict=True):
        if not counted.all():
            row = int(np.flatnonzero(~counted)[0])
            where = f"row {row}" if paired.by_id is None else f"id {paired.by_id.distinct_text(row)!r}"
            raise InputError(
                f"{run.name} has no counts of {name} in {int((~counted).sum()):,} rows, first of {where}; sacreBLEU "
                "compares whole files; fm.compare uses the rows that both runs have"
            )
    if not counts.shape[1]:
        raise InputError(f"no row has counts of {name}")
    return counts[:, np.argsort(paired.rows[0])]


def _counted(score: Score, counts: Ints) -> SystemCounts:
    """sacreBLEU's statistics from the counts of one run."""
    value = float(many_values(score.spec, counts.sum(axis=0)[None])[0])
    scores = partial(_bleus if score.metric.name == _METRICS[0] else _chrfs, score.options)
    return SystemCounts(counts[:, HEADS:], value, scores)


def _bleus(options: Any, sums: NDArray[Any]) -> Floats:
    value = options["smooth_value"]
    if value is None:
        value = SMOOTHING[options["smooth_method"]]
    if options["smooth_method"] == "add-k" and sums.dtype == np.int64:
        value = float(int(value))  # NumPy truncates fractions in integer arrays
    return bleu_of_sums(sums, value, **options)


def _chrfs(options: Any, sums: NDArray[Any]) -> NDArray[Any]:
    values, narrow = chrf_of_sums(sums, **options)
    return values.astype(np.float32) if sums.dtype == np.float32 and narrow.all() else values


def _name_and_signature(score: Score, counts: Ints, updates: dict[str, Any]) -> tuple[str, str]:
    """sacreBLEU's name of a metric, and its signature."""
    sums = counts.sum(axis=0).tolist()
    scorer = (bleu_scorer if score.metric.name == _METRICS[0] else chrf_scorer)(sums, **score.options)
    signature = scorer.get_signature()
    for key, value in updates.items():
        signature.update(key, value)
    options = score.options
    name = "BLEU" if score.metric.name == _METRICS[0] else f"chrF{options['beta']}{'+' * options['word_order']}"
    return name, str(signature)
